// SPDX-License-Identifier: Apache-2.0
// pirx get: fetch records privately and say how every server behaved.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ext/stdio_filebuf.h>
#include <fstream>
#include <map>

#include "advice.h"
#include "cli.h"
#include "deploy.h"
#include "fetch_json.h"
#include "pirx/base/json.h"
#include "pirx/base/small_file.h"
#include "pirx/client/fetch.h"
#include "pirx/planner/planner.h"
#include "protocol_options.h"

namespace pirx::cli {
namespace {

struct GetArguments {
  std::string deployment, protocol, keys_file, positions_file, output;
  std::optional<Error> unlisted;  ///< what to say of keys that are not in the list of positions
  std::vector<std::uint64_t> positions;
  std::vector<std::string> keys;
  std::optional<unsigned> liars, rounds;
  bool json = false, raw = false, all = false, quiet = false, refresh = false, null = false;
  bool hide_keys = false;                 ///< they were not on the command line, so no message names them
  Texts options;                          ///< the protocol's own
  std::chrono::microseconds deadline{0};  ///< zero: not given
  double down = 1e7, up = 0;              ///< bits a second; up: 0 if not given
  std::chrono::microseconds round_trip{0};
  Credentials credentials;
  WorkLimits limits;
  std::chrono::microseconds work = limits.time;
};

/// A key for messages, which may end up in a log.
std::string name_key(const GetArguments& a, std::size_t i) {
  if (!a.hide_keys) return "'" + escape_key(a.keys[i]) + "'";
  return "number " + std::to_string(i + 1) + " of " + std::to_string(a.keys.size());
}

/// Positions of the keys in a list of this version, as `pirx db list` prints it. The whole file is read
/// whatever the keys. A key that is not in it gets a position that no database has: the servers are asked all
/// the same, and `unlisted` is what to say afterwards. DataLoss: the file is no such list, or not as it was
/// printed. StaleEpoch: it is of another version.
Result<void> add_positions(GetArguments& a, const Plan& plan) {
  const auto& version = plan.version();
  const auto& path = a.positions_file;
  const auto& keys = a.keys;
  std::ifstream file(path);
  if (!file) {
    return fail(ErrorCode::kUnavailable,
                "cannot open the position list " + path + ": " + std::generic_category().message(errno));
  }
  std::vector<std::optional<std::uint64_t>> found(keys.size());
  KeyLines lines(file, path);
  std::string line;
  Sha256 read;
  const auto next = [&](bool first = false) -> Result<bool> {
    line.clear();
    PIRX_ASSIGN(bool more, lines.next(line));
    if (more) trim_line(line, first);
    more = more && !line.starts_with(kPositionListEnd);
    if (more) read.update(as_bytes(line + '\n'));
    return more;
  };
  PIRX_ASSIGN(bool more, next(true));
  if (!more || !line.starts_with(kPositionList)) {
    return fail(ErrorCode::kDataLoss, path + " is no list of positions: 'pirx db list' prints one");
  }
  if (line != position_list_header(version)) {
    return fail(ErrorCode::kStaleEpoch, path + " is of another epoch or database than " + a.deployment +
                                            ": get the list of epoch " + std::to_string(version.epoch) +
                                            " ('pirx db list')");
  }
  std::uint64_t number = 2;
  for (;; ++number) {
    PIRX_ASSIGN(more, next());
    if (!more) break;
    const auto tab = line.find('\t');
    std::uint64_t position = 0;
    const auto parsed = std::from_chars(line.data(), line.data() + std::min(tab, line.size()), position);
    if (tab == std::string::npos || parsed.ec != std::errc{} || parsed.ptr != line.data() + tab) {
      return fail(ErrorCode::kDataLoss, path + ", line " + std::to_string(number) +
                                            " is not 'position TAB key' (as 'pirx db list' prints it)");
    }
    const auto key = unescape_key(std::string_view(line).substr(tab + 1));
    if (!key) {
      return fail(ErrorCode::kDataLoss,
                  path + ", line " + std::to_string(number) + ": " + key.error().message());
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!found[i] && *key == keys[i]) found[i] = position;
    }
  }
  if (line != position_list_end(std::move(read).finish())) {
    return fail(ErrorCode::kDataLoss,
                path + " is not as 'pirx db list' printed it: " +
                    (line.empty() ? "its last line, the checksum, is missing" : "its checksum is wrong") +
                    ". Get it again");
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!found[i]) {
      const auto here = number - 2, all = plan.geometry().records();
      const auto missing = name_key(a, i) + " is not in " + path;
      a.unlisted = here == all ? Error(ErrorCode::kOutOfRange, missing)
                               : Error(ErrorCode::kDataLoss, missing + ", which has " + std::to_string(here) +
                                                                 " of the database's " + std::to_string(all) +
                                                                 " positions: get the whole list");
    }
    a.positions.push_back(found[i].value_or(~std::uint64_t{0}));
  }
  return {};
}

