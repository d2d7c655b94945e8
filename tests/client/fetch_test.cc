// SPDX-License-Identifier: Apache-2.0
// Retrievals in one process: by position and by key, with servers that lie, are silent or conspire, and with
// evidence of the caller's.
#include "pirx/client/fetch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <thread>

#include "http/http_support.h"
#include "pirx/client/retrieve.h"
#include "pirx/cpir/dj/common.h"
#include "pirx/cpir/qr/common.h"
#include "pirx/database/builder.h"
#include "pirx/itpir/goldberg/server.h"
#include "pirx/protocol/forwarding_server.h"
#include "support/files.h"
#include "support/forks.h"

namespace pirx::client {
namespace {

using pirx::testing::expect_error;
using pirx::testing::good;

/// Two databases of the same shape behind some servers each: the true one, and that of conspirators.
class World {
 public:
  explicit World(bool keyed, unsigned servers = 4) : moods(servers, 't'), keyed_(keyed) {
    build("true", 't');
    build("other", 'o');
    const auto database = *database::Database::open(folder_ / "true");
    std::vector<std::uint64_t> coordinates;
    std::vector<http::Endpoint> endpoints;
    for (unsigned i = 1; i <= servers; ++i) {
      coordinates.push_back(i);
      endpoints.push_back({.url = "http://127.0.0.1:" + std::to_string(i), .ca_file = {}});
      true_.push_back(serve("true", i));
      other_.push_back(serve("other", i));
    }
    const auto& protocol = **find_protocol("goldberg");
    const auto plan = [&](const char* threshold) {
      return *protocol.plan(
          {*Options::create(protocol.members, {{"field", "gf2_8"}, {"threshold", threshold}}, ""),
           database->geometry(), database->version(), coordinates});
    };
    deployment_ = {plan("1"), endpoints};
    if (servers > 2) of_threshold_2 = {plan("2"), endpoints};
  }

  Fetcher fetcher() {
    return *Fetcher::create(deployment_, {},
                            [this](const auto& requests, const auto& call, const auto& on_settled) {
                              announced.push_back(call.announced);
                              return answer(requests, on_settled);
                            });
  }
  const Deployment& deployment() const { return deployment_; }
  std::unique_ptr<AnyServer> serve(const char* name, std::uint64_t coordinate) {
    auto database = database::Database::open(folder_ / name);
    return *itpir::goldberg::make_server(*database, {.coordinate = coordinate, .threads = 1});
  }
  /// Without structure: conspirators whose records differ by a constant answer like the honest in one of 256
  /// rounds.
  static Bytes record(std::uint64_t i, char kind = 't') {
    std::mt19937_64 generator(256 * i + static_cast<unsigned char>(kind));
    Bytes bytes(8);
    store_le(bytes.data(), generator());
    return bytes;
  }

  Deployment of_threshold_2;  ///< the same servers
  std::string moods;  ///< of each server; t: true, o: conspires, z: answers zeros, s: silent, e: stale epoch
  std::string later_moods;  ///< from the second round on, where it is not empty
  int rounds = 0;
  std::size_t bytes_up = 0;                                         ///< of the last round
  std::vector<std::optional<std::chrono::milliseconds>> announced;  ///< to the servers, in every round

 private:
  void build(const char* name, char kind) {
    // Of one layout, as conspirators would have it.
    auto builder = *database::DatabaseBuilder::create(folder_ / name,
                                                      {.digests = keyed_, .keyed = keyed_, .seed = Digest{}});
    for (std::uint64_t i = 10; i < 60; ++i) {
      const auto key = "key" + std::to_string(i);
      EXPECT_TRUE(good(keyed_ ? builder.add(key, record(i, kind)) : builder.add(record(i, kind))));
    }
    EXPECT_TRUE(good(builder.finish()));
  }
  std::vector<http::CallOutcome> answer(const std::vector<Bytes>& requests,
                                        const http::HttpTransport::OnSettled& on_settled) {
    if (++rounds > 1 && !later_moods.empty()) moods = later_moods;
    bytes_up = 0;
    for (const auto& request : requests) bytes_up += request.size();
    std::vector<http::CallOutcome> outcomes;
    bool enough = false;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      outcomes.push_back({.reply = fail(ErrorCode::kUnavailable, "silent")});
      if (enough) continue;
      if (moods[i] == 'e') {
        outcomes[i].reply = fail(ErrorCode::kStaleEpoch, "another epoch");
      } else if (moods[i] != 's') {
        Bytes request = requests[i];
        const auto& server = moods[i] == 'o' ? other_[i] : true_[i];
        rename(request, itpir::ServerParameters::decode(server->parameters())->version);
        const ByteSpan span = request;
        outcomes[i].reply = server->answer({&span, 1}).front();
        EXPECT_TRUE(good(outcomes[i].reply));
        rename(*outcomes[i].reply, deployment_.plan->version());
        if (moods[i] == 'z') {
          std::fill(outcomes[i].reply->begin() + itpir::MessageHeader::kBytes, outcomes[i].reply->end(),
                    std::byte{0});
        }
      }
      enough = on_settled(i, outcomes[i]);
    }
    return outcomes;
  }
  /// Puts another database's identity and epoch into a message (docs/wire_format.md section 2).
  static void rename(Bytes& message, const database::Version& version) {
    std::copy(version.identity.begin(), version.identity.end(), message.begin() + 16);
    store_le(message.data() + 48, version.epoch);
  }

