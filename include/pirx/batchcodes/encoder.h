// Encoder<F>: a plain database into one bucket per server (paper 002, Henry 2016, section 3.1).
#pragma once

#include "pirx/batchcodes/encoding.h"
#include "pirx/batchcodes/sharing.h"

namespace pirx::batchcodes {

/// Row g of server j's bucket is the value at x_j of the polynomial through blocks ug .. ug+u-1 at their
/// coordinates and through tau uniform rows; blocks beyond the last one are zero. A bucket holds sums of F:
/// over GF(2^n) these are database words byte for byte, over a prime field they take f.sum_bytes() each.
/// Const and thread-safe.
template <SharingField F>
class Encoder {
 public:
  using Elem = typename F::Elem;
  using Sum = typename F::Sum;

  /// For the buckets of `servers` (positions in the encoding's list), in that order; empty: of all. A server
  /// that holds the plain database needs no other one to make its own bucket while tau = 0. InvalidArgument:
  /// no such server, or an encoding over another field. ResourceExhausted. Computes the Lagrange rows of up
  /// to 2^20 elements once (they depend on g mod M/u); beyond that, anew for each row.
  static Result<Encoder> create(const strassen::Engine<F>& engine, const Encoding& encoding,
                                std::vector<std::size_t> servers = {});

  const Encoding& encoding() const noexcept { return encoding_; }
  std::size_t buckets() const noexcept { return x_.size(); }

  /// Rows first_row .. first_row + n - 1 of every bucket: bucket j's are rows j n .. j n + n - 1 of `out`,
  /// which has buckets() * n rows of s sums. blocks: the database words of blocks first_row u, ...: up to u n
  /// rows of s words (what is missing is zero). noise: tau n rows of s uniform elements, tau for each row,
  /// secret from every server and never used again; the same for all buckets of one database.
  /// InvalidArgument: shapes that do not fit. Cost (u + tau) s multiply-adds a row. The same result for every
  /// number of threads.
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
  std::vector<matrix::Matrix<Elem>> cache_;  // by row mod M/u; empty: too many
};

/// Writes sums of a bucket as database words, so that the bucket is a database like any other. False when one
/// of them is none: never over GF(2^n); over a prime field p > 2^w for p - 2^w of p values, 7 of 2^160 in
/// W160 and 21 of 2^48 in W48. Random data meet one hardly ever, but whoever chooses records can make one:
/// another x_j, or sums, then help.
template <Field F>
[[nodiscard]] bool store_words(const F& f, std::span<const typename F::Sum> sums, MutableByteSpan words) {
  PIRX_CHECK(words.size() == sums.size() * f.word_bytes());
  bool good = true;
  for (std::size_t i = 0; i < sums.size(); ++i) good &= f.store_word(sums[i], &words[i * f.word_bytes()]);
  return good;
}

}  // namespace pirx::batchcodes
