// SPDX-License-Identifier: Apache-2.0
// The table of limits, one row for each.
#include "pirx/http/limits.h"

#include <type_traits>

namespace pirx::http {
namespace {

using Unit = Limit::Unit;
using std::chrono::microseconds;

constexpr std::uint64_t kDay = 86'400'000'000;  // microseconds
constexpr std::uint64_t kMillisecond = 1000;

/// Negative and overlong times lie above every bound.
template <class T>
std::uint64_t to_number(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<std::uint64_t>(value);
  } else {
    const bool countable = value >= T(0) && value <= std::chrono::hours(25);
    return countable ? static_cast<std::uint64_t>(microseconds(value).count()) : ~std::uint64_t{0};
  }
}

template <class T>
T from_number(std::uint64_t value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(value);
  } else {
    return std::chrono::ceil<T>(microseconds(value));
  }
}

/// A row for the option at `kMember`.
template <auto kMember>
constexpr Limit row(const char* name, Unit unit, std::uint64_t least, std::uint64_t most, const char* help) {
  using Value = std::decay_t<decltype(std::declval<HttpServerOptions&>().*kMember)>;
  constexpr bool kQueue = std::is_convertible_v<decltype(kMember), Value QueueOptions::*>;
  return {
      name,
      unit,
      least,
      most,
      kQueue,
      [](const HttpServerOptions& options) { return to_number(options.*kMember); },
      [](HttpServerOptions& options, std::uint64_t value) { options.*kMember = from_number<Value>(value); },
      help};
}

using O = HttpServerOptions;
using Q = QueueOptions;

constexpr Limit kLimits[] = {
    row<&O::io_threads>("io_threads", Unit::kCount, 1, 256, "Threads of the network"),
    row<&O::max_connections>("max_connections", Unit::kCount, 1, 1'000'000, "Open connections"),
    row<&O::connections_per_client>("connections_per_client", Unit::kCount, 1, 1'000'000,
                                    "Open connections that one client may have however full the server is; "
                                    "beyond that, no more than are free. Raise it for a proxy"),
    row<&O::max_header_bytes>("max_header", Unit::kBytes, 256, 1 << 20, "Bytes of an HTTP header"),
    row<&O::max_body_bytes>("max_body", Unit::kBytes, 1, kMaxMessageBytes,
                            "Bytes of a request's body, if the protocol allows as many"),
    row<&O::max_in_flight_bytes>("max_in_flight", Unit::kBytes, 1 << 20, std::uint64_t{1} << 50,
                                 "Memory for connections, requests, replies and what computing them takes, "
                                 "held at once"),
    row<&Q::max_queued_requests>("max_queued", Unit::kCount, 1, 1'000'000, "Requests that wait"),
    row<&Q::max_queue_time>("max_queue_time", Unit::kTime, kMillisecond, kDay,
                            "A request that would wait longer for its pass is refused when it arrives"),
    row<&Q::batch_window>("batch_window", Unit::kTime, 0, kDay,
                          "How long a first request waits for others while they come so often; idle servers "
                          "answer at once"),
    row<&Q::batch_max>("batch_max", Unit::kCount, 1, 65536, "Queries answered in one pass"),
    row<&O::header_timeout>("header_timeout", Unit::kTime, kMillisecond, kDay, "To send a request's header"),
    row<&O::body_timeout>("body_timeout", Unit::kTime, kMillisecond, kDay, "To send a request's body"),
    row<&O::idle_timeout>("idle_timeout", Unit::kTime, kMillisecond, kDay,
                          "Between requests of a connection"),
    row<&O::write_timeout>("write_timeout", Unit::kTime, kMillisecond, kDay,
                           "To take a reply, with 64 KiB of it, or the rest, in each sixth of the time"),
    row<&O::drain_timeout>("drain_timeout", Unit::kTime, kMillisecond, kDay,
                           "For requests in flight when stopping"),
};

}  // namespace

std::span<const Limit> limits() { return kLimits; }

std::pair<std::string, double> logged(const Limit& limit, const HttpServerOptions& options) {
  const auto value = static_cast<double>(limit.get(options));
  switch (limit.unit) {
    case Limit::Unit::kBytes:
      return {limit.name + std::string("_bytes"), value};
    case Limit::Unit::kTime:
      return {limit.name + std::string("_ms"), value / 1000};
    case Limit::Unit::kCount:
      break;
  }
  return {limit.name, value};
}

}  // namespace pirx::http