/// The records in the order asked for, each with what was asked for; those of missing keys have "missing".
OutJson records_to_json(const FetchReport& report, std::span<const OutJson> wishes) {
  OutJson records = OutJson::list();
  const auto& answer = report.answer;
  for (std::size_t i = 0; i < answer.records.size(); ++i) {
    const auto& record = answer.records[i];
    if (std::binary_search(answer.missing.begin(), answer.missing.end(), i)) {
      OutJson none = i < wishes.size() ? wishes[i] : OutJson();
      none["missing"] = true;
      records.push_back(std::move(none));
      continue;
    }
    OutJson entry = i < wishes.size() ? wishes[i] : OutJson();
    entry["hex"] = to_hex(record);
    if (is_utf8(as_text(record))) entry["text"] = as_text(record);
    records.push_back(std::move(entry));
  }
  return records;
}

}  // namespace

OutJson to_json(std::span<const ServerOutcome> outcomes, const Deployment& deployment) {
  const auto coordinates = deployment.plan->coordinates();
  OutJson servers = OutJson::list();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const auto& server = outcomes[i];
    OutJson entry = {{"url", deployment.servers[i].url}};
    if (!coordinates.empty()) entry["coordinate"] = coordinates[i];
    entry["status"] = server_status_name(server.status);
    entry["abandoned"] = server.abandoned;
    entry["error"] = server.error;
    entry["milliseconds"] = server.milliseconds;
    entry["bytes_up"] = server.bytes_up;
    entry["bytes_down"] = server.bytes_down;
    servers.push_back(std::move(entry));
  }
  return servers;
}

OutJson to_json(const FetchReport& report, const Deployment& deployment, std::span<const OutJson> wishes) {
  const auto& answer = report.answer;
  return {{"protocol", deployment.plan->protocol().name},
          {"certainty", certainty_name(answer.certainty)},
          {"proof_bound", answer.proof_bound},
          {"pinned", deployment.manifest != nullptr},
          {"responders", answer.responders},
          {"rounds", answer.rounds},
          {"milliseconds",
           {{"query", report.query_milliseconds},
            {"network", report.network_milliseconds},
            {"decode", report.decode_milliseconds}}},
          {"records", records_to_json(report, wishes)},
          {"servers", to_json(report.servers, deployment)}};
}

tl::unexpected<Error> no_record(const FetchReport& report, const std::string& keys) {
  if (report.answer.certainty == Certainty::kProven) {
    return fail(ErrorCode::kOutOfRange, "the database has no record with " + keys);
  }
  return fail(ErrorCode::kUndecodable, "no record with " + keys +
                                           " was found, but nothing proves that there is none: a server that "
                                           "lied can have hidden it");
}

