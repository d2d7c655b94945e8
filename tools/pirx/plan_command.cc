// SPDX-License-Identifier: Apache-2.0
// pirx plan: says which scheme pays on this machine and link, from measured rates.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "cli.h"
#include "pirx/base/cpu.h"
#include "pirx/base/json.h"
#include "pirx/base/small_file.h"
#include "pirx/database/database.h"
#include "pirx/http/http_client.h"
#include "pirx/planner/planner.h"
#include "pirx/protocol.h"
#include "rates_file.h"

namespace pirx::cli {
namespace {

struct PlanArguments {
  std::string database, rates;
  http::Endpoint server;
  double up = 0, down = 1e7;  // up: 0 if not given
  std::uint64_t records = 0, record_bytes = 0;
  std::chrono::microseconds round_trip{0};
  int cores = 0, client_cores = 0;
  unsigned servers = 1, collusion = 1, modulus = 3072;
  std::uint64_t queries = 1;
  bool ahead = false, json = false, curves = false;
};

std::string format_number(double value, const char* unit) {
  char text[48];
  std::snprintf(text, sizeof text, "%.3g%s", value, unit);
  return text;
}
std::string format_seconds(double seconds) {
  if (seconds == 0) return "-";
  if (seconds < 1e-3) return format_number(1e6 * seconds, " us");
  if (seconds < 1) return format_number(1e3 * seconds, " ms");
  if (seconds < 7200) return format_number(seconds, " s");
  return format_number(seconds / 3600, " h");
}
std::string format_bandwidth(std::optional<double> bits) {
  if (!bits) return "never";
  if (std::isinf(*bits)) return "always";
  if (*bits < 1e6) return format_number(*bits / 1e3, " kbit/s");
  if (*bits < 1e9) return format_number(*bits / 1e6, " Mbit/s");
  return format_number(*bits / 1e9, " Gbit/s");
}

/// Columns as wide as they must be, `left` of them and what is behind `right` to the left, others to the
/// right.
void print_table(const std::vector<std::vector<std::string>>& rows, std::size_t left = 1,
                 std::size_t right = std::numeric_limits<std::size_t>::max()) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      line += (i == 0 ? "" : "  ") + (i < left || i >= right ? row[i] + space : space + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("%s\n", line.c_str());
  }
}

std::string title(const Offer& offer) {
  return offer.protocol + (offer.settings.empty() ? "" : " (" + offer.settings + ")");
}

OutJson crossover_json(const std::optional<double>& bits) {
  if (!bits) return "never";
  if (std::isinf(*bits)) return "always";
  return *bits;
}

OutJson offer_json(const Offer& offer, const planner::Plan& plan) {
  const auto& question = plan.question;
  return {{"scheme", offer.protocol},
          {"settings", offer.settings},
          {"options", offer.options},
          {"seeded", offer.seeded},
          {"servers", offer.servers},
          {"threshold", offer.threshold},
          {"records_per_row", offer.records_per_row},
          {"privacy", offer.privacy},
          {"notes", offer.notes},
          {"bytes_up", offer.bytes_up},
          {"bytes_down", offer.bytes_down},
          {"bytes_once", offer.bytes_once},
          {"bytes_once_up", offer.bytes_once_up},
          {"round_trips", offer.round_trips},
          {"round_trips_once", offer.round_trips_once},
          {"server_seconds", offer.server_seconds},
          {"client_seconds", offer.client_seconds},
          {"ahead_seconds", offer.ahead_seconds},
          {"prepare_seconds", offer.prepare_seconds},
          {"server_bytes", offer.server_bytes},
          {"client_bytes", offer.client_bytes},
          {"total_seconds", total_seconds(offer, question, question.link)},
          {"crossover_one_query", crossover_json(planner::crossover(plan, offer, 1))},
          {"crossover_all_queries", crossover_json(planner::crossover(plan, offer, question.queries))}};
}

/// Total time of every scheme, each at its best for that link, from 10 kbit/s to 100 Gbit/s down.
Result<OutJson> curves_json(const Question& question, Rates& rates) {
  constexpr int kPerDecade = 4, kFirst = 4, kLast = 11;
  OutJson curves = OutJson::list();
  for (int i = kFirst * kPerDecade; i <= kLast * kPerDecade; ++i) {
    Question at = question;
    at.link.down = std::pow(10.0, static_cast<double>(i) / kPerDecade);
    at.link.up = at.link.down * question.link.up / question.link.down;
    PIRX_ASSIGN(const auto plan, planner::make_plan(at, rates));
    OutJson totals = OutJson::object();
    for (const auto& offer : plan.offers) {
      std::string name = offer.protocol;
      if (const auto field = offer.options.find("field"); field != offer.options.end())
        name += " " + field->second;
      if (offer.seeded) name += " seeded";
      totals[name] = total_seconds(offer, at, at.link);
    }
    curves.push_back({{"down", at.link.down}, {"up", at.link.up}, {"total_seconds", totals}});
  }
  return curves;
}

void print_plan(const planner::Plan& plan, const std::string& machine) {
  const auto& question = plan.question;
  std::printf("%s records of %s (%s), %s up, %s down, round trip %s, %d server cores, %d client cores, %s\n",
              std::to_string(question.records).c_str(), human_bytes(question.record_bytes).c_str(),
              human_bytes(question.records * question.record_bytes).c_str(),
              format_bandwidth(question.link.up).c_str(), format_bandwidth(question.link.down).c_str(),
              format_seconds(question.link.round_trip).c_str(), question.server_cores, question.client_cores,
              question.servers == 1 ? "1 server"
                                    : (std::to_string(question.servers) + " servers of which " +
                                       std::to_string(question.collusion) + " may collude")
                                          .c_str());
  std::printf("Rates of: %s\n\n", machine.c_str());
  std::vector<std::vector<std::string>> rows = {{"scheme", "up", "down", "server", "client", "ahead", "total",
                                                 "server memory", "client memory", "pays below"}};
  if (question.queries > 1) rows[0].back() += " (one query)", rows[0].push_back("(all queries)");
  for (const auto& offer : plan.offers) {
    const bool download = offer.whole;
    rows.push_back({title(offer), human_bytes(offer.bytes_up + offer.bytes_once_up),
                    human_bytes(offer.bytes_down + offer.bytes_once), format_seconds(offer.server_seconds),
                    format_seconds(offer.client_seconds), format_seconds(offer.ahead_seconds),
                    format_seconds(total_seconds(offer, question, question.link)),
                    human_bytes(offer.server_bytes), human_bytes(offer.client_bytes),
                    download ? "" : format_bandwidth(planner::crossover(plan, offer, 1))});
    if (question.queries > 1 && !download) {
      rows.back().push_back(format_bandwidth(planner::crossover(plan, offer, question.queries)));
    }
  }
  print_table(rows);
  std::printf(
      "\nTotals count transfers, server, client%s and, shared by %llu %s, a download or the laying out of "
      "the database.\n\"Pays below\": the bandwidth down below which the scheme beats a download.\n",
      question.ahead ? "" : ", what the client can compute ahead",
      static_cast<unsigned long long>(question.queries), question.queries == 1 ? "query" : "queries");
  for (const auto& [scheme, why] : plan.left_out)
    std::printf("Left out: %s: %s\n", scheme.c_str(), why.c_str());
  std::string advice = plan.advice;  // a sentence a line
  for (auto at = advice.find(". "); at != std::string::npos; at = advice.find(". ", at))
    advice[at + 1] = '\n';
  std::printf("\n%s\n", advice.c_str());
}

tl::unexpected<Error> keyed_refused() {
  return invalid("a keyed database is not planned for: a record is the sum of three of its rows");
}

/// What a server says that it serves, and the shortest of some round trips to it.
struct Reached {
  Told told;
  double round_trip;
};

Result<Reached> reach(const PlanArguments& a) {
  constexpr int kTries = 6;
  PIRX_ASSIGN(auto transport, http::HttpTransport::create({a.server}));
  std::optional<Bytes> parameters;
  double shortest = 0;
  for (int i = 0; i < kTries; ++i) {
    auto outcome = std::move(transport.parameters_all({.max_reply_bytes = std::size_t{64} << 10}).at(0));
    if (!outcome.reply) {
      return fail(outcome.reply.error().code(),
                  a.server.url + " gave no parameters: " + outcome.reply.error().message());
    }
    // The first one also opens the connection.
    if (i == 1 || (i > 1 && outcome.milliseconds < shortest)) shortest = outcome.milliseconds;
    parameters = std::move(*outcome.reply);
  }
  PIRX_ASSIGN(auto told, tell(*parameters));
  return Reached{std::move(told), shortest / 1e3};
}

Result<Question> question_of(const PlanArguments& a) {
  Question question;
  if ((a.database.empty() ? 0 : 1) + (a.server.url.empty() ? 0 : 1) +
          (a.records != 0 || a.record_bytes != 0 ? 1 : 0) >
      1) {
    return invalid("give a database, or --server, or --records and --record-bytes");
  }
  question.link.round_trip = std::chrono::duration<double>(a.round_trip).count();
  if (!a.server.url.empty()) {
    PIRX_ASSIGN(const auto reached, reach(a));
    if (reached.told.geometry.keyed()) return keyed_refused();
    question.geometry = reached.told.geometry;
    // Only the server of a download says it.
    if (const auto at = reached.told.members.find("key_index_bytes"); at != reached.told.members.end()) {
      question.key_index_bytes = std::stoull(at->second);
    }
    if (a.round_trip.count() == 0) question.link.round_trip = reached.round_trip;
  } else if (!a.database.empty()) {
    PIRX_ASSIGN(const auto database, database::Database::open(a.database));
    if (database->bucket() != nullptr) return invalid("this is a bucket: plan for the plain database");
    if (database->geometry().keyed()) return keyed_refused();
    question.geometry = database->geometry();
    question.key_index_bytes = database->key_index_bytes();
  }
  question.records = question.geometry ? question.geometry->records() : a.records;
  question.record_bytes = question.geometry ? question.geometry->record_bytes() : a.record_bytes;
  question.link.down = a.down;
  question.link.up = a.up > 0 ? a.up : a.down;
  question.server_cores = a.cores > 0 ? a.cores : machine_cores();
  question.client_cores = a.client_cores > 0 ? a.client_cores : machine_cores();
  question.servers = a.servers;
  question.collusion = a.collusion;
  question.queries = a.queries;
  question.modulus_bits = a.modulus;
  question.reproduction = a.modulus == 1024;
  question.ahead = a.ahead;
  PIRX_TRY(planner::check(question));
  return question;
}

/// The file's rates, completed by measuring where it is of this machine.
struct KnownRates {
  std::string machine = this_machine();
  std::size_t before = 0;
  std::unique_ptr<planner::Machine> here;
  std::unique_ptr<RateTable> elsewhere;

