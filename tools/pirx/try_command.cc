// SPDX-License-Identifier: Apache-2.0
// pirx try: from a file to a private look-up in one command. Builds a database, serves it on loopback, and
// looks up what is typed.
#include <unistd.h>

#include <algorithm>
#include <ext/stdio_filebuf.h>
#include <istream>

#include "cli.h"
#include "db_build.h"
#include "fetch_json.h"
#include "key_column.h"
#include "pirx/client/fetch.h"
#include "pirx/client/refresh.h"
#include "pirx/database/database.h"
#include "pirx/http/http_server.h"
#include "serve_config.h"
#include "web_page.h"
#include "work_folder.h"

namespace pirx::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kServers = 3;  ///< where there are several
constexpr std::uint16_t kFirstPort = 8101;
constexpr const char* kHost = "127.0.0.1";

struct TryArguments {
  BuildArguments build;
  std::string protocol, keep;
  std::vector<std::string> lookups;
  bool one_server = false, by_position = false, json = false, quiet = false, web = false;
};

/// What the look-ups are by, and how that was found.
struct Chosen {
  std::string what;     ///< for people
  std::string example;  ///< a key that is there, or a position; empty: not known
  bool guessed = false;
};

/// A word of a command as a shell reads it, without bytes that a terminal acts on.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string letters = word;
  letters.erase(std::remove(letters.begin(), letters.end(), '\\'), letters.end());
  const bool controls = escape_key(letters) != letters;
  std::string text;
  for (const char c : controls ? escape_key(word) : word) {
    text += c != '\'' ? std::string(1, c) : controls ? "\\'" : "'\\''";
  }
  return (controls ? "$'" : "'") + text + "'";
}

/// An option and its value as words of a command.
std::string option_words(const std::string& flag, const std::string& value) {
  return " " + flag + (value.starts_with('-') ? "=" : " ") + quoted(value);
}

/// A path that no command takes for an option.
std::string path_word(const std::string& path) { return quoted(path.starts_with('-') ? "./" + path : path); }

/// The name of the database made from this input: "users" for "data/users.csv". In a `folder` other than that
/// of --keep, a name that no file has.
std::string name_for(const std::string& input, bool fresh) {
  auto path = fs::path(input).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  auto stem = path.stem().string();
  if (stem.empty() || stem == "." || stem == "..") stem = "database";
  std::error_code ignored;
  const auto taken = [&](const std::string& name) {
    return fs::exists(name + ".pirx", ignored) || fs::exists(name + "-deployment.json", ignored);
  };
  auto name = stem;
  for (int i = 2; fresh && taken(name); ++i) name = stem + "-" + std::to_string(i);
  return name;
}

/// The first file of a folder, as a key.
std::string example_in(const fs::path& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator files(folder, error), end; !error && files != end;
       files.increment(error)) {
    if (files->path().filename().native().starts_with('.')) {
      files.disable_recursion_pending();
    } else if (files->symlink_status(error).type() == fs::file_type::regular) {
      return files->path().lexically_relative(folder).string();
    }
  }
  return {};
}

/// Settles the format and the key column.
Result<Chosen> choose(TryArguments& a) {
  auto& build = a.build;
  std::error_code error;
  const auto status = fs::status(build.input, error);
  if (!fs::is_regular_file(status) && !fs::is_directory(status)) {
    if (!fs::exists(status)) {
      return fail(ErrorCode::kUnavailable,
                  "cannot read " + build.input + ": " + (error ? error.message() : "there is no such file"));
    }
    return invalid(build.input + " is neither a file nor a folder; pirx try reads its input twice");
  }
  if (build.format.empty()) {
    PIRX_ASSIGN(build.format, format_of(build.input));
  }
  const bool table = build.format == "csv" || build.format == "tsv" || build.format == "jsonl";
  if (a.by_position && !build.key.empty()) return invalid("--by-position and --key exclude each other");
  if (!table && !build.key.empty()) return invalid("--key names a column: " + build.format + " has none");
  if (a.by_position || (!table && build.format != "folder")) return Chosen{"by their positions, from 0", "0"};
  build.keyed = true;
  if (!table) return Chosen{"by their paths in the folder", example_in(build.input)};
  PIRX_ASSIGN(const auto columns, sample_columns(build));
  if (!build.key.empty()) return Chosen{"by the column " + build.key, example_of(columns, build.key)};
  const auto guess = guess_key(columns);
  if (!guess) {
    build.keyed = false;
    return Chosen{
        "by their positions, from 0 (every column has empty, long or repeated values; --key names one)", "0"};
  }
  build.key = guess->column;
  return Chosen{"by the column " + escape_key(guess->column) + " (" + guess->why + "; --key names another)",
                guess->example, true};
}

