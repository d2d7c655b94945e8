// SPDX-License-Identifier: Apache-2.0
// What people and programs write: deployment files, the server's configuration, JSON, rates, lists of keys,
// and values on the command line.
#include "pirx/base/json.h"
#include "pirx/client/deployment.h"
#include "tools/pirx/key_list.h"
#include "tools/pirx/rates_file.h"
#include "tools/pirx/serve_config.h"
#include "world.h"

namespace pirx::fuzz {
namespace {

Seeds deployments() {
  Seeds seeds;
  for (const auto room :
       {Room::kGoldberg, Room::kGoldbergKeyed, Room::kChor, Room::kPoints, Room::kDownload}) {
    const auto& world = World::of(room);
    client::Deployment deployment{world.plan(), {}};
    for (std::size_t i = 0; i < world.servers(); ++i) {
      deployment.servers.push_back({.url = "http://127.0.0.1:" + std::to_string(8100 + i)});
    }
    seeds.push_back(bytes_of(client::format_deployments({&deployment, 1})));
    const auto& plan = *deployment.plan;
    const ed25519::Seed key;
    const Digest parameters = plan.digest().value_or(Digest{});
    deployment.manifest = std::make_shared<const client::Manifest>(
        client::Manifest::create({.geometry = plan.geometry(),
                                  .version = plan.version(),
                                  .served = {{static_cast<std::uint64_t>(plan.protocol().id), parameters}},
                                  .pin = {ed25519::public_key(key), "packages"}},
                                 [&](ByteSpan message) { return ed25519::sign(key, message); })
            .value());
    seeds.push_back(bytes_of(client::format_deployments({&deployment, 1})));
  }
  return seeds;
}

/// Calls everything that a value can be asked, and goes down.
void walk(const Json& value, int depth) {
  static_cast<void>(value.number());
  static_cast<void>(value.number(1, 10));
  static_cast<void>(value.real());
  static_cast<void>(value.boolean());
  static_cast<void>(value.boolean(true));
  static_cast<void>(value.string());
  static_cast<void>(value.string("x"));
  static_cast<void>(value.only({"a", "b"}));
  const auto problem = value.error("is wrong");
  for (const auto c : problem.value().message())
    expect(c >= 0x20 && c <= 0x7E, "an error steers no terminal");
  expect(depth <= Json::kMaxDepth, "nothing is deeper than allowed");
  if (const auto members = value.members()) {
    for (const auto& [name, member] : *members) {
      expect(value[name].exists() && member.exists(), "a member is there");
      walk(member, depth + 1);
    }
  }
  if (const auto list = value.list()) {
    for (const auto& item : *list) walk(item, depth + 1);
  }
  expect(!value["\x01"]["a"].number().has_value(), "what is not there has no value");
}

}  // namespace

PIRX_FUZZ(deployment_file, deployments) {
  const auto deployments = client::parse_deployments(as_text(input), "folder");
  // The last two: what a publisher is to have signed.
  expect_error(deployments, {kLoss, kInvalid, ErrorCode::kUnauthenticated, ErrorCode::kStaleEpoch},
               "parse_deployments");
  if (!deployments) return;
  expect(!deployments->empty(), "there is a deployment");
  const auto text = client::format_deployments(*deployments);
  const auto again = client::parse_deployments(text, "folder");
  expect(again && again->size() == deployments->size(), "what is written can be read");
  for (std::size_t i = 0; i < again->size(); ++i) {
    const auto &a = (*deployments)[i], &b = (*again)[i];
    expect(a.plan->members() == b.plan->members() && a.plan->version() == b.plan->version() &&
               a.plan->coordinates() == b.plan->coordinates() && a.servers.size() == b.servers.size(),
           "what is read again is the same");
    static_cast<void>(a.plan->summary());
    static_cast<void>(a.plan->work());
    static_cast<void>(client::all_on_this_machine(a));
    expect(client::check_follows(*a.plan, *b.plan).has_value(), "a plan may follow itself");
    expect(client::check_manifest(b).has_value() && client::check_manifest_follows(a, b).has_value(),
           "a publisher stays pinned");
  }
}

PIRX_FUZZ(serve_config, [] {
  return texts(
      {"{\"listen\": \"0.0.0.0:443\", \"tls_cert\": \"chain.pem\", \"tls_key\": \"key.pem\", \"watch\": "
       "\"1m\",\n"
       "\"limits\": {\"max_connections\": 20000, \"max_in_flight\": \"4GiB\", \"idle_timeout\": \"2m\"},\n"
       "\"databases\": [{\"name\": \"a\", \"file\": \"a.pirx\", \"coordinate\": 1, \"prepared\": "
       "\"a.planes\"},\n"
       "{\"name\": \"b\", \"file\": \"b.pirx\", \"protocol\": \"chor\", \"coordinate\": 1,\n"
       "\"limits\": {\"batch_max\": 64}}, {\"name\": \"c\", \"file\": \"c.pirx\", \"protocol\": "
       "\"spiral\"}]}",
       "{\"databases\": [{\"file\": \"x\", \"deployment\": \"d.json\", \"server\": 0}]}",
       "{\"quiet\": true, \"cors\": \"*\", \"threads\": 2, \"databases\": [{\"name\": \"a\", \"file\": "
       "\"a\"}]}"});
}) {
  const auto file = cli::parse_serve_file(as_text(input), "/nowhere");
  expect_error(file, {kLoss, kInvalid}, "parse_serve_file");
  if (!file) {
    for (const auto c : file.error().message()) expect(c >= 0x20 && c <= 0x7E, "an error steers no terminal");
    return;
  }
  expect(!file->databases.empty(), "there is a database");
  if (file->server.contains("tokens") || file->server.contains("web")) return;  // files of this machine
  const auto none = [](const std::string&) { return std::optional<std::string>(); };
  const auto settings = cli::settle_serve({}, none, *file);
  expect_error(settings, {kLoss, kInvalid, ErrorCode::kUnavailable}, "settle_serve");
  if (settings) expect(settings->databases.size() == file->databases.size(), "each database has settings");
}

PIRX_FUZZ(json, [] {
  return texts({"{\"a\": [1, -2, 3.5e2, true, null, \"\\u00e9\\n\"], \"b\": {\"c\": {}}}",
                "{\"a\":1,\"a\":2}", "{\"n\": 18446744073709551616, \"m\": 1e999}",
                "{\"\\ud800\": \"\xff\"} x", "[1]"});
}) {
  for (const bool lines : {false, true}) {
    const auto json = Json::parse(as_text(input), {.name = "file", .max_bytes = 1 << 16, .lines = lines});
    expect_error(json, {kLoss}, "parse");
    if (json) walk(*json, 1);
  }
  const OutJson out = {{"text", as_text(input)}, {"list", std::vector<double>{0.5, 1e300}}};
  const auto again = Json::parse(out.dump(), {.max_bytes = ~std::size_t{0}});
  expect(again.has_value(), "what is written can be read");
  if (is_utf8(as_text(input))) {
    expect((*again)["text"].string() == std::string(as_text(input)), "text in UTF-8 stays as it is");
  }
}

PIRX_FUZZ(rates_file, [] {
  return texts({"{\"pirx_rates\": 1, \"machine\": \"m\", \"rates\": {\"dj_product/3072/2/7\": 1e-6}}",
                "{\"pirx_rates\": 2, \"machine\": \"m\", \"rates\": {\"dj_product/3072/2\": 1}}"});
}) {
  const auto file = cli::parse_rates(as_text(input), "rates");
  expect_error(file, {kLoss}, "parse_rates");
  if (!file) return;
  const auto again = cli::parse_rates(cli::format_rates(*file), "rates");
  expect(again && again->rates.all() == file->rates.all(), "what is written can be read");
}

PIRX_FUZZ(key_list, [] {
  return texts({"# pirx keys\na\nb\\n\\x00\\\\\n", "key1\r\nkey2", "\\x", "\\q\n"});
}) {
  const auto path = write_scratch("keys", input);
  const auto keys = cli::read_key_list("database", path.string());
  expect_error(keys, {kInvalid, kLoss, ErrorCode::kUnavailable, ErrorCode::kResourceExhausted},
               "read_key_list");
}

PIRX_FUZZ(values, [] {
  return texts({"250us", "1.5s", "2m", "64KiB", "4096", "1GB", "32,16", "0", "18446744073709551616", "1e3",
                " 1", "-1"});
}) {
  const std::string text(as_text(input));
  const auto time = parse_duration(text);
  expect_error(time, {kInvalid}, "parse_duration");
  if (time) {
    expect(time->count() >= 0, "no time is below zero");
    expect(parse_duration(show_duration(static_cast<std::uint64_t>(time->count()))) == *time,
           "times are exact");
  }
  const auto size = parse_size(text);
  expect_error(size, {kInvalid}, "parse_size");
  if (size) {
    expect(parse_size(show_size(*size)) == *size, "sizes are exact");
    static_cast<void>(human_bytes(*size));
  }
  const auto number = parse_whole_number(text, 1, 1000);
  expect_error(number, {kInvalid}, "parse_whole_number");
  if (number) expect(*number >= 1 && *number <= 1000, "a number lies in its bounds");
  const auto numbers = parse_whole_numbers(text, 2, 1024);
  expect_error(numbers, {kInvalid}, "parse_whole_numbers");
  if (numbers) {
    expect(!numbers->empty(), "there is a number");
    for (const auto n : *numbers) expect(n >= 2 && n <= 1024, "a number lies in its bounds");
  }
}

/// Options of every protocol, its server opened with them.
PIRX_FUZZ(options, [] {
  using namespace std::string_view_literals;
  return texts(
      {"\x00\x01\x01"
       "1\x02\x05w160\0"sv,
       "\x01\x00\x01"
       "3"sv,
       "\x02\x00\x05"
       "32,16\x02\x04"
       "1024"sv,
       "\x05\x00\x00"sv,
       "\x03\x01\x01"
       "2"sv});
}) {
  Script script(input);
  const auto table = protocols();
  const auto& protocol = *table[script.below(table.size())];
  Texts texts;
  if (protocol.several) texts["coordinate"] = "1";
  for (unsigned n = 0; n < 4 && !script.empty(); ++n) {
    const auto at = script.byte();
    const auto& known = at & 64 ? protocol.client_options : at & 128 ? protocol.members : protocol.options;
    const auto name =
        at % 16 == 15 || known.empty() ? script.text() : std::string(known[at % 16 % known.size()].name);
    texts[name] = script.text();
  }
  for (const auto known : {protocol.options, protocol.client_options, protocol.members, protocol.chosen}) {
    const auto options = Options::create(known, texts, protocol.name);
    expect_error(options, {kInvalid}, "Options::create");
    if (!options) continue;
    for (const auto& option : known) {
      if (option.kind == Option::Kind::kNumbers) static_cast<void>(options->numbers(option.name));
      const auto number = options->number(option.name);
      expect(!number || (*number >= option.least && *number <= option.most), "a number lies in its bounds");
    }
  }
  // Those that prepare for seconds have targets of their own.
  const bool slow = protocol.id == ProtocolId::kSpiral || protocol.id == ProtocolId::kInspire;
  if (slow || texts.contains("prepared")) return;
  static const auto database = database::Database::open(database_file(Kind::kPlain)).value();
  const auto server = serve(protocol, {.database = database, .threads = 1, .loopback = true}, texts);
  expect_error(server, {kInvalid, ErrorCode::kUnavailable, ErrorCode::kResourceExhausted}, "serve");
  if (server) expect(tell((*server)->parameters()).has_value(), "what a server says can be read");
}

}  // namespace pirx::fuzz
