// SPDX-License-Identifier: Apache-2.0
// Answers GET /. Everything that the page says is an Item, which is made once and written as HTML or as JSON.
// Like the metrics, it says nothing about what is asked for, who asks, and where files are.
#include <openssl/evp.h>

#include <boost/beast/core/string.hpp>
#include <cmath>

#include "pirx/base/json.h"
#include "pirx/base/sha256.h"
#include "session.h"

namespace pirx::http {
namespace {

constexpr char kStyle[] =
    "body{font-family:sans-serif;margin:2em;max-width:90em}"
    "table{border-collapse:collapse;display:block;overflow-x:auto}"
    "th,td{text-align:left;padding:.3em .8em;border:1px solid #8888;vertical-align:top}";

/// Something that the page says.
struct Item {
  const char* name;   ///< in JSON
  const char* title;  ///< in HTML
  OutJson value;
  std::string text;  ///< the value for people; "-" where there is none
};

/// Three digits that count.
std::string rounded(double value) {
  return decimal(value, std::abs(value) < 9.995 ? 2 : std::abs(value) < 99.95 ? 1 : 0);
}

/// In the greatest unit that is not greater than the value; the first for the least.
std::string with_unit(double value, std::initializer_list<std::pair<double, const char*>> units) {
  auto unit = units.begin();
  while (unit + 1 != units.end() && std::abs(value) >= (unit + 1)->first * 0.9995) ++unit;
  return rounded(value / unit->first) + " " + unit->second;
}

Item text_item(const char* name, const char* title, const std::string& text) {
  return {name, title, text, text.empty() ? "-" : text};
}

Item count_item(const char* name, const char* title, std::uint64_t number) {
  auto text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return {name, title, number, text};
}

Item bytes_item(const char* name, const char* title, double number) {
  return {name, title, static_cast<std::uint64_t>(number),
          with_unit(number, {{1, "bytes"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}})};
}

Item time_item(const char* name, const char* title, std::optional<double> time) {
  if (!time) return {name, title, nullptr, "-"};
  if (*time == 0) return {name, title, 0, "0 s"};
  return {
      name, title, std::round(*time * 1e6) / 1e6,
      with_unit(*time, {{1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}, {60, "min"}, {3600, "h"}, {86400, "days"}})};
}

/// Seconds since this program began. A clock that was set back does not make them negative.
double uptime() {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return std::max(0.0, now.count() - start_seconds());
}

std::vector<Item> of_database(const Hosted& database) {
  const auto& metrics = database.metrics();
  const auto epoch = database.epoch()->number;
  const auto sound = database.sound();
  const auto busy = std::min(1.0, metrics.pass_seconds.sum() / std::max(uptime(), 1e-9));
  const auto queries_a_pass = metrics.pass_queries.mean();
  return {
      text_item("name", "database", database.name()),
      text_item("protocol", "protocol", database.protocol()),
      {"epoch", "epoch", epoch ? OutJson(*epoch) : OutJson(), epoch ? std::to_string(*epoch) : "-"},
      {"sound", "content", sound ? OutJson(*sound) : OutJson(),
       !sound   ? "not checked yet"
       : *sound ? "sound"
                : "damaged"},
      count_item("queries", "queries", metrics.queries),
      {"busy", "computing", std::round(busy * 1e4) / 1e4, rounded(busy * 100) + " %"},
      count_item("queued_requests", "waiting", database.batcher().queued()),
      time_item("backlog_seconds", "done in", database.batcher().backlog().count()),
      {"pass_queries_mean", "queries a pass", queries_a_pass ? OutJson(*queries_a_pass) : OutJson(),
       queries_a_pass ? rounded(*queries_a_pass) : "-"},
      time_item("pass_seconds_median", "pass, median", metrics.pass_seconds.quantile(0.5)),
      time_item("pass_seconds_p99", "pass, 99 %", metrics.pass_seconds.quantile(0.99)),
      time_item("queue_seconds_median", "wait, median", metrics.queue_seconds.quantile(0.5)),
      time_item("queue_seconds_p99", "wait, 99 %", metrics.queue_seconds.quantile(0.99)),
  };
}

std::vector<Item> of_server(SessionHost& host) {
  const auto& metrics = host.metrics;
  std::vector<Item> items = {text_item("state", "state", host.draining ? "stopping" : "ready")};
  for (auto& [name, text] : build_info()) {
    const char* key = name == "version" ? "version" : name == "isa" ? "isa" : "compiler";
    items.push_back(text_item(key, key, text));
  }
  OutJson::Members replies;
  std::string replies_text;
  for (std::size_t i = 0; i < metrics.replies.size(); ++i) {
    const auto status = std::to_string(ServerMetrics::kStatuses[i]);
    const auto item = count_item("", "", metrics.replies[i]);
    replies.emplace_back(status, item.value);
    if (metrics.replies[i] > 0)
      replies_text += (replies_text.empty() ? "" : "; ") + status + ": " + item.text;
  }
  std::uint64_t refused = 0;
  for (std::size_t i = 0; i < Connections::kLimits.size(); ++i) refused += host.connections.refused(i);
  const std::vector<Item> rest = {
      time_item("uptime_seconds", "running for", uptime()),
      {"requests", "requests by status", OutJson(std::move(replies)),
       replies_text.empty() ? "-" : replies_text},
      bytes_item("request_bytes", "received", static_cast<double>(metrics.request_bytes)),
      bytes_item("reply_bytes", "sent", static_cast<double>(metrics.reply_bytes)),
      count_item("connections", "connections open", host.connections.open()),
      count_item("connections_refused", "connections refused", refused),
      count_item("in_flight_requests", "requests in flight", host.in_flight),
      bytes_item("in_flight_bytes", "memory of requests", static_cast<double>(host.budget.used())),
      bytes_item("in_flight_bytes_limit", "its limit", static_cast<double>(host.options.max_in_flight_bytes)),
      bytes_item("resident_bytes", "memory of the process", resident_bytes()),
  };
  items.insert(items.end(), rest.begin(), rest.end());
  return items;
}

OutJson::Members as_json(const std::vector<Item>& items) {
  OutJson::Members members;
  for (const auto& item : items) members.emplace_back(item.name, item.value);
  return members;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    constexpr std::string_view kSpecial = "&<>\"'";
    const bool special = kSpecial.find(c) != std::string_view::npos;
    out += special ? "&#" + std::to_string(static_cast<int>(c)) + ";" : std::string(1, c);
  }
  return out;
}

std::string as_html(const std::vector<Item>& server, const std::vector<std::vector<Item>>& databases) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>pirx server</title>\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<style>";
  html.append(kStyle).append("</style></head>\n<body><h1>pirx server</h1>\n<table>\n");
  for (const auto& item : server) {
    html.append("<tr><th scope=\"row\">").append(escaped(item.title));
    html.append("</th><td>").append(escaped(item.text)).append("</td></tr>\n");
  }
  html += "</table>\n<h2>Databases</h2>\n<table>\n<tr>";
  for (const auto& item : databases.at(0)) {
    html.append("<th scope=\"col\">").append(escaped(item.title)).append("</th>");
  }
  for (const auto& database : databases) {
    html += "</tr>\n<tr>";
    for (const auto& item : database) html.append("<td>").append(escaped(item.text)).append("</td>");
  }
  html +=
      "</tr>\n</table>\n<p>Times and counts are since the start. Programs get all of this as JSON with "
      "<code>Accept: application/json</code>, and Prometheus reads <a href=\"metrics\">/metrics</a>.</p>\n"
      "</body></html>\n";
  return html;
}

