// VerticalDatabase<F>: the buckets of a vertical code over one field.
#pragma once

#include "pirx/batchcodes/vertical.h"
#include "pirx/strassen/engine.h"

namespace pirx::batchcodes {

/// All buckets of a database. Buckets of plain blocks are views of it; only the sums are stored. Adding
/// records' bytes by exclusive or goes with every scheme whatever its own field: F = gf2e::Gf2 has a byte for
/// a word. With the scheme's own F, sums of words are formed in it; over a prime field they are no words but
/// take f.sum_bytes(). Immutable; cheap to move. Borrows the database, which must outlive it.
template <Field F>
class VerticalDatabase {
 public:
  using Sum = typename F::Sum;

  /// D: a row a block, whole words of F. Every row of a bucket of sums costs one addition of rows for each
  /// addend but the first: L - 1 in a subcube code. InvalidArgument: bytes that are no whole words.
  /// ResourceExhausted. The same for every number of threads.
  static Result<VerticalDatabase> create(const strassen::Engine<F>& engine, const VerticalCode& code,
                                         matrix::ConstView<std::byte> D,
                                         const strassen::ExecOptions& exec = {});

  std::size_t buckets() const noexcept { return plain_.size(); }
  /// Rows that a query to any bucket has.
  std::size_t rows() const noexcept { return rows_; }
  bool is_plain(std::size_t bucket) const noexcept { return sum_index_[bucket] == kPlain; }
  /// The words of a plain bucket; over a field of characteristic two, of any bucket. A plain one may have
  /// fewer than rows() rows: the rest is zero, so the server leaves the last elements of a query vector away.
  matrix::ConstView<std::byte> words(std::size_t bucket) const noexcept;
  /// The rows of a bucket of sums.
  matrix::ConstView<Sum> sums(std::size_t bucket) const noexcept {
    PIRX_CHECK(!is_plain(bucket));
    return sums_.view().window(sum_index_[bucket] * rows_, 0, rows_, sums_.cols());
  }
  /// Rows stored beside the database: N - r, up to rounding.
  std::size_t stored_rows() const noexcept { return sums_.rows(); }

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