Result<void> build(const TryArguments& a, const Chosen& chosen) {
  const auto report = build_database(a.build, "pirx try");
  if (report) return {};
  const auto& error = report.error();
  if (!chosen.guessed || error.code() != ErrorCode::kInvalidArgument) return tl::unexpected(error);
  return invalid(error.message() + " (the key column " + escape_key(a.build.key) +
                 " was guessed: --key names another, --by-position goes without)");
}

/// Options of the server at position `i`.
Texts options_of(const Protocol& protocol, std::size_t i) {
  constexpr std::string_view kCoordinate = "coordinate";
  if (find_option(protocol.options, kCoordinate) == nullptr) return {};
  return {{std::string(kCoordinate), std::to_string(i + 1)}};
}

/// The servers of a database by one protocol, opened but not listening.
struct Opened {
  const Protocol* protocol = nullptr;
  std::vector<DatabaseSettings> settings;
  std::vector<Served> served;
};

Result<Opened> open_by(const Protocol& protocol, const std::string& file) {
  Opened opened{.protocol = &protocol, .settings = {}, .served = {}};
  OpenContext context;
  context.spec.loopback = true;
  for (std::size_t i = 0; i < (protocol.several ? std::min<std::size_t>(kServers, protocol.most_servers) : 1);
       ++i) {
    opened.settings.push_back({.name = "",
                               .file = file,
                               .protocol = std::string(protocol.name),
                               .options = options_of(protocol, i)});
    PIRX_ASSIGN(auto served, open_served(opened.settings.back(), context));
    opened.served.push_back(std::move(served));
  }
  return opened;
}

/// By the protocol that was named; else by the first of the table that fits.
Result<Opened> open_servers(const TryArguments& a, const std::string& file) {
  if (!a.protocol.empty()) {
    PIRX_ASSIGN(const auto* protocol, find_protocol(a.protocol));
    if (a.one_server && protocol->several) {
      return invalid(a.protocol +
                     " needs several servers: leave --one-server away, or name another protocol");
    }
    return open_by(*protocol, file);
  }
  std::string unfit;
  for (const auto* protocol : protocols()) {
    if (protocol->several == a.one_server || protocol->slow) continue;
    auto opened = open_by(*protocol, file);
    if (opened || opened.error().code() != ErrorCode::kInvalidArgument) return opened;
    unfit += "\n  " + std::string(protocol->name) + ": " + opened.error().message();
  }
  return invalid("no protocol can serve this database:" + unfit);
}

/// Servers on ports of this machine, each with its threads, until the object is destroyed.
class Listening {
 public:
  Result<void> add(const DatabaseSettings& settings, std::shared_ptr<const AnyServer> server,
                   std::uint16_t port = 0, const std::string& cors = {}, WebPage page = nullptr) {
    PIRX_ASSIGN(auto http, listen(settings, std::move(server), port, cors, std::move(page)));
    auto& one = running_.emplace_back(std::make_unique<http::HttpServer>(std::move(http)));
    try {
      threads_.emplace_back([&server = *one] { static_cast<void>(server.run()); });
    } catch (const std::system_error& error) {
      running_.pop_back();
      return fail(ErrorCode::kResourceExhausted, std::string("cannot start a thread: ") + error.what());
    }
    return {};
  }
  Listening() = default;
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
  ~Listening() {
    for (const auto& server : running_) server->stop();
    for (auto& thread : threads_) thread.join();
  }
  std::uint16_t port(std::size_t i) const { return running_[i]->port(); }

  /// Binds the port. Unavailable: it is in use. Pages of the origin `cors` may ask; `page` may be null.
  static Result<http::HttpServer> listen(const DatabaseSettings& settings,
                                         std::shared_ptr<const AnyServer> server, std::uint16_t port,
                                         const std::string& cors = {}, WebPage page = nullptr) {
    ServeFile file;
    file.databases.push_back({.settings = settings, .limits = {}});
    const auto none = [](const std::string&) -> std::optional<std::string> { return std::nullopt; };
    Texts texts{{"listen", kHost + std::string(":") + std::to_string(port)}};
    if (!cors.empty()) texts["cors"] = cors;
    PIRX_ASSIGN(auto settled, settle_serve(texts, none, file));
    settled.http.files = std::move(page);
    settled.http.no_sites = true;
    return http::HttpServer::create({{"", std::move(server), settled.databases[0].queue}}, settled.http,
                                    [](const http::LogEvent&) {});
  }

