// KeyFilter: a keyed database as a client sees it. Which three rows to add up for a key, and what their sum
// says (docs/protocols/keyword.md). Binary fuse filters: Graf and Lemire 2022.
#pragma once

#include <array>

#include "pirx/database/geometry.h"

namespace pirx::database {

/// Const and thread-safe. Keys are secrets of the client: time and memory accesses depend on their lengths
/// only, and for read() on whether there is a record, which the client may know and nobody else.
class KeyFilter {
 public:
  /// InvalidArgument when the database is not keyed.
  static Result<KeyFilter> create(const Geometry& geometry);

  struct Place {
    std::array<std::uint64_t, 3> rows{};  ///< distinct, ascending
    std::uint64_t offset = 0;             ///< of the slot within each of them
  };
  Place place(std::string_view key) const;

  /// The record out of the sum (XOR) of the rows of place(key), row_bytes() long; nothing when the database
  /// has no such key. A sum that is damaged, or of other rows, looks like a missing key: who trusts the sum
  /// trusts the absence. A record of another key is taken for this one's with probability 2^-128.
  /// InvalidArgument: another length. DataLoss: the builder lied.
  Result<std::optional<Bytes>> read(std::string_view key, ByteSpan row_sum) const;
  /// The same from the slot at place(key).offset alone, slot_bytes() long.
  Result<std::optional<Bytes>> read_slot(std::string_view key, ByteSpan slot) const;
  /// The builder's side: what the three slots of `key` must add up to. `slot` has slot_bytes() bytes, `data`
  /// at most record_bytes(), exactly so when lengths do not vary; it may lie in the slot, where it belongs.
  void fill_slot(std::string_view key, ByteSpan data, MutableByteSpan slot) const;

 private:
  explicit KeyFilter(const Geometry& geometry) : geometry_(geometry) {}
  Geometry geometry_;
};

}  // namespace pirx::database
