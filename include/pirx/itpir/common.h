// SPDX-License-Identifier: Apache-2.0
// The messages of the protocols with several servers (docs/wire_format.md, sections 2 and 3).
#pragma once

#include <string>

#include "pirx/batchcodes/fields.h"
#include "pirx/protocol.h"

namespace pirx::itpir {

using batchcodes::check_message_sizes;
using batchcodes::field_by_name;
using batchcodes::message_bytes;
using batchcodes::with_field;

/// What one server says about itself: the field in which it computes, the database that it holds whole or as
/// a bucket, and its public x-coordinate.
struct ServerParameters {
  FieldTag field;
  database::Geometry geometry;   ///< of the plain database
  database::Version version;     ///< of the plain database
  std::uint64_t coordinate = 0;  ///< the label of a non-zero field element
  // How the bucket was encoded (batchcodes::Encoding); 1, 0 and 0 for the plain database.
  unsigned arity = 1;
  unsigned independence = 0;
  std::uint64_t modulus = 0;
  ProtocolId protocol = ProtocolId::kGoldberg;
  /// The database's vertical batch code (batchcodes::vertical_code); empty if it has none.
  std::string code = {};

  Bytes encode() const;
  /// DataLoss: the message is malformed. InvalidArgument: another format version, or a protocol that is not
  /// of this folder.
  static Result<ServerParameters> decode(ByteSpan bytes);
};

/// The version that queries and replies of an encoded database carry. It includes the encoding, so a client
/// with another encoding gets an error and not values that mean nothing. Equal to `version` if u = 1 and tau
/// = 0.
database::Version bound_version(const database::Version& version, unsigned arity, unsigned independence,
                                std::uint64_t modulus);

/// The greatest number of queries in one request. It bounds every size below.
inline constexpr std::uint32_t kMaxQueriesPerRequest = 4096;

/// The bytes of a query with a seed of kSeedBytes in place of each vector.
std::uint64_t seeds_bytes(std::uint64_t queries) noexcept;

/// The header of requests and replies (docs/wire_format.md, section 2).
struct MessageHeader {
  MessageType type = MessageType::kQuery;  ///< or kSeeds, kReply, kParameters
  FieldTag field;
  database::Version version;
  std::uint64_t coordinate = 0;
  std::uint32_t queries = 0;  ///< the number of queries
  std::uint64_t length = 0;   ///< elements in each query vector (rows), or words in each reply
  ProtocolId protocol = ProtocolId::kGoldberg;

  static constexpr std::size_t kBytes = batchcodes::kMessageHeaderBytes;
  void encode(Writer& writer) const;
  /// DataLoss: not a pirx message, malformed, or with counts that its type does not allow. InvalidArgument:
  /// another format version, or a protocol other than `expected`.
  static Result<MessageHeader> decode(Reader& reader, ProtocolId expected = ProtocolId::kGoldberg);
};

}  // namespace pirx::itpir