/// Lets the page have its own style and nothing else.
const std::string& policy() {
  static const std::string text = [] {
    const auto digest = sha256(as_bytes(std::string_view(kStyle)));
    unsigned char base64[45];
    EVP_EncodeBlock(base64, reinterpret_cast<const unsigned char*>(digest.data()),
                    static_cast<int>(digest.size()));
    return "Content-Security-Policy: default-src 'none'; style-src 'sha256-" +
           std::string(reinterpret_cast<const char*>(base64)) +
           "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
           "Referrer-Policy: no-referrer\r\n";
  }();
  return text;
}

/// Whether an Accept header names a type, with any weight but 0.
bool accepts(std::string_view accept, std::string_view type) {
  const auto trimmed = [](std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    return first == std::string_view::npos ? std::string_view()
                                           : text.substr(first, text.find_last_not_of(" \t") - first + 1);
  };
  for (std::size_t begin = 0; begin <= accept.size();) {
    const auto end = std::min(accept.find(',', begin), accept.size());
    const auto part = accept.substr(begin, end - begin);
    begin = end + 1;
    const auto named = trimmed(part.substr(0, part.find(';')));
    if (!boost::beast::iequals({named.data(), named.size()}, {type.data(), type.size()})) continue;
    const auto weight = part.find("q=");
    if (weight == std::string_view::npos) return true;
    return part.find_first_of("123456789", weight) != std::string_view::npos;
  }
  return false;
}

}  // namespace

bool wants_html(std::string_view accept) {
  return accepts(accept, "text/html") && !accepts(accept, "application/json");
}

StatusPage status_page(SessionHost& host, bool html) {
  const auto server = of_server(host);
  std::vector<std::vector<Item>> databases;
  for (const auto* database : host.databases) databases.push_back(of_database(*database));
  const std::string common = "Vary: Accept\r\nX-Content-Type-Options: nosniff\r\n";
  if (html) return {"text/html; charset=utf-8", common + policy(), as_html(server, databases)};
  auto json = OutJson(as_json(server));
  for (const auto& database : databases) json["databases"].push_back(as_json(database));
  return {"application/json", common, json.dump(1) + "\n"};
}

}  // namespace pirx::http
