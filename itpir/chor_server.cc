// The server half of Chor's protocol. It computes the product of Goldberg's server half over GF(2): it
// turns a request into one of Goldberg's, with a byte for each bit, and the reply back.
#include "chor_server.h"

#include <algorithm>
#include <limits>
#include <new>

#include "check_messages.h"
#include "chor_common.h"
#include "server_options.h"
#include "server_vertical.h"

namespace pirx::itpir {
namespace {

using gf2e::Gf2;

/// to[k] = bit k of `from`, as 0 or 1.
void unpack_bits(ByteSpan from, MutableByteSpan to) noexcept {
  const std::size_t whole = to.size() / 8;
  for (std::size_t b = 0; b < whole; ++b) {
    // Byte k keeps bit k of the eight copies, wherever it is in there; adding 0x7F brings it to the top.
    const std::uint64_t copies = std::to_integer<std::uint64_t>(from[b]) * 0x0101010101010101;
    const std::uint64_t tops = (copies & 0x8040201008040201) + 0x7F7F7F7F7F7F7F7F;
    store_le(to.data() + 8 * b, (tops >> 7) & 0x0101010101010101);
  }
  for (std::size_t k = 8 * whole; k < to.size(); ++k) to[k] = from[k / 8] >> (k % 8) & std::byte{1};
}

class ChorServer final : public AnyServer {
 public:
  ChorServer(std::unique_ptr<AnyServer> product, ServerParameters parameters)
      : product_(std::move(product)), parameters_(std::move(parameters)) {}

  ProtocolId protocol() const noexcept override { return ProtocolId::kChor; }
  Bytes parameters() const override { return parameters_.encode(); }
  std::size_t max_request_bytes() const noexcept override {
    return static_cast<std::size_t>(
        message_bytes(max_queries(), std::max<std::uint64_t>(bit_bytes(rows()), kSeedBytes), 1));
  }
  std::size_t max_queries() const noexcept override { return product_->max_queries(); }
  /// What the product takes, and the request with a byte for each bit.
  std::size_t working_bytes(std::size_t queries) const noexcept override {
    const auto unpacked = message_bytes(queries, rows(), 1);
    const auto sum = checked_add(product_->working_bytes(queries), unpacked);
    return sum.value_or(std::numeric_limits<std::size_t>::max());
  }

  std::size_t pass_bytes() const noexcept override { return product_->pass_bytes(); }
  std::size_t preferred_queries() const noexcept override { return product_->preferred_queries(); }
  std::vector<std::pair<std::string, std::string>> facts() const override { return product_->facts(); }

  Result<std::size_t> admit(ByteSpan request) const override {
    PIRX_ASSIGN(const auto header, check(request));
    return header.queries;
  }

  std::vector<Result<Bytes>> answer(std::span<const ByteSpan> requests) const override {
    std::vector<Result<Bytes>> replies;
    replies.reserve(requests.size());
    std::vector<Bytes> unpacked;
    std::vector<ByteSpan> admitted;
    unpacked.reserve(requests.size());
    for (const auto request : requests) {
      auto bits = unpack(request);
      if (bits) {
        unpacked.push_back(std::move(*bits));
        admitted.emplace_back(unpacked.back());
        replies.emplace_back(Bytes());
      } else {
        replies.emplace_back(tl::unexpected(bits.error()));
      }
    }
    auto products = product_->answer(admitted);
    auto product = products.begin();
    for (auto& reply : replies) {
      if (!reply) continue;
      reply = std::move(*product++);
      if (reply) (*reply)[kProtocolAt] = static_cast<std::byte>(ProtocolId::kChor);
    }
    return replies;
  }

 private:
  static constexpr std::size_t kProtocolAt = 7;  // in every message header

  std::uint64_t rows() const noexcept { return parameters_.geometry.rows(); }

