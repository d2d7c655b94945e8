// What the service counts about itself, and the page that Prometheus reads (text format 0.0.4). Numbers of
// requests, bytes and seconds only: nothing of what a request asks for, and nothing of who asked.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace pirx::net {

/// Thread-safe; add() never allocates.
class Histogram {
 public:
  /// Upper bounds of the buckets, rising; beyond the last is one more.
  explicit Histogram(std::vector<double> bounds);
  void add(double value) noexcept;
  /// Lines of the text format: cumulative buckets, sum and count of `name`.
  void write(std::string& out, std::string_view name, std::string_view help) const;

 private:
  const std::vector<double> bounds_;
  std::vector<std::atomic<std::uint64_t>> counts_;
  std::atomic<double> sum_{0};
};

struct Metrics {
  Metrics();
  /// A request was answered: with its HTTP status, and so many bytes of body each way.
  void count_reply(unsigned status, std::size_t bytes) noexcept;

  Histogram pass_queries, pass_seconds, queue_seconds;
  std::atomic<std::uint64_t> queries{0}, request_bytes{0}, reply_bytes{0}, connections{0};

  /// One more value of the page, at the time it is written.
  struct Gauge {
    const char* name;
    const char* help;
    double value;
  };
  std::string page(const std::vector<Gauge>& gauges) const;

 private:
  static constexpr std::array<unsigned, 14> kStatuses{200, 400, 401, 404, 405, 409, 411,
                                                      413, 415, 417, 429, 431, 500, 503};
  std::array<std::atomic<std::uint64_t>, kStatuses.size()> replies_{};
};

/// Bytes of memory that this process has in RAM; 0 when the system does not say.
double resident_bytes() noexcept;

}  // namespace pirx::net
