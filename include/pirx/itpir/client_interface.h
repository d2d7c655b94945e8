// SPDX-License-Identifier: Apache-2.0
// What clients of the protocols with several servers have in common: they ask every server, gather replies as
// these arrive, and decode them.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "pirx/base/secret.h"
#include "pirx/database/geometry.h"
#include "pirx/protocol/retrieval.h"

namespace pirx::itpir {

/// What the indices of a query stand for.
enum class QueryKind : std::uint8_t {
  kRecords,  ///< records of the database
  kRowSums,  ///< rows, of which kSummedRows at a time are added up
};
inline constexpr std::size_t kSummedRows = 3;

/// What a query asks for: the indices of records, or those of rows, kSummedRows for each sum. Secret.
struct Wishes {
  QueryKind kind = QueryKind::kRecords;
  SecretVector<std::uint64_t> indices;
  SecretVector<std::uint64_t> offsets = {};  ///< of each sum's slot in its rows; none: whole rows

  std::size_t size() const noexcept {
    return indices.size() / (kind == QueryKind::kRowSums ? kSummedRows : 1);
  }
};

/// What the replies alone decide.
enum class DecodeStatus : std::uint8_t {
  kOk,         ///< there is an answer
  kAmbiguous,  ///< several answers fit, or one that cannot be proven, and further queries would not help
  kNeedMoreQueries,  ///< not yet, but further queries for the same records tell the liars apart
  kFailed,           ///< too few replies, or more liars than any number of queries can correct
};

/// Rounds of queries that are decoded together at most.
inline constexpr std::size_t kMaxRounds = 8;

/// Makes records out of what a query found (records, rows, or slots of sums) for the wishes from `first` on.
/// Nothing in place of a record: the key has none; it counts as missing only if no d + 1 replies make a
/// record. An error: no database holds such bytes, so somebody lied. It may be called with several
/// candidates, and must depend only on their bytes.
using ReadRecords = std::function<Result<Records>(std::size_t first, std::span<const Bytes> found)>;

struct DecodeOptions {
  /// Lying servers to be safe from: an answer is proven only if that many may lie. Nothing: (k - d - 1) / 2
  /// of k that reply (d = t in plain Goldberg, see batchcodes::Encoding).
  std::optional<unsigned> liars;
  /// Empty: what was found is the records. Candidates from which it makes the same records are one answer;
  /// otherwise a lie in a part that is not wanted would make a second answer.
  ReadRecords read = {};
  /// Whether `read` checks digests. If so, an answer without an error and without a missing key is probable,
  /// and after an error other replies may give the answer.
  bool read_checks = false;
  /// If set, chooses in place of the digests when the replies prove no answer. It never refuses a proven
  /// answer.
  Believe believe = {};
  /// Ends decode() and finish() with Unavailable.
  Stop stop = {};
};

/// Servers whose replies belong together. Their answer is true unless more than proof_bound servers lied.
struct Candidate {
  std::vector<bool> agrees;
  unsigned proof_bound = 0;
};

/// What the replies decide. It depends on no record, so a client that asks again tells servers nothing about
/// what it wants, as long as at most t of them lie.
struct DecodeReport {
  DecodeStatus status = DecodeStatus::kFailed;
  unsigned rank = 0;     ///< linearly independent errors seen
  unsigned accused = 0;  ///< kOk: the most servers that contradict the answer in one round
  /// The answers that fit, as far as they were sought. Empty if the status is kOk.
  std::vector<Candidate> candidates;
};

/// What a client keeps of a query to decode the replies: the wanted indices and the coins that matter. Wiped
/// on destruction.
class ClientState {
 public:
  virtual ~ClientState() = default;
};

/// One request per server, in the order of the deployment, and the state that stays with the client.
struct Query {
  std::vector<Bytes> requests;
  std::unique_ptr<ClientState> state;
};

/// Gathers replies as they arrive, so that a caller need not wait for the slowest server, and decodes them:
///
///     auto query = client.query(records, rng);
///     auto collector = client.collect(std::move(query->state));
///     ... collector->add(server, reply) ...
///     while (collector->decode()->status == DecodeStatus::kNeedMoreQueries) {  // as often as the caller
///     likes
///       query = client.query(records, rng);                                    // to all servers
///       collector->ask_again(std::move(query->state));
///       ... collector->add(server, reply) ...
///     }
///     auto answer = std::move(*collector).finish();
class ReplyCollector {
 public:
  virtual ~ReplyCollector() = default;
  /// Takes a server's reply to the latest query. An invalid reply counts as no reply, and the error says what
  /// is wrong with it.
  virtual Result<void> add(std::size_t server, ByteSpan reply) = 0;
  /// Notes why a server will not answer (kSilent, kRefused, kMalformed or kStaleEpoch). Silent is the
  /// default.
  virtual void set_missing(std::size_t server, ServerStatus why) = 0;
  /// Whether the replies to the latest query agree with one another and are so many that no `liars` servers
  /// can have changed them.
  virtual bool settled(unsigned liars) const = 0;
  /// Decides as much as the replies prove. Never looks at a record. ResourceExhausted without memory.
  virtual Result<DecodeReport> decode() = 0;
  /// Replies from now on are to this query; earlier ones are kept and decoded together with them.
  /// InvalidArgument: the query is of another client or for other records, kMaxRounds have been asked
  /// already, or the protocol has no further rounds.
  virtual Result<void> ask_again(std::unique_ptr<ClientState> state) = 0;
  /// The records. Where the replies prove nothing, digests or DecodeOptions may settle it (kProbable):
  /// all answers that any d + 1 replies make are weighed, up to 2^14 choices of d + 1 servers, and exactly
  /// one must be right. Once an answer is proven, whoever lied in any round is named, as far as time allows.
  /// Errors: StaleEpoch if too few servers hold this version of the database. Undecodable if there are fewer
  /// than d + 1 replies, more liars than can be told apart, several answers with right digests, or a missing
  /// key of which d + 1 replies make a record; the message says how many replies there were and what would
  /// help. DataLoss if the servers agree on a damaged record. Whether it succeeds may depend on the records:
  /// do not let servers see it.
  virtual Result<Answer> finish() && = 0;
};

struct ClientOptions {
  /// Seeded queries: the first t servers get seeds of 32 bytes in place of query vectors and expand them, so
  /// that the client uploads l - t vectors. t servers together then learn nothing as long as they cannot tell
  /// AES-256 in counter mode from random bits. Without seeds they learn nothing whatever they compute.
  bool seeded = false;
};

/// The bytes of a request with vectors, and of a reply.
struct MessageSizes {
  std::uint64_t request, reply;
};

/// What a query takes of a client beside its messages.
struct ClientEffort {
  double query_bytes = 0;  ///< coins and shares, while the query is made
  double reply_bytes = 0;  ///< the replies of all servers as field elements, until the retrieval ends
  double seconds = 0;      ///< of one core, right within a factor of five
};

/// The client half of a protocol with several servers. Const and thread-safe, if each thread has its own Rng.
class SharesClient {
 public:
  virtual ~SharesClient() = default;
  virtual const database::Geometry& geometry() const noexcept = 0;
  virtual unsigned servers() const noexcept = 0;  ///< l
  virtual unsigned needed() const noexcept = 0;   ///< this many replies make a record

