// SPDX-License-Identifier: Apache-2.0
// How every message begins: what it is, and for protocols with one server the plan that both sides must
// share.
#pragma once

#include "pirx/base/sha256.h"
#include "pirx/base/wire.h"
#include "pirx/protocol.h"

namespace pirx {

/// What the first bytes of every message say.
struct MessagePrefix {
  ProtocolId protocol;
  MessageType type;
};
/// Magic, format version, type and protocol: 8 bytes.
void encode_prefix(Writer& writer, ProtocolId protocol, MessageType type);
/// Protocol and type may be any byte. DataLoss: no pirx message. InvalidArgument: another format version.
Result<MessagePrefix> decode_prefix(Reader& reader);
/// The type in a prefix. Nothing if the message does not begin with one; no other part is checked. Takes no
/// memory.
std::optional<MessageType> message_type(ByteSpan message) noexcept;
/// The type of a message of this protocol. InvalidArgument: it is of another.
Result<MessageType> decode_prefix(Reader& reader, ProtocolId protocol);
/// DataLoss: another type.
Result<void> decode_prefix(Reader& reader, ProtocolId protocol, MessageType type);

/// What is wrong with a reply is its server's doing: no InvalidArgument, which is for callers' mistakes.
inline Error of_reply(const Error& error) {
  return error.code() == ErrorCode::kInvalidArgument ? Error(ErrorCode::kDataLoss, error.message()) : error;
}

/// Start of a query or reply: the prefix and the digest of the plan.
inline constexpr std::size_t kHeaderBytes = 40;
void encode_header(Writer& writer, ProtocolId protocol, MessageType type, const Digest& plan);
/// What follows the header in a message of exactly `bytes` bytes. Errors are those of decode_prefix().
/// StaleEpoch: another plan. DataLoss: another length. `name` is what errors call a message that is neither a
/// query nor a reply: protocols share the numbers of the other types.
Result<ByteSpan> decode_header(ByteSpan message, ProtocolId protocol, MessageType type, const Digest& plan,
                               std::size_t bytes, std::string_view name = {});

}  // namespace pirx
