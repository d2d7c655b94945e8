// SPDX-License-Identifier: Apache-2.0
// Reads the server's configuration file, and puts it together with flags and the environment.
#include "serve_config.h"

#include <algorithm>
#include <deque>

#include "did_you_mean.h"
#include "pirx/base/json.h"
#include "pirx/base/small_file.h"
#include "pirx/client/deployment.h"
#include "pirx/http/limits.h"
#include "pirx/http/tokens.h"
#include "web_page.h"

namespace pirx::cli {
namespace {

using Kind = Option::Kind;

constexpr std::uint64_t kDay = 86'400'000'000;  // microseconds

const Option kServerOptions[] = {
    {"listen", Kind::kText, 0, 0,
     "address:port, or :port on this machine alone; port 0 takes a free one and prints it [127.0.0.1:8100]"},
    {"threads", Kind::kNumber, 0, 1024, "Threads of the matrix product; 0: one a core [0]"},
    {"watch", Kind::kTime, 0, kDay,
     "Look for new epochs of databases so often, as 10s; SIGHUP looks at once [never]"},
    {"tls_cert", Kind::kPath, 0, 0, "PEM certificate chain"},
    {"tls_key", Kind::kPath, 0, 0, "PEM private key"},
    {"tls_1.2", Kind::kSwitch, 0, 0, "Also allow TLS 1.2"},
    {"tls_client_ca", Kind::kPath, 0, 0,
     "PEM authorities: answer only clients that show a certificate of theirs"},
    {"tokens", Kind::kPath, 0, 0,
     "Answer only clients that send a token of this file, lines 'NAME SHA256-OF-TOKEN'"},
    {"allow_plaintext", Kind::kSwitch, 0, 0,
     "HTTP beyond loopback: whoever sees the traffic of more than t servers learns the indices"},
    {"cors", Kind::kText, 0, 0,
     "Pages of these origins may ask from a browser, as https://example.org; separated by commas; *: any"},
    {"web", Kind::kPath, 0, 0, "Serve a page at / for look-ups in a browser by this deployment file"},
    {"web_folder", Kind::kPath, 0, 0,
     "Files of that page, which scripts/web makes [share/pirx/web beside bin]"},
    {"metrics_for_all", Kind::kSwitch, 0, 0,
     "GET /metrics and GET / (status) answer every peer, not only this machine"},
    {"quiet", Kind::kSwitch, 0, 0, "Do not log every batch"},
    {"log_format", Kind::kText, 0, 0, "text or json [text on a terminal, else json]"},
};

/// Of a config file's entry for a database, beside database_options() and "limits".
const Option kDatabaseKeys[] = {
    {"name", Kind::kText, 0, 0, ""},        {"file", Kind::kPath, 0, 0, ""},
    {"protocol", Kind::kText, 0, 0, ""},    {"deployment", Kind::kPath, 0, 0, ""},
    {"server", Kind::kNumber, 0, 1023, ""}, {"manifest", Kind::kPath, 0, 0, ""},
};

std::vector<Option> make_limit_options() {
  static std::deque<std::string> helps;  // their addresses stay
  const http::HttpServerOptions defaults;
  std::vector<Option> options;
  for (const auto& limit : http::limits()) {
    using Unit = http::Limit::Unit;
    const auto value = limit.get(defaults);
    const auto kind = limit.unit == Unit::kCount   ? Kind::kNumber
                      : limit.unit == Unit::kBytes ? Kind::kSize
                                                   : Kind::kTime;
    const auto shown = limit.unit == Unit::kCount   ? std::to_string(value)
                       : limit.unit == Unit::kBytes ? show_size(value)
                                                    : show_duration(value);
    options.push_back({limit.name, kind, limit.least, limit.most,
                       helps.emplace_back(std::string(limit.help) + " [" + shown + "]")});
  }
  return options;
}

/// The text of a value of this option. Counts, sizes and times may be numbers.
Result<std::string> read_text(const Json& value, const Option& option, const std::filesystem::path& folder) {
  std::string text;
  if (option.kind == Kind::kSwitch) {
    PIRX_ASSIGN(const bool on, value.boolean());
    return std::string(on ? "on" : "off");
  }
  const bool plain = option.kind == Kind::kText || option.kind == Kind::kPath;
  if (const auto number = value.number(); number && !plain) {
    text = std::to_string(*number);
  } else if (auto string = value.string()) {
    text = std::move(*string);
  } else {
    return value.error(plain                          ? "is not a string"
                       : option.kind == Kind::kNumber ? "is not a whole number"
                                                      : "is neither a string nor a whole number");
  }
  if (text.find('\0') != std::string::npos) return value.error("has a zero byte");
  if (const auto checked = option.value(text); !checked) return value.error(": " + checked.error().message());
  if (option.kind == Kind::kPath) text = (folder / text).string();
  return text;
}

/// Reads the members of an object that `options` names into `texts`. The caller reads the `others`; further
/// ones are not known.
Result<void> read_object(const Json& object, std::span<const Option> options,
                         const std::filesystem::path& folder, Texts& texts,
                         std::initializer_list<std::string_view> others = {}) {
  PIRX_ASSIGN(const auto members, object.members());
  for (const auto& [key, value] : members) {
    if (const auto* option = find_option(options, key)) {
      PIRX_ASSIGN(auto text, read_text(value, *option, folder));
      if (option->kind != Kind::kSwitch || text == "on") texts[key] = std::move(text);
    } else if (std::find(others.begin(), others.end(), key) == others.end()) {
      std::vector<std::string> names(others.begin(), others.end());
      for (const auto& known : options) names.emplace_back(known.name);
      const auto near = nearest(key, names);
      return value.error("is not known" + (near.empty() ? "" : ": did you mean '" + near + "'?"));
    }
  }
  return {};
}

/// What a deployment file says of its server at this position.
Result<void> read_deployment(const Json& json, const Texts& keys, DatabaseSettings& settings) {
  const auto server = keys.find("server");
  if (server == keys.end()) return json["server"].error("is missing: the position in the deployment, from 0");
  for (const char* name : {"coordinate", "field", "code"}) {
    if (json[name].exists()) return json[name].error("is the deployment's to say");
  }
  const std::string named = json["protocol"].exists() ? settings.protocol : "";
  const auto deployment = client::load_deployment(keys.at("deployment"), named);
  if (!deployment) return json["deployment"].error(": " + deployment.error().message());
  const auto at = static_cast<std::size_t>(std::stoul(server->second));
  if (at >= deployment->servers.size()) return json["server"].error("is more than the deployment has");
  settings.protocol = deployment->plan->protocol().name;
  for (const auto& [name, text] : deployment->plan->server_options(at)) settings.options[name] = text;
  return {};
}

Result<ServeFile::Database> read_database(const Json& json, const std::filesystem::path& folder) {
  std::vector<Option> options(std::begin(kDatabaseKeys), std::end(kDatabaseKeys));
  options.insert(options.end(), database_options().begin(), database_options().end());
  std::vector<Option> queue;
  for (const auto& limit : http::limits()) {
    if (limit.queue) queue.push_back(*find_option(limit_options(), limit.name));
  }
  ServeFile::Database database;
  Texts texts;
  PIRX_TRY(read_object(json, options, folder, texts, {"limits"}));
  if (const auto limits = json["limits"]; limits.exists()) {
    PIRX_TRY(read_object(limits, queue, folder, database.limits));
  }
  auto& settings = database.settings;
  PIRX_ASSIGN(settings.name, json["name"].string());
  PIRX_TRY(json["file"].string());
  settings.file = texts["file"];
  settings.manifest = texts["manifest"];
  if (texts.count("protocol") > 0) settings.protocol = texts["protocol"];
  for (const auto& option : database_options()) {
    if (auto text = texts.find(option.name); text != texts.end()) settings.options.insert(*text);
  }
  if (texts.count("deployment") > 0) {
    PIRX_TRY(read_deployment(json, texts, settings));
  } else if (texts.count("server") > 0) {
    return json["server"].error("is a position in a 'deployment', which is missing");
  }
  return database;
}

Result<void> read_databases(const Json& databases, const std::filesystem::path& folder,
                            std::vector<ServeFile::Database>& into) {
  PIRX_ASSIGN(const auto list, databases.list());
  for (const auto& entry : list) {
    PIRX_ASSIGN(auto database, read_database(entry, folder));
    for (const auto& other : into) {
      if (other.settings.name != database.settings.name) continue;
      return entry["name"].error("is another database's already: " + other.settings.name);
    }
    into.push_back(std::move(database));
  }
  return {};
}

/// "host:port", "[::1]:port", or ":port" on 127.0.0.1.
Result<void> parse_listen(const std::string& text, http::HttpServerOptions& options) {
  const auto bad = [&] {
    return invalid("--listen wants address:port, as 127.0.0.1:8100, [::1]:8100 or :8100, not '" + text + "'");
  };
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return bad();
  std::string host = text.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  const auto port = parse_whole_number(text.substr(colon + 1), 0, 65535);
  if (!port || (host.empty() && colon != 0)) return bad();
  options.address = host.empty() || host == "localhost" ? "127.0.0.1" : host;
  options.port = static_cast<std::uint16_t>(*port);
  return {};
}

/// Where a query takes seconds: one at a time, few that wait, and time for a thin link's client to send and
/// take bytes.
constexpr std::chrono::milliseconds kThinLink{600'000};
bool is_slow(const DatabaseSettings& settings) {
  const auto protocol = find_protocol(settings.protocol);  // opening says what is wrong with it
  return protocol && (*protocol)->slow;
}

/// One source of limits, and how it is named in errors.
struct Source {
  std::string before;
  const Texts* texts;
  std::string (*name)(std::string_view limit);
};
std::string same(std::string_view name) { return std::string(name); }

/// Of the sources that have a limit the first wins.
Result<void> set_limits(http::HttpServerOptions& options, std::span<const Source> sources) {
  for (std::size_t i = 0; i < http::limits().size(); ++i) {
    const auto& limit = http::limits()[i];
    for (const auto& source : sources) {
      const auto text = source.texts->find(limit.name);
      if (text == source.texts->end()) continue;
      const auto value = limit_options()[i].value(text->second);
      if (!value) {
        return invalid(source.before + source.name(limit.name) + ": " + value.error().message());
      }
      limit.set(options, *value);
      break;
    }
  }
  return {};
}

}  // namespace

std::span<const Option> server_options() { return kServerOptions; }

std::span<const Option> limit_options() {
  static const auto options = make_limit_options();
  return options;
}

std::string variable_of(std::string_view limit) {
  std::string name = "PIRX_" + std::string(limit);
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

Result<ServeFile> parse_serve_file(std::string_view text, const std::filesystem::path& folder,
                                   const std::string& name) {
  PIRX_ASSIGN(const auto json, Json::parse(text, {.name = name, .lines = true}));
  ServeFile file;
  PIRX_TRY(read_object(json, kServerOptions, folder, file.server, {"limits", "databases"}));
  if (const auto limits = json["limits"]; limits.exists()) {
    PIRX_TRY(read_object(limits, limit_options(), folder, file.limits));
  }
  const auto databases = json["databases"];
  if (databases.exists()) PIRX_TRY(read_databases(databases, folder, file.databases));
  if (file.databases.empty()) return databases.error("is missing or empty");
  return file;
}

Result<ServeFile> load_serve_file(const std::filesystem::path& path) {
  PIRX_ASSIGN(const auto text, read_file(path, Json::Source().max_bytes, "config file"));
  return parse_serve_file(text, path.parent_path(), path.string());
}

Result<ServeSettings> settle_serve(
    const Texts& flags, const std::function<std::optional<std::string>(const std::string&)>& variable,
    const ServeFile& file) {
  const auto given = [&](const char* name) -> std::string {
    for (const auto* texts : {&flags, &file.server}) {
      if (const auto text = texts->find(name); text != texts->end()) return text->second;
    }
    return {};
  };
  Texts environment;
  for (const auto& limit : http::limits()) {
    if (auto text = variable(variable_of(limit.name))) environment[limit.name] = std::move(*text);
  }

  ServeSettings settings;
  auto& http = settings.http;
  if (std::any_of(file.databases.begin(), file.databases.end(),
                  [](const auto& d) { return is_slow(d.settings); })) {
    http.body_timeout = http.write_timeout = kThinLink;
  }
  const Source flag{"", &flags, [](std::string_view name) { return flag_of(name); }};
  const Source environ{"", &environment, variable_of};
  const Source common{"limits.", &file.limits, same};
  PIRX_TRY(set_limits(http, std::array{flag, environ, common}));
  for (const auto& database : file.databases) {
    const bool slow = is_slow(database.settings);
    http::HttpServerOptions own;  // its queue is taken
    if (slow) {
      own.max_queued_requests = 16;
      own.max_queue_time = kThinLink;
    }
    const Source mine{"limits of " + database.settings.name + ": ", &database.limits, same};
    const std::array sources{flag, environ, mine, common};
    PIRX_TRY(set_limits(own, sources));
    if (slow) {
      own.batch_max = 1;
      own.batch_window = std::chrono::microseconds(0);
    }
    const bool batch_max_given = std::any_of(sources.begin(), sources.end(), [](const Source& source) {
      return source.texts->find("batch_max") != source.texts->end();
    });
    settings.databases.push_back({database.settings, own, batch_max_given || slow});
  }
  if (settings.databases.size() == 1) static_cast<http::QueueOptions&>(http) = settings.databases[0].queue;

  const auto listen = given("listen");
  PIRX_TRY(parse_listen(listen.empty() ? "127.0.0.1:8100" : listen, http));
  http.tls_certificate_file = given("tls_cert");
  http.tls_key_file = given("tls_key");
  http.tls_client_ca_file = given("tls_client_ca");
  http.tls_allow_1_2 = !given("tls_1.2").empty();
  http.allow_plaintext = !given("allow_plaintext").empty();
  const auto cors = given("cors");
  for (std::size_t at = 0; !cors.empty() && at <= cors.size();) {
    const auto end = std::min(cors.find(',', at), cors.size());
    http.cors_origins.push_back(cors.substr(at, end - at));
    at = end + 1;
  }
  settings.web = given("web");
  settings.web_folder = given("web_folder");
  if (!settings.web.empty()) {
    PIRX_ASSIGN(http.files, load_web_page(settings.web, settings.web_folder));
  } else if (!settings.web_folder.empty()) {
    return invalid("--web-folder has the files of --web DEPLOYMENT: give that, too");
  }
  http.metrics_for_all = !given("metrics_for_all").empty();
  if (const auto tokens = given("tokens"); !tokens.empty()) {
    PIRX_ASSIGN(http.authenticate, http::load_tokens(tokens));
  }
  settings.quiet = !given("quiet").empty();
  if (const auto format = given("log_format"); !format.empty()) {
    if (format != "text" && format != "json") {
      return invalid("the log format is text or json, not '" + format + "'");
    }
    settings.log_format = format == "text" ? LogFormat::kText : LogFormat::kJson;
  }
  const auto number = [&](const char* name) -> std::uint64_t {
    const auto text = given(name);
    return text.empty()
               ? 0
               : find_option(kServerOptions, name)->value(text).value_or(0);  // checked when it was read
  };
  settings.http.compute_threads = static_cast<int>(number("threads"));
  settings.watch = std::chrono::microseconds(number("watch"));
  return settings;
}

}  // namespace pirx::cli