  pirx::testing::TemporaryFolder folder_;
  const bool keyed_;
  std::vector<std::unique_ptr<AnyServer>> true_, other_;
  Deployment deployment_;
};

/// A server behind HTTP that can flip a bit of every reply, in the byte so far from its end. Nothing: it is
/// honest.
class Behind final : public ForwardingServer {
 public:
  Behind(std::unique_ptr<AnyServer> server, std::optional<std::size_t> flips)
      : ForwardingServer(std::move(server)), flips_(flips) {}
  std::vector<Result<Bytes>> answer_from(std::span<const ByteSpan> requests,
                                         std::span<const std::string_view> senders) const override {
    auto replies = ForwardingServer::answer_from(requests, senders);
    for (auto& reply : replies) {
      if (flips_ && reply) reply->end()[-1 - static_cast<std::ptrdiff_t>(*flips_)] ^= std::byte{1};
    }
    return replies;
  }

 private:
  const std::optional<std::size_t> flips_;
};

TEST(Fetch, ClosesEveryConnectionBeforeItDecodes) {
  World world(false);
  auto deployment = world.deployment();
  std::vector<http::HttpServer> servers;
  for (std::size_t i = 0; i < deployment.servers.size(); ++i) {
    // In different words: errors in the same could fit together by luck, and then nothing is asked.
    const auto flips = i < 2 ? std::nullopt : std::optional(i);
    auto server = std::make_shared<Behind>(world.serve("true", i + 1), flips);
    servers.push_back(*http::HttpServer::create(std::move(server), http::testing::quick_options(), {}));
    deployment.servers[i].url = "http://127.0.0.1:" + std::to_string(servers.back().port());
  }
  std::vector<std::thread> threads;
  for (auto& server : servers) threads.emplace_back([&server] { EXPECT_TRUE(server.run()); });
  int judged = 0;
  FetchOptions options;
  options.wait_for_all = true;
  const auto expect_closed = [&servers] {
    for (const auto& server : servers) {
      // The connection that asks is the only one.
      EXPECT_TRUE(http::testing::eventually(
          [&] { return http::testing::gauge(server.port(), "pirx_connections") == 1; }));
    }
  };
  options.believe = [&](std::span<const std::optional<Bytes>> records) {  // asked while replies are decoded
    ++judged;
    expect_closed();
    return records.front() == World::record(17);
  };
  std::size_t rounds = 0;
  options.sending = [&](std::size_t sent, std::size_t) {  // the round before has been decoded
    rounds = sent + 1;
    expect_closed();
  };
  auto fetcher = Fetcher::create(deployment);
  ASSERT_TRUE(good(fetcher));
  EXPECT_TRUE(good(fetcher->fetch(std::vector<std::uint64_t>{7}, options)));
  EXPECT_GT(judged, 0);
  EXPECT_GT(rounds, 1u);
  for (auto& server : servers) server.stop();
  for (auto& thread : threads) thread.join();
}

TEST(Fetch, ClosesTheConnectionToASingleServerBeforeItDecodes) {
  pirx::testing::TemporaryFolder folder;
  auto builder = *database::DatabaseBuilder::create(folder / "db", {.seed = Digest{}});
  for (std::uint64_t i = 0; i < 50; ++i) EXPECT_TRUE(good(builder.add(World::record(i))));
  ASSERT_TRUE(good(builder.finish()));
  const auto& protocol = **find_protocol("download");
  auto server = protocol.serve({.database = *database::Database::open(folder / "db")});
  ASSERT_TRUE(good(server));
  const auto told = *tell((*server)->parameters());
  auto http = http::HttpServer::create(std::move(*server), http::testing::quick_options(), {});
  ASSERT_TRUE(good(http));
  std::thread thread([&] { EXPECT_TRUE(http->run()); });
  auto fetcher = Fetcher::create(
      {*protocol.plan({*Options::create(protocol.members, told.members, ""), told.geometry, told.version}),
       {{.url = "http://127.0.0.1:" + std::to_string(http->port()), .ca_file = {}}}});
  ASSERT_TRUE(good(fetcher));
  auto asked = fetcher->ask(std::vector<std::uint64_t>{7}, {});
  ASSERT_TRUE(good(asked));
  EXPECT_TRUE(  // the connection that asks is the only one
      http::testing::eventually([&] { return http::testing::gauge(http->port(), "pirx_connections") == 1; }));
  const auto report = asked->finish();
  ASSERT_TRUE(good(report));
  EXPECT_EQ(report->answer.records[0], World::record(7));
  http->stop();
  thread.join();
}

TEST(Fetch, ByPosition) {
  World world(false);
  auto fetcher = world.fetcher();
  const std::vector<std::uint64_t> wanted = {0, 49, 7, 7};
  const auto report = fetcher.fetch(wanted, {});
  ASSERT_TRUE(good(report));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(report->answer.records[i], World::record(wanted[i] + 10));
  }
  EXPECT_EQ(report->answer.certainty, Certainty::kProven);
  EXPECT_TRUE(report->answer.missing.empty());
  // What there is no record for is asked for like everything else: servers may claim to have fewer.
  const auto bytes_up = world.bytes_up;
  for (const std::uint64_t beyond : {std::uint64_t{50}, ~std::uint64_t{0}}) {
    world.rounds = 0;
    expect_error(fetcher.fetch(std::vector<std::uint64_t>{0, beyond, 7, 7}, {}), ErrorCode::kOutOfRange,
                 "50 records");
    EXPECT_EQ(world.rounds, 1);
    EXPECT_EQ(world.bytes_up, bytes_up);
  }
  expect_error(fetcher.fetch(std::vector<std::uint64_t>(257), {}), ErrorCode::kInvalidArgument, "257");
  expect_error(fetcher.fetch(wanted, {.liars = 3}), ErrorCode::kInvalidArgument, "2 liars");
  expect_error(fetcher.fetch_keys(std::vector<std::string>{"key10"}, {}), ErrorCode::kInvalidArgument, "");
}

