// Goldberg's t-private information retrieval (Shamir shares of unit vectors) over any polynomial encoding of
// the database: parameters and messages. Goldberg 2007; paper 002 (Henry 2016); the wire form is specified in
// docs/wire_format.md.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pirx/batchcodes/encoding.h"
#include "pirx/database/geometry.h"
#include "pirx/protocol.h"

namespace pirx::itpir {

/// What one server says of itself: which field it computes in, which database it holds or has a bucket of,
/// and its public x-coordinate.
struct ServerParameters {
  FieldTag field;
  database::Geometry geometry;   ///< of the plain database
  database::Version version;     ///< likewise
  std::uint64_t coordinate = 0;  ///< label of a non-zero field element
  // How its bucket was encoded (batchcodes::Encoding): 1, 0 and 0 for the plain database.
  unsigned arity = 1;
  unsigned independence = 0;
  std::uint64_t modulus = 0;
  ProtocolId protocol = ProtocolId::kGoldberg;
  std::string code = {};  ///< vertical batch code (batchcodes::vertical_code) of the database; empty: none

  Bytes encode() const;
  /// DataLoss when malformed; InvalidArgument for another version or a protocol that is neither Goldberg's
  /// nor Chor's.
  static Result<ServerParameters> decode(ByteSpan bytes);
};

/// A deployment as the client sees it: l servers with distinct non-zero coordinates hold the same database,
/// or each its bucket of it; any t of them together learn nothing about the records asked for. A validated
/// value.
class Params {
 public:
  struct Spec {
    FieldTag field = kTagGf2_8;
    database::Geometry geometry;
    database::Version version;
    std::vector<std::uint64_t> coordinates;  ///< one a server
    unsigned threshold = 1;                  ///< t
    unsigned ramp = 1;                       ///< q: rows that one query vector fetches; the client's choice
    unsigned arity = 1;                      ///< u: database rows in a row of the servers' buckets
    unsigned independence = 0;               ///< tau: so many servers together learn nothing of the database
    std::uint64_t modulus = 0;               ///< M, see batchcodes::Encoding; 0: u
    ProtocolId protocol =
        ProtocolId::kGoldberg;  ///< or kChor, which is over gf2 with t = l - 1 and q = u = 1

    batchcodes::Encoding::Spec encoding() const {
      return {field, threshold, ramp, arity, independence, modulus, coordinates};
    }
  };
  /// InvalidArgument: an unknown field, no server, more than kMaxServers, a coordinate that is zero, a
  /// geometry too large for kMaxMessageBytes, and whatever batchcodes::Encoding::create refuses: t < 1, fewer
  /// than d + 1 servers, coordinates that are repeated or do not fit the field. For Chor's protocol: what
  /// ChorParams::create refuses, and other settings than its own.
  static Result<Params> create(Spec spec);

  static constexpr unsigned kMaxServers = 1024;

  const Spec& spec() const noexcept { return spec_; }
  FieldTag field() const noexcept { return spec_.field; }
  const database::Geometry& geometry() const noexcept { return spec_.geometry; }
  const database::Version& version() const noexcept { return spec_.version; }
  const std::vector<std::uint64_t>& coordinates() const noexcept { return spec_.coordinates; }
  unsigned servers() const noexcept { return static_cast<unsigned>(spec_.coordinates.size()); }  ///< l
  unsigned threshold() const noexcept { return spec_.threshold; }                                ///< t
  ProtocolId protocol() const noexcept { return spec_.protocol; }
  /// Of Chor's protocol: one whose degree is l - 1, since it needs as many replies.
  const batchcodes::Encoding& encoding() const noexcept { return encoding_; }
  /// d + 1: so many replies make a record; with more of them, lies are noticed.
  unsigned needed() const noexcept { return encoding_.degree() + 1; }

 private:
  static Result<Params> create_chor(Spec spec);
  Params(Spec spec, batchcodes::Encoding encoding) : spec_(std::move(spec)), encoding_(std::move(encoding)) {}
  Spec spec_;
  batchcodes::Encoding encoding_;
};

/// What queries and replies of an encoded database carry for its version: the encoding with it, so that a
/// client of another one is told so and gets no values that fit nothing. The version itself where u = 1 and
/// tau = 0.
database::Version bound_version(const database::Version& version, unsigned arity, unsigned independence,
                                std::uint64_t modulus);

/// Queries in one request: at most this many, so that every size below is bounded.
inline constexpr std::uint32_t kMaxQueriesPerRequest = 4096;

/// Bytes of a query or reply: the header and queries x length values of each_bytes. 2^64 - 1 when that
/// overflows.
std::uint64_t message_bytes(std::uint64_t queries, std::uint64_t length, std::uint64_t each_bytes) noexcept;

/// What a deployment and a single server must both satisfy. InvalidArgument: an unknown field, or a
/// coordinate that is zero or no element of it.
Result<void> check_coordinates(const FieldTag& field, std::span<const std::uint64_t> coordinates);
/// InvalidArgument: a query vector of `rows` elements, or a row of `geometry`, too large for
/// kMaxMessageBytes; or a keyed geometry over a field of another characteristic than 2.
Result<void> check_message_sizes(const FieldTag& field, std::uint64_t rows,
                                 const database::Geometry& geometry);

/// Bytes of a query that has a seed of kSeedBytes in place of each vector.
std::uint64_t seeds_bytes(std::uint64_t queries) noexcept;

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