 private:
  std::vector<std::unique_ptr<http::HttpServer>> running_;
  std::vector<std::thread> threads_;
};

std::string url_of(std::uint16_t port) { return "http://" + std::string(kHost) + ":" + std::to_string(port); }

/// Free ports for servers that somebody starts later: the first ones from 8101.
std::vector<std::uint16_t> free_ports(const Opened& opened) {
  std::vector<std::uint16_t> ports;
  for (std::uint16_t port = kFirstPort; ports.size() < opened.served.size() && port < kFirstPort + 1000;
       ++port) {
    if (Listening::listen(opened.settings[0], opened.served[0].server, port)) ports.push_back(port);
  }
  while (ports.size() < opened.served.size()) {  // then whoever starts them has to choose
    ports.push_back(static_cast<std::uint16_t>(kFirstPort + ports.size()));
  }
  return ports;
}

Result<Deployment> deployment_of(const Opened& opened, const std::vector<std::uint16_t>& ports) {
  Parameters said{.protocol = opened.protocol, .told = {}};
  for (const auto& one : opened.served) {
    PIRX_ASSIGN(auto says, tell(one.server->parameters()));
    said.told.push_back(std::move(says));
  }
  PIRX_ASSIGN(auto plan, plan_for(said, {}));
  Deployment deployment{.plan = std::move(plan), .servers = {}};
  for (const auto port : ports) deployment.servers.push_back({.url = url_of(port)});
  return deployment;
}

/// The commands that do the same, a line each.
std::string commands(const TryArguments& a, const Opened& opened, const std::string& name,
                     const std::vector<std::uint16_t>& ports, const std::string& example, double seconds) {
  const auto& build = a.build;
  const auto database = path_word(name + ".pirx"), deployment = path_word(name + "-deployment.json");
  std::string text = "  pirx db build " + database + " " + path_word(build.input) + " --from " + build.format;
  if (!build.key.empty()) text += option_words("--key", build.key);
  for (const auto& value : build.values) text += option_words("--value", value);
  if (!build.separator.empty()) text += option_words("--separator", build.separator);
  if (build.no_header) text += " --no-header";
  if (build.skip_bad_rows) text += " --skip-bad-rows";
  if (build.record_bytes > 0) text += " --record-bytes " + std::to_string(build.record_bytes);
  if (build.keyed) text += " --keyed";
  if (!build.duplicates.empty()) text += " --duplicates " + build.duplicates;
  std::string servers;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    text += "\n  pirx serve " + database;
    if (opened.protocol != protocols().front()) text += " --protocol " + opened.settings[i].protocol;
    for (const auto& [option, value] : opened.settings[i].options) {
      text += option_words(flag_of(option), value);
    }
    text += " --listen " + std::string(kHost) + ":" + std::to_string(ports[i]) + " --quiet &";
    servers += " --server " + url_of(ports[i]);
  }
  // All of them open the database at once.
  text += "\n  pirx deploy " + deployment + servers;
  text += " --wait " + std::to_string(10 + static_cast<int>(10 * seconds)) + "s";
  text += "\n  pirx get " + deployment;
  text += build.keyed ? option_words("--key", example.empty() ? "KEY" : example) : " 0";
  return text + "\n";
}

/// "server 1", "servers 1 and 3", "servers 1, 2 and 3".
std::string listed(const std::vector<std::size_t>& servers) {
  std::string text = servers.size() == 1 ? "server " : "servers ";
  for (std::size_t i = 0; i < servers.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == servers.size() ? " and " : ", ") + std::to_string(servers[i] + 1);
  }
  return text;
}

/// "2,134 bytes up, 5,310 down, 4.2 ms; servers 1, 2 and 3 answered; proven: ...".
std::string one_line(const FetchReport& report) {
  const auto& answer = report.answer;
  std::uint64_t up = 0, down = 0;
  std::vector<std::size_t> answered;
  std::string others;
  for (std::size_t i = 0; i < report.servers.size(); ++i) {
    const auto& server = report.servers[i];
    up += server.bytes_up;
    down += server.bytes_down;
    if (server.status == ServerStatus::kOk) {
      answered.push_back(i);
    } else {
      others += ", server " + std::to_string(i + 1) + " " + std::string(server_status_name(server.status));
    }
  }
  char numbers[96];
  std::snprintf(numbers, sizeof numbers, "%llu bytes up, %llu bytes down, %.1f ms; ",
                static_cast<unsigned long long>(up), static_cast<unsigned long long>(down),
                report.query_milliseconds + report.network_milliseconds + report.decode_milliseconds);
  std::string text = numbers;
  text += (report.servers.size() == 1 ? "the server" : listed(answered)) + " answered" + others + "; ";
  text += certainty_name(answer.certainty);
  switch (answer.certainty) {
    case Certainty::kProven:
      text += answer.responders == 1
                  ? ": it has the identity of the database"
                  : ": right unless more than " + std::to_string(answer.proof_bound) + " of them lied";
      break;
    case Certainty::kProbable:
      text += ": the record's digest fits";
      break;
    case Certainty::kUnverified:
      text += ": nothing could be checked";
      break;
  }
  return text;
}

