// SPDX-License-Identifier: Apache-2.0
// The blocked, threaded product R = Q * D. engine.cc instantiates it for the shipped fields, tests for tiny
// fields.
#pragma once

#include "pirx/base/cpu.h"
#include "pirx/fp/prime_field.h"
#include "pirx/fp/w160.h"
#include "pirx/fp/w48.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"
#include "src/base/threads.h"
#include "src/database/prepared_file.h"
#include "strassen/prepared_planes.h"
#include "strassen/residues.h"
#include "strassen/strassen_impl.h"
#include "strassen/toom.h"
#include "strassen/unpack_bits.h"

namespace pirx::strassen {
namespace detail {

/// InvalidArgument: `rows` rows of `row_bytes` bytes, `stride` bytes apart, are not a possible matrix in
/// memory.
inline Result<void> check_layout(const char* name, std::size_t rows, std::optional<std::uint64_t> row_bytes,
                                 std::size_t stride) {
  if (!row_bytes || !checked_mul(rows, std::max<std::uint64_t>(*row_bytes, stride))) {
    return invalid(std::string(name) + " is larger than memory can be");
  }
  if (rows > 1 && stride < *row_bytes) {
    return invalid(std::string(name) + " has rows " + std::to_string(stride) +
                   " bytes apart, but a row takes " + std::to_string(*row_bytes));
  }
  return {};
}

template <class T>
Result<void> check_layout(const char* name, const ConstView<T>& view) {
  return check_layout(name, view.rows, checked_mul(view.cols, sizeof(T)), view.stride);
}

template <class F>
KernelTraits traits_of(const Kernels<F>& kernels, std::size_t entry_size) {
  return {kernels.name,      sizeof(typename F::Elem), sizeof(typename F::Sum), entry_size,
          kernels.tile_rows, kernels.tile_bytes,       kernels.crossovers};
}

template <class F>
Plan plan_product(const Kernels<F>& kernels, const Shape& shape, std::size_t entry_size,
                  const ExecOptions& options) {
  const bool forced = options.threads > 0;
  return make_plan(shape, options.depth, thread_count(options.threads), forced,
                   traits_of(kernels, entry_size));
}

/// Whether a database of `rows` rows of `row_bytes` bytes is laid out in planes. If the layout is not asked
/// for, small databases are not, because padding to 16 rows and 64 columns would be a large part of them.
template <class F>
bool slices(const Kernels<F>& kernels, std::size_t rows, std::uint64_t row_bytes, Layout layout) {
  if (kernels.sliced == nullptr || layout == Layout::kRows) return false;
  if (layout == Layout::kSliced) return true;
  return rows >= 64 && row_bytes >= SlicedKernels::kPanelVectors * kernels.sliced->vector_bytes();
}

template <class F>
Plan plan_sliced(const F& f, const Kernels<F>& kernels, const Shape& shape, int stored,
                 const ExecOptions& options) {
  const bool forced = options.threads > 0;
  return make_stored_plan(shape, options.depth, stored, thread_count(options.threads), forced,
                          traits_of(kernels, f.word_bytes()), *kernels.sliced);
}

/// Reads planes from their file, or makes them with `fill`.
template <class F>
Result<void> fill_kept(const F& f, const SlicedKernels& sliced, ConstView<std::byte> D,
                       PreparedPlanes& planes, const KeepIn& keep, int threads,
                       const std::function<Result<void>()>& fill) {
  std::vector<MutableByteSpan> parts;
  for (SlicedMatrix& part : planes.parts()) parts.push_back(part.bytes());
  const auto number = [](std::uint64_t n) { return std::to_string(n); };
  const database::PreparedLabel label{
      keep.version,
      "planes of " + f.tag().name() + " (order " + number(SlicedKernels::kOrder) + ", " +
          number(sliced.planes) + " planes), " + number(D.rows) + " rows of " + number(D.cols) + " bytes, " +
          number(static_cast<std::uint64_t>(planes.depth())) + " levels of Strassen",
      static_cast<std::uint32_t>(parts.size()), parts[0].size()};
  const auto make = [&]() -> Result<void> {
    PIRX_TRY(fill());
    return keep.check ? keep.check() : Result<void>();
  };
  return database::read_or_prepare(keep.file, label, parts, threads, make, keep.note);
}

/// The plan of a product by Toom-Cook; nothing if the product is not computed in this way.
template <class F>
std::optional<Plan> plan_toom(const F& f, const Kernels<F>& kernels, const Shape& shape,
                              const ExecOptions& options) {
  if (kernels.toom == nullptr) return std::nullopt;
  const ToomTraits toom{kernels.toom->columns, kernels.toom->points, kernels.toom->tile,
                        kernels.toom->most_rows, kernels.toom->most_summed};
  const int threads = thread_count(options.threads);
  const KernelTraits kernel = traits_of(kernels, f.word_bytes());
  if (!prefers_toom(shape, options.depth, threads, kernel, toom)) return std::nullopt;
  return make_toom_plan(shape, threads, kernel, toom);
}

/// A field whose products can be computed modulo small moduli: its words are integers of kWordBytes bytes.
template <class F>
concept IntegerWords = requires {
  F::kWordBytes;
  F::kElemBytes;
  F::kPrimeField;
};

/// Whether a database is prepared as residues.
template <class F>
bool keeps_residues(const Kernels<F>& kernels, Layout layout) {
  return IntegerWords<F> && kernels.residues != nullptr && layout == Layout::kResidues;
}

/// The plan of a product modulo small moduli; nothing if the product is not computed in this way.
template <class F>
std::optional<Plan> plan_residues(const F& f, const Kernels<F>& kernels, const Shape& shape, bool kept,
                                  const ExecOptions& options) {
  if constexpr (IntegerWords<F>) {
    const KernelTraits kernel = traits_of(kernels, f.word_bytes());
    const std::size_t least = kept ? kernels.crossovers.kept_residues : kernels.crossovers.residues;
    if (kernels.residues == nullptr || options.depth > 0 ||
        shape.s < std::max<std::size_t>(kernels.residue_words, 1) || least == 0 || shape.q < least ||
        shape.r < ResidueKernels::kRows) {
      return std::nullopt;
    }
    return make_residue_plan(shape, thread_count(options.threads), kernel,
                             ResidueSystem<F>::of(f).basis().count, kept);
  }
  return std::nullopt;
}

/// InvalidArgument: Q times a matrix of `rows` x `words` does not have the shape of R, or Q or R is not a
/// possible matrix in memory.
template <class Elem, class Sum>
Result<void> check_shapes(const ConstView<Elem>& Q, std::size_t rows, std::size_t words, const View<Sum>& R) {
  if (Q.cols != rows || R.rows != Q.rows || R.cols != words) {
    const auto size = [](std::size_t height, std::size_t width) {
      return std::to_string(height) + " x " + std::to_string(width);
    };
    return invalid("a product of " + size(Q.rows, Q.cols) + " scalars by " + size(rows, words) +
                   " words does not give " + size(R.rows, R.cols) + " sums");
  }
  PIRX_TRY(check_layout("Q", Q));
  return check_layout("R", ConstView<Sum>(R));
}

/// R = Q * D, or R += Q * D if `add`.
template <class F>
Result<void> product(const F& f, const Kernels<F>& kernels, ConstView<typename F::Elem> Q, const Block<F>& D,
                     View<typename F::Sum> R, const ExecOptions& options, bool add = false) {
  using Sum = typename F::Sum;
  PIRX_TRY(check_shapes(Q, D.rows, D.words, R));

  const Shape shape{Q.rows, D.rows, D.words};
  if (shape.q == 0 || shape.s == 0) return {};  // R is empty; its data may be null
  const Plan plan = plan_product(kernels, shape, D.entry_size, options);
  const std::size_t threads = static_cast<std::size_t>(plan.threads);
  PIRX_ASSIGN(auto workspace, AlignedBuffer::create(plan.workspace_bytes));
  const std::uint64_t per_thread = recursion_workspace(plan.depth, {shape.q, plan.tile_rows, plan.tile_words},
                                                       sizeof(typename F::Elem), sizeof(Sum));
  const TileProduct<F> tile(f, kernels);

  // R = Q * D over the given rows and columns of D, tile by tile.
  const auto multiply_part = [&](std::size_t row, std::size_t rows, std::size_t col, std::size_t cols,
                                 View<Sum> out, bool onto) {
    std::byte* space = workspace.data() + this_thread() * per_thread;
    for (std::size_t i = 0; i < out.rows && !onto; ++i) std::fill_n(out.row(i), cols, Sum{});
    for (std::size_t at = row; at < row + rows; at += plan.tile_rows) {
      const std::size_t height = std::min(plan.tile_rows, row + rows - at);
      tile.muladd(plan.depth, Q.window(0, at, Q.rows, height), D.window(at, col, height, cols), out, space);
    }
  };

  if (!plan.split_rows) {
    const std::size_t panels = div_up(shape.s, plan.tile_words);
#pragma omp parallel for num_threads(plan.threads) schedule(dynamic)
    for (std::size_t panel = 0; panel < panels; ++panel) {
      const std::size_t col = panel * plan.tile_words;
      const std::size_t cols = std::min(plan.tile_words, shape.s - col);
      multiply_part(0, shape.r, col, cols, R.window(0, col, shape.q, cols), add);
    }
    return {};
  }

  // Each thread adds up its own rows of D, the first thread directly in R.
  std::byte* partials = workspace.data() + threads * per_thread;
  const std::uint64_t partial_bytes = block_bytes(shape.q, shape.s, sizeof(Sum));
  const auto partial = [&](std::size_t part) -> View<Sum> {
    if (part == 0) return R;
    return {reinterpret_cast<Sum*>(partials + (part - 1) * partial_bytes), shape.q, shape.s,
            shape.s * sizeof(Sum)};
  };
  // The first r % threads parts have one row more.
  const std::size_t height = shape.r / threads, longer = shape.r % threads;
#pragma omp parallel for num_threads(plan.threads) schedule(static)
  for (std::size_t part = 0; part < threads; ++part) {
    const std::size_t row = part * height + std::min(part, longer);
    const std::size_t rows = height + (part < longer ? 1 : 0);
    const View<Sum> out = partial(part);
    for (std::size_t col = 0; col < shape.s; col += plan.tile_words) {
      const std::size_t cols = std::min(plan.tile_words, shape.s - col);
      multiply_part(row, rows, col, cols, out.window(0, col, shape.q, cols), add && part == 0);
    }
  }
  for (std::size_t part = 1; part < threads; ++part) {
    const View<Sum> from = partial(part);
    for (std::size_t i = 0; i < shape.q; ++i) kernels.add(f, shape.s, R.row(i), from.row(i), R.row(i));
  }
  return {};
}

/// R = Q * D with the scalars of Q in bits, some rows of D at a time.
template <class F>
Result<void> product_of_bits(const F& f, const Kernels<F>& kernels, ConstView<std::byte> Q, const Block<F>& D,
                             View<typename F::Sum> R, const ExecOptions& options) {
  using Elem = typename F::Elem;
  constexpr std::size_t kMostBytes = std::size_t{1} << 20, kLeastRows = 2048;
  const std::size_t most = std::max(kMostBytes / std::max<std::size_t>(Q.rows, 1) / 8 * 8, kLeastRows);
  PIRX_ASSIGN(auto elems, Matrix<Elem>::create(Q.rows, std::min(most, D.rows)));
  std::size_t at = 0;
  do {
    const std::size_t rows = std::min(most, D.rows - at);
    for (std::size_t i = 0; i < Q.rows; ++i) {
      const ByteSpan bits(Q.row(i) + at / 8, static_cast<std::size_t>(div_up(rows, 8)));
      unpack_bits(bits, std::as_writable_bytes(std::span(elems.row(i), rows)));
    }
    PIRX_TRY(product(f, kernels, std::as_const(elems).view().window(0, 0, Q.rows, rows),
                     D.window(at, 0, rows, D.words), R, options, at > 0));
    at += rows;
  } while (at < D.rows);
  return {};
}

}  // namespace detail

template <class F>
Engine<F>::Engine(const F& f) : Engine(f, choose_kernels(f, allowed_cpu_features_or_die())) {}

template <class F>
Engine<F>::Engine(const F& f, const Kernels<F>& kernels) : f_(f), kernels_(&kernels) {}

template <class F>
Result<PreparedMatrix<F>> Engine<F>::prepare(ConstView<std::byte> D, const PrepareOptions& options,
                                             const KeepIn* keep) const {
  if (D.cols % f_.word_bytes() != 0) {
    return invalid("a row of " + std::to_string(D.cols) + " bytes is not a whole number of words of " +
                   std::to_string(f_.word_bytes()) + " bytes");
  }
  PIRX_TRY(detail::check_layout("the database", D));
  PreparedMatrix<F> prepared(D, f_.word_bytes());
  if (detail::slices(*kernels_, D.rows, D.cols, options.layout)) {
    const SlicedKernels& sliced = *kernels_->sliced;
    const int threads = thread_count(options.threads);
    prepared.depth_ = stored_depth(sliced, D.rows, D.cols, options.depth);
    prepared.bytes_ = PreparedPlanes::bytes(sliced, D.rows, D.cols, prepared.depth_);
    PIRX_ASSIGN(auto planes, PreparedPlanes::create(sliced, D.rows, D.cols, prepared.depth_));
    const auto fill = [&] { return planes.fill(sliced, D, threads); };
    PIRX_TRY(keep != nullptr ? detail::fill_kept(f_, sliced, D, planes, *keep, threads, fill) : fill());
    try {
      prepared.planes_ = std::make_shared<const PreparedPlanes>(std::move(planes));
    } catch (const std::bad_alloc&) {
      return fail(ErrorCode::kResourceExhausted, "there is no memory for the prepared database");
    }
    prepared.words_.data = nullptr;
  } else if (keep != nullptr && keep->note) {
    keep->note("this database is not prepared in planes for this field and CPU: there is nothing to keep");
  }
  if constexpr (detail::IntegerWords<F>) {
    if (detail::keeps_residues(*kernels_, options.layout)) {
      const int threads = thread_count(options.threads);
      PIRX_ASSIGN(auto residues, ResidueMatrix::create(*kernels_->residues, ResidueSystem<F>::of(f_).basis(),
                                                       D, f_.word_bytes(), threads));
      prepared.bytes_ = prepared_bytes(D.rows, prepared.cols(), options);
      try {
        prepared.residues_ = std::make_shared<const ResidueMatrix>(std::move(residues));
      } catch (const std::bad_alloc&) {
        return fail(ErrorCode::kResourceExhausted, "there is no memory for the prepared database");
      }
    }
  }
  return prepared;
}

template <class F>
std::uint64_t Engine<F>::prepared_bytes(std::size_t rows, std::size_t words,
                                        const PrepareOptions& options) const {
  const std::uint64_t row_bytes = saturated_mul(words, f_.word_bytes());
  if constexpr (detail::IntegerWords<F>) {
    if (detail::keeps_residues(*kernels_, options.layout)) {
      return ResidueMatrix::bytes_for({1, rows, words}, ResidueSystem<F>::of(f_).basis().count);
    }
  }
  if (!detail::slices(*kernels_, rows, row_bytes, options.layout)) return 0;
  return PreparedPlanes::bytes(*kernels_->sliced, rows, row_bytes,
                               stored_depth(*kernels_->sliced, rows, row_bytes, options.depth));
}

template <class F>
Plan Engine<F>::plan(const Shape& shape, const ExecOptions& options, const PrepareOptions& prepared) const {
  const std::uint64_t row_bytes = saturated_mul(shape.s, f_.word_bytes());
  if (detail::slices(*kernels_, shape.r, row_bytes, prepared.layout)) {
    const int stored = stored_depth(*kernels_->sliced, shape.r, row_bytes, prepared.depth);
    return detail::plan_sliced(f_, *kernels_, shape, stored, options);
  }
  const bool kept = detail::keeps_residues(*kernels_, prepared.layout);
  if (auto plan = detail::plan_residues(f_, *kernels_, shape, kept, options)) return *std::move(plan);
  if (auto plan = detail::plan_toom(f_, *kernels_, shape, options)) return *std::move(plan);
  return detail::plan_product(*kernels_, shape, f_.word_bytes(), options);
}

template <class F>
Result<void> Engine<F>::multiply(ConstView<Elem> Q, const PreparedMatrix<F>& D, View<Sum> R,
                                 const ExecOptions& options) const {
  if (D.word_bytes_ != f_.word_bytes() || (D.planes_ != nullptr && kernels_->sliced == nullptr)) {
    return invalid("the database was prepared for another field or kernel: prepare it again");
  }
  if (D.planes_ == nullptr) {
    if constexpr (detail::IntegerWords<F>) {
      const ResidueMatrix* kept = kernels_->residues != nullptr ? D.residues_.get() : nullptr;
      if (const auto plan =
              detail::plan_residues(f_, *kernels_, {Q.rows, D.rows(), D.cols()}, kept != nullptr, options)) {
        PIRX_TRY(detail::check_shapes(Q, D.rows(), D.cols(), R));
        return multiply_residues(f_, *kernels_->residues, Q, D.words_, kept, R, *plan);
      }
    }
    if (const auto plan = detail::plan_toom(f_, *kernels_, {Q.rows, D.rows(), D.cols()}, options)) {
      PIRX_TRY(detail::check_shapes(Q, D.rows(), D.cols(), R));
      return multiply_toom(f_, *kernels_->toom, Q, D.words_, R, *plan);
    }
    const Block<F> words{D.words_.data, D.words_.rows, D.cols_, D.words_.stride, f_.word_bytes(), false};
    return detail::product(f_, *kernels_, Q, words, R, options);
  }
  PIRX_TRY(detail::check_shapes(Q, D.rows(), D.cols(), R));
  if (R.rows == 0 || R.cols == 0) return {};
  return multiply_planes(
      *kernels_->sliced,
      {reinterpret_cast<const std::byte*>(Q.data), Q.rows, Q.cols * sizeof(Elem), Q.stride}, Scalars::kElems,
      *D.planes_, D.first_row_,
      {reinterpret_cast<std::byte*>(R.data), R.rows, R.cols * sizeof(Sum), R.stride},
      detail::plan_sliced(f_, *kernels_, {Q.rows, Q.cols, R.cols}, D.depth_, options));
}

template <class F>
Result<void> Engine<F>::multiply_bits(ConstView<std::byte> Q, const PreparedMatrix<F>& D, View<Sum> R,
                                      const ExecOptions& options) const requires std::same_as<F, gf2e::Gf2> {
  if (D.planes_ != nullptr && kernels_->sliced == nullptr) {
    return invalid("the database was prepared for another kernel: prepare it again");
  }
  const auto row_bytes = static_cast<std::size_t>(div_up(D.rows(), 8));
  if (Q.cols != row_bytes) {
    return invalid("a query for " + std::to_string(D.rows()) + " rows takes " + std::to_string(row_bytes) +
                   " bytes, not " + std::to_string(Q.cols));
  }
  PIRX_TRY(detail::check_layout("Q", Q));
  // A matrix of scalars of this shape, for what looks at the shape alone.
  const ConstView<Elem> shape{nullptr, Q.rows, D.rows(), D.rows()};
  PIRX_TRY(detail::check_shapes(shape, D.rows(), D.cols(), R));
  if (R.rows == 0 || R.cols == 0) return {};
  if (D.planes_ == nullptr) {
    const Block<F> words{D.words_.data, D.words_.rows, D.cols_, D.words_.stride, f_.word_bytes(), false};
    return detail::product_of_bits(f_, *kernels_, Q, words, R, options);
  }
  return multiply_planes(*kernels_->sliced, Q, Scalars::kBits, *D.planes_, D.first_row_,
                         {reinterpret_cast<std::byte*>(R.data), R.rows, R.cols * sizeof(Sum), R.stride},
                         detail::plan_sliced(f_, *kernels_, {Q.rows, D.rows(), R.cols}, D.depth_, options));
}

template <class F>
Result<void> Engine<F>::multiply_sums(ConstView<Elem> Q, ConstView<Sum> D, View<Sum> R,
                                      const ExecOptions& options) const {
  PIRX_TRY(detail::check_layout("D", D));
  const Block<F> sums{
      reinterpret_cast<const std::byte*>(D.data), D.rows, D.cols, D.stride, sizeof(Sum), true};
  return detail::product(f_, *kernels_, Q, sums, R, options);
}

// Instantiated once, in engine.cc. A file that includes this one for a tiny field does not instantiate them
// again.
extern template class Engine<gf2e::Gf2>;
extern template class Engine<gf2e::Gf2_8>;
extern template class Engine<gf2e::Gf2_16>;
extern template class Engine<fp::W160>;
extern template class Engine<fp::W48>;
extern template class Engine<fp::PrimeField>;

}  // namespace pirx::strassen
