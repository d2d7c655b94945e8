// SPDX-License-Identifier: Apache-2.0
// Private retrievals from what a deployment file describes, whatever its protocol: the client half and the
// transport put together.
#pragma once

#include "pirx/client/deployment.h"
#include "pirx/client/work.h"
#include "pirx/http/http_client.h"

namespace pirx::client {

struct FetchOptions {
  /// The time for each wave of messages (Retrieval::outgoing) and their replies; with a single server it
  /// includes making the messages. A single server decides how many messages a query takes, so all messages
  /// of a look-up together have this time once for every query (three for a key), and once more. With several
  /// servers, decoding may take as long as all waves (Undecodable if it takes longer). Nothing: 10 s, or 10
  /// minutes with a single server, which may compute for long.
  std::optional<std::chrono::milliseconds> deadline = {};
  // The next four are explained in RetrieveOptions.
  std::optional<unsigned> liars = {};
  bool wait_for_all = false;
  std::optional<unsigned> rounds = {};
  Believe believe = {};
  /// Ends the retrieval with Unavailable, or Undecodable where replies are being decoded. It is called about
  /// every 50 ms, always from the thread that called, while the client waits for servers or, in some
  /// protocols, works for seconds.
  Stop stop = {};
  WorkLimits limits = {};  ///< what the server's plan may ask of this client
  /// Called before each wave of messages is sent, with the number of waves before it and the length of its
  /// first message.
  std::function<void(std::size_t sent, std::size_t bytes)> sending = {};
  /// Called if the retrieval ended with StaleEpoch: gives the deployment with the parameters that the same
  /// servers have now, such as refresh() of pirx/client/refresh.h. The retrieval is then made once more, with
  /// it and fresh coins, whatever is asked for. Empty: the error is the result.
  std::function<Result<Deployment>(const Deployment& stale)> renew = {};
};

/// The time for each wave, with options.deadline or without.
std::chrono::milliseconds deadline_of(const Plan& plan, const FetchOptions& options);

struct ServerOutcome {
  ServerStatus status = ServerStatus::kSilent;
  std::string error;                           ///< why there was no valid reply, or a warning; else empty
  double milliseconds = 0;                     ///< all rounds together
  std::uint64_t bytes_up = 0, bytes_down = 0;  ///< likewise
  bool abandoned = false;                      ///< not awaited, because enough others had answered
};

struct FetchReport {
  Answer answer;
  std::vector<ServerOutcome> servers;
  std::size_t request_bytes = 0;  ///< of the longest message, without HTTP
  double query_milliseconds = 0, network_milliseconds = 0, decode_milliseconds = 0;
};

/// The most records or keys in one retrieval of a Fetcher: as many as servers take in a message by default.
inline constexpr std::size_t kMaxRecords = 256;

/// Checks whether `wishes` records may be fetched from a deployment with these options. The errors are those
/// that Fetcher::create and Fetcher::fetch give before anything is made or sent.
Result<void> check_fetch(const Deployment& deployment, const Texts& client_options, std::size_t wishes,
                         const FetchOptions& options);

/// Another way to the servers. Does what http::HttpTransport::query_all() does: sends requests[i] to server
/// i, all at the same time, and calls on_settled when a reply has come or will not come, until that returns
/// true.
using Ask = std::function<std::vector<http::CallOutcome>(const std::vector<Bytes>& requests,
                                                         const http::CallOptions& options,
                                                         const http::HttpTransport::OnSettled& on_settled)>;

/// A client of a deployment, under keys of its own where the protocol has keys. Not thread-safe.
class Fetcher {
 public:
  /// Asks by `ask`, or if that is empty over HTTP connections of its own. If there are several servers, it
  /// closes these before it decodes anything. `options` are the protocol's client options, such as {"seeded",
  /// "on"}. InvalidArgument: a wrong option, or a plan that hides nothing (Plan::check). StaleEpoch: the plan
  /// is not what the pinned publisher signed.
  static Result<Fetcher> create(Deployment deployment, const Texts& options = {}, Ask ask = {});
  /// What a person should be told of the plan before it is used (Plan::check); usually empty.
  const std::string& warning() const noexcept { return warning_; }
  /// The deployment in use: another one after FetchOptions::renew.
  const Deployment& deployment() const noexcept { return deployment_; }
  /// How each server behaved in the last retrieval, even if that failed; empty if nothing was sent.
  const std::vector<ServerOutcome>& outcomes() const noexcept { return outcomes_; }

  /// Fetches the records at these positions, at most kMaxRecords. ResourceExhausted: check_work. Else errors
  /// of AnyClient::retrieve and Retrieval; the message of a retrieval that failed lists what each server
  /// answered.
  Result<FetchReport> fetch(std::span<const std::uint64_t> positions, const FetchOptions& options);
  /// The same by key, from a keyed database; what is sent does not depend on whether there is such a key.
  /// That a key is missing is right unless more servers lied than the answer's proof bound.
  Result<FetchReport> fetch_keys(std::span<const std::string> keys, const FetchOptions& options);

  /// A look-up whose replies have come and whose connections are closed.
  class Asked {
   public:
    ~Asked();
    Asked(Asked&&) noexcept;
    Asked& operator=(Asked&&) noexcept;
    /// The rest of fetch(), once, while the Fetcher may be in use by others.
    Result<FetchReport> finish();

   private:
    friend class Fetcher;
    struct State;
    explicit Asked(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
  };
  /// The first half of fetch(), without FetchOptions::renew, for threads that share a Fetcher under a lock.
  /// Release the lock before finish(): if another look-up waited for this one to be decoded, its servers
  /// would see how long that took, which depends on the records.
  Result<Asked> ask(std::span<const std::uint64_t> positions, const FetchOptions& options);
  Result<Asked> ask_keys(std::span<const std::string> keys, const FetchOptions& options);

 private:
  Fetcher(Deployment deployment, Texts options, Ask ask, std::function<void()> close, std::string warning)
      : deployment_(std::move(deployment)),
        options_(std::move(options)),
        ask_(std::move(ask)),
        close_(std::move(close)),
        warning_(std::move(warning)) {}
  template <class Wish>
  Result<FetchReport> run(std::span<const Wish> wishes, const FetchOptions& options);
  template <class Wish>
  Result<FetchReport> run_once(std::span<const Wish> wishes, const FetchOptions& options);
  Result<void> take(Deployment next);
  template <class Wish>
  Result<Asked> ask_once(std::span<const Wish> wishes, const FetchOptions& options);
  template <class Wish>
  Result<void> move_messages(std::span<const Wish> wishes, const FetchOptions& options, Asked::State& state);
  Deployment deployment_;
  Texts options_;
  Ask ask_;
  std::function<void()> close_;  ///< closes all connections
  std::string warning_;
  std::shared_ptr<const AnyClient> client_;  ///< made at the first retrieval
  std::vector<ServerOutcome> outcomes_;
};

}  // namespace pirx::client
