// The messages of this folder's protocols (docs/wire_format.md), and the parameters of Goldberg's: t-private
// information retrieval (Shamir shares of unit vectors) over any polynomial encoding of the database.
// Goldberg 2007; paper 002 (Henry 2016).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pirx/batchcodes/encoding.h"
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

/// A deployment as the client sees it. l servers with distinct non-zero coordinates hold the same database,
/// or each its bucket of it. Any t of them together learn nothing about the records asked for. A validated
/// value.
class Params {
 public:
  struct Spec {
    FieldTag field = kTagGf2_8;
    database::Geometry geometry;
    database::Version version;
    std::vector<std::uint64_t> coordinates;  ///< one for each server
    unsigned threshold = 1;                  ///< t
    unsigned ramp = 1;                       ///< q: rows that one query vector fetches; the client chooses it
    unsigned arity = 1;                      ///< u: database rows in one row of a bucket
    unsigned independence = 0;  ///< tau: this many servers together learn nothing about the database
    std::uint64_t modulus = 0;  ///< M, see batchcodes::Encoding; 0 means u

    batchcodes::Encoding::Spec encoding() const {
      return {field, threshold, ramp, arity, independence, modulus, coordinates};
    }
  };
  /// InvalidArgument: an unknown field, no server or more than kMaxServers, a coordinate that is zero, a
  /// geometry too large for kMaxMessageBytes, or what batchcodes::Encoding::create refuses (t < 1, fewer than
  /// d + 1 servers, coordinates that are repeated or do not fit the field).
  static Result<Params> create(Spec spec);

  static constexpr unsigned kMaxServers = pirx::kMaxServers;

  const Spec& spec() const noexcept { return spec_; }
  FieldTag field() const noexcept { return spec_.field; }
  const database::Geometry& geometry() const noexcept { return spec_.geometry; }
  const database::Version& version() const noexcept { return spec_.version; }
  const std::vector<std::uint64_t>& coordinates() const noexcept { return spec_.coordinates; }
  unsigned servers() const noexcept { return static_cast<unsigned>(spec_.coordinates.size()); }  ///< l
  unsigned threshold() const noexcept { return spec_.threshold; }                                ///< t
  const batchcodes::Encoding& encoding() const noexcept { return encoding_; }
  /// d + 1: this many replies make a record. More replies reveal lies.
  unsigned needed() const noexcept { return encoding_.degree() + 1; }

 private:
  Params(Spec spec, batchcodes::Encoding encoding) : spec_(std::move(spec)), encoding_(std::move(encoding)) {}
  Spec spec_;
  batchcodes::Encoding encoding_;
};

/// The version that queries and replies of an encoded database carry. It includes the encoding, so a client
/// with another encoding gets an error and not values that mean nothing. Equal to `version` if u = 1 and tau
/// = 0.
database::Version bound_version(const database::Version& version, unsigned arity, unsigned independence,
                                std::uint64_t modulus);

/// The greatest number of queries in one request. It bounds every size below.
inline constexpr std::uint32_t kMaxQueriesPerRequest = 4096;

/// Checks what a deployment and a single server must both satisfy. InvalidArgument: the field is unknown, or
/// a coordinate is zero or not an element of it.
Result<void> check_coordinates(const FieldTag& field, std::span<const std::uint64_t> coordinates);

/// The bytes of a query with a seed of kSeedBytes in place of each vector.
std::uint64_t seeds_bytes(std::uint64_t queries) noexcept;

/// The header of requests and replies (docs/wire_format.md, section 2).
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