/// Looks things up, and prints what comes.
class LookUps {
 public:
  LookUps(const TryArguments& a, const Deployment& deployment, Fetcher fetcher)
      : a_(a), deployment_(deployment), fetcher_(std::move(fetcher)) {}

  bool keyed() const { return deployment_.plan->geometry().keyed(); }

  /// Prints the record and a line about it. OutOfRange: there is no such record; Undecodable: none was
  /// found, which nothing proves. Else errors of the Fetcher.
  Result<void> look_up(const std::string& wish) {
    const auto report = fetch(wish);
    const bool missing = report && !report->answer.missing.empty();
    if (a_.json) {
      OutJson json = report ? to_json(*report, deployment_)
                            : OutJson{{"error",
                                       {{"code", error_code_name(report.error().code())},
                                        {"message", report.error().message()}}}};
      json[keyed() ? "key" : "position"] = wish;
      std::printf("%s\n", json.dump().c_str());
    } else if (report && !missing) {
      print_record(report->answer.records[0]);
    }
    if (!report) return tl::unexpected(report.error());
    if (!a_.quiet) std::fprintf(stderr, "  %s\n", one_line(*report).c_str());
    if (missing) return no_record(*report, "this key");
    return {};
  }

  /// Looks up every line of standard input. True: until :quit. False: until its end.
  bool prompt() {
    const bool terminal = isatty(STDIN_FILENO) != 0;
    if (!a_.quiet) {
      std::fprintf(stderr, "Type a %s and Enter; :quit ends.\n", keyed() ? "key" : "position");
    }
    // Not std::cin, whose buffer is never wiped.
    __gnu_cxx::stdio_filebuf<char> file(::dup(STDIN_FILENO), std::ios::in);
    std::istream in(&file);
    const auto ask = [&] {
      if (terminal) std::fputs(keyed() ? "key> " : "position> ", stderr);
    };
    ask();
    for (std::string line; std::getline(in, line); ask()) {
      if (line.ends_with('\r')) line.pop_back();
      if (line == ":quit" || line == ":q") return true;
      if (line.empty()) continue;
      if (const auto done = look_up(line); !done)
        std::fprintf(stderr, "  %s\n", done.error().message().c_str());
    }
    if (terminal) std::fputc('\n', stderr);
    return false;
  }

 private:
  Result<FetchReport> fetch(const std::string& wish) {
    const FetchOptions options{.wait_for_all = deployment_.plan->protocol().several};
    if (keyed()) return fetcher_.fetch_keys({&wish, 1}, options);
    const auto position = parse_whole_number(wish, 0, ~std::uint64_t{0});
    if (!position) return invalid("positions are whole numbers from 0");
    return fetcher_.fetch({&*position, 1}, options);
  }

  const TryArguments& a_;
  const Deployment& deployment_;
  Fetcher fetcher_;
};