  /// The header of a good request.
  Result<MessageHeader> check(ByteSpan request) const {
    Reader reader(request, "request");
    auto header = MessageHeader::decode(reader, ProtocolId::kChor);
    if (!header) return invalid("the request is malformed: " + header.error().message());
    using Type = MessageHeader::Type;
    if (header->type != Type::kQuery && header->type != Type::kSeeds) {
      return invalid("this pirx message is no query");
    }
    PIRX_TRY(check_query(*header, {Type::kQuery, kTagGf2, parameters_.version, parameters_.coordinate,
                                   static_cast<std::uint32_t>(max_queries()), rows()}));
    const std::uint64_t each = header->type == Type::kSeeds ? kSeedBytes : bit_bytes(rows());
    PIRX_TRY(check_query_bytes(request, header->queries, each, 1));
    if (header->type == Type::kSeeds) return header;
    for (std::size_t end = MessageHeader::kBytes + each; end <= request.size(); end += each) {
      if ((request[end - 1] & ~last_byte_mask(rows())) != std::byte{0}) {
        return invalid("a query vector has bits behind its last row, which must be zero");
      }
    }
    return header;
  }

  /// The request as one of Goldberg's over GF(2).
  Result<Bytes> unpack(ByteSpan request) const {
    PIRX_ASSIGN(MessageHeader header, check(request));
    const bool seeds = header.type == MessageHeader::Type::kSeeds;
    const auto vector_bytes = static_cast<std::size_t>(bit_bytes(rows()));
    const std::size_t each = seeds ? kSeedBytes : vector_bytes, bits = static_cast<std::size_t>(rows());
    header.type = MessageHeader::Type::kQuery;
    header.protocol = ProtocolId::kGoldberg;
    try {
      Writer writer(MessageHeader::kBytes + header.queries * bits);
      header.encode(writer);
      const auto out = writer.extend(header.queries * bits);
      Bytes expanded(seeds ? vector_bytes : 0);
      for (std::size_t i = 0; i < header.queries; ++i) {
        auto vector = request.subspan(MessageHeader::kBytes + i * each, each);
        if (seeds) {
          expand_bits(vector.first<kSeedBytes>(), rows(), expanded);
          vector = expanded;
        }
        unpack_bits(vector, out.subspan(i * bits, bits));
      }
      return std::move(writer).take();
    } catch (const std::bad_alloc&) {
      return fail(ErrorCode::kResourceExhausted,
                  "the server has no memory for this request: try again later");
    }
  }

  std::unique_ptr<AnyServer> product_;  // GoldbergServer<Gf2>
  ServerParameters parameters_;
};

}  // namespace

Result<std::unique_ptr<AnyServer>> make_chor_server(ServedRows served, const ServerOptions& options,
                                                    strassen::Engine<Gf2> engine) {
  PIRX_TRY(allowed_cpu_features());  // an engine has no way to refuse a wrong PIRX_FORCE_ISA
  PIRX_TRY(check_server_options(options));
  if (options.field && *options.field != kTagGf2) {
    return invalid("Chor's protocol computes in gf2, not in " + options.field->name() +
                   ": leave the field away");
  }
  ServerOptions chosen = options;
  const std::uint64_t coordinate = options.coordinate.value_or(1);
  if (coordinate == 0) return invalid("a server has coordinate 0: give every server another number");
  chosen.coordinate = coordinate;
  PIRX_TRY(check_chor_sizes(served.geometry.rows(), served.geometry.row_bytes()));
  ServerParameters parameters{kTagGf2, served.geometry, served.version, coordinate};
  parameters.protocol = ProtocolId::kChor;
  PIRX_ASSIGN(auto product, GoldbergServer<Gf2>::create(std::move(engine), std::move(served), chosen));
  return std::make_unique<ChorServer>(std::move(product), std::move(parameters));
}

Result<std::unique_ptr<AnyServer>> make_chor_server(std::shared_ptr<const database::Database> database,
                                                    const ServerOptions& options) {
  PIRX_CHECK(database != nullptr);
  if (database->bucket() != nullptr) {
    return invalid(
        "this file is one server's bucket of an encoded database: Chor's protocol serves plain ones");
  }
  if (!options.code.empty()) {
    const auto open = [&](ServedRows rows) { return make_chor_server(std::move(rows), options); };
    PIRX_TRY(check_server_options(options));
    return make_vertical_server(std::move(database), options.code, options.threads, open);
  }
  return make_chor_server(ServedRows{database->geometry(), database->version(), database->rows(), database},
                          options);
}

}  // namespace pirx::itpir
