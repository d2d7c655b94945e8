// SPDX-License-Identifier: Apache-2.0
// Counts without locks, and writes Prometheus's text format.
#include "metrics.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <utility>

#include "pirx/base/cpu.h"

namespace pirx::http {
namespace {

const auto kStart = std::chrono::system_clock::now();  // set before main() begins

/// Powers of ten and their halves and fifths: 0.001, 0.002, 0.005 ... below `end`.
std::vector<double> decades(double first, double end) {
  std::vector<double> bounds;
  for (double ten = first; ten < end; ten *= 10) {
    for (const double part : {1.0, 2.0, 5.0}) bounds.push_back(part * ten);
  }
  return bounds;
}

std::vector<double> powers_of_two(unsigned count) {
  std::vector<double> bounds;
  for (unsigned i = 0; i < count; ++i) bounds.push_back(static_cast<double>(1u << i));
  return bounds;
}

}  // namespace

Histogram::Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

void Histogram::add(double value) noexcept {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  ++counts_[static_cast<std::size_t>(bucket)];
  for (auto sum = sum_.load(); !sum_.compare_exchange_weak(sum, sum + value);) {
  }
}

std::optional<double> Histogram::mean() const {
  const auto count = std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
  return count > 0 ? std::optional(sum_ / static_cast<double>(count)) : std::nullopt;
}

std::optional<double> Histogram::quantile(double share) const {
  std::vector<double> counts(counts_.begin(), counts_.end());
  double left = share * std::accumulate(counts.begin(), counts.end(), 0.0);
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    const double low = i == 0 ? 0 : bounds_[i - 1];
    if (counts[i] > 0 && left <= counts[i]) return low + (bounds_[i] - low) * left / counts[i];
    left -= counts[i];
  }
  return counts.back() > 0 ? std::optional(bounds_.back()) : std::nullopt;
}

Metrics::Metrics()
    : pass_queries(powers_of_two(13)), pass_seconds(decades(1e-4, 500)), queue_seconds(decades(1e-4, 500)) {}

void ServerMetrics::count_reply(unsigned status, std::size_t bytes) noexcept {
  const auto at = std::find(kStatuses.begin(), kStatuses.end(), status);
  if (at != kStatuses.end()) ++replies[static_cast<std::size_t>(at - kStatuses.begin())];
  reply_bytes += bytes;
}

void MetricsPage::begin(std::string_view name, std::string_view help, std::string_view type) {
  name_ = name;
  text_.append("# HELP ").append(name).append(" ").append(help).append("\n");
  text_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
}

void MetricsPage::sample(std::string_view labels, double value) {
  text_.append(name_).append(labels).append(" ").append(decimal(value)).append("\n");
}

void MetricsPage::histogram(std::string_view labels, const Histogram& histogram) {
  const auto name = std::exchange(name_, name_ + "_bucket");
  auto prefix = labels.empty() ? std::string("{") : std::string(labels.substr(0, labels.size() - 1)) + ",";
  std::uint64_t total = 0;
  for (std::size_t i = 0; i <= histogram.bounds_.size(); ++i) {
    total += histogram.counts_[i];
    const auto bound = i < histogram.bounds_.size() ? decimal(histogram.bounds_[i]) : "+Inf";
    sample(prefix + "le=\"" + bound + "\"}", static_cast<double>(total));
  }
  name_ = name + "_sum";
  sample(labels, histogram.sum_);
  name_ = name + "_count";
  sample(labels, static_cast<double>(total));
  name_ = name;
}

std::string decimal(double value, int digits) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[512];  // the greatest double has 309 digits before the point
  // Not snprintf, which writes a comma in some programs' locales.
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits).ptr;
  std::string out(text, end);
  if (digits == 0) return out;
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out;
}

double start_seconds() noexcept { return std::chrono::duration<double>(kStart.time_since_epoch()).count(); }

std::vector<std::pair<std::string, std::string>> build_info() {
  const auto features = allowed_cpu_features();
#ifdef __clang__
  constexpr char kCompiler[] = "clang " __clang_version__;
#else
  constexpr char kCompiler[] = "gcc " __VERSION__;
#endif
  return {{"version", PIRX_VERSION},
          {"isa", features ? cpu_features_name(*features) : "unknown"},
          {"compiler", kCompiler}};
}

double resident_bytes() noexcept {
  double pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%*f %lf", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace pirx::http