namespace {

void print_report(const FetchReport& report, const Deployment& deployment) {
  const auto coordinates = deployment.plan->coordinates();
  const auto& answer = report.answer;
  std::uint64_t up = 0, down = 0;
  for (std::size_t i = 0; i < report.servers.size(); ++i) {
    const auto& server = report.servers[i];
    up += server.bytes_up;
    down += server.bytes_down;
    const bool blamed = server.status == ServerStatus::kLied || server.status == ServerStatus::kSuspected;
    const auto status =
        server.abandoned && !blamed ? std::string_view("not waited for") : server_status_name(server.status);
    constexpr std::size_t kWidth = 14;
    std::string shown(status);  // padded before it is coloured: colours take no room
    shown.resize(std::max(shown.size(), kWidth), ' ');
    if (blamed || (!server.abandoned && !server.error.empty())) shown = in_red(shown);
    const auto x = coordinates.empty() ? std::string() : "x=" + std::to_string(coordinates[i]);
    std::fprintf(
        stderr, "  %-28s %-6s %s %8.1f ms  %8llu up %8llu down  %s\n", deployment.servers[i].url.c_str(),
        x.c_str(), shown.c_str(), server.milliseconds, static_cast<unsigned long long>(server.bytes_up),
        static_cast<unsigned long long>(server.bytes_down), server.abandoned ? "" : server.error.c_str());
  }
  const auto certainty = certainty_name(answer.certainty);
  const auto replies = answer.responders == 1 ? std::string("one reply")
                                              : "the " + std::to_string(answer.responders) + " replies";
  std::fprintf(stderr, "  %.*s", static_cast<int>(certainty.size()), certainty.data());
  switch (answer.certainty) {
    case Certainty::kProven:
      if (answer.responders == 1) {
        std::fprintf(
            stderr, ": what came has the identity in the deployment file, %s",
            deployment.manifest != nullptr ? "which its publisher signed" : "which no publisher signed");
      } else {
        std::fprintf(stderr, ": right unless more than %u of the %u servers that answered lied",
                     answer.proof_bound, answer.responders);
      }
      break;
    case Certainty::kProbable:
      std::fprintf(stderr, ": %s alone could not prove it; the records' digests fit", replies.c_str());
      break;
    case Certainty::kUnverified:
      std::fprintf(stderr, ": %s just enough, nothing could be checked",
                   (replies + (answer.responders == 1 ? " is" : " are")).c_str());
      break;
  }
  if (answer.rounds > 1) std::fprintf(stderr, "; %u rounds of queries told the liars apart", answer.rounds);
  if (!answer.missing.empty() && answer.certainty == Certainty::kProven && answer.responders > 1) {
    std::fprintf(
        stderr,
        "\n  a missing key is missing unless more than %u of these %u servers lied: no digest vouches for it",
        answer.proof_bound, answer.responders);
  }
  std::fprintf(stderr, "\n  %llu bytes up, %llu bytes down; query %.1f ms, network %.1f ms, decode %.1f ms\n",
               static_cast<unsigned long long>(up), static_cast<unsigned long long>(down),
               report.query_milliseconds, report.network_milliseconds, report.decode_milliseconds);
}

/// All but those of missing keys.
Result<void> write_records(const GetArguments& a, const FetchReport& report) {
  const auto& records = report.answer.records;
  const auto is_missing = [&report](std::size_t i) {
    return std::binary_search(report.answer.missing.begin(), report.answer.missing.end(), i);
  };
  if (a.output.empty()) {
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (is_missing(i)) continue;
      const auto& record = records[i];
      if (a.raw || a.null) {
        std::fwrite(record.data(), 1, record.size(), stdout);
        if (a.null) std::fputc('\0', stdout);
      } else {
        print_record(record);
      }
    }
    return {};
  }
  std::error_code error;
  std::filesystem::create_directories(a.output, error);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto path = std::filesystem::path(a.output) / std::to_string(i);
    if (is_missing(i)) {
      std::filesystem::remove(path, error);  // of an earlier look-up
      continue;
    }
    // Replaced, not written to: a link that lies there would lead elsewhere.
    PIRX_TRY(replace_file(path, as_text(records[i])));
  }
  const auto next = std::filesystem::path(a.output) / std::to_string(records.size());
  if (std::filesystem::exists(next, error)) {
    std::fprintf(stderr, "pirx: %s is no record of this look-up, and stays\n", next.c_str());
  }
  return {};
}

