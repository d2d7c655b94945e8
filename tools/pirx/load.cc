// SPDX-License-Identifier: Apache-2.0
// A thread a connection. In the open loop, times are drawn before the start, and each thread takes the next
// one that nobody has taken.
#include "load.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>
#include <random>
#include <system_error>
#include <thread>

namespace pirx::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kMaxRequests = 1e7;
constexpr std::chrono::milliseconds kPause(100);  // of a connection that was refused

/// Seconds from the start, rising: a Poisson process, as independent clients make it.
std::vector<double> arrival_times(double rate, double seconds, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> gap(rate);
  std::vector<double> times;
  for (double at = gap(random); at < seconds; at += gap(random)) times.push_back(at);
  return times;
}

class Load {
 public:
  Load(const LoadPlan& plan, const std::vector<Bytes>& bodies, std::vector<double> times)
      : plan_(plan), bodies_(bodies), times_(std::move(times)) {}

  Result<LoadReport> run() {
    std::vector<http::HttpTransport> transports;
    transports.reserve(plan_.connections);
    for (std::size_t i = 0; i < plan_.connections; ++i) {
      PIRX_ASSIGN(auto transport, http::HttpTransport::create({plan_.server}));
      transports.push_back(std::move(transport));
    }
    // Every thread waits for the start, and none runs unless all could be made.
    std::vector<std::thread> threads;
    threads.reserve(transports.size());
    bool complete = true;
    try {
      for (auto& transport : transports) threads.emplace_back([this, &transport] { work(transport); });
    } catch (const std::system_error&) {
      complete = false;
    }
    start_ = Clock::now();
    cancelled_ = !complete;
    go_ = true;
    go_.notify_all();
    for (auto& thread : threads) thread.join();
    if (!complete) {
      return fail(ErrorCode::kResourceExhausted, "the system gives no more threads: use fewer --connections");
    }
    report_.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    std::sort(report_.answered.begin(), report_.answered.end());
    std::sort(report_.refused.begin(), report_.refused.end());
    return std::move(report_);
  }

 private:
  void work(http::HttpTransport& transport) {
    go_.wait(false);
    if (cancelled_) return;
    LoadReport mine;
    std::vector<Bytes> request(1);
    while (const auto begin = next_begin()) {
      const auto body = next_body_++ % bodies_.size();
      request[0] = bodies_[body];
      const auto outcome = transport
                               .query_all(request, {.deadline = plan_.deadline,
                                                    .connect_timeout = plan_.deadline,
                                                    .max_reply_bytes = plan_.max_reply_bytes})
                               .front();
      const auto took = std::chrono::duration<double, std::milli>(Clock::now() - *begin).count();
      ++mine.sent;
      mine.bytes_up += outcome.bytes_up;
      mine.bytes_down += outcome.bytes_down;
      if (outcome.reply) {
        const auto fault = plan_.fault ? plan_.fault(body, *outcome.reply) : std::string();
        if (fault.empty()) {
          mine.answered.push_back(took);
        } else {
          ++mine.failed[fault];
        }
      } else if (outcome.reply.error().code() == ErrorCode::kResourceExhausted) {
        mine.refused.push_back(took);
        if (plan_.rate == 0) std::this_thread::sleep_for(kPause);
      } else {
        ++mine.failed[std::string(error_code_name(outcome.reply.error().code()))];
      }
    }
    const std::lock_guard lock(mutex_);
    report_.sent += mine.sent;
    report_.bytes_up += mine.bytes_up;
    report_.bytes_down += mine.bytes_down;
    report_.answered.insert(report_.answered.end(), mine.answered.begin(), mine.answered.end());
    report_.refused.insert(report_.refused.end(), mine.refused.begin(), mine.refused.end());
    for (const auto& [code, count] : mine.failed) report_.failed[code] += count;
  }

  /// When this thread's next request begins, waited for; nothing when the load is over.
  std::optional<Clock::time_point> next_begin() {
    if (plan_.rate == 0) {
      const auto now = Clock::now();
      if (now - start_ >= plan_.duration) return std::nullopt;
      return now;
    }
    const auto i = next_time_++;
    if (i >= times_.size()) return std::nullopt;
    const auto at =
        start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(times_[i]));
    std::this_thread::sleep_until(at);
    return at;
  }

  const LoadPlan& plan_;
  const std::vector<Bytes>& bodies_;
  const std::vector<double> times_;
  std::atomic<std::size_t> next_time_{0}, next_body_{0};
  std::atomic<bool> go_{false};
  bool cancelled_ = false;   ///< written before go_
  Clock::time_point start_;  ///< likewise
  std::mutex mutex_;
  LoadReport report_;
};

}  // namespace

double LoadReport::percentile(const std::vector<double>& rising, double part) {
  if (rising.empty()) return 0;
  const auto rank = std::ceil(part * static_cast<double>(rising.size()));
  return rising[std::min(rising.size(), static_cast<std::size_t>(std::max(rank, 1.0))) - 1];
}

Result<LoadReport> run_load(const LoadPlan& plan, const std::vector<Bytes>& bodies) {
  const auto seconds = std::chrono::duration<double>(plan.duration).count();
  if (bodies.empty()) return invalid("there is no request to send");
  if (plan.connections == 0) return invalid("a load needs at least one connection");
  if (seconds <= 0 || plan.deadline.count() <= 0)
    return invalid("a load needs a duration and a deadline above zero");
  if (!(plan.rate >= 0) || !(plan.rate * seconds <= kMaxRequests)) {
    return invalid("rate times duration must be 0 to 10 million requests");
  }
  std::vector<double> times;
  if (plan.rate > 0) times = arrival_times(plan.rate, seconds, plan.seed);
  return Load(plan, bodies, std::move(times)).run();
}

}  // namespace pirx::cli
