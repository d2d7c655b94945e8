// SPDX-License-Identifier: Apache-2.0
// R = Q * D over GF(p) for many queries, computed modulo many small moduli (pirx/base/residue_kernels.h). The
// residues of D are prepared (ResidueMatrix) or computed block by block in every pass. Those of Q are always
// computed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "pirx/base/buffer.h"
#include "pirx/base/residue_kernels.h"
#include "src/base/threads.h"
#include "strassen/residue_plan.h"

namespace pirx::strassen {

/// The moduli of a field, and the way back from residues to sums of products. The words of F are
/// little-endian integers; its scalars and sums are integers below p with one byte more.
template <class F>
class ResidueSystem {
 public:
  using Elem = typename F::Elem;

  /// The system of the field, computed once.
  static const ResidueSystem& of(const F& f) {
    static const ResidueSystem system(f);
    return system;
  }

  const ResidueBasis& basis() const noexcept { return basis_; }

  /// Adds to `to` the `count` <= kColumns sums whose residues, not reduced, are at from + m * stride.
  void finish(const F& f, const ResidueKernels& kernels, const std::int32_t* from, std::size_t stride,
              std::size_t count, Elem* to) const {
    constexpr std::size_t kLanes = ResidueKernels::kColumns;
    // The largest sum is below half the product of the moduli, so the true quotient's fraction is below 1/2.
    // The stored fractions are too large by less than 2^-10 in all, so rounding down still gives the true
    // integer.
    std::uint64_t limbs[kLimbs][kLanes], quotients[kLanes];
    kernels.combine(basis_, from, stride, limbs[0], quotients);
    for (std::size_t j = 0; j < count; ++j) {
      const std::uint64_t quotient = quotients[j] >> ResidueBasis::kFractionBits;
      // The sum as an integer. Its lowest bytes are a word.
      std::byte bytes[4 * kLimbs + 8] = {};
      std::uint64_t carry = 0;
      for (std::size_t k = 0; k < kLimbs; ++k) {
        carry += limbs[k][j] + quotient * minus_product_[k];
        std::memcpy(bytes + 4 * k, &carry, 4);
        carry >>= 32;
      }
      std::memcpy(bytes + 4 * kLimbs, &carry, 8);
      std::uint64_t top = 0;
      std::memcpy(&top, bytes + F::kWordBytes, 8);
      Elem sum;
      std::memcpy(&sum, reinterpret_cast<const std::byte*>(to) + j * sizeof(Elem), sizeof sum);
      sum = f.add(sum, f.add(f.load_word(bytes), f.mul(f.from_label(top), word_)));
      std::memcpy(reinterpret_cast<std::byte*>(to) + j * sizeof(Elem), &sum, sizeof sum);
    }
  }

 private:
  // An element in limbs of 32 bits: a word and one bit.
  static constexpr std::size_t kLimbs = F::kWordBytes / 4 + 1;
  static_assert(4 * kLimbs > F::kWordBytes && 4 * kLimbs <= F::kWordBytes + 8);
  static_assert(sizeof(Elem) <= ResidueBasis::kMostBytes && F::kElemBytes == F::kWordBytes + 1);
  static_assert(kLimbs <= ResidueBasis::kMostLimbs);

  static void to_limbs(const Elem& a, std::uint32_t* out) {
    std::byte bytes[4 * kLimbs] = {};
    std::memcpy(bytes, &a, std::min(sizeof a, sizeof bytes));
    std::memcpy(out, bytes, sizeof bytes);
  }

  explicit ResidueSystem(const F& f) {
    // Room for twice kMostSummed products of a word and a scalar, and some more. A scalar is below 2^(8
    // kWordBytes) + 2^8.
    constexpr double kBits = 16.0 * F::kWordBytes + 17;
    static_assert(ResidueKernels::kMostSummed == std::size_t{1} << 15);
    double bits = 0;
    Elem product = f.one();
    for (int m = 256; bits <= kBits && basis_.count < ResidueBasis::kMostModuli; --m) {
      const auto end = basis_.moduli.begin() + static_cast<std::ptrdiff_t>(basis_.count);
      if (std::any_of(basis_.moduli.begin(), end,
                      [&](const auto& other) { return std::gcd(m, other.modulus) > 1; })) {
        continue;
      }
      ResidueBasis::Modulus& modulus = basis_.moduli[basis_.count++];
      modulus.modulus = m;
      modulus.inverse = 1.0F / static_cast<float>(m);
      int power = 1;
      for (auto& weight : modulus.weight) {
        weight = static_cast<std::int8_t>(2 * power >= m ? power - m : power);
        power = power * 256 % m;
      }
      bits += std::log2(m);
      product = f.mul(product, f.from_label(static_cast<std::uint64_t>(m)));
    }
    PIRX_CHECK(bits > kBits);
    for (std::size_t i = 0; i < basis_.count; ++i) {
      const int m = basis_.moduli[i].modulus;
      ResidueBasis::Modulus& modulus = basis_.moduli[i];
      const int power = 65536 % m;
      modulus.power = static_cast<float>(2 * power >= m ? power - m : power);
      int others = 1 % m;
      for (std::size_t j = 0; j < basis_.count; ++j) {
        if (j != i) others = others * basis_.moduli[j].modulus % m;
      }
      int inverse = 1;
      while (others * inverse % m != 1) ++inverse;
      modulus.back = static_cast<float>(inverse);
      modulus.fraction =
          (std::uint32_t{1} << ResidueBasis::kFractionBits) / static_cast<std::uint32_t>(m) + 1;
      to_limbs(f.mul(product, f.inv(f.from_label(static_cast<std::uint64_t>(m)))), modulus.limb.data());
    }
    basis_.limbs = kLimbs;
    to_limbs(f.sub(f.zero(), product), minus_product_);
    // 2^(8 * kWordBytes): one more than the largest word.
    std::byte ones[F::kWordBytes];
    std::memset(ones, 0xff, sizeof ones);
    word_ = f.add(f.load_word(ones), f.one());
  }