/// Adds the keys of a file, or of standard input for "-": one a line, escaped as `pirx db list` prints them;
/// or with `null` as they are, with a zero byte after each.
Result<void> add_keys(const std::string& path, bool null, std::vector<std::string>& keys) {
  // Not std::cin, whose buffer is never wiped.
  std::unique_ptr<std::filebuf> file;
  if (path == "-") {
    file = std::make_unique<__gnu_cxx::stdio_filebuf<char>>(::dup(STDIN_FILENO), std::ios::in);
  } else {
    file = std::make_unique<std::filebuf>();
    file->open(path, std::ios::in);
  }
  std::istream in(file.get());
  if (!file->is_open()) return fail(ErrorCode::kUnavailable, "cannot open the list of keys " + path);
  KeyLines lines(in, path == "-" ? "standard input" : path);
  std::string line;
  bool listed = false;  // by `pirx db list`, cut to its keys
  for (std::uint64_t number = 1;; ++number) {
    PIRX_ASSIGN(const bool more, lines.next(line, null ? '\0' : '\n'));
    if (!more) break;
    if (!null) trim_line(line, number == 1);
    listed = listed || (!null && number == 1 && line.starts_with(kPositionList));
    if (listed && number == 1) continue;
    auto key = null ? Result<std::string>(line) : unescape_key(line);
    if (!key) {
      return invalid("--keys-from, line " + std::to_string(number) + ": " + key.error().message());
    }
    keys.push_back(std::move(*key));
  }
  const auto last = keys.empty() ? std::string() : keys.back();
  if (listed && last.starts_with(kPositionListEnd) && digest_from_hex(last.substr(kPositionListEnd.size()))) {
    keys.pop_back();
  }
  return {};
}

/// Asks a person for what was not on the command line.
Result<void> prompt(GetArguments& a) {
  constexpr std::string_view kGive = "give --key, --keys-from or a position";
  if (isatty(STDIN_FILENO) == 0) return invalid("nothing to fetch: " + std::string(kGive));
  PIRX_ASSIGN(const auto all, load_deployments(a.deployment));
  const bool by_key = all[0].plan->geometry().keyed() || !a.positions_file.empty();
  std::fprintf(stderr, by_key ? "key: " : "position: ");
  __gnu_cxx::stdio_filebuf<char> file(::dup(STDIN_FILENO), std::ios::in);
  std::istream in(&file);
  KeyLines lines(in, "standard input");
  std::string word;
  PIRX_ASSIGN(const bool more, lines.next(word, '\n'));
  if (!more) return invalid("nothing to fetch: the input ended. " + std::string(kGive));
  if (by_key) {
    a.keys.push_back(std::move(word));
    a.hide_keys = true;
  } else {
    PIRX_ASSIGN(a.positions.emplace_back(), parse_whole_number(word, 0, ~std::uint64_t{0}));
  }
  return {};
}

/// The words of the command line as what to fetch; --positions turns keys into positions.
Result<void> settle_wishes(GetArguments& a, const Plan& plan) {
  const bool keyed = plan.geometry().keyed();
  if (keyed && (!a.positions.empty() || !a.positions_file.empty())) {
    return invalid(
        "the database is keyed: its records have no positions, ask for them with --key or --keys-from alone");
  }
  if (!keyed && a.positions_file.empty() != a.keys.empty()) {
    return invalid(
        "--key (or --keys-from) and --positions go together, as the database is not keyed (pirx db "
        "build --keyed)");
  }
  if (!keyed && !a.keys.empty()) PIRX_TRY(add_positions(a, plan));
  return {};
}

/// Says which key was not in the list.
Result<FetchReport> explain(const GetArguments& a, Result<FetchReport> report) {
  if (report || report.error().code() != ErrorCode::kOutOfRange || !a.unlisted) return report;
  return tl::unexpected(*a.unlisted);
}

