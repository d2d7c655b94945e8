// Private information retrieval by exclusive or: Chor, Goldreich, Kushilevitz and Sudan, "Private information
// retrieval" (1995), the l-server protocol with threshold l - 1. Parameters and client half. Every server
// must answer, and nothing tells a wrong answer from a right one but the records' own digests.
#pragma once

#include <memory>
#include <optional>

#include "pirx/base/rng.h"
#include "pirx/base/secret.h"
#include "pirx/itpir/client.h"

namespace pirx::itpir {

/// A deployment as the client sees it: l servers hold the same database; any l - 1 of them together learn
/// nothing about the records asked for, and all l are needed. A validated value.
class ChorParams {
 public:
  struct Spec {
    database::Geometry geometry;
    database::Version version;
    /// One a server: names that tell the servers apart, no field elements.
    std::vector<std::uint64_t> coordinates;
    /// All servers but the last get a seed of 32 bytes in place of each query vector. Then l - 1 servers
    /// learn nothing only as long as they cannot tell AES-256 in counter mode from random bits.
    bool seeded = false;
  };
  /// InvalidArgument: fewer than two servers or more than Params::kMaxServers, a coordinate that is zero or
  /// repeated, or a geometry too large for kMaxMessageBytes.
  static Result<ChorParams> create(Spec spec);

  const Spec& spec() const noexcept { return spec_; }
  const database::Geometry& geometry() const noexcept { return spec_.geometry; }
  const database::Version& version() const noexcept { return spec_.version; }
  const std::vector<std::uint64_t>& coordinates() const noexcept { return spec_.coordinates; }
  bool seeded() const noexcept { return spec_.seeded; }
  unsigned servers() const noexcept { return static_cast<unsigned>(spec_.coordinates.size()); }  ///< l
  unsigned threshold() const noexcept { return servers() - 1; }                                  ///< t
  unsigned needed() const noexcept { return servers(); }

 private:
  explicit ChorParams(Spec spec) : spec_(std::move(spec)) {}
  Spec spec_;
};

/// The wanted indices. Move-only, consumed by decode or collect, wiped on destruction.
class ChorState {
 public:
  ChorState(ChorState&&) noexcept = default;
  ChorState& operator=(ChorState&&) noexcept = default;

 private:
  friend class ChorClient;
  friend class ChorCollector;
  ChorState(std::shared_ptr<const ChorParams> params, QueryKind kind, SecretVector<std::uint64_t> indices)
      : params_(std::move(params)), kind_(kind), indices_(std::move(indices)) {}
  std::shared_ptr<const ChorParams> params_;
  QueryKind kind_;
  SecretVector<std::uint64_t> indices_;  ///< of records, or of rows, kSummedRows for each sum
};

/// One request per server, in the order of ChorParams::coordinates, and the state that stays with the client.
struct ChorQuery {
  std::vector<Bytes> requests;
  ChorState state;
};

/// Gathers replies as they arrive and adds them up. Shaped like ReplyCollector, without its robustness: the
/// replies alone prove nothing, and asking again would not help.
class ChorCollector {
 public:
  /// Takes the reply of a server; one that is no valid reply is as none, and the error says why.
  Result<void> add(std::size_t server, ByteSpan reply);
  /// Notes why a server will not answer (kSilent, kRefused, kMalformed or kStaleEpoch).
  void set_missing(std::size_t server, ServerStatus why);
  /// True once every server has replied. No replies settle anything about liars.
  bool settled(unsigned /*liars*/ = 0) const noexcept { return replied_ == status_.size(); }
  /// kOk once every server has replied, else kFailed. Never looks at a record.
  DecodeReport decode() const;
  /// The records. kProbable: their digests, or the caller's check, fit; kUnverified: there are none.
  /// Undecodable, StaleEpoch: a server did not answer, or from another database version. DataLoss: a record
  /// is wrong, so a server lied or holds a corrupt database; nobody can say which one, and the answer is
  /// lost. Its success may depend on the records: do not let servers see it.
  Result<Answer> finish() &&;

 private:
  friend class ChorClient;
  ChorCollector(ChorState&& state, DecodeOptions options);
  Result<std::vector<Bytes>> cut_records() const;
  std::shared_ptr<const ChorParams> params_;
  QueryKind kind_;
  SecretVector<std::uint64_t> indices_;
  std::size_t queries_;
  DecodeOptions options_;
  std::vector<ServerStatus> status_;
  std::size_t replied_ = 0;
  SecretVector<std::byte> sum_;  ///< of the replies: row_bytes() for each query
};

/// Const and thread-safe (each thread with its own Rng).
class ChorClient {
 public:
  explicit ChorClient(ChorParams params);
  const ChorParams& params() const noexcept { return *params_; }

  /// Requests for these records, one query vector an index; the same record may be asked for twice. Requests
  /// to one server for as many indices have the same size, whatever the indices; no branch and no address
  /// depends on one. Cost l * rows / 8 bytes an index. OutOfRange: no such record. InvalidArgument: no index
  /// or more than kMaxQueriesPerRequest. ResourceExhausted: messages beyond kMaxMessageBytes, or no memory.
  Result<ChorQuery> query(std::span<const std::uint64_t> records, Rng& rng) const;

  /// Requests for sums of three rows each, as Client::query_sums. To servers they look as those of query().
  Result<ChorQuery> query_sums(std::span<const std::array<std::uint64_t, kSummedRows>> rows, Rng& rng) const;

  /// options.liars has no meaning here.
  ChorCollector collect(ChorState&& state, DecodeOptions options = {}) const;

  /// collect, add all, finish. replies[i] empty: server i was silent.
  Result<Answer> decode(ChorState&& state, std::span<const std::optional<Bytes>> replies,
                        DecodeOptions options = {}) const;

  /// Bytes of a request to that server and of a reply for that many records or sums.
  std::uint64_t request_bytes(std::size_t wishes, std::size_t server) const;
  std::uint64_t reply_bytes(std::size_t wishes) const;

 private:
  Result<std::vector<Bytes>> make_requests(std::span<const std::uint64_t> rows, std::size_t ones,
                                           Rng& rng) const;
  std::shared_ptr<const ChorParams> params_;
};

}  // namespace pirx::itpir
