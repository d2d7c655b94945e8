// SPDX-License-Identifier: Apache-2.0
// Validates plans, and reads and writes the parameters message.
#include "pirx/cpir/qr/common.h"

#include <cmath>

#include "pirx/base/buffer.h"
#include "src/base/constant_time.h"
#include "src/protocol/message.h"

namespace pirx::cpir::qr {
namespace {

/// As many rows of the matrix as bits in a row: one number each.
std::uint64_t balanced_slots(const database::Geometry& geometry) {
  const auto slots =
      std::sqrt(static_cast<double>(geometry.records()) / (8.0 * static_cast<double>(geometry.slot_bytes())));
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::llround(slots)), 1, geometry.records());
}

}  // namespace

Result<Params> Params::create(Spec spec) {
  PIRX_TRY(dj::check_modulus_bits(spec.modulus_bits, spec.policy));
  const auto& geometry = spec.geometry;
  if (geometry.keyed()) {
    return invalid(
        "qr looks records up by their positions only, and this database is keyed: build it without --keyed "
        "(pirx try: with --by-position)");
  }
  if (spec.slots == 0) spec.slots = balanced_slots(geometry);
  if (spec.slots > geometry.records()) {
    return invalid("a row of " + std::to_string(spec.slots) + " slots is longer than the database's " +
                   std::to_string(geometry.records()) + " records");
  }
  Params params(std::move(spec));
  const std::uint64_t rows = div_up(params.geometry().records(), params.slots());
  const std::uint64_t number = params.number_bytes();
  const auto row_bytes = checked_mul(params.slots(), params.geometry().slot_bytes());
  const auto reply = row_bytes ? checked_mul(*row_bytes, 8 * number) : std::nullopt;
  const auto query = checked_mul(rows + 1, number);
  constexpr auto kMostBody = kMaxMessageBytes - kHeaderBytes;
  if (!reply || !query || *reply > kMostBody || *query > kMostBody) {
    return invalid("a query of " + std::to_string(rows) + " numbers or its reply is larger than " +
                   std::to_string(kMaxMessageBytes) + " bytes: the database is too large for this protocol");
  }
  params.rows_ = static_cast<std::size_t>(rows);
  params.row_bytes_ = static_cast<std::size_t>(*row_bytes);
  params.request_bytes_ = kHeaderBytes + static_cast<std::size_t>(*query);
  params.reply_bytes_ = kHeaderBytes + static_cast<std::size_t>(*reply);
  params.digest_ = sha256(params.encode());
  return params;
}

Result<database::Location> Params::locate(std::uint64_t record) const {
  if (reveal(~mask_less(record, geometry().records()))) {
    return fail(ErrorCode::kOutOfRange,
                "there is no such record: the database has " + std::to_string(geometry().records()));
  }
  const Division at = divide(record, slots());
  return database::Location{at.quotient, at.remainder * geometry().slot_bytes()};
}

Bytes Params::encode() const {
  Writer writer(64 + database::Geometry::kBytes);
  encode_prefix(writer, ProtocolId::kQuadraticResiduosity, MessageType::kParameters);
  spec_.version.encode(writer);
  writer.put(static_cast<std::uint32_t>(spec_.modulus_bits));
  writer.put(static_cast<std::uint32_t>(spec_.policy));
  writer.put(spec_.slots);
  spec_.geometry.encode(writer);
  return std::move(writer).take();
}

Result<Params> Params::decode(ByteSpan bytes) {
  Reader reader(bytes, "parameters message");
  PIRX_TRY(decode_prefix(reader, ProtocolId::kQuadraticResiduosity, MessageType::kParameters));
  PIRX_ASSIGN(const auto version, database::Version::decode(reader));
  PIRX_ASSIGN(const auto modulus_bits, reader.get<std::uint32_t>());
  PIRX_ASSIGN(const auto policy, reader.get<std::uint32_t>());
  PIRX_ASSIGN(const auto slots, reader.get<std::uint64_t>());
  PIRX_ASSIGN(auto geometry, database::Geometry::decode(reader));
  PIRX_TRY(reader.expect_end());
  if (policy > static_cast<std::uint32_t>(KeyPolicy::kToy)) {
    return fail(ErrorCode::kDataLoss, "key policy " + std::to_string(policy) + " is unknown");
  }
  if (slots == 0) return fail(ErrorCode::kDataLoss, "rows without slots are impossible");
  return create({geometry, version, slots, modulus_bits, static_cast<KeyPolicy>(policy)});
}

}  // namespace pirx::cpir::qr
