// SPDX-License-Identifier: Apache-2.0
// Computes the buckets of sums with the field's kernels. vertical_database.cc instantiates it for the fields
// that programs use, tests do for others.
#pragma once

#include <algorithm>

#include "pirx/batchcodes/fields.h"
#include "pirx/batchcodes/vertical_database.h"
#include "pirx/gf2e/gf2.h"
#include "src/base/threads.h"

namespace pirx::batchcodes {
namespace detail {

/// out = the words at `from` if this is the first addend, else out += these words.
template <Field F>
void add_words(const strassen::Engine<F>& engine, const std::byte* from, std::size_t words, bool first,
               typename F::Sum* out) {
  constexpr std::size_t kChunk = 512;
  const F& f = engine.field();
  typename F::Sum chunk[kChunk];
  for (std::size_t at = 0; at < words; at += kChunk) {
    const std::size_t n = std::min(kChunk, words - at);
    auto* to = first ? out + at : chunk;
    for (std::size_t c = 0; c < n; ++c) to[c] = f.load_word(from + (at + c) * f.word_bytes());
    if (!first) engine.kernels().add(f, n, out + at, chunk, out + at);
  }
}

}  // namespace detail

template <Field F>
Result<VerticalDatabase<F>> VerticalDatabase<F>::create(const strassen::Engine<F>& engine,
                                                        const VerticalCode& code,
                                                        matrix::ConstView<std::byte> D,
                                                        [[maybe_unused]] const strassen::ExecOptions& exec) {
  const F& f = engine.field();
  const std::size_t m = code.buckets(), s = D.cols / f.word_bytes();
  if (D.cols % f.word_bytes() != 0) {
    return invalid("blocks of " + std::to_string(D.cols) + " bytes are no whole words of " +
                   std::to_string(f.word_bytes()) + " bytes");
  }
  VerticalDatabase result;
  result.binary_ = f.tag().kind == FieldKind::kBinary;
  result.rows_ = static_cast<std::size_t>(code.bucket_rows(D.rows));
  result.plain_.resize(m);
  result.sum_index_.assign(m, kPlain);
  std::size_t of_sums = 0;
  for (std::size_t b = 0; b < m; ++b) {
    const auto slice = code.slice(b, D.rows);
    if (!slice) {
      result.sum_index_[b] = of_sums++;
      continue;
    }
    const auto first = static_cast<std::size_t>(slice->first), step = static_cast<std::size_t>(slice->step);
    result.plain_[b] = {D.row(first), static_cast<std::size_t>(slice->count), D.cols, D.stride * step};
  }
  const auto height = checked_mul(of_sums, result.rows_);
  if (!height)
    return fail(ErrorCode::kResourceExhausted, "the sums of this code are larger than memory can be");
  PIRX_ASSIGN(result.sums_, matrix::Matrix<Sum>::create(*height, s));

  for (std::size_t b = 0; b < m; ++b) {
    if (result.is_plain(b)) continue;
    const auto addends = code.addends(b);
    const auto out = result.sums_.view().window(result.sum_index_[b] * result.rows_, 0, result.rows_, s);
#pragma omp parallel for num_threads(thread_count(exec.threads)) schedule(static) if (result.rows_ * s > 4096)
    for (std::size_t i = 0; i < result.rows_; ++i) {
      bool first = true;
      for (const auto addend : addends) {
        if (!result.is_plain(addend)) {
          const Sum* from = result.sums(addend).row(i);
          if (first) {
            std::copy_n(from, s, out.row(i));
          } else {
            engine.kernels().add(f, s, out.row(i), from, out.row(i));
          }
        } else if (i < result.plain_[addend].rows) {
          detail::add_words(engine, result.plain_[addend].row(i), s, first, out.row(i));
        } else {
          continue;  // beyond the last block: zero
        }
        first = false;
      }
    }
  }
  return result;
}

template <Field F>
matrix::ConstView<std::byte> VerticalDatabase<F>::words(std::size_t bucket) const noexcept {
  if (is_plain(bucket)) return plain_[bucket];
  PIRX_CHECK(binary_);
  const auto of_sums = sums(bucket);
  return {reinterpret_cast<const std::byte*>(of_sums.data), of_sums.rows, of_sums.cols * sizeof(Sum),
          of_sums.stride};
}

// Instantiated once, in vertical_database.cc.
extern template class VerticalDatabase<gf2e::Gf2>;
extern template class VerticalDatabase<fp::W48>;

}  // namespace pirx::batchcodes