TEST(Fetch, ByKeyPresentAndAbsentLookAlike) {
  World world(true);
  auto fetcher = world.fetcher();
  const auto report = fetcher.fetch_keys(std::vector<std::string>{"key12", "nobody", "key59"}, {});
  ASSERT_TRUE(good(report));
  EXPECT_EQ(report->answer.records[0], World::record(12));
  EXPECT_EQ(report->answer.records[2], World::record(59));
  EXPECT_EQ(report->answer.missing, std::vector<std::size_t>{1});
  EXPECT_EQ(world.rounds, 1);
}

TEST(Fetch, ItsCallerEndsIt) {
  World world(false);
  int waves = 0;
  auto fetcher =
      *Fetcher::create(world.deployment(), {}, [&](const auto& requests, const auto& call, auto&&) {
        ++waves;
        // Another thread learns what the caller's function has said, and never calls it.
        std::thread([&] { EXPECT_FALSE(call.stop()); }).join();
        while (!call.stop()) std::this_thread::yield();
        std::thread([&] { EXPECT_TRUE(call.stop()); }).join();
        const Error silent(ErrorCode::kUnavailable, "silent");
        return std::vector<http::CallOutcome>(requests.size(), {tl::unexpected(silent)});
      });
  std::set<std::thread::id> callers;
  int calls = 0;
  const auto stop = [&] {
    callers.insert(std::this_thread::get_id());
    return ++calls > 3;
  };
  expect_error(fetcher.fetch(std::vector<std::uint64_t>{3}, {.stop = stop}), ErrorCode::kUnavailable,
               "ended by its caller");
  EXPECT_EQ(waves, 1);
  EXPECT_EQ(callers, std::set{std::this_thread::get_id()});
}

