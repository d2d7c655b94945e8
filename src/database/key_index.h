// SPDX-License-Identifier: Apache-2.0
// KeyIndex: reads the key section, which is a sorted table before the keys themselves. It checks
// everything that it reads, because the section may have been damaged since the file was opened.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "pirx/base/bytes.h"

namespace pirx::database {

inline constexpr std::uint64_t kKeyIndexHeaderBytes = 16;  ///< count u64, bytes of all keys u64
inline constexpr std::uint64_t kKeyEntryBytes = 24;        ///< offset u64, length u32, zero u32, position u64

/// Bytes of the section for `count` keys (below 2^56) of `key_bytes` in total.
constexpr std::uint64_t key_index_size(std::uint64_t count, std::uint64_t key_bytes) noexcept {
  return kKeyIndexHeaderBytes + count * kKeyEntryBytes + key_bytes;
}

class KeyIndex {
 public:
  /// No keys.
  KeyIndex() = default;
  /// `section` is at least key_index_size(records, 0) bytes and stays. DataLoss when its header does not fit.
  static Result<KeyIndex> create(ByteSpan section, std::uint64_t records);

  /// Lowest position with that key. DataLoss when an entry on the way is impossible.
  Result<std::optional<std::uint64_t>> find(std::string_view key) const;
  /// In key order until `visit` returns false. DataLoss at the first impossible entry.
  Result<void> for_each(const std::function<bool(std::string_view key, std::uint64_t position)>& visit) const;
  /// Reads everything: keys lie side by side in strictly ascending (key, position), every position occurs
  /// once.
  Result<void> verify() const;

 private:
  struct Entry {
    std::string_view key;
    std::uint64_t offset = 0, position = 0;
  };
  Result<Entry> entry(std::uint64_t i) const;

  std::uint64_t count_ = 0;
  const std::byte* entries_ = nullptr;
  std::string_view keys_;
};

}  // namespace pirx::database
