// SPDX-License-Identifier: Apache-2.0
// VerticalDatabase<F>: the buckets of a vertical code over one field.
#pragma once

#include "pirx/batchcodes/vertical.h"
#include "pirx/strassen/engine.h"

namespace pirx::batchcodes {

/// All buckets of a database. Buckets of plain blocks are views of the database; only sums are stored. With F
/// = gf2e::Gf2, whose word is a byte, records are added by exclusive or, which goes with every scheme,
/// whatever its field. With the scheme's own F, words are added in F; over a prime field the sums are not
/// words but take f.sum_bytes(). Immutable; cheap to move. Borrows the database, which must outlive it.
template <Field F>
class VerticalDatabase {
 public:
  using Sum = typename F::Sum;

  /// On input D has one row for each block, of whole words of F. Every row of a bucket of sums costs one
  /// addition of rows for each addend but the first: L - 1 in a subcube code. The result is the same for
  /// every number of threads. InvalidArgument: the bytes are not whole words. ResourceExhausted: no memory.
  static Result<VerticalDatabase> create(const strassen::Engine<F>& engine, const VerticalCode& code,
                                         matrix::ConstView<std::byte> D,
                                         const strassen::ExecOptions& exec = {});

  std::size_t buckets() const noexcept { return plain_.size(); }
  /// The rows in a query to any bucket.
  std::size_t rows() const noexcept { return rows_; }
  bool is_plain(std::size_t bucket) const noexcept { return sum_index_[bucket] == kPlain; }
  /// The words of a plain bucket; over a field of characteristic two, of any bucket. A plain bucket may have
  /// fewer than rows() rows: the rest is zero, so the server ignores the last elements of a query vector.
  matrix::ConstView<std::byte> words(std::size_t bucket) const noexcept;
  /// The rows of a bucket of sums.
  matrix::ConstView<Sum> sums(std::size_t bucket) const noexcept {
    PIRX_CHECK(!is_plain(bucket));
    return sums_.view().window(sum_index_[bucket] * rows_, 0, rows_, sums_.cols());
  }

 private:
  static constexpr std::size_t kPlain = ~std::size_t{0};
  VerticalDatabase() = default;
  bool binary_ = false;
  std::size_t rows_ = 0;
  std::vector<matrix::ConstView<std::byte>> plain_;  // empty views for buckets of sums
  std::vector<std::size_t> sum_index_;
  matrix::Matrix<Sum> sums_;
};

}  // namespace pirx::batchcodes
