// SPDX-License-Identifier: Apache-2.0
// Counts without locks, and writes Prometheus's text format.
#include "metrics.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace pirx::http {
namespace {

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
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  text_.append(name_).append(labels).append(" ").append(text).append("\n");
}

void MetricsPage::histogram(std::string_view labels, const Histogram& histogram) {
  const auto name = std::exchange(name_, name_ + "_bucket");
  auto prefix = labels.empty() ? std::string("{") : std::string(labels.substr(0, labels.size() - 1)) + ",";
  std::uint64_t total = 0;
  for (std::size_t i = 0; i <= histogram.bounds_.size(); ++i) {
    total += histogram.counts_[i];
    char bound[32] = "+Inf";
    if (i < histogram.bounds_.size()) std::snprintf(bound, sizeof bound, "%g", histogram.bounds_[i]);
    sample(prefix + "le=\"" + bound + "\"}", static_cast<double>(total));
  }
  name_ = name + "_sum";
  sample(labels, histogram.sum_);
  name_ = name + "_count";
  sample(labels, static_cast<double>(total));
  name_ = name;
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
