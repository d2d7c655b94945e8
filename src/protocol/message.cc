// SPDX-License-Identifier: Apache-2.0
// The fixed parts of messages.
#include "src/protocol/message.h"

#include <algorithm>

namespace pirx {
namespace {

constexpr std::string_view kMagic = "PIRX";
constexpr std::uint16_t kFormatVersion = 1;

}  // namespace

void encode_prefix(Writer& writer, ProtocolId protocol, MessageType type) {
  writer.put_bytes(as_bytes(kMagic));
  writer.put(kFormatVersion);
  writer.put(static_cast<std::uint8_t>(type));
  writer.put(static_cast<std::uint8_t>(protocol));
}

Result<MessagePrefix> decode_prefix(Reader& reader) {
  PIRX_ASSIGN(const auto magic, reader.get_bytes(kMagic.size()));
  if (as_text(magic) != kMagic) {
    return fail(ErrorCode::kDataLoss, "this is no pirx message: it does not begin with PIRX");
  }
  PIRX_ASSIGN(const auto format, reader.get<std::uint16_t>());
  if (format != kFormatVersion) {
    return invalid("message format " + std::to_string(format) + " is unknown, this pirx speaks " +
                   std::to_string(kFormatVersion) + ": use the same release on both sides");
  }
  PIRX_ASSIGN(const auto type, reader.get<std::uint8_t>());
  PIRX_ASSIGN(const auto protocol, reader.get<std::uint8_t>());
  return MessagePrefix{static_cast<ProtocolId>(protocol), static_cast<MessageType>(type)};
}

std::optional<MessageType> message_type(ByteSpan message) noexcept {
  if (message.size() < 8 || as_text(message.first(kMagic.size())) != kMagic ||
      load_le<std::uint16_t>(message.data() + 4) != kFormatVersion) {
    return std::nullopt;
  }
  return static_cast<MessageType>(message[6]);
}

Result<MessageType> decode_prefix(Reader& reader, ProtocolId protocol) {
  PIRX_ASSIGN(const auto prefix, decode_prefix(reader));
  if (prefix.protocol == protocol) return prefix.type;
  return invalid("the message is of protocol number " +
                 std::to_string(static_cast<unsigned>(prefix.protocol)) + " instead of " +
                 std::to_string(static_cast<unsigned>(protocol)) + ": fetch the server's parameters again");
}

Result<void> decode_prefix(Reader& reader, ProtocolId protocol, MessageType type) {
  PIRX_ASSIGN(const auto found, decode_prefix(reader, protocol));
  if (found == type) return {};
  return fail(ErrorCode::kDataLoss, "a message has type " + std::to_string(static_cast<unsigned>(found)) +
                                        " where type " + std::to_string(static_cast<unsigned>(type)) +
                                        " is expected");
}

void encode_header(Writer& writer, ProtocolId protocol, MessageType type, const Digest& plan) {
  encode_prefix(writer, protocol, type);
  writer.put_bytes(plan);
}

Result<ByteSpan> decode_header(ByteSpan message, ProtocolId protocol, MessageType type, const Digest& plan,
                               std::size_t bytes, std::string_view name) {
  const std::string what(!name.empty() ? name : type == MessageType::kQuery ? "query" : "reply");
  Reader reader(message, what);
  PIRX_TRY(decode_prefix(reader, protocol, type));
  PIRX_ASSIGN(const auto digest, reader.get_bytes(plan.size()));
  if (!std::equal(digest.begin(), digest.end(), plan.begin())) {
    return fail(ErrorCode::kStaleEpoch,
                "the " + what +
                    " is for other parameters or another version of the database: fetch the server's "
                    "parameters and ask again");
  }
  if (message.size() != bytes) {
    return fail(ErrorCode::kDataLoss, "the " + what + " has " + std::to_string(message.size()) +
                                          " bytes, not " + std::to_string(bytes));
  }
  return message.subspan(kHeaderBytes);
}

}  // namespace pirx