/// What each record is of, for its JSON.
std::vector<OutJson> wishes_to_json(const GetArguments& a) {
  std::vector<OutJson> wishes;
  // The positions of keys come last.
  for (std::size_t i = 0; i + a.keys.size() < a.positions.size(); ++i) {
    wishes.push_back({{"position", a.positions[i]}});
  }
  for (const auto& key : a.keys) {
    wishes.push_back(is_utf8(key) ? OutJson{{"key", key}} : OutJson{{"key_hex", to_hex(as_bytes(key))}});
  }
  return wishes;
}

/// Which keys have no record.
Result<void> check_missing(const GetArguments& a, const FetchReport& report) {
  const auto& missing = report.answer.missing;
  if (missing.empty()) return {};
  std::string names;
  for (const std::size_t i : missing) names += (names.empty() ? "" : ", ") + name_key(a, i);
  return no_record(report, "the key " + names);
}

OutJson error_to_json(const Error& error, const std::string& advice) {
  return {{"code", error_code_name(error.code())}, {"message", error.message()}, {"advice", advice}};
}

void print_json(const OutJson& json) {
  const auto text = json.dump(2) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
}

/// Writes what was fetched, and says which keys have no record.
Result<void> finish(const GetArguments& a, const FetchReport& report, const Deployment& deployment) {
  const auto complete = check_missing(a, report);
  if (a.json) {
    auto json = to_json(report, deployment, wishes_to_json(a));
    if (!complete) json["error"] = error_to_json(complete.error(), "");
    print_json(json);
  } else {
    PIRX_TRY(write_records(a, report));
    if (!a.quiet) print_report(report, deployment);
  }
  return complete;
}

/// The error of a retrieval, with what each server answered and what to do about it.
Result<void> failed(const GetArguments& a, const Error& error, const Fetcher& fetcher) {
  const auto advice = advice_for(fetcher.outcomes(), fetcher.deployment(), a.deployment);
  if (a.json) {
    print_json({{"error", error_to_json(error, advice)},
                {"servers", to_json(fetcher.outcomes(), fetcher.deployment())}});
  }
  return fail(error.code(), error.message() + (advice.empty() ? "" : "\n" + advice));
}

FetchOptions fetch_options(const GetArguments& a) {
  FetchOptions options{.liars = a.liars, .wait_for_all = a.all, .rounds = a.rounds, .limits = a.limits};
  options.limits.time = std::chrono::ceil<std::chrono::milliseconds>(a.work);
  if (a.deadline.count() > 0) options.deadline = std::chrono::ceil<std::chrono::milliseconds>(a.deadline);
  return options;
}

/// The deployment by the protocol that was asked for. Without one, the fastest of those that can do what was
/// asked for, with a line about the choice.
Result<Deployment> choose_deployment(const GetArguments& a) {
  PIRX_ASSIGN(auto all, load_deployments(a.deployment));
  PIRX_TRY(give_credentials(a.credentials, all));
  if (!a.protocol.empty()) return client::choose_deployment(std::move(all), a.protocol);
  if (all.size() == 1) return std::move(all[0]);
  const auto wishes = a.positions.size() + a.keys.size();
  const Link link{a.up > 0 ? a.up : a.down, a.down, std::chrono::duration<double>(a.round_trip).count()};
  std::multimap<double, std::size_t> by_seconds;
  std::string line, unfit;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& plan = *all[i].plan;
    if (const auto fits = check_fetch(all[i], a.options, wishes, fetch_options(a)); fits) {
      by_seconds.emplace(planner::retrieval_seconds(plan, link, wishes), i);
    } else if (unfit += "\n  " + std::string(plan.protocol().name) + ": " + fits.error().message();
               i + 1 == all.size() && by_seconds.empty()) {
      return fail(fits.error().code(), "no protocol of the deployment file can do this:" + unfit);
    }
  }
  for (const auto& [seconds, i] : by_seconds) {
    char about[32];
    std::snprintf(about, sizeof about, " %.2g s", seconds);
    line += (line.empty() ? "" : ", ") + std::string(all[i].plan->protocol().name) + about;
  }
  if (!a.quiet) {
    std::fprintf(
        stderr, "using the first of these, by a rough model of this link: %s; --protocol names another%s%s\n",
        line.c_str(), unfit.empty() ? "" : "\nleft out:", unfit.c_str());
  }
  return std::move(all[by_seconds.begin()->second]);
}

