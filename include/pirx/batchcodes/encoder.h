// SPDX-License-Identifier: Apache-2.0
// Encoder<F>: turns a plain database into one bucket per server (paper 002, Henry 2016, section 3.1).
#pragma once

#include "pirx/batchcodes/encoding.h"
#include "pirx/batchcodes/sharing.h"

namespace pirx::batchcodes {

/// Encodes rows of buckets. Row g of server j's bucket is the value at x_j of the polynomial through blocks
/// ug .. ug+u-1 at their coordinates and through tau uniform rows. Blocks after the last one are zero. A
/// bucket holds sums of F: over GF(2^n) these are database words byte for byte, over a prime field they take
/// f.sum_bytes() each. Const and thread-safe.
template <SharingField F>
class Encoder {
 public:
  using Elem = typename F::Elem;
  using Sum = typename F::Sum;

  /// An encoder for the buckets of `servers`, which are positions in the encoding's list, in this order.
  /// Empty: all servers. With tau = 0 a server that holds the plain database can make its own bucket alone.
  /// Lagrange rows depend on g mod M/u: up to 2^20 elements of them are computed once; if there are more,
  /// they are computed again for each row.
  /// InvalidArgument: there is no such server, or the encoding is over another field. ResourceExhausted: no
  /// memory.
  static Result<Encoder> create(const strassen::Engine<F>& engine, const Encoding& encoding,
                                std::vector<std::size_t> servers = {});

  const Encoding& encoding() const noexcept { return encoding_; }
  std::size_t buckets() const noexcept { return x_.size(); }

  /// Encodes rows first_row .. first_row + n - 1 of every bucket. Costs (u + tau) s multiply-adds a row. The
  /// result is the same for every number of threads.
  /// On input `blocks` holds the database words of blocks first_row u, first_row u + 1, ...: up to u n rows
  /// of s words; missing rows are zero. `noise` holds tau n rows of s uniform elements, tau for each row: the
  /// same for all buckets of one database, secret from every server, and never used again.
  /// On output rows j n .. j n + n - 1 of `out` belong to bucket j; `out` has buckets() * n rows of s sums.
  /// InvalidArgument: the shapes do not fit.
  Result<void> encode(std::uint64_t first_row, matrix::ConstView<std::byte> blocks,
                      matrix::ConstView<Elem> noise, matrix::View<Sum> out,
                      const strassen::ExecOptions& exec = {}) const;

 private:
  Encoder(const strassen::Engine<F>& engine, const Encoding& encoding)
      : engine_(engine), encoding_(encoding) {}
  Result<matrix::Matrix<Elem>> lagrange_rows(std::uint64_t row) const;

  strassen::Engine<F> engine_;
  Encoding encoding_;
  std::vector<Elem> x_, noise_nodes_;
  std::vector<matrix::Matrix<Elem>> cache_;  // by row mod M/u; empty if there are too many
};

/// Writes sums of a bucket as database words, so that the bucket is a database like any other. False if a sum
/// is not a word. That never happens over GF(2^n). Over a prime field p > 2^w it happens for p - 2^w of p
/// values: 7 of about 2^160 in W160, 21 of about 2^48 in W48. Random data hardly ever give such a sum, but
/// whoever chooses records can make one. The remedy is another x_j, or to store sums.
template <Field F>
[[nodiscard]] bool store_words(const F& f, std::span<const typename F::Sum> sums, MutableByteSpan words) {
  PIRX_CHECK(words.size() == sums.size() * f.word_bytes());
  bool good = true;
  for (std::size_t i = 0; i < sums.size(); ++i) good &= f.store_word(sums[i], &words[i * f.word_bytes()]);
  return good;
}

}  // namespace pirx::batchcodes