TEST(Fetch, AChildOfForkIsToldOfItsMistake) {
  const World world(false);
  const auto geometry = *database::Geometry::create({.records = 100, .record_bytes = 40});
  const auto params = cpir::qr::Params::create({.geometry = geometry, .version = {}, .slots = 2});
  ASSERT_TRUE(good(params));
  const auto told = *tell(params->encode());
  const auto& protocol = **find_protocol("qr");
  const Deployment one{
      *protocol.plan({*Options::create(protocol.members, told.members, ""), told.geometry, told.version}),
      {world.deployment().servers.front()}};
  for (const auto& deployment : {one, world.deployment()}) {
    auto fetcher = Fetcher::create(deployment, {});
    ASSERT_TRUE(good(fetcher));
    const auto in_child = pirx::testing::in_child([&] {
      const auto report = fetcher->fetch(std::vector<std::uint64_t>{1}, {});
      return pirx::testing::to_bytes(report ? "asked" : report.error().to_string());
    });
    EXPECT_EQ(as_text(in_child.value()),
              "InvalidArgument: this client was made before a fork: make another in the child");
  }
}

TEST(Fetch, ALiarIsNamedAndASilentServerIsMissed) {
  World world(false);
  world.moods = "tots";
  auto fetcher = world.fetcher();
  // One liar of three replies: shares alone cannot tell which.
  expect_error(fetcher.fetch(std::vector<std::uint64_t>{3}, {.liars = {}, .wait_for_all = true}),
               ErrorCode::kUndecodable, "silent");
  world.moods = "tott";
  const auto report = fetcher.fetch(std::vector<std::uint64_t>{3}, {.liars = {}, .wait_for_all = true});
  ASSERT_TRUE(good(report));
  EXPECT_EQ(report->answer.records[0], World::record(13));
  EXPECT_EQ(report->servers[1].status, ServerStatus::kLied);
}

// Two against two: no majority, and both answers are well formed. The caller knows what a record looks like.
TEST(Fetch, EvidenceOfTheCallersSettlesWhatSharesCannot) {
  for (const bool keyed : {false, true}) {
    World world(keyed);
    world.moods = "otot";
    auto fetcher = world.fetcher();
    const auto fetch = [&](const Believe& believe) {
      const FetchOptions options{.liars = {}, .wait_for_all = true, .believe = believe};
      if (keyed) return fetcher.fetch_keys(std::vector<std::string>{"key20", "key21"}, options);
      return fetcher.fetch(std::vector<std::uint64_t>{10, 11}, options);
    };
    for (const char kind : {'t', 'o'}) {
      const auto report = fetch([kind](std::span<const std::optional<Bytes>> records) {
        EXPECT_EQ(records.size(), 2u);
        return records[0] == World::record(20, kind) && records[1] == World::record(21, kind);
      });
      ASSERT_TRUE(good(report)) << keyed << kind;
      EXPECT_EQ(report->answer.records[1], World::record(21, kind));
      EXPECT_EQ(report->answer.certainty, Certainty::kProbable);
    }
    EXPECT_FALSE(fetch([](const auto&) { return false; }));
    if (keyed) {  // nothing speaks for a key that is not there
      const auto report =
          fetcher.fetch_keys(std::vector<std::string>{"key20", "nobody"},
                             {.liars = {}, .wait_for_all = true, .believe = [](const auto& records) {
                                return records[0] == World::record(20);
                              }});
      ASSERT_TRUE(good(report));
      EXPECT_EQ(report->answer.missing, std::vector<std::size_t>{1});
      EXPECT_EQ(report->answer.certainty, Certainty::kUnverified);
    }
    // What the replies prove needs no evidence, and none changes it.
    world.moods = "tttt";
    const auto proven = fetch([](const auto&) { return false; });
    ASSERT_TRUE(good(proven)) << keyed;
    EXPECT_EQ(proven->answer.records[0], World::record(20));
    EXPECT_EQ(proven->answer.certainty, Certainty::kProven);
  }
}

