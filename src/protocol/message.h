// How every message of a single-server protocol begins: what it is, and the plan that both sides must share.
#pragma once

#include "pirx/base/sha256.h"
#include "pirx/base/wire.h"
#include "pirx/protocol.h"

namespace pirx {

/// The last three are Spiral's: keys that the server is to hold, its word that it holds them, and that it
/// does not know the keys of a query.
enum class MessageType : std::uint8_t {
  kQuery = 1,
  kReply = 2,
  kParameters = 3,
  kKeys = 4,
  kKeysHeld = 5,
  kKeysUnknown = 6
};

/// Magic, format version, type and protocol: 8 bytes.
void encode_prefix(Writer& writer, ProtocolId protocol, MessageType type);
/// DataLoss: no pirx message, or another type. InvalidArgument: another format version or protocol.
Result<void> decode_prefix(Reader& reader, ProtocolId protocol, MessageType type);

/// Start of a query or reply: the prefix and the digest of the plan.
inline constexpr std::size_t kHeaderBytes = 40;
void encode_header(Writer& writer, ProtocolId protocol, MessageType type, const Digest& plan);
/// What follows the header in a message of exactly `bytes` bytes. Errors are those of decode_prefix().
/// StaleEpoch: another plan. DataLoss: another length.
Result<ByteSpan> decode_header(ByteSpan message, ProtocolId protocol, MessageType type, const Digest& plan,
                               std::size_t bytes);

}  // namespace pirx
