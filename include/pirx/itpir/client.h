// The client half of Goldberg's protocol. Stateless and const; what a query needs to be decoded is a value of
// its own.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>

#include "pirx/itpir/common.h"
#include "pirx/protocol/retrieval.h"

namespace pirx::itpir {

/// What the indices of a query stand for.
enum class QueryKind : std::uint8_t {
  kRecords,  ///< records of the database
  kRowSums,  ///< rows, of which kSummedRows at a time are added up
};
inline constexpr std::size_t kSummedRows = 3;

struct Wishes;
struct ChorQuery;

/// What the replies alone decide.
enum class DecodeStatus : std::uint8_t {
  kOk,         ///< there is an answer
  kAmbiguous,  ///< several answers fit, or one that cannot be proven, and further queries would not help
  kNeedMoreQueries,  ///< not yet, but further queries for the same records tell the liars apart
  kFailed,           ///< too few replies, or more liars than any number of queries can correct
};
std::string_view decode_status_name(DecodeStatus status) noexcept;

/// Rounds of queries that are decoded together at most.
inline constexpr std::size_t kMaxRounds = 8;

/// What the caller knows of records: whether these, in the order of the indices asked for, can be right (a
/// checksum, a signed Merkle root). May be asked about several candidates; must not depend on anything else.
using RecordCheck = std::function<bool(std::span<const Bytes> records)>;

/// How a caller reads sums of rows whose slots add up to records (keyed databases), as the decoder reads
/// records by position. The answer's records are then the slots of the sums, slot_bytes() each.
struct SumReader {
  /// Where in its row the slot of the i-th sum begins.
  std::function<std::uint64_t(std::size_t i)> offset;
  /// Whether that slot holds a record with the right digest. A missing key's does not, and nor does a lie.
  std::function<bool(std::size_t i, ByteSpan slot)> fits;
};

struct DecodeOptions {
  /// Lying servers to be safe from: answers are proven only for at least as many. Nothing: (k - d - 1) / 2 of
  /// k that reply (d = t in plain Goldberg, see batchcodes::Encoding).
  std::optional<unsigned> liars;
  /// Beside the records' own digests: refuses answers, and chooses one where the replies prove none.
  RecordCheck check = {};
  /// As `check`, but asked only about what the replies do not prove, so that it never refuses what they do.
  RecordCheck evidence = {};
  /// For query_sums. Where the replies prove no answer, and there is no `evidence`, sums that all fit are
  /// taken. A sum that does not fit is never proven against d + 1 replies that make one which does.
  std::optional<SumReader> sums = {};
};

/// Servers whose replies belong together, and how many may have lied for that to be the truth for sure.
struct Candidate {
  std::vector<bool> agrees;
  unsigned proof_bound = 0;
};

/// What the replies decide, without a look at any record: whether the client asks again then tells servers
/// nothing about what it wants, as long as those who lie are no more than t.
struct DecodeReport {
  DecodeStatus status = DecodeStatus::kFailed;
  unsigned queries_to_add = 0;  ///< kNeedMoreQueries: about so many further queries
  unsigned rank = 0;            ///< linearly independent errors seen
  std::vector<Candidate>
      candidates;  ///< where it is not kOk: the answers that fit, as far as they were sought
};

/// What decoding needs: the wanted indices and the blinding of the query vectors. Move-only, consumed by
/// decode, collect or ask_again, wiped on destruction.
class ClientState {
 public:
  ClientState(ClientState&&) noexcept;
  ClientState& operator=(ClientState&&) noexcept;
  ~ClientState();

