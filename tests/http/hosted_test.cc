// SPDX-License-Identifier: Apache-2.0
// Several databases behind one port: whose queries they are, whose turn it is, and epochs that change under
// them.
#include "service/http/hosted.h"

#include <gtest/gtest.h>

#include <set>

#include "http/http_support.h"
#include "pirx/http/limits.h"
#include "service/http/paths.h"

namespace pirx::http {
namespace {

using namespace testing;

/// A database at an epoch: requests are "<epoch>:text", replies "<name> <epoch>:text".
class EpochServer : public FakeServer {
 public:
  EpochServer(std::string name, std::uint64_t epoch, std::atomic<int>* passes = nullptr)
      : name_(std::move(name)), epoch_(epoch), passes_(passes) {
    parameters_text = std::string("PIRX\1\0\3\1", 8) + std::string(80, '\0');
    parameters_text[48] = static_cast<char>(epoch);
  }
  Result<std::size_t> admit(ByteSpan request) const override {
    const auto text = as_text(request);
    if (text.substr(0, text.find(':')) == std::to_string(epoch_)) return 1;
    return fail(ErrorCode::kStaleEpoch, "the query is for another epoch");
  }
  std::vector<Result<Bytes>> answer(std::span<const ByteSpan> requests) const override {
    if (passes_ != nullptr && ++*passes_ > 1) ADD_FAILURE() << "two databases compute at once";
    auto replies = FakeServer::answer(requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      replies[i] = bytes_of(name_ + " " + std::string(as_text(requests[i])));
    }
    if (passes_ != nullptr) --*passes_;
    return replies;
  }

 private:
  const std::string name_;
  const std::uint64_t epoch_;
  std::atomic<int>* const passes_;
};

/// A server of several databases on a thread of its own.
class RunningDatabases {
 public:
  explicit RunningDatabases(std::vector<HostedDatabase> databases,
                            const HttpServerOptions& options = quick_options()) {
    auto created = HttpServer::create(std::move(databases), options, log.sink());
    if (!created) {
      ADD_FAILURE() << created.error().to_string();
      std::abort();
    }
    server = std::make_unique<HttpServer>(std::move(*created));
    thread_ = std::thread([this] { EXPECT_TRUE(server->run()); });
  }
  ~RunningDatabases() {
    server->stop();
    thread_.join();
  }
  std::string url(const std::string& database) const {
    return "http://127.0.0.1:" + std::to_string(server->port()) +
           (database.empty() ? "" : "/v1/db/" + database);
  }
  CallOutcome ask(const std::string& database, const std::string& request) const {
    auto transport = HttpTransport::create({{url(database)}});
    if (!transport) return {tl::unexpected(transport.error())};
    return transport->query_all({bytes_of(request)}, {.deadline = 60s}).at(0);
  }
  std::string get(const std::string& path) const {
    return RawSocket::sending(server->port(), get_text(path)).receive_message();
  }

  LogKeeper log;
  std::unique_ptr<HttpServer> server;

