// SPDX-License-Identifier: Apache-2.0
// Validates parameters, computes sizes, and reads and writes the parameters message.
#include "pirx/cpir/inspire/common.h"

#include <algorithm>

#include "cpir/ring/bits.h"
#include "cpir/ring/ring.h"
#include "noise.h"
#include "src/base/constant_time.h"
#include "src/protocol/message.h"

namespace pirx::cpir::inspire {
namespace {

std::uint64_t unit_bytes_of(const database::Geometry& geometry) {
  return geometry.keyed() ? geometry.row_bytes() : geometry.slot_bytes();
}
std::uint64_t units_of(const database::Geometry& geometry) {
  return geometry.keyed() ? geometry.rows() : geometry.records();
}

/// R and C.
struct Shape {
  std::uint64_t rows, columns;
};

/// What a layout comes to. InvalidArgument: it wastes rows or is too large.
Result<Shape> shape_of(const database::Geometry& geometry, const Set& set, const Layout& layout) {
  const std::uint64_t units = units_of(geometry), bytes = unit_bytes_of(geometry), word = set.word_bytes();
  if (layout.per_row == 0 || layout.rows_each == 0 || (layout.per_row != 1 && layout.rows_each != 1)) {
    return invalid("a row holds several units, or a unit takes several rows, not both");
  }
  if (layout.per_row > Params::kMostRowBytes / bytes && layout.rows_each == 1) {
    return invalid("a row would be longer than " + std::to_string(Params::kMostRowBytes) +
                   " bytes: choose fewer records per row");
  }
  const std::uint64_t columns = div_up(div_up(layout.per_row * bytes, layout.rows_each), word);
  if (columns > Params::kMostRowBytes / word) {
    return invalid("a row would be longer than " + std::to_string(Params::kMostRowBytes) +
                   " bytes: choose more rows for a record");
  }
  const std::uint64_t row = columns * word;
  if (layout.rows_each > 1 ? div_up(bytes, row) != layout.rows_each
                           : std::min(row / bytes, units) != layout.per_row) {
    return invalid(
        "the layout wastes room: a row has place for another record, or a record needs fewer rows");
  }
  if (units > Params::kMostRows * layout.per_row ||
      div_up(units, layout.per_row) > Params::kMostRows / layout.rows_each) {
    return invalid("the database would have more than " + std::to_string(Params::kMostRows) +
                   " rows: choose longer rows, or another protocol");
  }
  return Shape{div_up(units, layout.per_row) * layout.rows_each, columns};
}

/// The only layout with which rows of so many words waste no room; shape_of() checks it.
Layout layout_of(const database::Geometry& geometry, const Set& set, std::uint64_t columns) {
  const std::uint64_t bytes = unit_bytes_of(geometry), row = columns * set.word_bytes();
  if (row < bytes) return {.per_row = 1, .rows_each = div_up(bytes, row)};
  return {.per_row = std::min(row / bytes, units_of(geometry)), .rows_each = 1};
}

Result<void> check_set(const Params::Spec& spec) {
  const auto& s = spec.set;
  if (!spec.toy && s != kS8 && s != kS16) {
    return invalid("the numbers of the scheme are neither those of set 8 nor those of set 16");
  }
  if (s.log_d < kMinLogDimension || s.log_d > kLogDimension || s.eta < 1 || s.eta > 32 ||
      (s.w != 8 && s.w != 16) || s.l < 1 || s.l > 2 || s.kappa < 1 || s.kappa > 48 || s.tm > 32 ||
      s.beta < 1 || s.beta > 27 || s.delta < 1 || s.delta + (s.l - 1) * s.beta > 55) {
    return invalid("a number of the scheme is out of range");
  }
  if (spec.t < 1 || spec.t > s.most_t()) {
    return invalid("a number of a query has 1 to " + std::to_string(s.most_t()) + " bits, not " +
                   std::to_string(spec.t));
  }
  if (spec.tr <= s.w || spec.tr > s.tm) {
    return invalid("a word of a reply has " + std::to_string(s.w + 1) + " to " + std::to_string(s.tm) +
                   " bits, not " + std::to_string(spec.tr));
  }
  return {};
}

}  // namespace

Result<Params> Params::create(Spec spec) {
  PIRX_TRY(check_set(spec));
  PIRX_ASSIGN(const auto shape, shape_of(spec.geometry, spec.set, spec.layout));
  Params p(std::move(spec));
  p.rows_ = static_cast<std::size_t>(shape.rows);
  p.columns_ = static_cast<std::size_t>(shape.columns);
  const auto& s = p.spec();
  if (!s.masks.empty() && s.masks.size() != p.blocks()) {
    return invalid("there are " + std::to_string(s.masks.size()) + " digests of masks for " +
                   std::to_string(p.blocks()) + " blocks");
  }
  p.log2_failure_ = inspire::log2_failure(s.set, p.columns(), s.tr, noise(s.set, p.rows(), s.t).total());
  if (!s.toy && !(p.log2_failure_ <= kFailureBound)) {
    return invalid("a row would be decoded wrongly with probability 2^" + std::to_string(p.log2_failure_) +
                   ", above the bound: queries and replies need more bits");
  }
  p.digest_ = sha256(p.message());
  return p;
}

std::uint64_t Params::unit_bytes() const noexcept { return unit_bytes_of(geometry()); }
std::uint64_t Params::units() const noexcept { return units_of(geometry()); }
std::size_t Params::columns_of(std::size_t block) const noexcept {
  return std::min(d(), columns_ - block * d());
}

std::size_t Params::key_bytes() const noexcept { return run_bytes(set().l * d(), set().kappa); }
std::size_t Params::query_bytes() const noexcept { return run_bytes(rows_, spec_.t); }
std::size_t Params::masks_bytes() const noexcept { return 2 * run_bytes(d(), set().tm); }
std::size_t Params::request_bytes() const noexcept { return kHeaderBytes + key_bytes() + query_bytes(); }
std::size_t Params::reply_bytes() const noexcept { return kHeaderBytes + run_bytes(columns_, spec_.tr); }
std::size_t Params::masks_reply_bytes(std::size_t count) const noexcept {
  return kMasksRequestBytes + count * masks_bytes();
}

Result<database::Location> Params::locate(std::uint64_t unit) const {
  if (reveal(~mask_less(unit, units()))) {
    return fail(ErrorCode::kOutOfRange,
                "there is no such record: the database has " + std::to_string(units()));
  }
  const Division at = divide(unit, spec_.layout.per_row);
  return database::Location{at.quotient * spec_.layout.rows_each, at.remainder * unit_bytes()};
}

Bytes Params::message() const {
  const auto& s = spec_.set;
  Writer writer(288 + sizeof(Digest) * spec_.masks.size());
  encode_prefix(writer, ProtocolId::kInspire, MessageType::kParameters);
  spec_.version.encode(writer);
  for (const std::uint32_t value :
       {s.w, s.eta, s.log_d, spec_.t, s.kappa, s.tm, spec_.tr, s.l, s.beta, s.delta}) {
    writer.put(value);
  }
  writer.put(std::uint64_t{rows_});
  writer.put(std::uint64_t{columns_});
  spec_.geometry.encode(writer);
  writer.put_bytes(spec_.salt);
  for (const auto& digest : spec_.masks) writer.put_bytes(digest);
  return std::move(writer).take();
}

Bytes Params::encode() const {
  PIRX_CHECK(!spec_.toy && !spec_.masks.empty());
  return message();
}

Result<Params> Params::decode(ByteSpan message) {
  Reader reader(message, "parameters message");
  PIRX_TRY(decode_prefix(reader, ProtocolId::kInspire, MessageType::kParameters));
  PIRX_ASSIGN(const auto version, database::Version::decode(reader));
  Set set;
  unsigned t = 0, tr = 0;
  for (unsigned* value :
       {&set.w, &set.eta, &set.log_d, &t, &set.kappa, &set.tm, &tr, &set.l, &set.beta, &set.delta}) {
    PIRX_ASSIGN(*value, reader.get<std::uint32_t>());
  }
  set.packing_bytes = set.w == kS16.w ? kS16.packing_bytes : kS8.packing_bytes;
  // Before anything is computed with them.
  if (set != kS8 && set != kS16) {
    return invalid("the numbers of the scheme are neither those of set 8 nor those of set 16");
  }
  PIRX_ASSIGN(const auto rows, reader.get<std::uint64_t>());
  PIRX_ASSIGN(const auto columns, reader.get<std::uint64_t>());
  PIRX_ASSIGN(auto geometry, database::Geometry::decode(reader));
  if (columns == 0 || columns > kMostRowBytes / set.word_bytes()) {
    return invalid("a row of " + std::to_string(columns) + " words is empty or longer than " +
                   std::to_string(kMostRowBytes) + " bytes");
  }
  const Layout layout = layout_of(geometry, set, columns);
  PIRX_ASSIGN(const auto shape, shape_of(geometry, set, layout));
  if (shape.rows != rows || shape.columns != columns) {
    return invalid(std::to_string(rows) + " rows of " + std::to_string(columns) +
                   " words do not fit the database's records");
  }
  Salt salt;
  PIRX_TRY(reader.read(salt));
  std::vector<Digest> masks(div_up(columns, set.d()));  // at most 128
  for (auto& digest : masks) PIRX_TRY(reader.read(digest));
  PIRX_TRY(reader.expect_end());
  return create({.geometry = geometry,
                 .version = version,
                 .set = set,
                 .layout = layout,
                 .t = t,
                 .tr = tr,
                 .salt = salt,
                 .masks = std::move(masks)});
}

Digest mask_digest(const Salt& salt, std::uint64_t block, ByteSpan masks) {
  std::array<std::byte, 8> number{};
  store_le(number.data(), block);
  return sha256_of({as_bytes("pirx inspire masks"), salt, number, masks});
}

}  // namespace pirx::cpir::inspire
