// SPDX-License-Identifier: Apache-2.0
// Searches, lists and checks the key section.
#include "key_index.h"

namespace pirx::database {

Result<KeyIndex> KeyIndex::create(ByteSpan section, std::uint64_t records) {
  PIRX_CHECK(section.size() >= key_index_size(records, 0));
  if (load_le<std::uint64_t>(section.data()) != records ||
      load_le<std::uint64_t>(section.data() + 8) != section.size() - key_index_size(records, 0)) {
    return fail(ErrorCode::kDataLoss, "the key index is damaged: its counts do not fit the file");
  }
  KeyIndex index;
  index.count_ = records;
  index.entries_ = section.data() + kKeyIndexHeaderBytes;
  index.keys_ = as_text(section.subspan(key_index_size(records, 0)));
  return index;
}

Result<KeyIndex::Entry> KeyIndex::entry(std::uint64_t i) const {
  const std::byte* at = entries_ + i * kKeyEntryBytes;
  const auto offset = load_le<std::uint64_t>(at);
  const auto length = load_le<std::uint32_t>(at + 8);
  const auto zero = load_le<std::uint32_t>(at + 12);
  const auto position = load_le<std::uint64_t>(at + 16);
  if (offset > keys_.size() || length > keys_.size() - offset || zero != 0 || position >= count_) {
    return fail(ErrorCode::kDataLoss,
                "the key index is damaged: an entry points outside of it; run `pirx db verify`");
  }
  return Entry{keys_.substr(offset, length), offset, position};
}

Result<std::optional<std::uint64_t>> KeyIndex::find(std::string_view key) const {
  std::uint64_t low = 0, high = count_;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    PIRX_ASSIGN(const Entry probe, entry(middle));
    if (probe.key < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == count_) return std::optional<std::uint64_t>();
  PIRX_ASSIGN(const Entry found, entry(low));
  return found.key == key ? std::optional(found.position) : std::nullopt;
}

Result<void> KeyIndex::for_each(
    const std::function<bool(std::string_view key, std::uint64_t position)>& visit) const {
  for (std::uint64_t i = 0; i < count_; ++i) {
    PIRX_ASSIGN(const Entry current, entry(i));
    if (!visit(current.key, current.position)) break;
  }
  return {};
}

Result<void> KeyIndex::verify() const {
  std::vector<bool> seen(count_);
  Entry previous;
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < count_; ++i) {
    PIRX_ASSIGN(const Entry current, entry(i));
    const bool ascending = i == 0 || previous.key < current.key ||
                           (previous.key == current.key && previous.position < current.position);
    if (!ascending || current.offset != end || seen[current.position]) {
      return fail(ErrorCode::kDataLoss, "the key index is damaged: keys are out of order or overlap");
    }
    seen[current.position] = true;
    end += current.key.size();
    previous = current;
  }
  if (end != keys_.size()) {
    return fail(ErrorCode::kDataLoss, "the key index is damaged: bytes behind the last key");
  }
  return {};
}

}  // namespace pirx::database