 private:
  std::thread thread_;
};

TEST(Paths, AreExact) {
  EXPECT_EQ(parse_target("/v1/query").page, Page::kQuery);
  EXPECT_EQ(parse_target("/v1/query").database, "");
  EXPECT_EQ(parse_target("/v1/parameters").page, Page::kParameters);
  EXPECT_EQ(parse_target("/v1/db/a-1_b.c/query").page, Page::kQuery);
  EXPECT_EQ(parse_target("/v1/db/a-1_b.c/query").database, "a-1_b.c");
  EXPECT_EQ(parse_target("/v1/db/x/parameters").page, Page::kParameters);
  EXPECT_EQ(parse_target("/v1/manifest").page, Page::kManifest);
  EXPECT_EQ(parse_target("/v1/db/x/manifest").page, Page::kManifest);
  EXPECT_EQ(parse_target("/metrics").page, Page::kMetrics);
  EXPECT_EQ(parse_target("/").page, Page::kStatus);
  for (const char* path : {"",
                           "/v1",
                           "/v1/",
                           "/v1/query/",
                           "/v1/query?x",
                           "/v1//query",
                           "/v2/query",
                           "query",
                           "/v1/db",
                           "/v1/db/",
                           "/v1/db//query",
                           "/v1/db/x",
                           "/v1/db/x/",
                           "/v1/db/x/y/query",
                           "/v1/db/../query",
                           "/v1/db/.x/query",
                           "/v1/db/x%2e/query",
                           "/v1/db/x y/query",
                           "/v1/db/x/query?",
                           "/v1/db/x/healthz",
                           "/healthz/",
                           "http://h/v1/query"}) {
    EXPECT_EQ(parse_target(path).page, Page::kNone) << path;
  }
  EXPECT_TRUE(is_database_name(std::string(64, 'a')));
  EXPECT_FALSE(is_database_name(std::string(65, 'a')));
}

TEST(Limits, EveryRowGoesThereAndBack) {
  std::set<std::string> names;
  for (const auto& limit : limits()) {
    EXPECT_TRUE(names.insert(limit.name).second) << limit.name;
    HttpServerOptions options;
    EXPECT_GE(limit.get(options), limit.least) << limit.name;
    EXPECT_LE(limit.get(options), limit.most) << limit.name;
    for (const auto value : {limit.least, limit.most}) {
      limit.set(options, value);
      EXPECT_EQ(limit.get(options), value) << limit.name;
    }
    // No other limit has moved.
    for (const auto& other : limits()) {
      if (&other != &limit) {
        EXPECT_EQ(other.get(options), other.get(HttpServerOptions())) << limit.name << other.name;
      }
    }
  }
}

TEST(Databases, HaveManifestsOfTheirOwn) {
  const auto bytes = [](std::string_view text) {
    return Bytes(as_bytes(text).begin(), as_bytes(text).end());
  };
  std::vector<HostedDatabase> databases{{"letters", std::make_shared<EpochServer>("letters", 3)},
                                        {"digits", std::make_shared<EpochServer>("digits", 7)}};
  databases[1].manifest = bytes("of digits");
  RunningDatabases running(std::move(databases));
  EXPECT_EQ(body_of(running.get("/v1/db/digits/manifest")), "of digits");
  EXPECT_TRUE(is_status(running.get("/v1/manifest"), 404));
  EXPECT_TRUE(running.server->publish(bytes("of letters")));
  EXPECT_EQ(body_of(running.get("/v1/manifest")), "of letters");
  EXPECT_TRUE(running.server->publish(bytes("of digits now"), "digits"));
  EXPECT_EQ(body_of(running.get("/v1/db/digits/manifest")), "of digits now");
  EXPECT_FALSE(running.server->publish({}, "none"));
  // An epoch and its manifest come together.
  EXPECT_TRUE(
      running.server->replace(std::make_shared<EpochServer>("digits", 8), "digits", bytes("of the next")));
  EXPECT_EQ(body_of(running.get("/v1/db/digits/manifest")), "of the next");
  EXPECT_TRUE(running.server->replace(std::make_shared<EpochServer>("digits", 9), "digits"));
  EXPECT_TRUE(is_status(running.get("/v1/db/digits/manifest"), 404));
}

TEST(Databases, AreAskedByTheirNames) {
  const auto letters = std::make_shared<EpochServer>("letters", 3),
             digits = std::make_shared<EpochServer>("digits", 7);
  RunningDatabases running({{"letters", letters}, {"digits", digits}});
  EXPECT_EQ(text_of(*running.ask("letters", "3:a").reply), "letters 3:a");
  EXPECT_EQ(text_of(*running.ask("digits", "7:a").reply), "digits 7:a");
  EXPECT_EQ(text_of(*running.ask("", "3:b").reply), "letters 3:b") << "the first needs no name";
  EXPECT_EQ(body_of(running.get("/v1/db/digits/parameters")), digits->parameters_text);
  EXPECT_EQ(body_of(running.get("/v1/parameters")), letters->parameters_text);

  const auto unknown = running.ask("none", "3:a").reply;
  expect_error(unknown, ErrorCode::kOutOfRange);
  EXPECT_TRUE(is_status(running.get("/v1/db/none/parameters"), 404));
  EXPECT_TRUE(is_status(running.get("/v1/db/digits"), 404));

  const auto page = running.get("/metrics");
  for (const char* line :
       {"pirx_queries_total{database=\"letters\"} 2\n", "pirx_queries_total{database=\"digits\"} 1\n",
        "pirx_pass_seconds_count{database=\"digits\"} 1\n", "pirx_epoch{database=\"letters\"} 3\n",
        "pirx_epoch{database=\"digits\"} 7\n", "\npirx_in_flight_requests 1\n"}) {
    EXPECT_TRUE(has(page, line)) << line << page;
  }
  EXPECT_EQ(page.find("# TYPE pirx_epoch"), page.rfind("# TYPE pirx_epoch"));
  const auto batches = running.log.of("batch");
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_EQ(batches[1].text.at(0), (std::pair<std::string, std::string>("database", "digits")));
}

TEST(Databases, PagesOfManyAreKeptForAMoment) {
  for (const std::size_t count : {8, 200}) {
    std::vector<HostedDatabase> databases;
    for (std::size_t i = 0; i < count; ++i) {
      databases.push_back({"d" + std::to_string(i), std::make_shared<FakeServer>()});
    }
    RunningDatabases running(std::move(databases));
    for (const char* path : {"/metrics", "/"}) {
      const auto page = [&] { return body_of(running.get(path)); };
      if (count == 8) {
        EXPECT_NE(page(), page()) << "each counts the one before";
      } else {
        EXPECT_TRUE(eventually([&] { return page() == page(); })) << "one page answers both";
        EXPECT_TRUE(eventually([&, first = page()] { return page() != first; }));
      }
    }
  }
}

TEST(Databases, NamesThatCannotBeAreRefused) {
  const auto fake = std::make_shared<FakeServer>();
  const auto refused = [&](std::vector<HostedDatabase> databases) {
    const auto server = HttpServer::create(std::move(databases), quick_options(), {});
    return !server && server.error().code() == ErrorCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({{"a", nullptr}}));
  EXPECT_TRUE(refused({{"a", fake}, {"", fake}}));
  EXPECT_TRUE(refused({{"a", fake}, {"b", fake}, {"a", fake}}));
  for (const char* name : {"a/b", "a b", ".", "..", "-a", "a%20", "\xc3\xa4", "a\n"})
    EXPECT_TRUE(refused({{name, fake}})) << name;
  EXPECT_TRUE(refused({{"a", fake, {.batch_max = 0}}}));
  EXPECT_FALSE(refused({{"a", fake}, {"b", fake}}));
}

TEST(Databases, ClientsNameADatabaseAndNothingElse) {
  for (const char* path :
       {"/v1", "/v1/db/", "/v1/db/a/", "/v1/db/a/query", "/v1/db/%61", "/v1/db/..", "/a"}) {
    const auto transport = HttpTransport::create({{std::string("http://127.0.0.1:1") + path}});
    ASSERT_FALSE(transport) << path;
    EXPECT_EQ(transport.error().code(), ErrorCode::kInvalidArgument);
  }
  EXPECT_TRUE(HttpTransport::create({{"http://127.0.0.1:1/"}, {"http://127.0.0.1:2/v1/db/a"}}));
  // Two databases of one server are one server.
  EXPECT_FALSE(HttpTransport::create({{"http://127.0.0.1:1/v1/db/a"}, {"http://127.0.0.1:1/v1/db/b"}}));
  EXPECT_FALSE(HttpTransport::create({{"http://127.0.0.1:1"}, {"http://127.0.0.1:1/v1/db/b"}}));
}

TEST(Databases, StaleQueriesAreToldTheNewParameters) {
  RunningDatabases running(
      {{"a", std::make_shared<EpochServer>("a", 5)}, {"b", std::make_shared<EpochServer>("b", 9)}});
  const auto stale = running.ask("b", "8:x");
  expect_error(stale.reply, ErrorCode::kStaleEpoch);
  EXPECT_EQ(text_of(stale.parameters), EpochServer("b", 9).parameters_text);
  EXPECT_EQ(parameters_epoch(stale.parameters), 9u);
  EXPECT_TRUE(has(stale.reply.error().message(), "epoch 9")) << stale.reply.error().message();
  EXPECT_TRUE(running.ask("b", "9:x").parameters.empty());
}

TEST(Databases, ComputeOneAtATime) {
  std::atomic<int> passes{0};
  const auto slow = std::make_shared<EpochServer>("slow", 1, &passes),
             quick = std::make_shared<EpochServer>("quick", 1, &passes);
  RunningDatabases running({{"slow", slow, {.batch_max = 1}}, {"quick", quick, {.batch_max = 1}}});
  slow->hold();
  std::vector<std::thread> clients;
  const auto start = [&](const char* database) {
    clients.emplace_back([&running, database] { EXPECT_TRUE(running.ask(database, "1:x").reply); });
  };
  start("slow");
  ASSERT_TRUE(eventually([&] { return slow->batches().size() == 1; }));
  for (int i = 0; i < 3; ++i) {
    start("slow");
    start("quick");
  }
  const auto queued = [&](const std::string& name) {
    return has(running.get("/metrics"), "pirx_queued_requests{database=\"" + name + "\"} 3\n");
  };
  EXPECT_TRUE(eventually([&] { return queued("slow") && queued("quick"); }));
  EXPECT_EQ(quick->batches().size(), 0u) << "it computes while another one does";
  slow->release();
  for (auto& client : clients) client.join();
  EXPECT_EQ(running.log.of("batch").size(), 7u);
}

TEST(Databases, ChangingEpochsUnderLoadGivesNoWrongAnswer) {
  auto options = quick_options();
  options.io_threads = 2;
  std::atomic<int> passes{0};
  const auto make = [&](const char* name, std::uint64_t epoch) {
    auto server = std::make_shared<EpochServer>(name, epoch, &passes);
    server->delay = 1ms;
    return server;
  };
  RunningDatabases running({{"a", make("a", 1)}, {"b", make("b", 1)}}, options);
  constexpr std::uint64_t kLast = 40;
  std::atomic<bool> done{false};
  std::atomic<int> answered{0}, stale{0};
  std::vector<std::thread> clients;
  for (const std::string name : {"a", "b", "a", "b"}) {
    clients.emplace_back([&, name] {
      auto transport = HttpTransport::create({{running.url(name)}});
      ASSERT_TRUE(transport);
      for (std::uint64_t epoch = 1; !done;) {
        const auto text = std::to_string(epoch) + ":x";
        const auto outcome = transport->query_all({bytes_of(text)}, {.deadline = 60s}).at(0);
        if (outcome.reply) {
          EXPECT_EQ(text_of(*outcome.reply), name + " " + text);
          ++answered;
          continue;
        }
        ASSERT_EQ(outcome.reply.error().code(), ErrorCode::kStaleEpoch) << outcome.reply.error().to_string();
        const auto next = parameters_epoch(outcome.parameters);
        ASSERT_TRUE(next);
        EXPECT_GT(*next, epoch);
        epoch = *next;
        ++stale;
      }
    });
  }
  for (std::uint64_t epoch = 2; epoch <= kLast; ++epoch) {
    for (const char* name : {"a", "b"}) {
      const int before = answered;
      ASSERT_TRUE(running.server->replace(make(name, epoch), name));
      EXPECT_TRUE(eventually([&] { return answered > before; }));
    }
  }
  EXPECT_FALSE(running.server->replace(make("c", 1), "c"));
  EXPECT_FALSE(running.server->replace(nullptr, "a"));
  done = true;
  for (auto& client : clients) client.join();
  EXPECT_GT(answered, 2 * static_cast<int>(kLast) - 3);
  EXPECT_GT(stale, 0);
}

TEST(Databases, MemoryIsOneBudget) {
  auto options = quick_options();
  options.max_in_flight_bytes =
      with_connections((3u << 20) + 1000);  // the larger pass and two requests, not both passes
  const auto a = of_many_queries(), b = of_many_queries();
  a->per_pass = b->per_pass = 1u << 20;
  RunningDatabases running({{"a", a}, {"b", b}}, options);
  EXPECT_TRUE(has(running.get("/metrics"), "pirx_in_flight_bytes 1048576\n"));
  // A body that is held for one database is missing for the other.
  a->hold();
  auto first = RawSocket::connect_to(running.server->port());
  const auto big = query_text(std::string(900'000, 'x'));
  first.send("POST /v1/db/a/query" + big.substr(std::string("POST /v1/query").size()));
  ASSERT_TRUE(eventually([&] { return a->batches().size() == 1; }));
  const auto refused = running.ask("b", std::string(900'000, 'y')).reply;
  expect_error(refused, ErrorCode::kResourceExhausted);
  a->release();
  EXPECT_TRUE(is_status(first.receive_message(), 200));
  EXPECT_TRUE(eventually([&] { return has(running.get("/metrics"), "pirx_in_flight_bytes 1048576\n"); }));
  EXPECT_TRUE(running.ask("b", std::string(900'000, 'y')).reply);
}

TEST(Databases, EachMustFitBesideTheLargestPass) {
  auto options = quick_options();
  options.max_in_flight_bytes = with_connections((3u << 20) + 1000);
  const auto a = of_many_queries(), b = of_many_queries();
  a->per_pass = (1u << 20) + 2000;
  a->max_bytes = 1000;
  const auto create = [&] { return HttpServer::create({{"a", a, {}}, {"b", b, {}}}, options, LogSink()); };
  const auto refused = create();  // b's largest request would never find room
  expect_error(refused, ErrorCode::kInvalidArgument);
  a->per_pass = 1u << 20;
  auto server = create();
  ASSERT_TRUE(server);
  const auto next = std::make_shared<FakeServer>();
  next->max_bytes = 1000;
  next->per_pass = (1u << 20) + 2000;
  EXPECT_FALSE(server->replace(next, "a"));
  next->per_pass = 1u << 20;
  EXPECT_TRUE(server->replace(next, "a"));
}

TEST(Databases, BodiesMayBeCappedBelowTheProtocol) {
  auto options = quick_options();
  options.max_body_bytes = 100;
  RunningDatabases running({{"a", std::make_shared<FakeServer>()}}, options);
  EXPECT_TRUE(running.ask("a", std::string(100, 'x')).reply);
  EXPECT_TRUE(is_status(
      RawSocket::sending(running.server->port(), query_text(std::string(101, 'x'))).receive_message(), 413));
}

}  // namespace
}  // namespace pirx::http