  Rates& rates() { return here ? static_cast<Rates&>(*here) : *elsewhere; }
};

Result<KnownRates> open_rates(const PlanArguments& a) {
  KnownRates known;
  RateTable table;
  PIRX_ASSIGN(const bool there, is_there(a.rates));
  if (there) {
    PIRX_ASSIGN(auto file, load_rates(a.rates));
    if (file.machine != known.machine) {
      known.machine = file.machine;
      known.elsewhere = std::make_unique<RateTable>(std::move(file.rates));
      return known;
    }
    table = std::move(file.rates);
  }
  known.before = table.all().size();
  known.here = std::make_unique<planner::Machine>(std::move(table));
  return known;
}

Result<void> keep_rates(const PlanArguments& a, const KnownRates& known) {
  if (a.rates.empty() || !known.here || known.here->known().all().size() == known.before) return {};
  return replace_file(a.rates, format_rates({known.machine, known.here->known()}));
}

Result<void> run_plan(const PlanArguments& a) {
  if (a.curves && !a.json) return invalid("--curves goes with --json");
  PIRX_ASSIGN(const auto question, question_of(a));
  PIRX_ASSIGN(auto known, open_rates(a));
  if (question.reproduction) {
    std::fprintf(stderr, "warning: 1024-bit keys can be broken; they are for reproducing the papers only\n");
  }
  if (known.here && isatty(STDERR_FILENO) != 0) std::fprintf(stderr, "measuring this machine...\n");
  PIRX_ASSIGN(const auto plan, planner::make_plan(question, known.rates()));
  OutJson json;
  if (a.json) {
    json = {
        {"kind", "plan"},
        {"machine", known.machine},
        {"records", question.records},
        {"record_bytes", question.record_bytes},
        {"link",
         {{"up", question.link.up}, {"down", question.link.down}, {"round_trip", question.link.round_trip}}},
        {"server_cores", question.server_cores},
        {"client_cores", question.client_cores},
        {"servers", question.servers},
        {"collusion", question.collusion},
        {"queries", question.queries},
        {"modulus_bits", question.modulus_bits},
        {"ahead", question.ahead},
        {"offers", OutJson::list()},
        {"left_out", OutJson::list()},
        {"advice", plan.advice}};
    for (const auto& offer : plan.offers) json["offers"].push_back(offer_json(offer, plan));
    for (const auto& [scheme, why] : plan.left_out) {
      json["left_out"].push_back({{"scheme", scheme}, {"why", why}});
    }
    if (a.curves) {
      PIRX_ASSIGN(json["curves"], curves_json(question, known.rates()));
    }
  }
  PIRX_TRY(keep_rates(a, known));
  if (a.json) {
    std::printf("%s\n", json.dump(1).c_str());
  } else {
    print_plan(plan, known.machine);
  }
  return {};
}

}  // namespace