  /// Requests for these records; the same record may be asked for twice. All requests for the same number of
  /// indices have the same size, whatever the indices; no branch and no address depends on an index.
  /// OutOfRange: there is no such record. InvalidArgument: no index, or more than fit kMaxQueriesPerRequest.
  /// ResourceExhausted: a message would exceed kMaxMessageBytes, or there is no memory.
  Result<Query> query(std::span<const std::uint64_t> records, Rng& rng) const;

  /// Requests for sums of three rows of the database each, for layouts whose records are such sums. The
  /// answer's records are whole rows or, with `offsets`, the slots that begin there in the sums; no digest is
  /// checked but by DecodeOptions::read. Servers cannot tell these requests from those for records. Errors as
  /// query, and InvalidArgument if the field's characteristic is not 2, or without offsets if the protocol
  /// sends single slots.
  Result<Query> query_sums(std::span<const std::array<std::uint64_t, kSummedRows>> rows, Rng& rng,
                           std::span<const std::uint64_t> offsets = {}) const;

  /// A collector for the replies to a query of this client. It may outlive the client.
  std::unique_ptr<ReplyCollector> collect(std::unique_ptr<ClientState> state,
                                          DecodeOptions options = {}) const;

  /// Calls collect, add for every reply, and finish. replies[i] is empty if server i did not answer.
  Result<Answer> decode(std::unique_ptr<ClientState> state, std::span<const std::optional<Bytes>> replies,
                        DecodeOptions options = {}) const;

  /// The bytes of a request to a server that gets no seeds, and of a reply, for that many records or sums.
  std::uint64_t request_bytes(std::size_t wishes, QueryKind kind = QueryKind::kRecords) const {
    return sizes(wishes, kind).request;
  }
  std::uint64_t reply_bytes(std::size_t wishes, QueryKind kind = QueryKind::kRecords) const {
    return sizes(wishes, kind).reply;
  }
  /// Nothing where the messages are nearly all.
  virtual ClientEffort effort(std::size_t wishes, QueryKind kind = QueryKind::kRecords) const {
    static_cast<void>(wishes), static_cast<void>(kind);
    return {};
  }

 private:
  virtual Result<Query> make_query(Wishes wishes, Rng& rng) const = 0;
  virtual std::unique_ptr<ReplyCollector> make_collector(std::unique_ptr<ClientState> state,
                                                         DecodeOptions options) const = 0;
  virtual MessageSizes sizes(std::size_t wishes, QueryKind kind) const = 0;
};

/// Makes a client of one deployment for a database with another geometry and version, such as a bucket.
using MakeClient = std::function<Result<std::shared_ptr<const SharesClient>>(
    const database::Geometry& geometry, const database::Version& version, const ClientOptions& options)>;

}  // namespace pirx::itpir