  ResidueBasis basis_;
  std::uint32_t minus_product_[kLimbs] = {};
  Elem word_;
};

/// D modulo every modulus, in this order: chunks of rows, panels of a chunk, moduli, blocks.
class ResidueMatrix {
 public:
  /// Computes the residues of D. ResourceExhausted: no memory.
  static Result<ResidueMatrix> create(const ResidueKernels& kernels, const ResidueBasis& basis,
                                      ConstView<std::byte> D, std::size_t word_bytes,
                                      [[maybe_unused]] int threads) {
    ResidueMatrix out;
    out.panels_ = D.cols / word_bytes / ResidueKernels::kColumns +
                  (D.cols / word_bytes % ResidueKernels::kColumns != 0);
    out.moduli_ = basis.count;
    const std::uint64_t bytes = bytes_for({1, D.rows, D.cols / word_bytes}, basis.count);
    PIRX_ASSIGN(out.buffer_, AlignedBuffer::create(bytes));
    const std::size_t chunks = div_up(D.rows, kResidueChunk);
    constexpr std::size_t kRows = ResidueKernels::kRows;
#pragma omp parallel for collapse(2) num_threads(threads) schedule(dynamic)
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      for (std::size_t panel = 0; panel < out.panels_; ++panel) {
        const std::size_t row = chunk * kResidueChunk, height = std::min(kResidueChunk, D.rows - row);
        const std::size_t col = panel * ResidueKernels::kColumns;
        const std::size_t cols = std::min(ResidueKernels::kColumns, D.cols / word_bytes - col);
        std::byte* to = out.buffer_.data() + out.offset(row, height, panel);
        for (std::size_t at = 0; at < height; at += kRows) {
          kernels.words(basis, D.row(row + at) + col * word_bytes, D.stride, word_bytes,
                        std::min(kRows, height - at), cols, to + at * ResidueKernels::kColumns,
                        residue_run_bytes(height));
        }
      }
    }
    return out;
  }

  /// The bytes of the residues, or 2^64 - 1 if there are more.
  static std::uint64_t bytes_for(const Shape& shape, std::size_t moduli) {
    const std::uint64_t panels =
        shape.s / ResidueKernels::kColumns + (shape.s % ResidueKernels::kColumns != 0);
    const std::uint64_t whole = shape.r / kResidueChunk, rest = shape.r % kResidueChunk;
    const std::uint64_t column =
        saturated_add(saturated_mul(whole, residue_run_bytes(kResidueChunk)), residue_run_bytes(rest));
    return saturated_mul(saturated_mul(panels, moduli), column);
  }

  /// The residues of a panel modulo the first modulus, from row `row` on, in the chunk that contains this row
  /// and has `height` rows. The residues modulo the next modulus follow residue_run_bytes(height) later. The
  /// next panel follows after all moduli.
  const std::byte* at(std::size_t row, std::size_t height, std::size_t panel) const {
    const std::size_t within = row % kResidueChunk;
    return buffer_.data() + offset(row - within, height, panel) + within * ResidueKernels::kColumns;
  }

 private:
  std::size_t offset(std::size_t chunk_row, std::size_t height, std::size_t panel) const {
    const std::size_t before =
        chunk_row / kResidueChunk * panels_ * moduli_ * residue_run_bytes(kResidueChunk);
    return before + panel * moduli_ * residue_run_bytes(height);
  }

  AlignedBuffer buffer_;
  std::size_t panels_ = 0, moduli_ = 0;
};

