// Private retrievals from several servers: the client half and the transport put together.
#pragma once

#include <optional>

#include "pirx/client/deployment.h"
#include "pirx/itpir/vertical.h"

namespace pirx::client {

/// A record for each one asked for, in order; nothing for a key that has none.
using Believe = std::function<bool(std::span<const std::optional<Bytes>> records)>;

struct FetchOptions {
  std::chrono::milliseconds deadline{10'000};
  /// Lying servers the caller wants to be safe from; nothing: as many as unique decoding corrects, (l - d -
  /// 1) / 2, and at least one when there are more than the d + 1 servers that must answer.
  std::optional<unsigned> liars;
  /// Wait for every server up to the deadline, so that each one's behaviour is reported.
  bool wait_for_all = false;
  /// Queries to ask at most where liars can be told apart by more of them; 1 to itpir::kMaxRounds. Whether
  /// another one is needed does not depend on the records.
  unsigned rounds = 4;
  /// Where the replies prove no answer, the single one that this is true of is taken for the true one: the
  /// caller's own evidence, say a signature over each record. Empty: records that fit their digests and, by
  /// key, every key has one. What is asked and how often does not depend on it.
  Believe believe = {};
};

struct ServerOutcome {
  itpir::ServerStatus status = itpir::ServerStatus::kSilent;
  std::string error;                           ///< why there was no reply; empty when there was
  double milliseconds = 0;                     ///< all rounds together
  std::uint64_t bytes_up = 0, bytes_down = 0;  ///< likewise
  bool abandoned = false;                      ///< still at work when enough had answered
};

struct FetchReport {
  itpir::Answer answer;
  std::vector<std::size_t> missing;  ///< fetch_keys: keys without a record, whose `records` are empty
  std::vector<ServerOutcome> servers;
  double query_milliseconds = 0, network_milliseconds = 0, decode_milliseconds = 0;
};

/// What servers take in one request unless told otherwise (pirx serve --max-queries).
inline constexpr std::size_t kMaxRecordsPerRound = 256;

/// Sends requests[i] to server i, all at once, and calls on_settled as each one settles, until it is true: as
/// http::HttpTransport::query_all.
using Ask = std::function<std::vector<http::CallOutcome>(const std::vector<Bytes>& requests,
                                                         const http::CallOptions& options,
                                                         const http::HttpTransport::OnSettled& on_settled)>;

/// A client of a deployment. Not thread-safe.
class Fetcher {
 public:
  /// Asks by HTTP over connections of its own, which are closed at the end of every round, before anything is
  /// decoded; or by `ask`, where the caller has another way to the servers.
  static Result<Fetcher> create(Deployment deployment, const itpir::ClientOptions& options = {},
                                Ask ask = {});
  const itpir::Client& client() const noexcept { return client_; }
  /// Fetches the records at these positions, at most kMaxRecordsPerRound, in one round of queries to all
  /// servers (with a batch code one for every batch of records), or more where the replies do not settle who
  /// lied. Errors of Client::query and ReplyCollector::finish; the message of an undecodable round lists what
  /// each server answered. OutOfRange at the end: servers are asked as ever where there is no such position.
  Result<FetchReport> fetch(std::span<const std::uint64_t> records, const FetchOptions& options);
  /// The same by key, from a keyed database; what is sent does not depend on whether there is such a key, nor
  /// does the number of rounds. Where replies prove no answer, one in which every key has a record is taken
  /// for the true one. That a key is missing is right as far as the answer's proof bound goes, no further: of
  /// the servers that answered none then say otherwise with a fingerprint that fits (else Undecodable).
  /// InvalidArgument where the database is not keyed.
  Result<FetchReport> fetch_keys(std::span<const std::string> keys, const FetchOptions& options);

 private:
  /// What is asked for in each round.
  struct Request {
    std::size_t wishes;
    itpir::QueryKind kind;
    std::function<Result<itpir::Query>()> query;
    itpir::DecodeOptions decode;  ///< but for `liars`
  };
  Result<FetchReport> run(const Request& request, const FetchOptions& options);
  Fetcher(std::vector<http::Endpoint> endpoints, itpir::Client client,
          std::optional<itpir::VerticalClient> vertical, Ask ask, Rng rng);
  std::vector<http::Endpoint> endpoints_;
  itpir::Client client_;                           ///< of the buckets where there is a code
  std::optional<itpir::VerticalClient> vertical_;  ///< where there is a code
  Ask ask_;
  Rng rng_;
};

}  // namespace pirx::client
