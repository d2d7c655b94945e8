// Goldberg's t-private information retrieval (Shamir shares of a unit vector): parameters and messages.
// Goldberg 2007; paper 002 (Henry 2016) section 2; the wire form is specified in docs/wire_format.md.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pirx/base/field.h"
#include "pirx/database/geometry.h"
#include "pirx/protocol.h"

namespace pirx::itpir {

/// What one server says of itself: which field it computes in, which database it holds, and its public
/// x-coordinate.
struct ServerParameters {
  FieldTag field;
  database::Geometry geometry;
  database::Version version;
  std::uint64_t coordinate = 0;  ///< label of a non-zero field element

  Bytes encode() const;
  /// DataLoss when malformed; InvalidArgument for a foreign protocol or version.
  static Result<ServerParameters> decode(ByteSpan bytes);
};

/// A deployment as the client sees it: l servers with distinct non-zero coordinates hold the same database;
/// any t of them together learn nothing about the records asked for. A validated value.
class Params {
 public:
  struct Spec {
    FieldTag field = kTagGf2_8;
    database::Geometry geometry;
    database::Version version;
    std::vector<std::uint64_t> coordinates;  ///< one a server
    unsigned threshold = 1;
  };
  /// InvalidArgument: an unknown field, no server, t < 1, t >= l, a coordinate that is zero, repeated or no
  /// element of the field, a field with fewer than l non-zero elements, more than kMaxServers servers.
  static Result<Params> create(Spec spec);

  static constexpr unsigned kMaxServers = 1024;

  const Spec& spec() const noexcept { return spec_; }
  FieldTag field() const noexcept { return spec_.field; }
  const database::Geometry& geometry() const noexcept { return spec_.geometry; }
  const database::Version& version() const noexcept { return spec_.version; }
  const std::vector<std::uint64_t>& coordinates() const noexcept { return spec_.coordinates; }
  unsigned servers() const noexcept { return static_cast<unsigned>(spec_.coordinates.size()); }  ///< l
  unsigned threshold() const noexcept { return spec_.threshold; }                                ///< t

 private:
  explicit Params(Spec spec) : spec_(std::move(spec)) {}
  Spec spec_;
};

/// Queries in one request: at most this many, so that every size below is bounded.
inline constexpr std::uint32_t kMaxQueriesPerRequest = 4096;
/// No request and no reply is longer, whatever geometry a peer claims.
inline constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 30;

/// Bytes of a query or reply: the header and queries x length values of each_bytes. 2^64 - 1 when that
/// overflows.
std::uint64_t message_bytes(std::uint64_t queries, std::uint64_t length, std::uint64_t each_bytes) noexcept;

/// What a deployment and a single server must both satisfy: InvalidArgument for an unknown field, a
/// coordinate that is zero or no element of it, or a geometry too large for kMaxMessageBytes.
Result<void> check_deployment(const FieldTag& field, const database::Geometry& geometry,
                              std::span<const std::uint64_t> coordinates);

/// The field of that name: gf2, gf2_8, gf2_16, w160, w48 or prime<bits of a word>. InvalidArgument lists
/// them.
Result<FieldTag> field_by_name(const std::string& name);

/// The header of requests and replies (docs/wire_format.md section 2).
struct MessageHeader {
  enum class Type : std::uint8_t {
    kQuery = 1,
    kReply = 2,
    kParameters = 3,
    kSeeds = 4,  ///< a query with a seed in place of each vector
  };
  Type type = Type::kQuery;
  FieldTag field;
  database::Version version;
  std::uint64_t coordinate = 0;
  std::uint32_t queries = 0;  ///< q
  std::uint64_t length = 0;   ///< elements in each query vector (rows), or words in each reply
  ProtocolId protocol = ProtocolId::kGoldberg;

  static constexpr std::size_t kBytes = 80;
  void encode(Writer& writer) const;
  /// DataLoss: not a pirx message, malformed, or with counts that its type does not allow. InvalidArgument:
  /// another format version, or a protocol that is not `expected`.
  static Result<MessageHeader> decode(Reader& reader, ProtocolId expected = ProtocolId::kGoldberg);
};

}  // namespace pirx::itpir
