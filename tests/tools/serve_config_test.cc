// SPDX-License-Identifier: Apache-2.0
// Config files, good and hostile, and which source wins.
#include "tools/pirx/serve_config.h"

#include <gtest/gtest.h>

#include <iterator>

#include "pirx/http/limits.h"
#include "support/files.h"
#include "support/source_file.h"

namespace pirx::cli {
namespace {

const std::string kOne = R"("databases":[{"name":"a","file":"a.pirx"}])";

Result<ServeFile> parse(const std::string& members) {
  return parse_serve_file("{" + members + "}", "/etc/pirx");
}

Result<ServeSettings> settle(const std::string& members, const Texts& flags = {},
                             const Texts& environment = {}) {
  PIRX_ASSIGN(const auto file, parse(members));
  return settle_serve(
      flags,
      [&](const std::string& name) {
        const auto found = environment.find(name);
        return found == environment.end() ? std::nullopt : std::optional<std::string>(found->second);
      },
      file);
}

TEST(ServeConfig, EverythingAtOnce) {
  const auto settings = settle(R"(
    "listen": "127.0.0.1:8123", "threads": 2, "watch": "10s", "quiet": true, "tls_1.2": false,
    "tls_cert": "chain.pem", "tls_key": "/keys/key.pem",
    "limits": {"max_connections": 100, "max_in_flight": "2GiB", "idle_timeout": 1500, "batch_max": 64},
    "databases": [
      {"name": "a", "file": "a.pirx", "coordinate": 3, "field": "gf2_16", "prepared": "a.planes",
       "limits": {"batch_max": 8, "max_queue_time": "3s"}},
      {"name": "b", "file": "/data/b.pirx", "protocol": "dj-tree", "arity": "8", "tables": "1GiB", "rerandomise": true},
      {"name": "c", "file": "c.pirx", "protocol": "spiral", "set": "s1"}])");
  ASSERT_TRUE(settings) << settings.error().message();
  EXPECT_EQ(settings->http.port, 8123);
  EXPECT_EQ(settings->http.compute_threads, 2);
  EXPECT_EQ(settings->watch, std::chrono::seconds(10));
  EXPECT_TRUE(settings->quiet);
  EXPECT_FALSE(settings->http.tls_allow_1_2);
  EXPECT_EQ(settings->http.tls_certificate_file, "/etc/pirx/chain.pem");
  EXPECT_EQ(settings->http.tls_key_file, "/keys/key.pem");
  EXPECT_EQ(settings->http.max_connections, 100u);
  EXPECT_EQ(settings->http.max_in_flight_bytes, std::size_t{2} << 30);
  EXPECT_EQ(settings->http.idle_timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(settings->http.body_timeout, std::chrono::minutes(10)) << "a thin link's client of dj-tree";
  ASSERT_EQ(settings->databases.size(), 3u);
  const auto& [a, a_queue, a_given] = settings->databases[0];
  EXPECT_EQ(a.file, "/etc/pirx/a.pirx");
  EXPECT_EQ(a.options, (Texts{{"coordinate", "3"}, {"field", "gf2_16"}, {"prepared", "/etc/pirx/a.planes"}}));
  EXPECT_EQ(a_queue.batch_max, 8u);
  EXPECT_TRUE(a_given);
  EXPECT_EQ(a_queue.max_queue_time, std::chrono::seconds(3));
  const auto& [b, b_queue, b_given] = settings->databases[1];
  EXPECT_TRUE(b_given) << "a slow protocol has passes of one query";
  EXPECT_EQ(b.file, "/data/b.pirx");
  EXPECT_EQ(b.options, (Texts{{"arity", "8"}, {"tables", "1GiB"}, {"rerandomise", "on"}}));
  EXPECT_EQ(b_queue.batch_max, 1u) << "one query at a time takes all cores";
  EXPECT_EQ(b_queue.max_queued_requests, 16u);
  EXPECT_EQ(settings->databases[2].queue.batch_max, 64u);
}

TEST(ServeConfig, FlagsThenEnvironmentThenFileThenDefaults) {
  for (const auto& limit : http::limits()) {
    const http::HttpServerOptions defaults;
    std::uint64_t values[3];
    for (int i = 0; i < 3; ++i)
      values[i] = limit.most - 1000 * static_cast<std::uint64_t>(i) * (limit.most > 1'000'000);
    if (limit.most <= 1'000'000) values[1] = limit.most - 1, values[2] = limit.most - 2;
    const auto text = [&](std::uint64_t value) {
      return limit.unit == http::Limit::Unit::kTime ? show_duration(value) : std::to_string(value);
    };
    const auto file = kOne + R"(,"limits":{")" + limit.name + R"(":")" + text(values[2]) + R"("})";
    const Texts flag{{limit.name, text(values[0])}}, environment{{variable_of(limit.name), text(values[1])}};
    const auto value = [&](const Result<ServeSettings>& settings) {
      EXPECT_TRUE(settings) << limit.name << settings.error().message();
      auto queue = settings->http;
      static_cast<http::QueueOptions&>(queue) = settings->databases[0].queue;
      EXPECT_EQ(limit.get(settings->http), limit.get(queue)) << "what is printed is what holds";
      return limit.get(queue);
    };
    EXPECT_EQ(value(settle(file, flag, environment)), values[0]) << limit.name;
    EXPECT_EQ(value(settle(file, {}, environment)), values[1]) << limit.name;
    EXPECT_EQ(value(settle(file)), values[2]) << limit.name;
    EXPECT_EQ(value(settle(kOne)), limit.get(defaults)) << limit.name;
  }
  // A database's own limit is the file's word, too.
  const std::string own =
      R"("limits":{"batch_max":5},"databases":[{"name":"a","file":"a","limits":{"batch_max":6}}])";
  EXPECT_EQ(settle(own)->databases[0].queue.batch_max, 6u);
  EXPECT_EQ(settle(own, {{"batch_max", "7"}})->databases[0].queue.batch_max, 7u);
  EXPECT_EQ(settle(own, {}, {{"PIRX_BATCH_MAX", "8"}})->databases[0].queue.batch_max, 8u);
  EXPECT_EQ(settle(kOne + R"(,"listen":"127.0.0.1:1")", {{"listen", "127.0.0.1:2"}})->http.port, 2);
}

TEST(ServeConfig, ErrorsNameTheirSource) {
  const auto message = [](const Result<ServeSettings>& settings) {
    return settings ? std::string("none") : settings.error().message();
  };
  EXPECT_NE(message(settle(kOne, {{"max_header", "1"}})).find("--max-header: "), std::string::npos);
  EXPECT_NE(message(settle(kOne, {}, {{"PIRX_MAX_HEADER", "x"}})).find("PIRX_MAX_HEADER: "),
            std::string::npos);
  EXPECT_NE(message(settle(kOne, {}, {{"PIRX_IDLE_TIMEOUT", ""}})).find("PIRX_IDLE_TIMEOUT: "),
            std::string::npos);
  EXPECT_NE(message(settle(kOne, {{"listen", "nowhere"}})).find("--listen"), std::string::npos);
  for (const auto* text : {":8101", "localhost:8101"}) {
    const auto short_form = settle(kOne, {{"listen", text}});
    EXPECT_EQ(short_form->http.address, "127.0.0.1");
    EXPECT_EQ(short_form->http.port, 8101);
  }
  EXPECT_NE(message(settle(kOne, {{"listen", ":"}})).find("--listen"), std::string::npos);
  EXPECT_EQ(settle(kOne, {{"tokens", "/nowhere"}}).error().code(), ErrorCode::kUnavailable);
}

TEST(ServeConfig, TheLineIsNamedAndTheNearestOption) {
  const auto message = [](const std::string& text) {
    const auto file = parse_serve_file(text, "/etc/pirx", "server.json");
    return file ? std::string("none") : file.error().message();
  };
  const std::string first =
      "{\n  \"listen\": \":8101\",\n  \"databases\": [\n    {\"name\": \"a\", \"file\": \"a.pirx\"},\n";
  EXPECT_EQ(message(first + "    {\"name\": \"b\", \"file\": \"b\",\n     \"protcol\": \"dpf\"}]}"),
            "server.json line 6: 'databases[1].protcol' is not known: did you mean 'protocol'?");
  EXPECT_EQ(message(first + "    {\"name\": \"b\", \"file\": \"b\",\n     \"xyzzy\": \"dpf\"}]}"),
            "server.json line 6: 'databases[1].xyzzy' is not known");
  EXPECT_EQ(message(first + "    {\"name\": \"b\"}]}"), "server.json line 5: 'databases[1].file' is missing");
  EXPECT_EQ(message(first + "    {\"name\": \"a\", \"file\": \"b\"}]}"),
            "server.json line 5: 'databases[1].name' is another database's already: a");
  EXPECT_EQ(message("{\n\"limits\": {\"max_conections\": 5},\n\"databases\": []}"),
            "server.json line 2: 'limits.max_conections' is not known: did you mean 'max_connections'?");
  EXPECT_EQ(message("{\n\n\"threads\": -1}"), "server.json line 3: 'threads' is not a whole number");
  EXPECT_EQ(message("{}"), "server.json: 'databases' is missing or empty");
  EXPECT_EQ(message("{\"threads\": 1,\n\"quiet\": true,\n\"threads\": 2}"),
            "server.json line 3: 'threads' is there twice");
}

TEST(ServeConfig, WhatIsNoJsonIsNamedByLineAndColumn) {
  for (const auto& [text, place] : std::initializer_list<std::pair<std::string, std::string>>{
           {"{\n  \"threads\": 1,\n  \"quiet\": yes\n}", "line 3, column 12"},
           {"{\n  \"threads\": 1\n  \"quiet\": true\n}", "line 3, column 9"},
           {"{\n  \"threads\": 1,\n}", "line 3, column 1"},
           {"{\n  \"listen\": \"x\n}", "line 2, column 15"},
           {"{\n  \"threads\": 1", "line 2, column 14"},
           {"{\n  \"threads\": 1e999}", "a number beyond all bounds"},
           {"", "line 1, column 0"}}) {
    const auto file = parse_serve_file(text, "/etc/pirx", "server.json");
    ASSERT_FALSE(file) << text;
    EXPECT_EQ(file.error().message(), "server.json: it is not a JSON object: " + place + " cannot be read")
        << text;
  }
}

TEST(ServeConfig, TheFormatOfTheLog) {
  EXPECT_EQ(settle(kOne)->log_format, std::nullopt);
  EXPECT_EQ(settle(kOne + R"(,"log_format":"json")")->log_format, LogFormat::kJson);
  EXPECT_EQ(settle(kOne + R"(,"log_format":"json")", {{"log_format", "text"}})->log_format, LogFormat::kText);
  EXPECT_EQ(settle(kOne, {{"log_format", "xml"}}).error().message(),
            "the log format is text or json, not 'xml'");
}

TEST(ServeConfig, WhatIsWrongIsNamed) {
  const auto database = [](const std::string& members) {
    return R"("databases":[{"name":"a","file":"f",)" + members + "}]";
  };
  for (const auto& [members, key] : std::initializer_list<std::pair<std::string, std::string>>{
           {"", "'databases' is missing"},
           {R"("databases":[])", "'databases' is missing"},
           {R"("databases":{})", "'databases' is not a list"},
           {R"("databases":[7])", "'databases[0]' is not an object"},
           {R"("databases":[{"file":"f"}])", "'databases[0].name' is missing"},
           {R"("databases":[{"name":"a"}])", "'databases[0].file' is missing"},
           {R"("databases":[{"name":"a","file":""}])", "'databases[0].file'"},
           {R"("databases":[{"name":"a","file":"f"},{"name":"a","file":"g"}])",
            "'databases[1].name' is another"},
           {database(R"("colour":1)"), "'databases[0].colour' is not known"},
           {database(R"("field":2)"), "'databases[0].field' is not a string"},
           {database(R"("coordinate":-1)"), "'databases[0].coordinate' is not a whole number"},
           {database(R"("coordinate":1.5)"), "'databases[0].coordinate' is not a whole number"},
           {database(R"("coordinate":"x")"), "'databases[0].coordinate'"},
           {database(R"("max_queries":5000)"), "'databases[0].max_queries'"},
           {database(R"("rerandomise":"on")"), "'databases[0].rerandomise' is neither true nor false"},
           {database(R"("limits":{"max_connections":5})"),
            "'databases[0].limits.max_connections' is not known"},
           {database(R"("limits":{"batch_max":0})"), "'databases[0].limits.batch_max'"},
           {database(R"("limits":[])"), "'databases[0].limits' is not an object"},
           {database(R"("server":1)"), "'databases[0].server'"},
           {database(R"("deployment":"d.json")"), "'databases[0].server' is missing"},
           {database(R"("field":"gf2_8","field":"gf2_16")"), "'field' is there twice"},
           {kOne + R"(,"listen":5)", "'listen' is not a string"},
           {kOne + R"(,"Listen":"x")", "'Listen' is not known"},
           {kOne + R"(,"threads":-1)", "'threads' is not a whole number"},
           {kOne + R"(,"threads":null)", "'threads' is not a whole number"},
           {kOne + R"(,"watch":true)", "'watch' is neither"},
           {kOne + R"(,"watch":"2 days")", "'watch'"},
           {kOne + R"(,"quiet":1)", "'quiet' is neither true nor false"},
           {kOne + R"(,"tls_cert":"a\u0000b")", "'tls_cert' has a zero byte"},
           {kOne + R"(,"limits":{"max_conections":5})", "'limits.max_conections' is not known"},
           {kOne + R"(,"limits":{"max_connections":1e3})", "'limits.max_connections' is not a whole number"},
           {kOne + R"(,"limits":{"max_header":"-1KiB"})", "'limits.max_header'"},
           {kOne + R"(,"limits":{"idle_timeout":"25h"})", "'limits.idle_timeout'"},
           {kOne + R"(,"limits":{"idle_timeout":0})", "'limits.idle_timeout'"},
           {kOne + R"(,"limits":{"drain_timeout":"1e300s"})", "'limits.drain_timeout'"},
           {kOne + "," + kOne, "'databases' is there twice"},
           {kOne + R"(,"\u001b[31m":1)", "'?[31m' is not known"}}) {
    const auto file = parse(members);
    pirx::testing::expect_error(file, ErrorCode::kDataLoss, key);
  }
}

TEST(ServeConfig, TheOperatorsPageNamesEverything) {
  auto file = pirx::testing::source_file("docs/operations.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  for (const auto& limit : limit_options()) {
    const auto shown = std::string(limit.help.substr(limit.help.rfind('[') + 1));
    const auto row = "| `" + std::string(limit.name) + "` | " + shown.substr(0, shown.size() - 1) + " |";
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
  for (const auto& option : server_options())
    EXPECT_NE(page.find("`" + std::string(option.name) + "`"), std::string::npos) << option.name;
  for (const auto& option : database_options()) {
    EXPECT_NE(page.find("`" + std::string(option.name) + "`"), std::string::npos) << option.name;
  }
}

TEST(ServeConfig, WhatIsNoConfigAtAll) {
  for (const auto& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"), std::string("\xff\xfe"),
        "{" + kOne + "} {}", std::string(100'000, '['), "{\"databases\":" + std::string(100'000, '[')}) {
    EXPECT_EQ(parse_serve_file(text, "/").error().code(), ErrorCode::kDataLoss) << text.substr(0, 20);
  }
  EXPECT_EQ(load_serve_file("/nowhere/config.json").error().code(), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace pirx::cli