/// R = Q * D as the plan says. If `kept` is null, D's residues are computed on the way. The caller has
/// checked the shapes. ResourceExhausted: no memory for the workspace.
template <class F>
Result<void> multiply_residues(const F& f, const ResidueKernels& kernels, ConstView<typename F::Elem> Q,
                               ConstView<std::byte> D, const ResidueMatrix* kept, View<typename F::Sum> R,
                               const Plan& plan) {
  using Elem = typename F::Elem;
  using Sum = typename F::Sum;
  constexpr std::size_t kRows = ResidueKernels::kRows, kColumns = ResidueKernels::kColumns;
  constexpr std::size_t kQueries = ResidueKernels::kQueries, kSums = kQueries * kColumns;
  const auto& system = ResidueSystem<F>::of(f);
  const ResidueBasis& basis = system.basis();
  const ResidueSizes sizes = residue_sizes(plan, basis.count);
  PIRX_ASSIGN(auto workspace, AlignedBuffer::create(sizes.total()));
  std::byte* const scalars = workspace.data();
  auto* const sums = reinterpret_cast<std::int32_t*>(scalars + sizes.scalars);
  std::byte* const words = scalars + sizes.scalars + sizes.sums;
  for (std::size_t i = 0; i < R.rows; ++i) std::fill_n(R.row(i), R.cols, Sum{});

  TimeLimit* const limit = TimeLimit::current();
  for (std::size_t first = 0; first < Q.rows; first += plan.tile_queries) {
    const std::size_t queries = std::min(plan.tile_queries, Q.rows - first);
    const std::size_t tiles = div_up(queries, kQueries);
    for (std::size_t left = 0; left < R.cols; left += plan.tile_words) {
      const std::size_t width = std::min(plan.tile_words, R.cols - left);
      const std::size_t panels = div_up(width, kColumns);
      for (std::size_t top = 0; top < D.rows; top += ResidueKernels::kMostSummed) {
        const std::size_t bottom = std::min(D.rows, top + ResidueKernels::kMostSummed);
        std::memset(sums, 0, basis.count * panels * tiles * kSums * sizeof(std::int32_t));
        for (std::size_t row = top; row < bottom && !over(limit); row += plan.chunk_rows) {
          const std::size_t height = std::min(plan.chunk_rows, bottom - row);
          const std::size_t blocks = div_up(height, kRows);
          const std::size_t tile_bytes = blocks * ResidueKernels::kBlockBytes;
          const std::size_t scalars_stride = residue_run_bytes(tiles * blocks * kRows);
          // The chunk of prepared residues that contains these rows. A run is one panel modulo one modulus.
          const std::size_t chunk = row / kResidueChunk * kResidueChunk;
          const std::size_t kept_height = std::min(kResidueChunk, D.rows - chunk);
          const std::size_t run_bytes = residue_run_bytes(kept != nullptr ? kept_height : height);
#pragma omp parallel num_threads(plan.threads)
          {
#pragma omp for schedule(dynamic) nowait
            for (std::size_t i = 0; i < queries; ++i) {
              for (std::size_t b = 0; b < blocks; ++b) {
                kernels.scalars(basis, reinterpret_cast<const std::byte*>(Q.row(first + i) + row + b * kRows),
                                sizeof(Elem), F::kElemBytes, std::min(kRows, height - b * kRows),
                                scalars + i / kQueries * tile_bytes + b * ResidueKernels::kBlockBytes +
                                    i % kQueries * kRows,
                                scalars_stride);
              }
            }
            for (std::size_t begin = 0; begin < panels; begin += plan.run) {
              const std::size_t end = std::min(panels, begin + plan.run);
              if (kept == nullptr) {
#pragma omp for schedule(dynamic) nowait
                for (std::size_t panel = begin; panel < end; ++panel) {
                  if (over(limit)) continue;
                  const std::size_t col = panel * kColumns;
                  for (std::size_t b = 0; b < blocks; ++b) {
                    kernels.words(
                        basis, D.row(row + b * kRows) + (left + col) * F::kWordBytes, D.stride, F::kWordBytes,
                        std::min(kRows, height - b * kRows), std::min(kColumns, width - col),
                        words + (panel - begin) * basis.count * run_bytes + b * ResidueKernels::kBlockBytes,
                        run_bytes);
                  }
                }
              }
#pragma omp barrier
              const std::byte* const runs =
                  kept != nullptr ? kept->at(row, kept_height, left / kColumns + begin) : words;
              const std::size_t groups = div_up(end - begin, kResiduePanels);
              // One modulus after another, so that the queries' residues stay in the cache.
#pragma omp for schedule(static)
              for (std::size_t unit = 0; unit < basis.count * groups; ++unit) {
                if (over(limit)) continue;
                const std::size_t m = unit / groups, panel = begin + unit % groups * kResiduePanels;
                kernels.multiply(tiles, blocks, std::min(kResiduePanels, end - panel),
                                 scalars + m * scalars_stride, tile_bytes,
                                 runs + ((panel - begin) * basis.count + m) * run_bytes,
                                 basis.count * run_bytes, sums + (m * panels + panel) * tiles * kSums);
              }
            }
          }
        }
#pragma omp parallel for num_threads(plan.threads) schedule(dynamic)
        for (std::size_t i = 0; i < queries; ++i) {
          if (over(limit)) continue;
          for (std::size_t panel = 0; panel < panels; ++panel) {
            const std::size_t col = panel * kColumns;
            system.finish(f, kernels, sums + (panel * tiles + i / kQueries) * kSums + i % kQueries * kColumns,
                          panels * tiles * kSums, std::min(kColumns, width - col),
                          R.row(first + i) + left + col);
          }
        }
      }
    }
  }
  return {};
}

}  // namespace pirx::strassen
