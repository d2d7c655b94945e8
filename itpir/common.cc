// SPDX-License-Identifier: Apache-2.0
// Encodes the fixed parts of messages (docs/wire_format.md, sections 2 and 3).
#include "pirx/itpir/common.h"

#include <algorithm>

#include "pirx/base/rng.h"
#include "pirx/batchcodes/vertical.h"
#include "src/protocol/message.h"

namespace pirx::itpir {

database::Version bound_version(const database::Version& version, unsigned arity, unsigned independence,
                                std::uint64_t modulus) {
  if (arity == 1 && independence == 0) return version;
  Writer writer;
  writer.put_bytes(as_bytes("pirx encoded v1"));
  writer.put(std::uint32_t{arity});
  writer.put(std::uint32_t{independence});
  writer.put(modulus);
  writer.put_bytes(version.identity);
  return {sha256(std::move(writer).take()), version.epoch};
}

std::uint64_t seeds_bytes(std::uint64_t queries) noexcept { return message_bytes(queries, 1, kSeedBytes); }

void MessageHeader::encode(Writer& writer) const {
  encode_prefix(writer, protocol, type);
  field.encode(writer);
  version.encode(writer);
  writer.put(coordinate);
  writer.put(queries);
  writer.put(std::uint32_t{0});
  writer.put(length);
}

Result<MessageHeader> MessageHeader::decode(Reader& reader, ProtocolId expected) {
  const auto malformed = [](std::string message) { return fail(ErrorCode::kDataLoss, std::move(message)); };
  MessageHeader header;
  PIRX_ASSIGN(header.type, decode_prefix(reader, expected));
  header.protocol = expected;
  if (header.type < MessageType::kQuery || header.type > MessageType::kSeeds) {
    return malformed("message type " + std::to_string(static_cast<unsigned>(header.type)) + " is unknown");
  }
  PIRX_ASSIGN(header.field, FieldTag::decode(reader));
  PIRX_ASSIGN(header.version, database::Version::decode(reader));
  PIRX_ASSIGN(header.coordinate, reader.get<std::uint64_t>());
  PIRX_ASSIGN(header.queries, reader.get<std::uint32_t>());
  PIRX_ASSIGN(const auto reserved, reader.get<std::uint32_t>());
  PIRX_ASSIGN(header.length, reader.get<std::uint64_t>());
  if (reserved != 0) return malformed("the reserved bytes of a message are not zero");
  if (header.coordinate == 0) return malformed("a message names coordinate 0, which no server has");
  const bool counted = header.type != MessageType::kParameters;
  if (counted != (header.queries != 0) || counted != (header.length != 0)) {
    return malformed("a message's counts do not fit its type");
  }
  if (header.queries > kMaxQueriesPerRequest) {
    return malformed("a message holds " + std::to_string(header.queries) + " queries, the most is " +
                     std::to_string(kMaxQueriesPerRequest));
  }
  return header;
}

Bytes ServerParameters::encode() const {
  Writer writer(MessageHeader::kBytes + 16 + database::Geometry::kBytes);
  MessageHeader{MessageType::kParameters, field, version, coordinate, 0, 0, protocol}.encode(writer);
  writer.put(std::uint32_t{arity});
  writer.put(std::uint32_t{independence});
  writer.put(modulus);
  geometry.encode(writer);
  writer.put_bytes(as_bytes(code));
  return std::move(writer).take();
}

Result<ServerParameters> ServerParameters::decode(ByteSpan bytes) {
  Reader start(bytes, "parameters message"), reader = start;
  PIRX_ASSIGN(const auto prefix, decode_prefix(start));
  const bool ours = has_message_header(prefix.protocol);
  PIRX_ASSIGN(const auto header,
              MessageHeader::decode(reader, ours ? prefix.protocol : ProtocolId::kGoldberg));
  if (header.type != MessageType::kParameters) {
    return fail(ErrorCode::kDataLoss, "this is a pirx message, but no parameters message");
  }
  PIRX_ASSIGN(const auto arity, reader.get<std::uint32_t>());
  PIRX_ASSIGN(const auto independence, reader.get<std::uint32_t>());
  PIRX_ASSIGN(const auto modulus, reader.get<std::uint64_t>());
  const bool plain = arity == 1 && independence == 0;
  if (plain ? modulus != 0 : arity == 0 || modulus < arity || modulus % arity != 0) {
    return fail(ErrorCode::kDataLoss, "the encoding in a parameters message (u = " + std::to_string(arity) +
                                          ", tau = " + std::to_string(independence) +
                                          ", M = " + std::to_string(modulus) + ") is impossible");
  }
  PIRX_ASSIGN(auto geometry, database::Geometry::decode(reader));
  constexpr std::size_t kLongestCode = 32;
  PIRX_ASSIGN(const auto code, reader.get_bytes(std::min(reader.remaining(), kLongestCode)));
  PIRX_TRY(reader.expect_end());
  if (!code.empty() && !batchcodes::vertical_code(as_text(code))) {
    return fail(ErrorCode::kDataLoss, "a parameters message ends in something that is no batch code");
  }
  return ServerParameters{header.field, geometry, header.version,  header.coordinate,         arity,
                          independence, modulus,  header.protocol, std::string(as_text(code))};
}

}  // namespace pirx::itpir
