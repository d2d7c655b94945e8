// SPDX-License-Identifier: Apache-2.0
// Reads and fills the slots of a keyed database: [length u32 if variable][digest 16 bytes][data][zeros].
// The digest covers the seed, the key and everything else in the slot. So one comparison tells a missing key
// or a damaged sum, in the same time for every sum.
#include "pirx/database/key_filter.h"

#include <algorithm>

#include "key_hash.h"
#include "src/base/constant_time.h"

namespace pirx::database {
namespace {

std::array<std::byte, kDigestBytes> keyed_digest(const Digest& seed, std::string_view key, ByteSpan length,
                                                 ByteSpan body) {
  std::array<std::byte, 8> key_bytes;
  store_le(key_bytes.data(), std::uint64_t{key.size()});
  const Digest digest =
      sha256_of({as_bytes("pirx keyed record v2"), seed, key_bytes, as_bytes(key), length, body});
  std::array<std::byte, kDigestBytes> result;
  std::copy_n(digest.begin(), kDigestBytes, result.begin());
  return result;
}

}  // namespace

Result<KeyFilter> KeyFilter::create(const Geometry& geometry) {
  if (!geometry.keyed()) {
    return invalid(
        "the database is not keyed: its records are asked for by position; `pirx db build --keyed` "
        "makes one that is");
  }
  return KeyFilter(geometry);
}

KeyFilter::Place KeyFilter::place(std::string_view key) const {
  const FilterSpec& filter = *geometry_.spec().filter;
  const KeyHash hash = hash_key(filter.seed, key);
  return {rows_of(hash.row, filter),
          scale_down(hash.column, geometry_.spec().records_per_row) * geometry_.slot_bytes()};
}

bool KeyFilter::Found::has_value() const noexcept { return reveal(present_); }

KeyFilter::Found::operator std::optional<Bytes>() && {
  if (!reveal(present_)) return std::nullopt;
  slot_.resize(static_cast<std::size_t>(reveal_number(length_)));  // the caller gets a record of that length
  return std::move(slot_);
}

Result<KeyFilter::Found> KeyFilter::read(std::string_view key, ByteSpan row_sum) const {
  if (row_sum.size() != geometry_.row_bytes()) {
    return invalid("a sum of rows has " + std::to_string(geometry_.row_bytes()) + " bytes");
  }
  Bytes slot(static_cast<std::size_t>(geometry_.slot_bytes()));
  cut_out(row_sum, place(key).offset, slot);
  return read_slot(key, slot);
}

Result<KeyFilter::Found> KeyFilter::read_slot(std::string_view key, ByteSpan slot) const {
  if (slot.size() != geometry_.slot_bytes()) {
    return invalid("a slot has " + std::to_string(geometry_.slot_bytes()) + " bytes");
  }
  const ByteSpan length = slot.first(geometry_.spec().variable_length ? kLengthBytes : 0);
  const ByteSpan digest = slot.subspan(length.size(), kDigestBytes);
  const ByteSpan body = slot.subspan(length.size() + kDigestBytes);
  const auto expected = keyed_digest(geometry_.spec().filter->seed, key, length, body);
  const std::uint64_t present = mask_equal(difference(expected, digest), 0);
  const std::uint64_t bytes =
      length.empty() ? geometry_.record_bytes() : load_le<std::uint32_t>(length.data());
  if (reveal(present & mask_less(geometry_.record_bytes(), bytes))) {
    return fail(ErrorCode::kDataLoss,
                "the record is damaged: its stored length exceeds the longest record, " +
                    std::to_string(geometry_.record_bytes()) + " bytes");
  }
  return Found(Bytes(body.begin(), body.end()), bytes, present);
}

void KeyFilter::fill_slot(std::string_view key, ByteSpan data, MutableByteSpan slot) const {
  PIRX_CHECK(slot.size() == geometry_.slot_bytes() && data.size() <= geometry_.record_bytes());
  const bool variable = geometry_.spec().variable_length;
  PIRX_CHECK(variable || data.size() == geometry_.record_bytes());
  const MutableByteSpan length = slot.first(variable ? kLengthBytes : 0);
  const MutableByteSpan body = slot.subspan(length.size() + kDigestBytes);
  if (!data.empty()) std::memmove(body.data(), data.data(), data.size());
  std::fill(body.begin() + static_cast<std::ptrdiff_t>(data.size()), body.end(), std::byte{0});
  if (variable) store_le(length.data(), static_cast<std::uint32_t>(data.size()));
  const auto digest = keyed_digest(geometry_.spec().filter->seed, key, length, body);
  std::copy(digest.begin(), digest.end(), slot.begin() + static_cast<std::ptrdiff_t>(length.size()));
}

}  // namespace pirx::database
