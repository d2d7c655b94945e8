// Encoding: the settings of a polynomial batch code as one validated value, where a block lies under them,
// and the plan that puts wanted blocks into query vectors (paper 002, Henry 2016).
#pragma once

#include <span>
#include <vector>

#include "pirx/base/field.h"
#include "pirx/base/secret.h"

namespace pirx::batchcodes {

/// l servers hold encoded buckets of a database of r blocks; a query vector fetches up to q blocks. Each
/// bucket row is a polynomial through u blocks (and tau random rows) at the server's coordinate, each query
/// vector a polynomial with t random coefficients through q unit vectors; a reply is their product, of degree
/// d. The named schemes are settings:
///
///   | scheme                        | t | q | u | tau | M                    |
///   |-------------------------------|---|---|---|-----|----------------------|
///   | Goldberg                      | t | 1 | 1 | 0   | -                    |
///   | ramp                          | t | q | 1 | 0   | -                    |
///   | u-ary                         | t | 1 | u | 0   | u                    |
///   | u-ary batch                   | t | q | u | 0   | batch_modulus(u, r)  |
///   | tau-independent               | t | 1 | 1 | tau | 1                    |
///   | tau-independent (u-ary) batch | t | q | u | tau | batch_modulus(u, r)  |
class Encoding {
 public:
  struct Spec {
    FieldTag field;
    unsigned threshold = 1;     ///< t: this many servers together learn nothing about the indices
    unsigned ramp = 1;          ///< q: blocks in one query vector
    unsigned arity = 1;         ///< u: blocks in one bucket row
    unsigned independence = 0;  ///< tau: this many servers together learn nothing about the database
    /// M: block i lies at coordinate i mod M; 0 stands for u. Without data coordinates (u = 1, tau = 0) it is
    /// not used: blocks are constants, and each query may take any coordinates.
    std::uint64_t modulus = 0;
    std::vector<std::uint64_t> coordinates;  ///< x_j, one a server: labels of distinct field elements
  };
  /// InvalidArgument, with the limit that was broken: an unknown field; t or q or u of 0; fewer than d + 1
  /// servers; M no multiple of u, or smaller than q; a field without room for M + l (else q + l) coordinates;
  /// an x_j that is repeated, no element, or a data coordinate.
  static Result<Encoding> create(Spec spec);

  /// The smallest M under which no two of `blocks` blocks collide: u * ceil(blocks / u).
  static std::uint64_t batch_modulus(unsigned arity, std::uint64_t blocks) noexcept;
  /// x_j = |F| - 1 - j, so that data coordinates can grow from 0 upward. In prime fields above 2^32 they are
  /// 0.618 |F| - j: at x near -1 rows of small words would have small negative sums, which are no words (see
  /// store_words), and multiples of the golden ratio keep clear of 0. InvalidArgument: an unknown field,
  /// or too few elements.
  static Result<std::vector<std::uint64_t>> suggested_coordinates(const FieldTag& field, unsigned servers);
  /// min(|F|, 2^64 - 1). InvalidArgument for a tag of no field.
  static Result<std::uint64_t> field_size(const FieldTag& field);

  const Spec& spec() const noexcept { return spec_; }
  unsigned servers() const noexcept { return static_cast<unsigned>(spec_.coordinates.size()); }  ///< l
  /// d = t + q - 1 + tau + u - 1: replies are polynomials of at most this degree, whatever a query leaves
  /// blank.
  unsigned degree() const noexcept {
    return spec_.threshold + spec_.ramp + spec_.arity + spec_.independence - 2;
  }
  /// False: blocks are the same on every server (u = 1, tau = 0), and no two blocks ever collide.
  bool has_data_coordinates() const noexcept { return spec_.arity > 1 || spec_.independence > 0; }

  /// R = ceil(blocks / u): rows of a bucket, and components of a query vector.
  std::uint64_t rows(std::uint64_t blocks) const noexcept;
  /// Whether any q of `blocks` blocks fit in one query vector: M >= u * ceil(blocks / u), or no coordinates.
  bool collision_free(std::uint64_t blocks) const noexcept;

  /// Row of a block, and the label of the coordinate where a query vector has it in slot `slot` < q. Blocks
  /// that share a coordinate cannot share a query vector. Timing and addresses do not depend on `block`.
  struct Position {
    std::uint64_t row = 0;
    std::uint64_t coordinate = 0;
  };
  Position position(std::uint64_t block, std::size_t slot) const noexcept;

 private:
  explicit Encoding(Spec spec);
  Spec spec_;
  std::vector<std::uint64_t> free_labels_;  // without data coordinates: one a slot
};

/// What one slot of a query vector asks for. Secret.
struct Slot {
  std::uint64_t block = 0;
  std::uint64_t filled = 0;  ///< all ones: wanted; 0: blank, `block` is 0
};

/// Which slot of which query vector fetches which wanted block. Secret, wiped. The shape (queries x q slots)
/// is the caller's, never the indices'.
class BatchPlan {
 public:
  std::size_t queries() const noexcept { return slots_.size() / width_; }
  /// The q slots of a query vector, each of as many neighbours as plan_batch was told to add.
  std::span<const Slot> query(std::size_t i) const noexcept {
    return slots_.expose().subspan(i * width_, width_);
  }
  /// Where the k-th wanted block comes back: the number of its query times q plus its slot. A block wanted
  /// twice is fetched once.
  std::size_t place(std::size_t k) const noexcept { return static_cast<std::size_t>(places_.expose()[k]); }

 private:
  friend Result<BatchPlan> plan_batch(const Encoding&, std::uint64_t, std::span<const std::uint64_t>,
                                      std::size_t, std::size_t);
  BatchPlan(std::size_t width, std::size_t queries, std::size_t wanted)
      : width_(width), slots_(width * queries), places_(wanted) {}
  std::size_t width_;
  SecretVector<Slot> slots_;
  SecretVector<std::uint64_t> places_;
};

/// Puts the wanted blocks into exactly `queries` query vectors of q slots, so that what is sent has one shape
/// for all indices; slots left over stay blank. Fails before anything is sent. OutOfRange: a block that is
/// not below `blocks`. InvalidArgument: nothing wanted, more than queries * q, or more than `queries`
/// different blocks at one coordinate. The work is quadratic in the number of slots; time and addresses
/// depend on the indices only in failing. addends > 1, without data coordinates only: so many neighbours in
/// `wanted` are one slot, which comes back as their sum.
Result<BatchPlan> plan_batch(const Encoding& encoding, std::uint64_t blocks,
                             std::span<const std::uint64_t> wanted, std::size_t queries,
                             std::size_t addends = 1);

}  // namespace pirx::batchcodes