 private:
  friend class Client;
  friend class ReplyCollector;
  struct Impl;
  explicit ClientState(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// One request per server, in the order of Params::coordinates, and the state that stays with the client.
struct Query {
  std::vector<Bytes> requests;
  ClientState state;
};

/// Gathers replies as they arrive, so that a caller need not wait for the slowest server, and decodes them:
///
///     auto query = client.query(records, rng);
///     auto collector = client.collect(std::move(query->state));
///     ... collector.add(server, reply) ...
///     while (collector.decode()->status == DecodeStatus::kNeedMoreQueries) {   // as often as the caller
///     likes
///       query = client.query(records, rng);                                    // to all servers
///       collector.ask_again(std::move(query->state));
///       ... collector.add(server, reply) ...
///     }
///     auto answer = std::move(collector).finish();
class ReplyCollector {
 public:
  ReplyCollector(ReplyCollector&&) noexcept;
  ReplyCollector& operator=(ReplyCollector&&) noexcept;
  ~ReplyCollector();
  /// Takes the reply of a server to the latest query; one that is no valid reply to it becomes an erasure,
  /// and the error says why.
  Result<void> add(std::size_t server, ByteSpan reply);
  /// Notes why a server will not answer (kSilent, kRefused, kMalformed or kStaleEpoch). Silent is the
  /// default.
  void set_missing(std::size_t server, ServerStatus why);
  /// True once the replies to the latest query agree with one another and are at least d + 1 + liars: no
  /// `liars` servers can have changed them.
  bool settled(unsigned liars) const;
  /// Decides as much as the replies prove. Never looks at a record. ResourceExhausted without memory.
  Result<DecodeReport> decode();
  /// Replies from now on are to this query; earlier ones are kept and decoded together with them.
  /// InvalidArgument: a query of another client or for other records, or kMaxRounds have been asked already.
  Result<void> ask_again(ClientState&& state);
  /// The records. Where the replies prove nothing, digests or the caller's check may settle it (kProbable):
  /// all answers that any d + 1 replies make are weighed, up to 2^14 choices of d + 1 servers, and a single
  /// one must be right. Once an answer is proven, whoever lied in any round is named. StaleEpoch: too few
  /// servers hold this database version. Undecodable: fewer than d + 1 replies, or more liars than can be
  /// told apart, or several answers with right digests, or a missing key that d + 1 replies have a record of;
  /// the message says how many replies there were and what would help. DataLoss: the servers agree on a
  /// damaged record. Its success may depend on the records.
  Result<Answer> finish() &&;

 private:
  friend class Client;
  struct Impl;
  explicit ReplyCollector(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct ClientOptions {
  /// Seeded queries: the first t servers get seeds of 32 bytes in place of query vectors and expand them, so
  /// that the client uploads l - t vectors. t servers together then learn nothing as long as they cannot tell
  /// AES-256 in counter mode from random, where without they learn nothing whatever they compute.
  bool seeded = false;
};

/// Const and thread-safe (each thread with its own Rng).
class Client {
 public:
  explicit Client(Params params, const ClientOptions& options = {});
  const Params& params() const noexcept { return *params_; }

  /// Requests for these records; the same record may be asked for twice. Blinded query vectors: with q = 1
  /// one an index; a q-th of that where any q rows of the database fit in one (Encoding::collision_free); one
  /// an index again where some do not. So all requests of the same number of indices have the same size,
  /// whatever the indices. Cost l * t * R multiply-adds a vector of R elements. OutOfRange: no such record.
  /// InvalidArgument: no index or more than fit kMaxQueriesPerRequest.
  Result<Query> query(std::span<const std::uint64_t> records, Rng& rng) const;

  /// Requests for sums of three rows of the database each, for layouts whose records are such sums; the
  /// answer's records are whole rows, without a look at any digest, unless DecodeOptions::sums reads them.
  /// Servers see what they see of a query for records: for a plain database as many vectors as for one record
  /// a sum, otherwise for three. Errors as query; InvalidArgument too where the field's characteristic is
  /// not 2.
  Result<Query> query_sums(std::span<const std::array<std::uint64_t, kSummedRows>> rows, Rng& rng) const;

  ReplyCollector collect(ClientState&& state, DecodeOptions options = {}) const;

  /// collect, add all, finish. replies[i] empty: server i was silent.
  Result<Answer> decode(ClientState&& state, std::span<const std::optional<Bytes>> replies,
                        DecodeOptions options = {}) const;

  /// Bytes of a request (to a server that gets no seeds) and of a reply for that many records or sums; for
  /// limits and planning.
  std::uint64_t request_bytes(std::size_t wishes, QueryKind kind = QueryKind::kRecords) const;
  std::uint64_t reply_bytes(std::size_t wishes, QueryKind kind = QueryKind::kRecords) const;

 private:
  Result<Query> make_query(Wishes wishes, Rng& rng) const;
  Result<Query> wrap(Result<ChorQuery> query) const;
  std::shared_ptr<const Params> params_;
  ClientOptions options_;
};

}  // namespace pirx::itpir
