// KeyFilter: a keyed database as a client sees it. Which three rows to add up for a key, and what their sum
// says (docs/protocols/keyword.md). Binary fuse filters: Graf and Lemire 2022.
#pragma once

#include <array>

#include "pirx/database/geometry.h"

namespace pirx::database {

/// Const and thread-safe. Keys are secrets of the client, and so is whether there is a record: instructions
/// and memory accesses depend on the geometry and the lengths of the keys only.
class KeyFilter {
 public:
  /// InvalidArgument when the database is not keyed.
  static Result<KeyFilter> create(const Geometry& geometry);

  struct Place {
    std::array<std::uint64_t, 3> rows{};  ///< distinct, ascending
    std::uint64_t offset = 0;             ///< of the slot within each of them
  };
  Place place(std::string_view key) const;

  /// What a sum says of a key. Looking into it is what shows whether there is a record.
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
  /// The record out of the sum (XOR) of the rows of place(key), row_bytes() long; nothing when the database
  /// has no such key. A sum that is damaged, or of other rows, looks like a missing key: who trusts the sum
  /// trusts the absence. A record of another key is taken for this one's with probability 2^-128.
  /// InvalidArgument: another length. DataLoss: the builder lied.
  Result<Found> read(std::string_view key, ByteSpan row_sum) const;
  /// The same from the slot at place(key).offset alone, slot_bytes() long.
  Result<Found> read_slot(std::string_view key, ByteSpan slot) const;
  /// The builder's side: what the three slots of `key` must add up to. `slot` has slot_bytes() bytes, `data`
  /// at most record_bytes(), exactly so when lengths do not vary; it may lie in the slot, where it belongs.
  void fill_slot(std::string_view key, ByteSpan data, MutableByteSpan slot) const;

 private:
  explicit KeyFilter(const Geometry& geometry) : geometry_(geometry) {}
  Geometry geometry_;
};

}  // namespace pirx::database
