// SPDX-License-Identifier: Apache-2.0
// Sorts keys with an external merge sort.
#include "key_sorter.h"

#include <algorithm>
#include <queue>

namespace pirx::database {
namespace {

constexpr std::uint64_t kLeastMemoryBytes = std::uint64_t{64} << 10;

/// One run being merged: [length u32][position u64][key] each.
struct Cursor {
  SpoolReader reader;
  std::string key;
  std::uint64_t position = 0;

  /// False at the end of the run.
  Result<bool> next() {
    if (reader.done()) return false;
    PIRX_ASSIGN(const auto length, reader.get<std::uint32_t>());
    PIRX_ASSIGN(position, reader.get<std::uint64_t>());
    key.resize(length);
    PIRX_TRY(reader.read(std::as_writable_bytes(std::span(key))));
    return true;
  }
};

}  // namespace

KeySorter::KeySorter(std::filesystem::path target, std::uint64_t memory_bytes)
    : target_(std::move(target)), memory_bytes_(std::max(memory_bytes, kLeastMemoryBytes)) {}

Result<void> KeySorter::add(std::string_view key, std::uint64_t position) {
  PIRX_CHECK(key.size() <= kMaxKeyBytes);
  // Vectors grow by doubling, so what is in use may be half of what is held.
  if (2 * (text_.size() + key.size() + (entries_.size() + 1) * sizeof(Entry)) > memory_bytes_ &&
      !entries_.empty()) {
    PIRX_TRY(write_run());
  }
  entries_.push_back({text_.size(), position, static_cast<std::uint32_t>(key.size())});
  text_ += key;
  ++count_;
  key_bytes_ += key.size();
  return {};
}

std::string_view KeySorter::key_of(const Entry& entry) const {
  return std::string_view(text_).substr(entry.offset, entry.length);
}

void KeySorter::sort_entries() {
  std::sort(entries_.begin(), entries_.end(), [this](const Entry& a, const Entry& b) {
    const int order = key_of(a).compare(key_of(b));
    return order != 0 ? order < 0 : a.position < b.position;
  });
}

Result<void> KeySorter::write_run() {
  if (!spool_) {
    PIRX_ASSIGN(spool_, Spool::create(target_));
  }
  sort_entries();
  const std::uint64_t begin = spool_->size();
  for (const Entry& entry : entries_) {
    const std::string_view key = key_of(entry);
    PIRX_TRY(spool_->append(std::as_bytes(std::span(&entry.length, 1))));
    PIRX_TRY(spool_->append(std::as_bytes(std::span(&entry.position, 1))));
    PIRX_TRY(spool_->append(as_bytes(key)));
  }
  runs_.push_back({begin, spool_->size()});
  entries_.clear();
  text_.clear();
  return {};
}

Result<void> KeySorter::for_each(const Visit& visit) {
  if (runs_.empty()) {
    sort_entries();
    for (const Entry& entry : entries_) PIRX_TRY(visit(key_of(entry), entry.position));
    return {};
  }
  if (!entries_.empty()) PIRX_TRY(write_run());
  PIRX_TRY(spool_->flush());
  entries_ = {};
  text_ = {};

  const std::uint64_t buffer_bytes = std::clamp<std::uint64_t>(memory_bytes_ / runs_.size(), 4096, 1 << 20);
  std::vector<Cursor> cursors;
  cursors.reserve(runs_.size());
  const auto later = [&cursors](std::size_t a, std::size_t b) {
    const int order = cursors[a].key.compare(cursors[b].key);
    return order != 0 ? order > 0 : cursors[a].position > cursors[b].position;
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> queue(later);
  for (const Run& run : runs_) {
    cursors.push_back(
        {SpoolReader(*spool_, run.begin, run.end, static_cast<std::size_t>(buffer_bytes)), {}, 0});
    PIRX_TRY(cursors.back().next());
    queue.push(cursors.size() - 1);
  }
  while (!queue.empty()) {
    const std::size_t least = queue.top();
    queue.pop();
    PIRX_TRY(visit(cursors[least].key, cursors[least].position));
    PIRX_ASSIGN(const bool more, cursors[least].next());
    if (more) queue.push(least);
  }
  return {};
}

}  // namespace pirx::database
