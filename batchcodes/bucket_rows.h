// SPDX-License-Identifier: Apache-2.0
// Makes rows of buckets, with fresh noise. Both those who write whole buckets and those who update them use
// it.
#pragma once

#include "pirx/base/rng.h"
#include "pirx/batchcodes/encoder.h"
#include "pirx/database/database.h"

namespace pirx::batchcodes {

/// A share over a prime field may be too large for a word. Files of shares of which none was tell something
/// of the database: with words of 8 bits, one file rules out some values of each byte. From 128 bits on, that
/// is less than 2^-64 for any file.
inline Result<void> check_noise(const FieldTag& field, unsigned independence) {
  if (independence == 0 || field.kind == FieldKind::kBinary || field.bits > 128) return {};
  return invalid("with independence above 0 the words of " + field.name() +
                 " are too short for shares that tell nothing: encode over gf2_8, gf2_16, w160, or prime128 "
                 "or a longer one");
}

/// Encodes runs of bucket rows for `servers` (positions in the encoding's list) of one plain database. Not
/// thread-safe: it draws noise.
template <SharingField F>
class BucketRows {
 public:
  static Result<BucketRows> create(const F& f, const Encoding& encoding, std::vector<std::size_t> servers,
                                   const database::Database& plain, int threads) {
    PIRX_ASSIGN(auto encoder, Encoder<F>::create(strassen::Engine<F>(f), encoding, servers));
    PIRX_ASSIGN(auto rng, Rng::from_os());
    return BucketRows(f, std::move(encoder), std::move(servers), std::move(rng), plain, threads);
  }

  std::size_t buckets() const noexcept { return encoder_.buckets(); }
  /// Of a row, without what is zero behind it.
  std::size_t row_bytes() const noexcept { return words_ * f_.word_bytes(); }
  /// How many rows to encode at once: as many as some tens of MiB hold.
  std::size_t band() const noexcept {
    constexpr std::size_t kBytes = std::size_t{32} << 20;
    const std::size_t each = (buckets() + encoder_.encoding().spec().independence) * words_ * sizeof(Sum);
    return std::max<std::size_t>(1, kBytes / std::max<std::size_t>(each, 1));
  }

  /// Rows first .. first + n - 1 of every bucket, until the next call. What lies beyond the plain database
  /// is zero.
  Result<void> encode(std::uint64_t first, std::size_t n) {
    const auto& spec = encoder_.encoding().spec();
    const auto rows = plain_->rows();
    const std::uint64_t begin = std::min<std::uint64_t>(first * spec.arity, rows.rows);
    const std::uint64_t end = std::min<std::uint64_t>((first + n) * spec.arity, rows.rows);
    if (sums_.rows() != buckets() * n) {
      PIRX_ASSIGN(sums_, matrix::Matrix<Sum>::create(buckets() * n, words_));
      PIRX_ASSIGN(noise_, matrix::Matrix<Elem>::create(n * spec.independence, words_));
    }
    for (std::size_t i = 0; i < noise_.rows(); ++i) {
      f_.random_fill(rng_, std::span<Elem>(noise_.row(i), words_));
    }
    count_ = n;
    const matrix::ConstView<std::byte> blocks{
        rows.row(0) + begin * rows.stride, static_cast<std::size_t>(end - begin), row_bytes(), rows.stride};
    return encoder_.encode(first, blocks, std::as_const(noise_).view(), sums_.view(), {.threads = threads_});
  }

  /// Row i of the encoded ones of a bucket, as row_bytes() of words. InvalidArgument when a sum is no word.
  Result<void> store(std::size_t bucket, std::size_t i, MutableByteSpan words) const {
    const std::span<const Sum> sums(sums_.row(bucket * count_ + i), words_);
    if (store_words(f_, sums, words)) return {};
    return invalid("a row of the bucket for coordinate " +
                   std::to_string(encoder_.encoding().spec().coordinates[servers_[bucket]]) +
                   " has a value that no word of " + f_.tag().name() +
                   " can hold: choose another coordinate for that server (--coordinates), or gf2_8 or "
                   "gf2_16, where this never happens");
  }

 private:
  using Elem = typename F::Elem;
  using Sum = typename F::Sum;
  BucketRows(const F& f, Encoder<F> encoder, std::vector<std::size_t> servers, Rng rng,
             const database::Database& plain, int threads)
      : f_(f),
        encoder_(std::move(encoder)),
        servers_(std::move(servers)),
        rng_(std::move(rng)),
        plain_(&plain),
        words_(static_cast<std::size_t>(plain.geometry().words_per_row(f.word_bytes()))),
        threads_(threads) {}

  F f_;
  Encoder<F> encoder_;
  std::vector<std::size_t> servers_;
  Rng rng_;
  const database::Database* plain_;
  std::size_t words_, count_ = 0;
  int threads_;
  matrix::Matrix<Sum> sums_;
  matrix::Matrix<Elem> noise_;
};

}  // namespace pirx::batchcodes
