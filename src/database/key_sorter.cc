// SPDX-License-Identifier: Apache-2.0
// Sorts keys with an external merge sort.
#include "key_sorter.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace pirx::database {
namespace {

constexpr std::uint64_t kLeastMemoryBytes = std::uint64_t{64} << 10;
/// Offsets of keys, in half of it, have 32 bits.
constexpr std::uint64_t kMostMemoryBytes = std::uint64_t{4} << 30;

/// Up to eight bytes as a number that has their order.
std::uint64_t order_of(std::string_view bytes) noexcept {
  std::uint64_t order = 0;
  for (std::size_t i = 0; i < sizeof order; ++i) {
    order = order << 8 | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u);
  }
  return order;
}

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
    : target_(std::move(target)),
      memory_bytes_(std::clamp(memory_bytes, kLeastMemoryBytes, kMostMemoryBytes)) {}

Result<void> KeySorter::add(std::string_view key, std::uint64_t position) {
  PIRX_CHECK(key.size() <= kMaxKeyBytes);
  // Vectors grow by doubling, so what is in use may be half of what is held.
  if (2 * (text_.size() + key.size() + (entries_.size() + 1) * sizeof(Entry)) > memory_bytes_ &&
      !entries_.empty()) {
    PIRX_TRY(write_run());
  }
  entries_.push_back({.order = 0,
                      .position = position,
                      .offset = static_cast<std::uint32_t>(text_.size()),
                      .length = static_cast<std::uint16_t>(key.size())});
  text_ += key;
  sorted_ = false;
  ++count_;
  key_bytes_ += key.size();
  return {};
}

std::string_view KeySorter::key_of(const Entry& entry) const {
  return std::string_view(text_).substr(entry.offset, entry.length);
}

void KeySorter::sort_entries() {
  if (std::exchange(sorted_, true) || entries_.empty()) return;
  // Keys are all over the memory, so most comparisons must do without them: eight bytes behind what all keys
  // begin with ("user000000") settle nearly all.
  std::string_view shared = key_of(entries_.front());
  for (const Entry& entry : entries_) {
    const auto key = key_of(entry);
    const auto differs = std::mismatch(shared.begin(), shared.end(), key.begin(), key.end()).first;
    shared = shared.substr(0, static_cast<std::size_t>(differs - shared.begin()));
  }
  for (Entry& entry : entries_) entry.order = order_of(key_of(entry).substr(shared.size()));
  std::sort(entries_.begin(), entries_.end(), [this](const Entry& a, const Entry& b) {
    if (a.order != b.order) return a.order < b.order;
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
    const std::uint32_t length = entry.length;
    PIRX_TRY(spool_->append(std::as_bytes(std::span(&length, 1))));
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
