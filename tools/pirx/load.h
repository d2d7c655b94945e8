// Load on one server, as many clients make it: when requests begin, how long they take, how many are refused.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <vector>

#include "pirx/net/http_client.h"

namespace pirx::cli {

struct LoadPlan {
  net::Endpoint server;
  std::size_t connections = 64;
  std::chrono::milliseconds duration{10'000}, deadline{10'000};
  /// Requests a second, beginning at random times whatever became of the ones before (open loop). 0: every
  /// connection asks again as soon as it has its answer (closed loop).
  double rate = 0;
  std::uint64_t seed = 1;  ///< of the times
  std::size_t max_reply_bytes = 0;
  /// What is wrong with a reply to the body with this index, in a word; "" for nothing. It then counts as
  /// failed. Called from several threads; empty: every reply is an answer.
  std::function<std::string(std::size_t body, ByteSpan reply)> fault = nullptr;
};

struct LoadReport {
  double seconds = 0;  ///< from the first request to the last answer
  std::size_t sent = 0;
  /// Milliseconds from when a request should have begun to the end of its answer, rising: one that found
  /// every connection busy has waited for one, and that counts. Otherwise slow answers would hide those that
  /// they delay ("coordinated omission").
  std::vector<double> answered, refused;      ///< refused: for load (429)
  std::map<std::string, std::size_t> failed;  ///< by ErrorCode name, and what else went wrong
  std::uint64_t bytes_up = 0, bytes_down = 0;
  /// Value that so large a part of `rising` does not exceed; 0 for none.
  static double percentile(const std::vector<double>& rising, double part);
};

/// Sends `bodies` in turn. InvalidArgument: no body, no connection, no time, or a rate that makes more than
/// ten million requests. ResourceExhausted: no threads or memory for the connections.
Result<LoadReport> run_load(const LoadPlan& plan, const std::vector<Bytes>& bodies);

}  // namespace pirx::cli
