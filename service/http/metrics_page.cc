// Answers GET /metrics with the present state of the server and of each of its databases.
#include "pirx/http/content_state.h"
#include "session.h"

namespace pirx::http {

std::string metrics_page(SessionHost& host) {
  MetricsPage page;
  page.add(host.metrics);
  const auto labels = [](const Hosted& database) {
    return database.name().empty() ? std::string() : "{database=\"" + database.name() + "\"}";
  };
  const auto each = [&](const char* name, const char* help, const char* type, auto value) {
    page.begin(name, help, type);
    for (const auto* database : host.databases)
      page.sample(labels(*database), static_cast<double>(value(*database)));
  };
  each("pirx_queries_total", "Queries admitted; a request may hold several.", "counter",
       [](const Hosted& database) { return database.metrics().queries.load(); });
  const auto histogram = [&](const char* name, const char* help, Histogram Metrics::*which) {
    page.begin(name, help, "histogram");
    for (const auto* database : host.databases) page.histogram(labels(*database), database->metrics().*which);
  };
  histogram("pirx_pass_queries", "Queries answered by one pass over the database.", &Metrics::pass_queries);
  histogram("pirx_pass_seconds", "Seconds of one pass over the database.", &Metrics::pass_seconds);
  histogram("pirx_queue_seconds", "Seconds that a request waited for its pass.", &Metrics::queue_seconds);
  each("pirx_queued_requests", "Requests that wait for their pass.", "gauge",
       [](const Hosted& database) { return database.batcher().queued(); });
  each("pirx_backlog_seconds", "Predicted time until all that is queued is answered.", "gauge",
       [](const Hosted& database) { return database.batcher().backlog().count(); });
  page.begin("pirx_epoch", "Epoch of the database that queries are admitted for.", "gauge");
  for (const auto* database : host.databases) {
    if (const auto epoch = database->epoch()->number)
      page.sample(labels(*database), static_cast<double>(*epoch));
  }
  page.begin("pirx_database_sound",
             "1: every checksum of the database was right; 0: one was wrong, and nothing is answered.",
             "gauge");
  for (const auto* database : host.databases) {
    const auto epoch = database->epoch();
    const auto* content = dynamic_cast<const ContentState*>(epoch->server.get());
    const auto sound = content == nullptr ? std::nullopt : content->sound();
    if (sound) page.sample(labels(*database), *sound ? 1 : 0);
  }
  page.begin("pirx_connections_refused_total", "Connections refused, by the limit that was reached.",
             "counter");
  for (std::size_t i = 0; i < Connections::kLimits.size(); ++i) {
    page.sample("{limit=\"" + std::string(Connections::kLimits[i]) + "\"}",
                static_cast<double>(host.connections.refused(i)));
  }

  const auto gauge = [&](const char* name, const char* help, auto value) {
    page.value(name, help, "gauge", static_cast<double>(value));
  };
  gauge("pirx_connections", "Connections open now.", host.connections.open());
  gauge("pirx_in_flight_requests", "Requests being read, waiting, computed or written.",
        host.in_flight.load());
  gauge("pirx_connection_bytes", "Bytes of the connections themselves.", host.connections.bytes());
  gauge("pirx_in_flight_bytes", "Bytes of requests, replies and what computing them takes.",
        host.budget.used());
  gauge("pirx_in_flight_bytes_limit", "The limit of both together.", host.options.max_in_flight_bytes);
  gauge("pirx_resident_bytes", "Memory of the process in RAM, the mapped database included.",
        resident_bytes());
  return std::move(page).take();
}

}  // namespace pirx::http