Result<void> try_file(TryArguments a) {
  std::setvbuf(stdout, nullptr, _IONBF, 0);  // or records would stay in its buffer
  signal(SIGPIPE, SIG_IGN);                  // whoever reads the records may go away
  if (!a.protocol.empty()) PIRX_TRY(find_protocol(a.protocol));
  PIRX_ASSIGN(const auto folder, WorkFolder::create(a.keep));
  PIRX_ASSIGN(const auto chosen, choose(a));
  const auto name = name_for(a.build.input, a.keep.empty());
  a.build.target = (folder->path() / (name + ".pirx")).string();
  PIRX_TRY(build(a, chosen));

  const auto start = std::chrono::steady_clock::now();
  PIRX_ASSIGN(const auto opened, open_servers(a, a.build.target));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const auto ports = free_ports(opened);
  PIRX_ASSIGN(const auto later, deployment_of(opened, ports));
  if (a.keep.empty()) {
    folder->remove();
  } else {
    PIRX_TRY(save_deployments(folder->path() / (name + "-deployment.json"), {{later}}));
    PIRX_TRY(folder->keep());
  }
  Listening listening;
  std::vector<std::uint16_t> listens;
  std::uint16_t page_port = 0;
  if (a.web) {  // the servers are told the page's address, and the page theirs
    PIRX_ASSIGN(const auto found, Listening::listen(opened.settings[0], opened.served[0].server, 0));
    page_port = found.port();
  }
  for (std::size_t i = 0; i < opened.served.size(); ++i) {
    PIRX_TRY(listening.add(opened.settings[i], opened.served[i].server, 0, a.web ? url_of(page_port) : ""));
    listens.push_back(listening.port(i));
  }
  PIRX_ASSIGN(const auto deployment, deployment_of(opened, listens));
  if (a.web) {
    PIRX_ASSIGN(auto page, make_web_page({{deployment}}, ""));
    PIRX_TRY(listening.add(opened.settings[0], opened.served[0].server, page_port, "", std::move(page)));
  }
  PIRX_ASSIGN(auto fetcher, Fetcher::create(deployment));
  if (!a.quiet) {
    const auto path = a.keep.empty() ? name : (folder->path() / name).string();
    std::fprintf(
        stderr,
        "%s: %llu records, looked up %s\n%s\n\nThe same by hand, with servers on ports of their own:\n%s\n",
        escape_key(a.build.input).c_str(),
        static_cast<unsigned long long>(deployment.plan->geometry().records()), chosen.what.c_str(),
        deployment.plan->summary().c_str(),
        commands(a, opened, path, ports, chosen.example, seconds.count()).c_str());
    if (!fetcher.warning().empty()) std::fprintf(stderr, "%s\n", fetcher.warning().c_str());
  }
  if (a.web) {
    std::printf("%s/\n", url_of(page_port).c_str());
    if (!a.quiet) std::fprintf(stderr, "Open this address in a browser of this machine. Ctrl-C ends.\n");
  }
  LookUps look_ups(a, deployment, std::move(fetcher));
  if (a.lookups.empty()) {
    const bool quit = look_ups.prompt();
    while (a.web && !quit) pause();  // a signal ends the process
    return {};
  }
  Result<void> done;
  for (const auto& wish : a.lookups) {
    if (auto one = look_ups.look_up(wish); !one && done) done = std::move(one);
  }
  return done;
}

}  // namespace

void add_try_command(CLI::App& app) {
  auto& command = *app.add_subcommand(
      "try", "From a file to private look-ups: builds, serves on this machine, deploys and asks");
  auto a = std::make_shared<TryArguments>();
  auto& build = a->build;
  command.add_option("input", build.input, "A CSV, TSV, JSON lines or text file, or a folder")->required();
  add_table_options(command, build,
                    "Column of the key: a name of the header, or a number from 1; default: a column with a "
                    "name such as id, key, name or email, or the first one, without repeated values");
  command.add_flag("--by-position", a->by_position, "Look records up by their positions, not by a key");
  command
      .add_option("--duplicates", build.duplicates,
                  "Of several records with one key: refuse the input [default], keep the first or the last, "
                  "or join all, with newlines between them")
      ->check(CLI::IsMember({"refuse", "first", "last", "join"}));
  add_size(command, "--record-bytes", build.record_bytes, "Length of every record of --from fixed");
  command.add_flag(
      "--one-server", a->one_server,
      "One server, as private as its cryptography; default: three, of which any one learns nothing");
  command.add_option("--protocol", a->protocol,
                     "Serve by this protocol; default: the first that fits of " + protocol_names());
  command
      .add_option(
          "--lookup", a->lookups,
          "Look up this key or position and end, repeatable. Every user of this machine can see it in "
          "the list of processes")
      ->allow_extra_args(false);
  command.add_flag("--web", a->web, "Serve a page for look-ups in a browser, too, and print its address")
      ->excludes("--lookup");
  command.add_flag("--json", a->json, "A line of JSON for each look-up, failed ones, too");
  command.add_option("--keep", a->keep,
                     "Keep the database and the deployment file in this folder, which must not exist yet");
  command.add_flag("-q,--quiet", a->quiet, "No report on standard error");
  command.footer(
      "Lines of standard input are what to look up, until :quit or its end. Records go to standard output,\n"
      "reports to standard error, and so do the commands that do the same step by step. The servers are "
      "part\n"
      "of this process and its files are temporary: nothing is left when it ends. All servers on one "
      "machine\n"
      "hide nothing from its owner: this is for trying.\n"
      "Examples:\n"
      "  pirx try data.csv\n"
      "  pirx try data.csv --key email --value phone --lookup ada@example.org\n"
      "  pirx try packages.jsonl --one-server\n"
      "  pirx try data.csv --web");
  set_action(command, [a] { return try_file(*a); });
}

}  // namespace pirx::cli
