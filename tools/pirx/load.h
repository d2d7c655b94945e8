// SPDX-License-Identifier: Apache-2.0
// Puts load on one server, as many clients would: says when requests begin, how long they take, and how many
// are refused.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <vector>

#include "pirx/http/http_client.h"

namespace pirx::cli {

struct LoadPlan {
  http::Endpoint server;
  std::size_t connections = 64;
  std::chrono::milliseconds duration{10'000}, deadline{10'000};
  /// Requests per second, which begin at random times whether or not earlier ones are answered (open loop).
  /// 0: every connection asks again as soon as it has its answer, 0.1 s after a refusal (closed loop).
  double rate = 0;
  std::uint64_t seed = 1;  ///< for the times
  std::size_t max_reply_bytes = 0;
  /// Checks the reply to the body with this index. Returns in a word what is wrong with it, and the request
  /// counts as failed; "" if nothing is wrong. Called from several threads. Empty: every reply is an answer.
  std::function<std::string(std::size_t body, ByteSpan reply)> fault = nullptr;
};

struct LoadReport {
  double seconds = 0;  ///< from the first request to the last answer
  std::size_t sent = 0;
  /// Milliseconds from the time at which a request should have begun to the end of its answer, in rising
  /// order. A request that had to wait for a free connection counts with its wait. Otherwise slow answers
  /// would hide the requests that they delay ("coordinated omission").
  std::vector<double> answered, refused;      ///< refused: because of load (429)
  std::map<std::string, std::size_t> failed;  ///< by the name of the ErrorCode, or by what else went wrong
  std::uint64_t bytes_up = 0, bytes_down = 0;
  /// The value that a part `part` of `rising` does not exceed; 0 if `rising` is empty.
  static double percentile(const std::vector<double>& rising, double part);
};

/// Sends `bodies` in turn. InvalidArgument: there is no body, no connection or no time, or the rate makes
/// more than ten million requests. ResourceExhausted: no threads or memory for the connections.
Result<LoadReport> run_load(const LoadPlan& plan, const std::vector<Bytes>& bodies);

}  // namespace pirx::cli
