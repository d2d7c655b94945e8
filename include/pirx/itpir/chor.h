// Private information retrieval by exclusive or: the l-server protocol with threshold l - 1 of Chor,
// Goldreich, Kushilevitz and Sudan, "Private information retrieval" (1995). This file has the parameters and
// the client. Every server must answer, and only the records' own digests reveal a wrong answer.
#pragma once

#include <memory>
#include <optional>

#include "pirx/base/rng.h"
#include "pirx/base/secret.h"
#include "pirx/itpir/client.h"

namespace pirx::itpir {

/// A deployment as the client sees it: l servers hold the same database. Any l - 1 of them together learn
/// nothing about the records asked for; all l are needed. A validated value.
class ChorParams {
 public:
  struct Spec {
    database::Geometry geometry;
    database::Version version;
    /// One for each server: public names that tell the servers apart, not field elements.
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

/// The wanted indices. Move-only; decode or collect consumes it; wiped on destruction.
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
  SecretVector<std::uint64_t> indices_;  ///< of records; for sums, of rows, kSummedRows for each sum
};

/// One request for each server, in the order of ChorParams::coordinates, and the state that stays with the
/// client.
struct ChorQuery {
  std::vector<Bytes> requests;
  ChorState state;
};

/// Gathers replies as they arrive and adds them up. It has the interface of ReplyCollector, but is not
/// robust: the replies alone prove nothing, and asking again would not help.
class ChorCollector {
 public:
  /// Takes the reply of a server. An invalid reply counts as no reply, and the error says what is wrong with
  /// it.
  Result<void> add(std::size_t server, ByteSpan reply);
  /// Records why a server will not answer (kSilent, kRefused, kMalformed or kStaleEpoch).
  void set_missing(std::size_t server, ServerStatus why);
  /// True once every server has replied. Replies cannot show who lies, so `liars` has no effect.
  bool settled(unsigned /*liars*/ = 0) const noexcept { return replied_ == status_.size(); }
  /// kOk once every server has replied, else kFailed. Never looks at a record.
  DecodeReport decode() const;
  /// The records. kProbable: their digests, or the caller's check, are right. kUnverified: there was nothing
  /// to check. Undecodable: a server did not answer. StaleEpoch: a server has another version of the
  /// database. DataLoss: a record is wrong, so a server lied or holds a corrupt database; nobody can say
  /// which server, and the answer is lost. Whether this succeeds may depend on the records: do not let
  /// servers see it.
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

/// Makes requests and decodes replies. Const and thread-safe, if each thread has its own Rng.
class ChorClient {
 public:
  explicit ChorClient(ChorParams params);
  const ChorParams& params() const noexcept { return *params_; }

  /// Requests for these records, one query vector for each index; a record may be asked for twice. Costs l *
  /// rows / 8 bytes an index. The size of a request depends only on the server and the number of indices; no
  /// branch and no address depends on an index. OutOfRange: there is no such record. InvalidArgument: no
  /// index, or more than kMaxQueriesPerRequest. ResourceExhausted: a message would exceed kMaxMessageBytes,
  /// or there is no memory.
  Result<ChorQuery> query(std::span<const std::uint64_t> records, Rng& rng) const;

  /// Requests for sums of three rows each, as in Client::query_sums. Servers cannot tell them from those of
  /// query().
  Result<ChorQuery> query_sums(std::span<const std::array<std::uint64_t, kSummedRows>> rows, Rng& rng) const;

  /// A collector for the replies. options.liars has no effect here.
  ChorCollector collect(ChorState&& state, DecodeOptions options = {}) const;

  /// Calls collect, add for every reply, and finish. replies[i] is empty if server i did not answer.
  Result<Answer> decode(ChorState&& state, std::span<const std::optional<Bytes>> replies,
                        DecodeOptions options = {}) const;

  /// The bytes of a request to `server`, and of a reply, for `wishes` records or sums.
  std::uint64_t request_bytes(std::size_t wishes, std::size_t server) const;
  std::uint64_t reply_bytes(std::size_t wishes) const;

 private:
  Result<std::vector<Bytes>> make_requests(std::span<const std::uint64_t> rows, std::size_t ones,
                                           Rng& rng) const;
  std::shared_ptr<const ChorParams> params_;
};

}  // namespace pirx::itpir
