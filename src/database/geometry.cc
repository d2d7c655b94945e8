// SPDX-License-Identifier: Apache-2.0
// Computes how records lie in rows, without overflow. Fills and reads slots, and encodes a geometry for
// the file header and the wire.
#include "pirx/database/geometry.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "layout.h"
#include "pirx/base/buffer.h"
#include "src/base/constant_time.h"

namespace pirx::database {
namespace {

constexpr std::uint64_t kMaxDataBytes = std::uint64_t{1} << 56;
/// A row may be read as words of up to 32 bytes without leaving its stride.
constexpr std::uint64_t kRowSlack = 31;
constexpr std::uint64_t kFlagVariableLength = 1, kFlagDigests = 2, kFlagKeyed = 8;
constexpr std::uint64_t kFlagFormerlyKeyed = 4;  ///< with digests without the seed
constexpr std::uint64_t kMaxSegment = std::numeric_limits<std::uint32_t>::max();

/// First bytes of SHA-256("pirx record v1" || position || length || data): a slot moved to another place is
/// caught too.
std::array<std::byte, kDigestBytes> slot_digest(std::uint64_t record, ByteSpan data) {
  const std::uint64_t numbers[] = {record, data.size()};
  const Digest digest = sha256_of({as_bytes("pirx record v1"), std::as_bytes(std::span(numbers)), data});
  std::array<std::byte, kDigestBytes> result;
  std::copy_n(digest.begin(), kDigestBytes, result.begin());
  return result;
}

std::uint64_t slot_header_bytes(const Geometry::Spec& spec) {
  return (spec.variable_length ? kLengthBytes : 0) + (spec.digests ? kDigestBytes : 0);
}

std::uint64_t row_count(const Geometry::Spec& spec) {
  if (spec.filter) return (spec.filter->segments + 2) * spec.filter->segment_length;
  return div_up(spec.records, spec.records_per_row);
}

}  // namespace

void Version::encode(Writer& writer) const {
  writer.put_bytes(identity);
  writer.put(epoch);
}

Result<Version> Version::decode(Reader& reader) {
  Version version;
  PIRX_TRY(reader.read(version.identity));
  PIRX_ASSIGN(version.epoch, reader.get<std::uint64_t>());
  return version;
}

Geometry::Geometry(const Spec& spec)
    : spec_(spec),
      slot_bytes_(spec.record_bytes + slot_header_bytes(spec)),
      rows_(row_count(spec)),
      row_bytes_(slot_bytes_ * spec.records_per_row),
      row_stride_(round_up(row_bytes_ + kRowSlack, 64)) {}

Result<Geometry> Geometry::create(const Spec& spec) {
  if (spec.records == 0) return invalid("a database needs at least one record");
  if (spec.record_bytes == 0) return invalid("a database needs records of at least one byte");
  if (spec.records_per_row == 0) return invalid("a row needs at least one record");
  if (spec.records_per_row > spec.records) {
    return invalid("a row of " + std::to_string(spec.records_per_row) +
                   " records is longer than the database, which has " + std::to_string(spec.records));
  }
  if (spec.variable_length && spec.record_bytes > kMaxStoredLength) {
    return invalid("a record of varying length has at most " + std::to_string(kMaxStoredLength) +
                   " bytes, not " + std::to_string(spec.record_bytes));
  }
  if (spec.filter) {
    const FilterSpec& filter = *spec.filter;
    if (!spec.digests) return invalid("a keyed database needs digests: they tell whether a key is there");
    if (filter.segment_length == 0 || filter.segment_length > kMaxSegment || filter.segments == 0 ||
        filter.segments > kMaxSegment) {
      return invalid("a key filter has 1 to 2^32 - 1 segments of as many rows");
    }
    const auto slots = checked_mul(row_count(spec), spec.records_per_row);
    if (slots && *slots < spec.records) {
      return invalid("a key filter of " + std::to_string(*slots) + " slots cannot hold " +
                     std::to_string(spec.records) + " records");
    }
  }
  // Bounded one by one, so that nothing in the constructor overflows.
  const auto row_bytes = spec.record_bytes <= kMaxDataBytes
                             ? checked_mul(spec.record_bytes + slot_header_bytes(spec), spec.records_per_row)
                             : std::nullopt;
  if (row_bytes && *row_bytes <= kMaxDataBytes) {
    const Geometry geometry(spec);
    const auto total = checked_mul(geometry.rows_, geometry.row_stride_);
    if (total && *total <= kMaxDataBytes) return geometry;
  }
  return invalid(std::to_string(spec.records) + " records of " + std::to_string(spec.record_bytes) +
                 " bytes make a database of more than 2^56 bytes");
}

std::uint64_t Geometry::balanced_records_per_row(std::uint64_t records, std::uint64_t slot_bytes) {
  PIRX_CHECK(records > 0 && slot_bytes > 0);
  // Without rounding, records / k + k * slot_bytes is least at k = sqrt(records / slot_bytes). Rounding rows
  // up adds less than 1, so the true minimum lies where the smooth sum exceeds its own by less: |k' - k|^2 *
  // slot_bytes < k'.
  const double smooth = std::sqrt(static_cast<double>(records) / static_cast<double>(slot_bytes));
  const double reach = std::sqrt(smooth / static_cast<double>(slot_bytes)) + 2;
  const auto clamp = [records](double k) {
    return k <= 1 ? std::uint64_t{1} : std::min(records, static_cast<std::uint64_t>(k));
  };
  std::uint64_t best = clamp(smooth - reach);
  std::uint64_t best_cost = std::numeric_limits<std::uint64_t>::max();
  for (std::uint64_t k = best, last = clamp(smooth + reach); k <= last; ++k) {
    const auto bytes = checked_mul(k, slot_bytes);
    const auto cost = bytes ? checked_add(*bytes, div_up(records, k)) : std::nullopt;
    if (cost && *cost < best_cost) {
      best = k;
      best_cost = *cost;
    }
  }
  return best;
}

Result<Location> Geometry::locate(std::uint64_t record) const {
  if (keyed()) return invalid("the database is keyed: its records have no positions, ask for them by key");
  if (reveal(~mask_less(record, spec_.records))) {
    return fail(ErrorCode::kOutOfRange, "no such record: the database has " + std::to_string(spec_.records) +
                                            " records, numbered from 0");
  }
  const Division at = divide(record, spec_.records_per_row);
  return Location{at.quotient, at.remainder * slot_bytes_};
}

void Geometry::fill_slot(std::uint64_t record, ByteSpan data, MutableByteSpan slot) const {
  PIRX_CHECK(slot.size() == slot_bytes_ && data.size() <= spec_.record_bytes);
  PIRX_CHECK(spec_.variable_length || data.size() == spec_.record_bytes);
  std::array<std::byte, kDigestBytes> digest{};
  if (spec_.digests) digest = slot_digest(record, data);  // first, as it may find no memory
  if (spec_.variable_length) {
    store_le(slot.data(), static_cast<std::uint32_t>(data.size()));
    slot = slot.subspan(kLengthBytes);
  }
  if (spec_.digests) {
    std::copy(digest.begin(), digest.end(), slot.begin());
    slot = slot.subspan(kDigestBytes);
  }
  if (!data.empty()) std::memmove(slot.data(), data.data(), data.size());
  std::fill(slot.begin() + static_cast<std::ptrdiff_t>(data.size()), slot.end(), std::byte{0});
}

Result<ByteSpan> Geometry::read_slot(std::uint64_t record, ByteSpan slot) const {
  PIRX_CHECK(slot.size() == slot_bytes_);
  std::uint64_t length = spec_.record_bytes;
  if (spec_.variable_length) {
    // The caller gets a record of that length.
    length = reveal_number(load_le<std::uint32_t>(slot.data()));
    slot = slot.subspan(kLengthBytes);
  }
  ByteSpan digest;
  if (spec_.digests) {
    digest = slot.first(kDigestBytes);
    slot = slot.subspan(kDigestBytes);
  }
  // All checks run whatever the first one says; only the verdict differs.
  const bool length_good = length <= spec_.record_bytes;
  const ByteSpan data = slot.first(std::min(length, spec_.record_bytes));
  std::byte padding{0};
  for (const auto byte : slot.subspan(data.size())) padding |= byte;
  const bool padding_good = !reveal(std::to_integer<std::uint64_t>(padding));
  bool digest_good = true;
  if (spec_.digests) {
    const auto expected = slot_digest(record, data);
    digest_good = !reveal(difference(expected, digest));
  }
  if (!length_good) {
    return fail(ErrorCode::kDataLoss,
                "the record is damaged: its stored length exceeds the longest record, " +
                    std::to_string(spec_.record_bytes) + " bytes");
  }
  if (!padding_good) return fail(ErrorCode::kDataLoss, "the record is damaged: its padding is not zero");
  if (!digest_good) return fail(ErrorCode::kDataLoss, "the record is damaged: its digest does not match");
  return data;
}

void Geometry::encode(Writer& writer) const {
  writer.put(spec_.records);
  writer.put(spec_.record_bytes);
  writer.put(spec_.records_per_row);
  writer.put((spec_.variable_length ? kFlagVariableLength : 0) | (spec_.digests ? kFlagDigests : 0) |
             (spec_.filter ? kFlagKeyed : 0));
  const FilterSpec filter = spec_.filter.value_or(FilterSpec{});
  writer.put(filter.segment_length);
  writer.put(filter.segments);
  writer.put(filter.tweak);
  writer.put_bytes(filter.seed);
}

Result<Geometry> Geometry::decode(Reader& reader) {
  Spec spec;
  PIRX_ASSIGN(spec.records, reader.get<std::uint64_t>());
  PIRX_ASSIGN(spec.record_bytes, reader.get<std::uint64_t>());
  PIRX_ASSIGN(spec.records_per_row, reader.get<std::uint64_t>());
  PIRX_ASSIGN(const std::uint64_t flags, reader.get<std::uint64_t>());
  if ((flags & kFlagFormerlyKeyed) != 0) {
    return fail(ErrorCode::kDataLoss, "this keyed database was built by an earlier pirx: build it again");
  }
  if ((flags & ~(kFlagVariableLength | kFlagDigests | kFlagKeyed)) != 0) {
    return fail(ErrorCode::kDataLoss, "the geometry has unknown flags: it is damaged or of a newer pirx");
  }
  spec.variable_length = (flags & kFlagVariableLength) != 0;
  spec.digests = (flags & kFlagDigests) != 0;
  FilterSpec filter;
  PIRX_ASSIGN(filter.segment_length, reader.get<std::uint64_t>());
  PIRX_ASSIGN(filter.segments, reader.get<std::uint64_t>());
  PIRX_ASSIGN(filter.tweak, reader.get<std::uint64_t>());
  PIRX_TRY(reader.read(filter.seed));
  if ((flags & kFlagKeyed) != 0) {
    spec.filter = filter;
  } else if (filter != FilterSpec{}) {
    return fail(ErrorCode::kDataLoss, "impossible geometry: a key filter in a database that is not keyed");
  }
  auto geometry = create(spec);
  if (!geometry) return fail(ErrorCode::kDataLoss, "impossible geometry: " + geometry.error().message());
  return geometry;
}

}  // namespace pirx::database
