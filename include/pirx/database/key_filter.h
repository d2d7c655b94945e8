// SPDX-License-Identifier: Apache-2.0
// KeyFilter: says which three rows of a keyed database add up to the record of a key, and reads the record
// out of their sum (docs/protocols/keyword.md). It filters nothing. Its name comes from the binary fuse
// filters (Graf and Lemire 2022) by which such databases are built.
#pragma once

#include <array>

#include "pirx/database/geometry.h"

namespace pirx::database {

/// Const and thread-safe. A key is a secret of the client, and so is whether it has a record: instructions
/// and addresses depend only on the geometry and on the lengths of the keys.
class KeyFilter {
 public:
  /// InvalidArgument: the database is not keyed.
  static Result<KeyFilter> create(const Geometry& geometry);

  struct Place {
    std::array<std::uint64_t, 3> rows{};  ///< distinct, ascending
    std::uint64_t offset = 0;             ///< of the slot in each of them, in bytes
  };
  /// The three rows whose sum has the record of `key`.
  Place place(std::string_view key) const;

  /// The result of a look-up. Until its members are called, nothing takes a time that depends on whether
  /// there is a record.
  class Found {
   public:
    bool has_value() const noexcept;
    /// The record, or nothing.
    operator std::optional<Bytes>() &&;

   private:
    friend class KeyFilter;
    Found(Bytes slot, std::uint64_t length, std::uint64_t present)
        : slot_(std::move(slot)), length_(length), present_(present) {}
    Bytes slot_;  ///< record_bytes() long
    std::uint64_t length_, present_;
  };
  /// Reads the record of `key`.
  /// On input `row_sum` is the sum (XOR) of the rows of place(key), row_bytes() long.
  /// On output there is a record, or nothing if the database has no such key. A sum that is damaged, or of
  /// other rows, looks like a missing key, so trust an absence no more than the sum. A record of another key
  /// is taken for this key's with probability 2^-128.
  /// InvalidArgument: the length is wrong. DataLoss: the record is not what a correct builder writes.
  Result<Found> read(std::string_view key, ByteSpan row_sum) const;
  /// The same from the sum of the slots at place(key).offset alone, slot_bytes() long.
  Result<Found> read_slot(std::string_view key, ByteSpan slot) const;
  /// For the builder: writes to `slot` what the three slots of `key` must add up to. On input `slot` has
  /// slot_bytes() bytes, and `data` at most record_bytes(), or exactly as many if lengths do not vary. `data`
  /// may lie in `slot`, at its final place.
  void fill_slot(std::string_view key, ByteSpan data, MutableByteSpan slot) const;

 private:
  explicit KeyFilter(const Geometry& geometry) : geometry_(geometry) {}
  Geometry geometry_;
};

}  // namespace pirx::database
