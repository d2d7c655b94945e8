// SPDX-License-Identifier: Apache-2.0
// The counters of the service, and the page that Prometheus reads (text format 0.0.4). They count
// requests, bytes and seconds. They hold nothing about what a request asks for or who asked.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pirx::http {

/// Thread-safe; add() never allocates.
class Histogram {
 public:
  /// Upper bounds of the buckets, rising; beyond the last is one more.
  explicit Histogram(std::vector<double> bounds);
  void add(double value) noexcept;
  double sum() const noexcept { return sum_; }
  /// Nothing while there is no value.
  std::optional<double> mean() const;
  /// The value below which a part of `share` (0 to 1) of all lies, as Prometheus's histogram_quantile
  /// estimates it: as if the values of a bucket lay evenly in it, and the greatest bound beyond the last
  /// bucket. Nothing while there is no value.
  std::optional<double> quantile(double share) const;

 private:
  friend class MetricsPage;
  const std::vector<double> bounds_;
  std::vector<std::atomic<std::uint64_t>> counts_;
  std::atomic<double> sum_{0};
};

/// Of one database.
struct Metrics {
  Metrics();
  Histogram pass_queries, pass_seconds, queue_seconds;
  std::atomic<std::uint64_t> queries{0}, stopped_passes{0};
};

/// Of the whole server.
struct ServerMetrics {
  /// A request was answered: with its HTTP status, and so many bytes of body.
  void count_reply(unsigned status, std::size_t bytes) noexcept;

  static constexpr std::array<unsigned, 15> kStatuses{200, 400, 401, 403, 404, 405, 409, 411,
                                                      413, 415, 417, 429, 431, 500, 503};
  std::array<std::atomic<std::uint64_t>, kStatuses.size()> replies{};
  std::atomic<std::uint64_t> request_bytes{0}, reply_bytes{0}, connections{0};
};

/// A page in the making. Samples of one name follow each other, whatever database they are of.
class MetricsPage {
 public:
  /// What the next samples are of.
  void begin(std::string_view name, std::string_view help, std::string_view type);
  /// `labels` as "{database=\"a\"}", or empty.
  void sample(std::string_view labels, double value);
  void histogram(std::string_view labels, const Histogram& histogram);
  std::string take() && { return std::move(text_); }

 private:
  std::string text_, name_;
};

/// Bytes of memory that this process has in RAM; 0 when the system does not say.
double resident_bytes() noexcept;

/// When this program began, in seconds since 1970.
double start_seconds() noexcept;

/// What runs here: "version", "isa" and "compiler", each with its value. Public, and the same at all times.
std::vector<std::pair<std::string, std::string>> build_info();

/// The number as a person writes it: no exponent, at most so many digits after the point. "+Inf", "-Inf" and
/// "NaN" are Prometheus's.
std::string decimal(double value, int digits = 9);

}  // namespace pirx::http
