// SPDX-License-Identifier: Apache-2.0
// Queries and replies as every client of this folder makes and reads them.
#include "client_messages.h"

#include <algorithm>
#include <new>

#include "check_messages.h"
#include "src/base/constant_time.h"

namespace pirx::itpir {

Result<void> check_query_size(std::size_t wishes, std::uint64_t vectors, const MessageSizes& sizes) {
  if (wishes == 0) return invalid("a query needs at least one record to ask for");
  if (vectors > kMaxQueriesPerRequest) {
    return invalid(std::to_string(wishes) + " records in one query take " + std::to_string(vectors) +
                   " query vectors: at most " + std::to_string(kMaxQueriesPerRequest) + ", ask in several");
  }
  const auto bytes = std::max(sizes.request, sizes.reply);
  if (bytes <= kMaxMessageBytes) return {};
  return fail(ErrorCode::kResourceExhausted,
              std::to_string(wishes) + " records in one query take messages of " + std::to_string(bytes) +
                  " bytes, the limit is " + std::to_string(kMaxMessageBytes) + ": ask for fewer at a time");
}

Result<std::vector<Bytes>> empty_requests(MessageHeader header, std::span<const std::uint64_t> coordinates,
                                          std::uint64_t vector_bytes, std::size_t seeded) {
  auto bytes = seeds_bytes(header.queries);
  try {
    std::vector<Bytes> requests;
    for (const auto coordinate : coordinates) {
      const bool seeds = requests.size() < seeded;
      if (!seeds) bytes = message_bytes(header.queries, vector_bytes, 1);
      header.type = seeds ? MessageType::kSeeds : MessageType::kQuery;
      header.coordinate = coordinate;
      Writer writer(static_cast<std::size_t>(bytes));
      header.encode(writer);
      writer.extend(static_cast<std::size_t>(bytes) - MessageHeader::kBytes);
      requests.push_back(std::move(writer).take());
    }
    return requests;
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kResourceExhausted, "no memory for " + std::to_string(coordinates.size()) +
                                                   " requests of " + std::to_string(bytes) + " bytes");
  }
}

Result<ByteSpan> take_reply(std::span<ServerStatus> status, std::span<const std::uint64_t> coordinates,
                            std::size_t server, ByteSpan reply, MessageHeader expected,
                            std::size_t sum_bytes) {
  if (server >= status.size()) {
    return invalid("there is no server " + std::to_string(server) + " in this deployment");
  }
  if (status[server] == ServerStatus::kOk) {
    return invalid("server " + std::to_string(server) + " has replied already");
  }
  expected.coordinate = coordinates[server];
  auto body = check_reply(reply, expected, sum_bytes);
  if (!body) {
    status[server] =
        body.error().code() == ErrorCode::kStaleEpoch ? ServerStatus::kStaleEpoch : ServerStatus::kMalformed;
  }
  return body;
}

void note_missing(std::span<ServerStatus> status, std::size_t server, ServerStatus why) {
  PIRX_CHECK(why == ServerStatus::kSilent || why == ServerStatus::kRefused ||
             why == ServerStatus::kMalformed || why == ServerStatus::kStaleEpoch);
  PIRX_CHECK(server < status.size());
  if (status[server] != ServerStatus::kOk) status[server] = why;
}

tl::unexpected<Error> too_few_replies(std::span<const ServerStatus> status, const std::string& needed,
                                      bool moved) {
  const auto count = [&](ServerStatus wanted) {
    return std::to_string(std::count(status.begin(), status.end(), wanted));
  };
  return fail(moved ? ErrorCode::kStaleEpoch : ErrorCode::kUndecodable,
              count(ServerStatus::kOk) + " usable replies of " + std::to_string(status.size()) +
                  " servers, " + needed + " (" + count(ServerStatus::kSilent) + " silent, " +
                  count(ServerStatus::kRefused) + " refused, " + count(ServerStatus::kMalformed) +
                  " malformed, " + count(ServerStatus::kStaleEpoch) + " with another database version): " +
                  (moved ? "take the parameters that the servers have now (pirx deploy --refresh)"
                         : "ask again when more servers answer"));
}

tl::unexpected<Error> too_few_trust(std::size_t usable, std::size_t servers, std::size_t needed,
                                    std::size_t locked_out) {
  return fail(ErrorCode::kUnauthenticated,
              std::to_string(usable) + " usable replies of " + std::to_string(servers) +
                  " servers, at least " + std::to_string(needed) + " are needed, and " +
                  std::to_string(locked_out) +
                  " are not trusted or do not trust this client: check the trust anchors (ca_file), the "
                  "tokens and the client's certificate");
}

Result<Records> read_records(const database::Geometry& geometry, std::span<const std::uint64_t> records,
                             ByteSpan rows) {
  const auto row_bytes = static_cast<std::size_t>(geometry.row_bytes());
  SecretVector<std::byte> slot(static_cast<std::size_t>(geometry.slot_bytes()));
  Records found;
  std::optional<Error> wrong;
  for (std::size_t k = 0; k < records.size(); ++k) {
    const auto location = geometry.locate(records[k]);
    PIRX_CHECK(location.has_value());
    cut_out(rows.subspan(k * row_bytes, row_bytes), location->offset, slot.expose());
    const auto data = geometry.read_slot(records[k], slot.expose());
    if (data) {
      found.emplace_back(Bytes(data->begin(), data->end()));
    } else {
      wrong = data.error();
    }
  }
  if (wrong) return tl::unexpected(std::move(*wrong));
  return found;
}

SlotBytes slot_of(const database::Geometry& geometry, const Wishes& wishes, std::size_t i) {
  if (wishes.kind == QueryKind::kRecords) {
    return {geometry.locate(wishes.indices.expose()[i]).value().offset, geometry.slot_bytes()};
  }
  if (wishes.offsets.size() == 0) return {0, geometry.row_bytes()};
  const SlotBytes slot{wishes.offsets.expose()[i], geometry.slot_bytes()};
  PIRX_CHECK(slot.bytes <= geometry.row_bytes());
  PIRX_CHECK(!reveal(mask_less(geometry.row_bytes() - slot.bytes, slot.offset)));
  return slot;
}

Result<Bytes> read_slot(const database::Geometry& geometry, const Wishes& wishes, std::size_t i,
                        ByteSpan slot) {
  if (wishes.kind == QueryKind::kRowSums) return Bytes(slot.begin(), slot.end());
  PIRX_ASSIGN(const auto data, geometry.read_slot(wishes.indices.expose()[i], slot));
  return Bytes(data.begin(), data.end());
}

Result<Records> read_found(const DecodeOptions& options, std::size_t first, std::span<const Bytes> found) {
  if (options.read) return options.read(first, found);
  return Records(found.begin(), found.end());
}

bool checks_records(const DecodeOptions& options, const database::Geometry& geometry, QueryKind kind) {
  return (geometry.spec().digests && kind == QueryKind::kRecords) || options.read_checks || options.believe;
}

}  // namespace pirx::itpir
