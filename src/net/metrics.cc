// Counting without locks, and Prometheus's text format.
#include "metrics.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace pirx::net {
namespace {

void write_value(std::string& out, std::string_view name, std::string_view labels, double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  out.append(name).append(labels).append(" ").append(text).append("\n");
}

void write_head(std::string& out, std::string_view name, std::string_view help, std::string_view type) {
  out.append("# HELP ").append(name).append(" ").append(help).append("\n");
  out.append("# TYPE ").append(name).append(" ").append(type).append("\n");
}

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

void Histogram::write(std::string& out, std::string_view name, std::string_view help) const {
  write_head(out, name, help, "histogram");
  const auto buckets = std::string(name) + "_bucket";
  std::uint64_t total = 0;
  for (std::size_t i = 0; i <= bounds_.size(); ++i) {
    total += counts_[i];
    char bound[32] = "+Inf";
    if (i < bounds_.size()) std::snprintf(bound, sizeof bound, "%g", bounds_[i]);
    write_value(out, buckets, std::string("{le=\"") + bound + "\"}", static_cast<double>(total));
  }
  write_value(out, std::string(name) + "_sum", "", sum_);
  write_value(out, std::string(name) + "_count", "", static_cast<double>(total));
}

Metrics::Metrics()
    : pass_queries(powers_of_two(13)), pass_seconds(decades(1e-4, 500)), queue_seconds(decades(1e-4, 500)) {}

void Metrics::count_reply(unsigned status, std::size_t bytes) noexcept {
  const auto at = std::find(kStatuses.begin(), kStatuses.end(), status);
  if (at != kStatuses.end()) ++replies_[static_cast<std::size_t>(at - kStatuses.begin())];
  reply_bytes += bytes;
}

std::string Metrics::page(const std::vector<Gauge>& gauges) const {
  std::string out;
  write_head(out, "pirx_requests_total", "HTTP requests answered, by status.", "counter");
  for (std::size_t i = 0; i < kStatuses.size(); ++i) {
    write_value(out, "pirx_requests_total", "{status=\"" + std::to_string(kStatuses[i]) + "\"}",
                static_cast<double>(replies_[i]));
  }
  const auto counter = [&](const char* name, const char* help, const std::atomic<std::uint64_t>& value) {
    write_head(out, name, help, "counter");
    write_value(out, name, "", static_cast<double>(value));
  };
  counter("pirx_queries_total", "Queries admitted; a request may hold several.", queries);
  counter("pirx_request_bytes_total", "Bytes of query bodies received.", request_bytes);
  counter("pirx_reply_bytes_total", "Bytes of reply bodies.", reply_bytes);
  counter("pirx_connections_total", "Connections accepted.", connections);
  pass_queries.write(out, "pirx_pass_queries", "Queries answered by one pass over the database.");
  pass_seconds.write(out, "pirx_pass_seconds", "Seconds of one pass over the database.");
  queue_seconds.write(out, "pirx_queue_seconds", "Seconds that a request waited for its pass.");
  for (const auto& gauge : gauges) {
    write_head(out, gauge.name, gauge.help, "gauge");
    write_value(out, gauge.name, "", gauge.value);
  }
  return out;
}

double resident_bytes() noexcept {
  double pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%*f %lf", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace pirx::net
