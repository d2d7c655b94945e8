// SPDX-License-Identifier: Apache-2.0
// Checks messages against what was agreed.
#include "check_messages.h"

#include <algorithm>

#include "src/protocol/message.h"

namespace pirx::itpir {
namespace {

/// "epoch 3 (4b45331377b6fe7b)".
std::string name(const database::Version& version) {
  return "epoch " + std::to_string(version.epoch) + " (" + to_hex(ByteSpan(version.identity).first(8)) + ")";
}

}  // namespace

Result<void> check_query(const MessageHeader& header, const MessageHeader& largest) {
  if (header.field != largest.field) {
    return invalid("the query is over the field " + header.field.name() + ", this server computes in " +
                   largest.field.name() + ": fetch its parameters again");
  }
  if (header.version != largest.version) {
    return fail(ErrorCode::kStaleEpoch, "the query is for database " + name(header.version) +
                                            ", this server holds " + name(largest.version) +
                                            ": fetch the parameters again");
  }
  if (header.coordinate != largest.coordinate) {
    return invalid("the query is for the server with coordinate " + std::to_string(header.coordinate) +
                   ", this one has " + std::to_string(largest.coordinate) +
                   ": check the order of the servers in the deployment");
  }
  if (header.length != largest.length) {
    return invalid("the query is for " + std::to_string(header.length) + " rows, there are " +
                   std::to_string(largest.length) + " here: fetch the parameters again");
  }
  if (header.queries > largest.queries) {
    return invalid("the request holds " + std::to_string(header.queries) + " queries, this server takes " +
                   std::to_string(largest.queries) + ": ask in several requests");
  }
  return {};
}

Result<void> check_query_bytes(ByteSpan request, std::uint64_t queries, std::uint64_t vector_bytes) {
  const auto expected = message_bytes(queries, vector_bytes, 1);
  if (request.size() == expected) return {};
  return invalid("the request has " + std::to_string(request.size()) + " bytes instead of " +
                 std::to_string(expected));
}

Result<ByteSpan> check_reply(ByteSpan reply, const MessageHeader& expected, std::size_t sum_bytes) {
  const auto wrong = [](std::string message) { return fail(ErrorCode::kDataLoss, std::move(message)); };
  Reader reader(reply, "reply");
  const auto decoded = MessageHeader::decode(reader, expected.protocol);
  if (!decoded) return tl::unexpected(of_reply(decoded.error()));
  const MessageHeader& header = *decoded;
  if (header.type != MessageType::kReply) {
    return wrong("the server sent a pirx message that is no reply");
  }
  if (header.version != expected.version) {
    return fail(ErrorCode::kStaleEpoch, "the reply is from database " + name(header.version) +
                                            ", the query was for " + name(expected.version));
  }
  if (header.field != expected.field) {
    return wrong("the reply is over the field " + header.field.name() + " instead of " +
                 expected.field.name());
  }
  if (header.coordinate != expected.coordinate) {
    return wrong("the reply is from the server with coordinate " + std::to_string(header.coordinate) +
                 " instead of " + std::to_string(expected.coordinate));
  }
  if (header.queries != expected.queries || header.length != expected.length) {
    return wrong("the reply has " + std::to_string(header.queries) + " x " + std::to_string(header.length) +
                 " words instead of " + std::to_string(expected.queries) + " x " +
                 std::to_string(expected.length));
  }
  const auto bytes = message_bytes(header.queries, header.length, sum_bytes);
  if (reply.size() != bytes) {
    return wrong("the reply has " + std::to_string(reply.size()) + " bytes instead of " +
                 std::to_string(bytes));
  }
  return reply.subspan(MessageHeader::kBytes);
}

Result<void> check_coordinates(std::span<const std::uint64_t> coordinates) {
  if (coordinates.size() > kMaxServers) {
    return invalid(std::to_string(coordinates.size()) + " servers are too many: at most " +
                   std::to_string(kMaxServers));
  }
  std::vector<std::uint64_t> sorted(coordinates.begin(), coordinates.end());
  std::sort(sorted.begin(), sorted.end());
  if (sorted.at(0) == 0) return invalid("a server has coordinate 0: give every server another number");
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return {};
  return invalid("two servers have coordinate " + std::to_string(*twice) + ": every server needs its own");
}

}  // namespace pirx::itpir
