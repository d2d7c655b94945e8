// SPDX-License-Identifier: Apache-2.0
// KeySorter: sorts any number of keys by (key, position) with bounded memory. Sorted runs go to one
// scratch file and are merged when they are read.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "spool.h"

namespace pirx::database {

class KeySorter {
 public:
  using Visit = std::function<Result<void>(std::string_view key, std::uint64_t position)>;
  static constexpr std::size_t kMaxKeyBytes = 65535;

  /// Runs go beside `target` once keys take more than `memory_bytes` (64 KiB to 4 GiB are used).
  KeySorter(std::filesystem::path target, std::uint64_t memory_bytes);

  /// `key` has at most kMaxKeyBytes bytes. ResourceExhausted or Unavailable when a run cannot be written.
  Result<void> add(std::string_view key, std::uint64_t position);
  std::uint64_t count() const noexcept { return count_; }
  /// Bytes of all keys together.
  std::uint64_t key_bytes() const noexcept { return key_bytes_; }
  /// Visits all keys in order, as often as called. No add() afterwards.
  Result<void> for_each(const Visit& visit);

 private:
  struct Entry {
    std::uint64_t order;  ///< the bytes behind what all keys of `entries_` begin with, once these are sorted
    std::uint64_t position;
    std::uint32_t offset;  ///< in `text_`
    std::uint16_t length;
  };
  struct Run {
    std::uint64_t begin, end;
  };
  std::string_view key_of(const Entry& entry) const;
  void sort_entries();
  Result<void> write_run();

  std::filesystem::path target_;
  std::uint64_t memory_bytes_;
  std::uint64_t count_ = 0, key_bytes_ = 0;
  std::string text_;  ///< keys of `entries_`, one after another
  std::vector<Entry> entries_;
  bool sorted_ = false;
  std::optional<Spool> spool_;
  std::vector<Run> runs_;
};

}  // namespace pirx::database