/// The same deployment at the servers' epoch, to which the file is brought, too.
Result<Deployment> renewed(const GetArguments& a, const Deployment& stale) {
  // Most of several servers vouch for what they tell; a single one must agree with all others in the file.
  const auto& protocol = stale.plan->protocol();
  RefreshOptions options{.client_options = a.options};
  options.ask.deadline = std::min(options.ask.deadline, deadline_of(*stale.plan, fetch_options(a)));
  PIRX_ASSIGN(auto file, refresh_file(a.deployment, a.credentials, std::move(options),
                                      protocol.several ? &protocol : nullptr));
  // Somebody may have changed the file meanwhile.
  const auto same = std::find_if(file.after.begin(), file.after.end(),
                                 [&](const auto& one) { return &one.plan->protocol() == &protocol; });
  if (same == file.after.end()) {
    return fail(ErrorCode::kStaleEpoch, a.deployment + " was changed meanwhile: ask again");
  }
  if (!a.quiet && file.changed) {
    std::fprintf(stderr, "%s: epoch %llu now, was %llu; asking again\n", a.deployment.c_str(),
                 static_cast<unsigned long long>(same->plan->version().epoch),
                 static_cast<unsigned long long>(stale.plan->version().epoch));
  }
  return std::move(*same);
}

/// `printed`: there is a JSON document already.
Result<void> get(GetArguments a, bool& printed) {
  if (!a.keys_file.empty()) {
    a.hide_keys = true;
    PIRX_TRY(add_keys(a.keys_file, a.null, a.keys));
  } else if (a.keys.empty() && a.positions.empty()) {
    PIRX_TRY(prompt(a));
  }
  PIRX_ASSIGN(auto deployment, choose_deployment(a));
  const auto& plan = *deployment.plan;
  const auto& protocol = plan.protocol();
  const bool keyed = plan.geometry().keyed();
  PIRX_TRY(settle_wishes(a, plan));
  PIRX_ASSIGN(auto fetcher, Fetcher::create(deployment, a.options));
  if (!fetcher.warning().empty()) std::fprintf(stderr, "%s\n", fetcher.warning().c_str());
  auto options = fetch_options(a);
  if (!a.quiet && !protocol.several) {
    const auto queries = keyed ? plan.work().key_queries * a.keys.size() : a.positions.size();
    options.sending = [slow = protocol.slow, queries](std::size_t sent, std::size_t bytes) {
      if (!slow && sent > 0) return;
      const auto of = slow ? " of " + std::to_string(queries) : std::string();
      std::fprintf(stderr, "  message %zu%s, %s up: waiting for the server%s\n", sent + 1, of.c_str(),
                   human_bytes(bytes).c_str(), slow ? ", which computes for seconds or minutes" : "");
    };
  }
  if (a.refresh) {
    options.renew = [&a](const Deployment& stale) { return renewed(a, stale); };
  }
  const auto report =
      explain(a, keyed ? fetcher.fetch_keys(a.keys, options) : fetcher.fetch(a.positions, options));
  printed = a.json;
  return report ? finish(a, *report, fetcher.deployment()) : failed(a, report.error(), fetcher);
}

Result<void> get_and_tell(const GetArguments& a) {
  std::setvbuf(stdout, nullptr, _IONBF, 0);  // or records would stay in its buffer
  bool printed = false;
  auto done = get(a, printed);
  if (!done && a.json && !printed) {
    print_json({{"error", error_to_json(done.error(), "")}, {"servers", OutJson::list()}});
  }
  return done;
}

}  // namespace

