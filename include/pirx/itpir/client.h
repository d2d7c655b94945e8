// The client half of Goldberg's protocol. Stateless and const; what a query needs to be decoded is a value of
// its own.
#pragma once

#include <memory>
#include <optional>

#include "pirx/base/rng.h"
#include "pirx/itpir/common.h"

namespace pirx::itpir {

/// How sure an answer is.
enum class Certainty : std::uint8_t {
  kProven,      ///< right unless more than proof_bound responders lied
  kProbable,    ///< beyond what shares alone can prove; settled by the records' digests
  kUnverified,  ///< k = t + 1 replies and no digests: nothing could be checked
};
std::string_view certainty_name(Certainty certainty) noexcept;

enum class ServerStatus : std::uint8_t {
  kOk,
  kLied,        ///< its reply is wrong (proven)
  kSuspected,   ///< its reply disagrees with the probable answer, in the words of the wanted records
  kSilent,      ///< no reply in time
  kRefused,     ///< it answered, but with a refusal
  kMalformed,   ///< a reply of another shape, field, coordinate or with values that are no elements
  kStaleEpoch,  ///< a reply (or refusal) for another database version
};
std::string_view server_status_name(ServerStatus status) noexcept;

struct Answer {
  std::vector<Bytes> records;  ///< in the order of the indices asked for
  Certainty certainty = Certainty::kUnverified;
  unsigned responders = 0;   ///< k: well-formed replies used
  unsigned proof_bound = 0;  ///< see Certainty::kProven
  std::vector<ServerStatus> servers;
};

/// What decoding needs: the wanted indices. Move-only, consumed by decode or collect, wiped on destruction.
class ClientState {
 public:
  ClientState(ClientState&&) noexcept;
  ClientState& operator=(ClientState&&) noexcept;
  ~ClientState();

 private:
  friend class Client;
  struct Impl;
  explicit ClientState(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// One request per server, in the order of Params::coordinates, and the state that stays with the client.
struct Query {
  std::vector<Bytes> requests;
  ClientState state;
};

/// Gathers replies as they arrive, so that a caller need not wait for the slowest server.
class ReplyCollector {
 public:
  ReplyCollector(ReplyCollector&&) noexcept;
  ReplyCollector& operator=(ReplyCollector&&) noexcept;
  ~ReplyCollector();
  /// Takes the reply of a server; one that is no valid reply to this query becomes an erasure, and the error
  /// says why.
  Result<void> add(std::size_t server, ByteSpan reply);
  /// Notes why a server will not answer (kSilent, kRefused, kMalformed or kStaleEpoch). Silent is the
  /// default.
  void set_missing(std::size_t server, ServerStatus why);
  /// True once the replies so far agree with one another and are at least t + 1 + liars: no `liars` servers
  /// can have changed them.
  bool settled(unsigned liars) const;
  /// Decodes what has come. StaleEpoch: too few servers hold this database version. Undecodable: fewer than t
  /// + 1 replies, or more liars than can be told apart; the message says how many replies there were and what
  /// would help.
  Result<Answer> finish() &&;

 private:
  friend class Client;
  struct Impl;
  explicit ReplyCollector(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Const and thread-safe (each thread with its own Rng).
class Client {
 public:
  explicit Client(Params params);
  const Params& params() const noexcept { return *params_; }

  /// Requests for these records, one query vector an index; the same record may be asked for twice. All
  /// requests of the same number of indices have the same size, whatever the indices. Cost l * t * rows
  /// multiply-adds an index. OutOfRange: no such record. InvalidArgument: no index or more than
  /// kMaxQueriesPerRequest.
  Result<Query> query(std::span<const std::uint64_t> records, Rng& rng) const;

  ReplyCollector collect(ClientState&& state) const;

  /// collect, add all, finish. replies[i] empty: server i was silent.
  Result<Answer> decode(ClientState&& state, std::span<const std::optional<Bytes>> replies) const;

  /// Bytes of a request and of a reply for that many indices; for limits and planning.
  std::uint64_t request_bytes(std::size_t indices) const;
  std::uint64_t reply_bytes(std::size_t indices) const;

 private:
  std::shared_ptr<const Params> params_;
};

}  // namespace pirx::itpir
