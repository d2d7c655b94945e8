// SPDX-License-Identifier: Apache-2.0
// Answers GET /metrics with the present state of the server and of each of its databases.
#include "session.h"

namespace pirx::http {

StatusPage metrics_page(SessionHost& host) {
  MetricsPage page;
  std::string build;
  for (const auto& [label, text] : build_info())
    build += (build.empty() ? "{" : ",") + label + "=\"" + text + "\"";
  page.begin("pirx_build_info", "What runs here; always 1.", "gauge");
  page.sample(build + "}", 1);
  const auto value = [&](const char* name, const char* help, const char* type, auto number) {
    page.begin(name, help, type);
    page.sample("", static_cast<double>(number));
  };
  const auto& metrics = host.metrics;
  page.begin("pirx_requests_total", "HTTP requests answered, by status.", "counter");
  for (std::size_t i = 0; i < metrics.replies.size(); ++i) {
    page.sample("{status=\"" + std::to_string(ServerMetrics::kStatuses[i]) + "\"}",
                static_cast<double>(metrics.replies[i]));
  }
  value("pirx_request_bytes_total", "Bytes of query bodies received.", "counter",
        metrics.request_bytes.load());
  value("pirx_reply_bytes_total", "Bytes of reply bodies.", "counter", metrics.reply_bytes.load());
  value("pirx_connections_total", "Connections accepted.", "counter", metrics.connections.load());
  const auto labels = [](const Hosted& database) {
    return database.name().empty() ? std::string() : "{database=\"" + database.name() + "\"}";
  };
  const auto each = [&](const char* name, const char* help, const char* type, auto number_of) {
    page.begin(name, help, type);
    for (const auto* database : host.databases) {
      if (const auto number = number_of(*database)) {
        page.sample(labels(*database), static_cast<double>(*number));
      }
    }
  };
  each("pirx_queries_total", "Queries admitted; a request may hold several.", "counter",
       [](const Hosted& database) { return std::optional(database.metrics().queries.load()); });
  each("pirx_stopped_passes_total", "Passes that were stopped because they took too long.", "counter",
       [](const Hosted& database) { return std::optional(database.metrics().stopped_passes.load()); });
  const auto histogram = [&](const char* name, const char* help, Histogram Metrics::*which) {
    page.begin(name, help, "histogram");
    for (const auto* database : host.databases) page.histogram(labels(*database), database->metrics().*which);
  };
  histogram("pirx_pass_queries", "Queries answered by one pass over the database.", &Metrics::pass_queries);
  histogram("pirx_pass_seconds", "Seconds of one pass over the database.", &Metrics::pass_seconds);
  histogram("pirx_queue_seconds", "Seconds that a request waited for its pass.", &Metrics::queue_seconds);
  each("pirx_queued_requests", "Requests that wait for their pass.", "gauge",
       [](const Hosted& database) { return std::optional(database.batcher().queued()); });
  each("pirx_backlog_seconds", "Predicted time until all that is queued is answered.", "gauge",
       [](const Hosted& database) { return std::optional(database.batcher().backlog().count()); });
  each("pirx_epoch", "Epoch of the database that queries are admitted for.", "gauge",
       [](const Hosted& database) { return database.epoch()->number; });
  each("pirx_database_sound",
       "1: every checksum of the database was right; 0: one was wrong, and nothing is answered.", "gauge",
       [](const Hosted& database) { return database.sound(); });
  page.begin("pirx_connections_refused_total", "Connections refused, by the limit that was reached.",
             "counter");
  for (std::size_t i = 0; i < Connections::kLimits.size(); ++i) {
    page.sample("{limit=\"" + std::string(Connections::kLimits[i]) + "\"}",
                static_cast<double>(host.connections.refused(i)));
  }

  value("process_start_time_seconds", "When the process began, in seconds since 1970.", "gauge",
        start_seconds());
  value("pirx_connections", "Connections open now.", "gauge", host.connections.open());
  value("pirx_in_flight_requests", "Requests being read, waiting, computed or written.", "gauge",
        host.in_flight.load());
  value("pirx_connection_bytes", "Bytes of the connections themselves.", "gauge", host.connections.bytes());
  value("pirx_in_flight_bytes", "Bytes of requests, replies and what computing them takes.", "gauge",
        host.budget.used());
  value("pirx_in_flight_bytes_limit", "The limit of both together.", "gauge",
        host.options.max_in_flight_bytes);
  value("pirx_resident_bytes", "Memory of the process in RAM, the mapped database included.", "gauge",
        resident_bytes());
  return {"text/plain; version=0.0.4", "", std::move(page).take()};
}

}  // namespace pirx::http