void add_get_command(CLI::App& app) {
  auto& command = *app.add_subcommand("get", "Fetch records privately from a deployment");
  auto a = std::make_shared<GetArguments>();
  command.add_option("deployment", a->deployment, "Deployment file ('pirx deploy' writes one)")->required();
  command
      .add_option("positions", a->positions, "Positions of the records, from 0; all are fetched in one round")
      ->check(CLI::Validator(
          [](const std::string& text) -> std::string {
            if (parse_whole_number(text, 0, ~std::uint64_t{0})) return "";
            return "positions are whole numbers: did you mean --key " + escape_key(text) + "?";
          },
          ""));
  command.add_option("--protocol", a->protocol,
                     "Use this protocol, which the deployment file must name: " + protocol_names());
  add_bandwidth(
      command, "--down", a->down,
      "Bits a second to this machine: 800k, 10M, 1G. Where the deployment file names several protocols, "
      "the fastest over this link is used [10M]");
  add_bandwidth(command, "--up", a->up, "Bits a second from this machine; default: as --down");
  add_duration(command, "--rtt", a->round_trip, "Round trip to the servers [0s]");
  command
      .add_option("--key", a->keys,
                  "Key of a record, repeatable; looked up in --positions unless the database is keyed. Every "
                  "user of this machine can see it in the list of processes: see --keys-from")
      ->allow_extra_args(false);
  command.add_option(
      "--keys-from", a->keys_file,
      "File of keys, one a line (backslash, newline and carriage return as \\\\, \\n and \\r); "
      "'-' is standard input. Nobody sees them in the list of processes");
  command.add_option("--positions", a->positions_file, "The public key list, as 'pirx db list' prints it");
  command
      .add_option("--liars", a->liars,
                  "Lying servers to be safe from; default (k - d - 1) / 2 of the k servers that reply, "
                  "so fewer where replies are missing")
      ->check(whole_number(0, 1024));
  command
      .add_option("--rounds", a->rounds,
                  "Queries to ask in all, where more servers lied than one query tells apart [4]")
      ->check(whole_number(1, 8));
  for (const auto& option : options_of_all(&Protocol::client_options)) {
    add_text_option(command, option, std::string(option.help), a->options);
  }
  add_duration(command, "--deadline", a->deadline,
               "Of each round of queries, and as long as all rounds take for decoding [10s]; where there is "
               "one server, "
               "of each query with its making, and of opening its reply [10m]");
  add_size(command, "--max-bytes", a->limits.bytes,
           "Refuse a plan whose query, replies and keys take more than so many bytes [256MiB]");
  add_size(command, "--max-memory", a->limits.memory,
           "Refuse a plan that takes more of this machine's memory [1GiB]");
  add_duration(
      command, "--max-work", a->work,
      "Refuse a plan whose queries take a core of this machine longer, each, by a rough estimate [1m]");
  add_credentials(command, a->credentials);
  command
      .add_flag(
          "--refresh", a->refresh,
          "If the servers have a new epoch, bring the deployment file to it (pirx deploy --refresh) and "
          "ask once more")
      ->excludes(command.get_option("--positions"));
  command.add_flag("--wait-for-all", a->all, "Wait for slow servers too, so that all are reported");
  command.add_flag("--json", a->json, "Records and report as one JSON document; so are failures");
  command.add_flag("--raw", a->raw, "No newline after each record");
  command.add_flag("-0,--null", a->null,
                   "Keys of --keys-from end with a zero byte and are taken as they are; so do records");
  command.add_flag("-q,--quiet", a->quiet, "No report on standard error");
  command.add_option("-o,--output", a->output,
                     "Folder for the records, as files 0, 1, ... in the order asked for");
  command.footer(
      "Records go to standard output, the report on every server to standard error. Positions and keys on "
      "the\n"
      "command line can be seen by every user of this machine; keys from --keys-from cannot, nor can one "
      "that is\n"
      "typed: without a key or position on a terminal, the command asks for one.\n"
      "Examples:\n"
      "  pirx get packages.json --key bash          (pirx db build --keyed)\n"
      "  pirx get packages.json --keys-from -       (keys on standard input)\n"
      "  pirx get packages.json 17 4711\n"
      "  pirx get packages.json --positions positions.tsv --key bash");
  set_action(command, [a] { return get_and_tell(*a); });
}

}  // namespace pirx::cli