// Zeros are another database, in which every key is missing. Beyond what replies prove, a fingerprint that
// fits tells who is right, and one that does not fit tells nothing.
TEST(Fetch, LiarsWithoutAKeyDoNotHideIt) {
  World world(true);
  auto fetcher = world.fetcher();
  const FetchOptions options{.liars = {}, .wait_for_all = true};
  for (const std::string moods : {"zztt", "tzzt"}) {
    world.moods = moods;
    const auto report = fetcher.fetch_keys(std::vector<std::string>{"key20"}, options);
    ASSERT_TRUE(good(report)) << moods;
    EXPECT_TRUE(report->answer.missing.empty());
    EXPECT_EQ(report->answer.records[0], World::record(20));
    EXPECT_EQ(report->answer.certainty, Certainty::kProbable);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(report->servers[i].status, moods[i] == 'z' ? ServerStatus::kSuspected : ServerStatus::kOk);
    }
  }
  world.moods = "ootz";
  expect_error(fetcher.fetch_keys(std::vector<std::string>{"nobody"}, options), ErrorCode::kUndecodable,
               "no answer has the right digests");
}

// Four servers of seven answer zeros: that the key is missing would be proven for three liars, one less. But
// three others make its record.
TEST(Fetch, AMissingKeyIsNotProvenAgainstARecordThatFits) {
  World world(true, 7);
  auto fetcher = world.fetcher();
  const auto fetch = [&](const std::string& key, const Believe& believe = {}) {
    const FetchOptions options{.liars = {}, .wait_for_all = true, .believe = believe};
    return fetcher.fetch_keys(std::vector<std::string>{"nobody", key}, options);
  };
  for (const char* moods : {"zzzzttt", "tztztzz", "zzzzztt"}) {
    world.moods = moods;
    expect_error(fetch("key20"), ErrorCode::kUndecodable, "whose digest is right");
    const auto believed = fetch("key20", [](std::span<const std::optional<Bytes>> records) {
      return records[1] == World::record(20);
    });
    ASSERT_TRUE(good(believed)) << moods;
    EXPECT_EQ(believed->answer.missing, std::vector<std::size_t>{0});
    EXPECT_EQ(believed->answer.records[1], World::record(20));
    EXPECT_NE(believed->answer.certainty, Certainty::kProven);
  }
  // Where nobody has a record of it, a missing key is proven missing, and so it is before the honest
  // majority.
  for (const std::string moods : {"zzzzttt", "ttttzzz", "tttttto"}) {
    world.moods = moods;
    const auto report = fetch("nobody either");
    ASSERT_TRUE(good(report)) << moods;
    EXPECT_EQ(report->answer.missing.size(), 2u);
    EXPECT_EQ(report->answer.certainty, Certainty::kProven);
  }
  // Nor against a record of an earlier round, whose makers do not answer any more.
  World later(true, 7);
  later.moods = "zzzzttt";
  later.later_moods = "zzzzsss";
  expect_error(later.fetcher().fetch_keys(std::vector<std::string>{"key20"}, {.liars = 4}),
               ErrorCode::kUndecodable, "whose digest is right");
  EXPECT_EQ(later.rounds, 4) << "all that there are, whatever the errors are like";
  // What servers are told of the deadline says nothing of how long decoding took.
  for (const auto& told : later.announced) EXPECT_EQ(told, std::chrono::milliseconds(10'000));

  world.moods = "tttzzzt";
  const auto found = fetch("key20");
  ASSERT_TRUE(good(found));
  EXPECT_EQ(found->answer.records[1], World::record(20));
  EXPECT_EQ(found->answer.certainty, Certainty::kProven);
  EXPECT_EQ(found->servers[3].status, ServerStatus::kLied);
}

// Of the fewest servers that make an answer, only the caller's evidence speaks for it.
TEST(Fetch, AStaleDeploymentIsRenewedOnce) {
  for (const bool keyed : {false, true}) {
    World world(keyed);
    world.moods = "eeee";
    world.later_moods = "tttt";
    auto fetcher = world.fetcher();
    int renewed = 0;
    FetchOptions options;
    options.renew = [&](const Deployment& stale) -> Result<Deployment> {
      ++renewed;
      return stale;
    };
    const auto fetch = [&](const FetchOptions& with) {
      if (keyed) return fetcher.fetch_keys(std::vector<std::string>{"key12"}, with);
      return fetcher.fetch(std::vector<std::uint64_t>{2}, with);
    };
    // As it is asked for, and only if it is.
    expect_error(fetch({}), ErrorCode::kStaleEpoch, "another database version");
    EXPECT_EQ(fetcher.outcomes().size(), 4u);
    EXPECT_EQ(fetcher.outcomes()[3].status, ServerStatus::kStaleEpoch);
    EXPECT_EQ(fetcher.outcomes()[3].error, "StaleEpoch: another epoch");
    world.rounds = 0;
    world.moods = "eeee";
    const auto report = fetch(options);
    ASSERT_TRUE(good(report));
    EXPECT_EQ(report->answer.records, std::vector<Bytes>{World::record(12)});
    EXPECT_EQ(renewed, 1);
    EXPECT_EQ(fetcher.outcomes()[0].status, ServerStatus::kOk);
    // Never twice in one retrieval, never for another error, and never to other servers.
    world.rounds = 0;
    world.moods = world.later_moods = "ssss";
    expect_error(fetch(options), ErrorCode::kUndecodable, "4 silent");
    EXPECT_EQ(renewed, 1);
    world.moods = world.later_moods = "eeee";
    expect_error(fetch(options), ErrorCode::kStaleEpoch, "another database version");
    EXPECT_EQ(renewed, 2);
    options.renew = [](const Deployment& stale) -> Result<Deployment> {
      auto other = stale;
      other.servers[1].url = "http://127.0.0.1:9";
      return other;
    };
    expect_error(fetch(options), ErrorCode::kInvalidArgument, "the same servers");
    options.renew = [](const Deployment&) -> Result<Deployment> {
      return fail(ErrorCode::kUnavailable, "nobody answers");
    };
    expect_error(fetch(options), ErrorCode::kUnavailable, "nobody answers");
  }
}

TEST(Fetch, ARenewedDeploymentIsAskedByItsOwnPlan) {
  World world(false);
  world.moods = "eeee";
  world.later_moods = "tttt";
  auto fetcher = world.fetcher();
  FetchOptions options;
  options.wait_for_all = true;
  options.renew = [&](const Deployment&) -> Result<Deployment> { return world.of_threshold_2; };
  const auto report = fetcher.fetch(std::vector<std::uint64_t>{3}, options);
  ASSERT_TRUE(good(report));
  EXPECT_EQ(report->answer.records[0], World::record(13));
  EXPECT_EQ(report->answer.proof_bound, 1u) << "threshold 1 would make it 2";
}

TEST(Fetch, WhoIsNotNeededIsNotWaitedFor) {
  World world(false);
  auto fetcher = world.fetcher();
  for (const bool wait : {false, true}) {
    const auto report = fetcher.fetch(std::vector<std::uint64_t>{3}, {.liars = 0, .wait_for_all = wait});
    ASSERT_TRUE(good(report));
    EXPECT_FALSE(report->servers[0].abandoned);
    EXPECT_EQ(report->servers[3].abandoned, !wait);
  }
}

TEST(Fetch, EvidenceIsAskedOfTheFewestReplies) {
  World world(false);
  world.moods = "tsts";
  auto fetcher = world.fetcher();
  for (const bool believed : {false, true}) {
    const auto report = fetcher.fetch(std::vector<std::uint64_t>{3},
                                      {.liars = {}, .believe = [&](const auto&) { return believed; }});
    ASSERT_TRUE(good(report));
    EXPECT_EQ(report->answer.certainty, believed ? Certainty::kProbable : Certainty::kUnverified);
  }
}

TEST(Retrieve, RefusesPlansThatHideNothing) {
  const auto geometry = *database::Geometry::create({.records = 4, .record_bytes = 1, .digests = false});
  auto params = cpir::dj::Params::create({.geometry = geometry,
                                          .version = {},
                                          .arities = {4},
                                          .modulus_bits = 1024,
                                          .policy = cpir::dj::KeyPolicy::kPaperReproduction});
  ASSERT_TRUE(good(params));
  const auto told = *tell(params->encode());
  const auto& protocol = **find_protocol("dj-tree");
  const Deployment deployment{
      *protocol.plan({*Options::create(protocol.members, told.members, ""), told.geometry, told.version}),
      {{.url = "http://127.0.0.1:1", .ca_file = {}}}};
  expect_error(retrieve(deployment, std::vector<std::uint64_t>{0}), ErrorCode::kInvalidArgument, "1024 bits");
  expect_error(retrieve_keys(deployment, std::vector<std::string>{"a"}), ErrorCode::kInvalidArgument,
               "1024 bits");
}

}  // namespace
}  // namespace pirx::client
