// SPDX-License-Identifier: Apache-2.0
// Encoding: the settings of a polynomial batch code as one validated value, the positions of blocks under
// these settings, and the plan that puts wanted blocks into query vectors (paper 002, Henry 2016).
#pragma once

#include <span>
#include <vector>

#include "pirx/base/field.h"
#include "pirx/base/secret.h"

namespace pirx::batchcodes {

/// A database of r blocks is held by l servers as encoded buckets; a query vector fetches up to q blocks.
/// Each bucket row is the value, at the server's coordinate, of a polynomial through u blocks and tau random
/// rows. Each query vector is the value of a polynomial through q unit vectors with t random coefficients. A
/// reply is the value of their product, a polynomial of degree d. The papers' schemes are settings:
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
    /// M: block i lies at coordinate i mod M; 0 means M = u. Not used without data coordinates (u = 1, tau =
    /// 0): blocks are then constants, and each query may choose any coordinates.
    std::uint64_t modulus = 0;
    std::vector<std::uint64_t> coordinates;  ///< x_j, one for each server: labels of distinct field elements
  };
  /// InvalidArgument names the limit that was broken: an unknown field; t, q or u of 0; fewer than d + 1
  /// servers; an M that is no multiple of u or is below q; a field without room for M + l coordinates (q + l
  /// without data coordinates); an x_j that is repeated, not an element, or a data coordinate.
  static Result<Encoding> create(Spec spec);

  /// The smallest M for which no two of `blocks` blocks collide: u * ceil(blocks / u).
  static std::uint64_t batch_modulus(unsigned arity, std::uint64_t blocks) noexcept;
  /// Coordinates for `servers` servers: x_j = |F| - 1 - j, so that data coordinates can grow from 0 upward.
  /// In prime fields above 2^32, x_j = 0.618 |F| - j: with x near -1, rows of small words would give small
  /// negative sums, which are not words (see store_words), and multiples of the golden ratio stay away from
  /// 0. InvalidArgument: the field is unknown or too small.
  static Result<std::vector<std::uint64_t>> suggested_coordinates(const FieldTag& field, unsigned servers);
  /// min(|F|, 2^64 - 1). InvalidArgument: the tag names no field.
  static Result<std::uint64_t> field_size(const FieldTag& field);

  const Spec& spec() const noexcept { return spec_; }
  unsigned servers() const noexcept { return static_cast<unsigned>(spec_.coordinates.size()); }  ///< l
  /// d = t + q - 1 + tau + u - 1. Replies are polynomials of at most this degree, also if a query leaves
  /// slots blank.
  unsigned degree() const noexcept {
    return spec_.threshold + spec_.ramp + spec_.arity + spec_.independence - 2;
  }
  /// False if blocks are the same on every server (u = 1, tau = 0). Then no two blocks ever collide.
  bool has_data_coordinates() const noexcept { return spec_.arity > 1 || spec_.independence > 0; }

  /// R = ceil(blocks / u): the rows of a bucket, and the components of a query vector.
  std::uint64_t rows(std::uint64_t blocks) const noexcept;
  /// Whether every choice of q of the `blocks` blocks fits in one query vector: M >= u * ceil(blocks / u), or
  /// there are no data coordinates.
  bool collision_free(std::uint64_t blocks) const noexcept;

  /// The row of a block, and the label of the coordinate at which a query vector has it in slot `slot` < q.
  /// Two blocks with the same coordinate cannot share a query vector. Timing and addresses do not depend on
  /// `block`.
  struct Position {
    std::uint64_t row = 0;
    std::uint64_t coordinate = 0;
  };
  Position position(std::uint64_t block, std::size_t slot) const noexcept;

 private:
  explicit Encoding(Spec spec);
  Spec spec_;
  std::vector<std::uint64_t> free_labels_;  // one for each slot; used without data coordinates
};

/// What one slot of a query vector asks for. Secret.
struct Slot {
  std::uint64_t block = 0;
  std::uint64_t filled = 0;  ///< all ones: wanted; 0: blank, and `block` is 0
};

/// Says which slot of which query vector fetches which wanted block. Secret; wiped on destruction. The shape
/// (queries x q slots) is chosen by the caller and does not depend on the indices.
class BatchPlan {
 public:
  std::size_t queries() const noexcept { return slots_.size() / width_; }
  /// The q slots of query vector i. With addends > 1 in plan_batch(), a slot is that many neighbouring
  /// entries.
  std::span<const Slot> query(std::size_t i) const noexcept {
    return slots_.expose().subspan(i * width_, width_);
  }
  /// Where the k-th wanted block comes back: the number of its query times q, plus its slot. A block that is
  /// wanted twice is fetched once.
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

/// Puts the wanted blocks into exactly `queries` query vectors of q slots, so that messages have the same
/// shape for all indices. Remaining slots are blank. With addends > 1 (only without data coordinates), that
/// many neighbours in `wanted` share a slot, which comes back as their sum. The work is quadratic in the
/// number of slots. Time and addresses depend on the indices only if the call fails.
/// OutOfRange: a block is not below `blocks`. InvalidArgument: nothing is wanted, or more than queries * q
/// blocks, or more than `queries` different blocks at one coordinate; nothing has been sent then.
Result<BatchPlan> plan_batch(const Encoding& encoding, std::uint64_t blocks,
                             std::span<const std::uint64_t> wanted, std::size_t queries,
                             std::size_t addends = 1);

}  // namespace pirx::batchcodes