void add_plan_command(CLI::App& app) {
  auto a = std::make_shared<PlanArguments>();
  auto& command =
      *app.add_subcommand("plan", "Which scheme pays on this machine and link, every number measured");
  command.add_option("database", a->database, "A database; or give --records and --record-bytes");
  command.add_option("--server", a->server.url,
                     "Or the URL of a server: what it serves, and the round trip to it");
  add_ca(command, a->server.ca_file, "PEM trust anchors for --server; default: the system's");
  command.add_flag("--allow-plaintext", a->server.allow_plaintext,
                   "Ask --server over http beyond this machine");
  command.add_flag("--tls-1.2", a->server.allow_tls_1_2, "Ask --server by TLS 1.2, too");
  command.add_option("--records", a->records, "How many there are")
      ->check(whole_number(1, std::numeric_limits<std::uint64_t>::max()));
  add_size(command, "--record-bytes", a->record_bytes, "Of each record");
  add_bandwidth(command, "--down", a->down, "Bits a second to the client: 800k, 10M, 1G [10M]");
  add_bandwidth(command, "--up", a->up, "Bits a second from the client; default: as down");
  add_duration(command, "--rtt", a->round_trip, "Round trip of the link; default: that to --server, or 0");
  command.add_option("--cores", a->cores, "Of a server; default: this machine's")
      ->check(whole_number(1, 4096));
  command.add_option("--client-cores", a->client_cores, "Default: this machine's")
      ->check(whole_number(1, 4096));
  command.add_option("--servers", a->servers, "That do not all talk to each other")
      ->check(whole_number(1, 1024));
  command.add_option("--collusion", a->collusion, "So many of them may")->check(whole_number(1, 1023));
  command.add_option("--queries", a->queries, "That a version of the database answers: shares a download")
      ->check(whole_number(1, 1'000'000'000'000));
  command.add_option("--modulus", a->modulus, "Bits of N: 2048, 3072, 4096; 1024 as in the papers, insecure")
      ->capture_default_str();
  command.add_flag("--ahead", a->ahead,
                   "Clients compute what they can before they know their wish: not counted");
  command.add_option("--rates", a->rates, "File of rates: read where it exists, completed by measuring");
  command.add_flag("--json", a->json, "Print JSON");
  command.add_flag("--curves", a->curves, "With --json: total times over bandwidths, for bench/planner/plot");
  command.footer(
      "Examples:\n"
      "  pirx plan --records 65536 --record-bytes 1KiB --down 10M --up 1M --rtt 40ms\n"
      "  pirx plan packages.pirx --down 100M --servers 3 --queries 50 --rates rates.json");
  set_action(command, [a] { return run_plan(*a); });
}

}  // namespace pirx::cli
