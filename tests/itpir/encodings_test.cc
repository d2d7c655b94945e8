// SPDX-License-Identifier: Apache-2.0
// Every polynomial encoding through the one client, over every shipped field: random settings, every set of
// responders, liars, sums of rows.
#include <limits>
#include <set>

#include "checked_by.h"
#include "deployment.h"
#include "pirx/itpir/goldberg/client.h"
#include "support/serve.h"

namespace pirx::itpir::goldberg {
namespace {

using pirx::testing::ask;
using pirx::testing::expect_error;

/// l servers with their buckets of random records, behind the public client.
struct Encoded {
  struct Setting {
    unsigned t, q, u, tau, l;
    std::uint64_t M;
    database::Geometry::Spec geometry;
  };

  Encoded(const FieldTag& field, const Setting& set, std::mt19937_64& engine,
          const ClientOptions& options = {})
      : setting(set) {
    const auto made = with_field(field, [&]<class F>(const F& f) -> Result<void> {
      auto deployment = std::make_shared<testing::Deployment<F>>(f, set.geometry, set.l, set.t, engine,
                                                                 testing::Code{set.q, set.u, set.tau, set.M});
      client.emplace(Params::create(deployment->spec()).value(), options);
      records = std::move(deployment->records);
      servers = std::move(deployment->servers);
      rows = deployment->rows();
      owner_ = std::move(deployment);
      return {};
    });
    EXPECT_TRUE(made.has_value()) << made.error().to_string();
  }
  Encoded(const Encoded&) = delete;

  const Params& params() const { return client->params(); }
  /// The honest replies of all servers.
  std::vector<Bytes> answer(const std::vector<Bytes>& requests) const {
    std::vector<Bytes> replies;
    for (std::size_t j = 0; j < servers.size(); ++j) {
      replies.push_back(ask(*servers[j], requests[j]).value());
    }
    return replies;
  }

  Setting setting;
  std::optional<Client> client;
  std::vector<Bytes> records;
  std::vector<std::unique_ptr<AnyServer>> servers;
  matrix::ConstView<std::byte> rows;  ///< of the plain database

 private:
  std::shared_ptr<const void> owner_;
};

std::vector<FieldTag> shipped() {
  return {kTagGf2_8, kTagGf2_16, kTagW160, kTagW48, fp::PrimeField::create(64)->tag()};
}

std::string text(const Encoded::Setting& set) {
  return "t=" + std::to_string(set.t) + " q=" + std::to_string(set.q) + " u=" + std::to_string(set.u) +
         " tau=" + std::to_string(set.tau) + " l=" + std::to_string(set.l) + " M=" + std::to_string(set.M) +
         " records=" + std::to_string(set.geometry.records) +
         " per row=" + std::to_string(set.geometry.records_per_row);
}

/// A setting that Encoding::create accepts, of up to four servers more than it needs.
Encoded::Setting random_setting(std::mt19937_64& engine) {
  Encoded::Setting set{};
  set.t = 1 + engine() % 3;
  set.q = 1 + engine() % 3;
  set.u = 1 + engine() % 3;
  set.tau = engine() % 2;
  set.geometry = {1 + engine() % 20, 1 + engine() % 40, 1, engine() % 2 == 0, true};
  set.geometry.records_per_row = 1 + engine() % std::min<std::uint64_t>(3, set.geometry.records);
  const auto rows = database::Geometry::create(set.geometry)->rows();
  const std::uint64_t all = batchcodes::Encoding::batch_modulus(set.u, rows);
  set.M = set.u * (1 + engine() % (all / set.u));  // down to u, where most rows collide
  if (set.u > 1 || set.tau > 0) set.M = std::max(set.M, (set.q + set.u - 1) / set.u * std::uint64_t{set.u});
  set.l = set.t + set.q + set.u + set.tau - 1 + engine() % 5;
  return set;
}

/// k servers' replies; `liars` of them changed at random.
Result<Answer> decode(const Encoded& deployment, Query query, std::span<const std::size_t> from,
                      std::size_t liars, std::mt19937_64& engine) {
  const auto replies = deployment.answer(query.requests);
  auto collector = deployment.client->collect(std::move(query.state));
  for (std::size_t i = 0; i < from.size(); ++i) {
    auto reply = replies[from[i]];
    for (std::size_t at = MessageHeader::kBytes; i < liars && at < reply.size(); ++at) {
      // Of an element of a prime field, the last byte would make it none.
      if (at + 1 < reply.size() && engine() % 2 == 0) reply[at] = static_cast<std::byte>(engine());
    }
    // What is no element becomes an erasure.
    static_cast<void>(collector->add(from[i], reply));
  }
  return std::move(*collector).finish();
}

std::vector<std::size_t> shuffled(std::size_t n, std::mt19937_64& engine) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), engine);
  return order;
}

void check_setting(const FieldTag& field, const Encoded::Setting& set, std::mt19937_64& engine) {
  const ClientOptions options{.seeded = engine() % 2 == 0};
  SCOPED_TRACE(field.name() + " " + text(set) + (options.seeded ? " seeded" : ""));
  const Encoded deployment(field, set, engine, options);
  const auto rows = deployment.params().geometry().rows();
  auto rng = Rng::from_os().value();
  std::vector<std::uint64_t> wanted(1 + engine() % 5);
  for (auto& record : wanted) record = engine() % set.geometry.records;
  std::vector<Bytes> truth;
  for (const auto record : wanted) truth.push_back(deployment.records[record]);

  const auto make = [&] {
    auto query = deployment.client->query(wanted, rng);
    EXPECT_TRUE(query.has_value()) << query.error().to_string();
    EXPECT_EQ(query->requests.back().size(), deployment.client->request_bytes(wanted.size()));
    return std::move(*query);
  };
  const auto request = make().requests[0];
  Reader reader(request, "request");
  const auto header = MessageHeader::decode(reader).value();
  const bool packed = deployment.params().encoding().collision_free(rows);
  EXPECT_EQ(header.queries, packed ? (wanted.size() + set.q - 1) / set.q : wanted.size());
  EXPECT_EQ(header.length, (rows + set.u - 1) / set.u);
  EXPECT_EQ(header.type, options.seeded ? MessageType::kSeeds : MessageType::kQuery);

  const std::size_t needed = deployment.params().needed();
  ASSERT_EQ(needed, set.t + set.tau + set.q + set.u - 1);
  const auto order = shuffled(set.l, engine);
  for (std::size_t k = needed - 1; k <= set.l; ++k) {
    const std::vector<std::size_t> from(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k));
    const auto answer = decode(deployment, make(), from, 0, engine);
    if (k < needed) {
      expect_error(answer, ErrorCode::kUndecodable);
      continue;
    }
    ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
    EXPECT_EQ(answer->records, truth);
    EXPECT_EQ(answer->proof_bound, k - needed);
    EXPECT_EQ(answer->certainty, k == needed ? Certainty::kProbable : Certainty::kProven);
    const std::size_t liars = (k - needed) / 2;
    if (liars == 0) continue;
    const auto corrected = decode(deployment, make(), from, liars, engine);
    ASSERT_TRUE(corrected.has_value()) << corrected.error().to_string();
    EXPECT_EQ(corrected->records, truth);
    EXPECT_EQ(corrected->certainty, Certainty::kProven);
  }
}

TEST(Encodings, RandomSettingsOverEveryField) {
  auto engine = pirx::testing::seeded_engine(40);
  for (const auto& field : shipped()) {
    for (int i = 0; i < 40; ++i) check_setting(field, random_setting(engine), engine);
  }
}

/// Every set of responders of one deployment of each kind.
TEST(Encodings, EverySetOfResponders) {
  auto engine = pirx::testing::seeded_engine(41);
  const database::Geometry::Spec geometry{11, 9, 2, true, true};  // 6 rows
  for (const Encoded::Setting& set : {Encoded::Setting{1, 1, 1, 0, 5, 0, geometry},
                                      {1, 2, 1, 0, 5, 0, geometry},
                                      {2, 1, 2, 0, 5, 2, geometry},
                                      {1, 2, 2, 0, 6, 6, geometry},
                                      {1, 1, 1, 2, 5, 1, geometry},
                                      {1, 2, 2, 1, 6, 6, geometry}}) {
    SCOPED_TRACE(text(set));
    const Encoded deployment(kTagGf2_8, set, engine);
    auto rng = Rng::from_os().value();
    const std::vector<std::uint64_t> wanted{10, 0, 10};
    const std::vector<Bytes> truth{deployment.records[10], deployment.records[0], deployment.records[10]};
    for (unsigned mask = 0; mask < 1u << set.l; ++mask) {
      std::vector<std::size_t> from;
      for (std::size_t j = 0; j < set.l; ++j) {
        if (mask >> j & 1) from.push_back(j);
      }
      const auto answer = decode(deployment, deployment.client->query(wanted, rng).value(), from, 0, engine);
      ASSERT_EQ(answer.has_value(), from.size() >= deployment.params().needed());
      if (answer) {
        EXPECT_EQ(answer->records, truth);
      }
    }
  }
}

/// Buckets of one database with as many rows, but other coordinates of them: their sums would fit no query.
TEST(Encodings, AServerOfAnotherEncodingRefuses) {
  auto engine = pirx::testing::seeded_engine(51);
  const database::Geometry::Spec geometry{12, 9, 1, true, false};  // without digests nobody else would notice
  const Encoded of_client(kTagGf2_8, {1, 1, 2, 0, 5, 2, geometry}, engine);
  const Encoded of_servers(kTagGf2_8, {1, 1, 2, 0, 5, 12, geometry}, engine);
  ASSERT_EQ(of_client.params().version(), of_servers.params().version());
  auto rng = Rng::from_os().value();
  const std::vector<std::uint64_t> wanted{3};
  auto query = of_client.client->query(wanted, rng).value();
  const auto refused = of_servers.servers[0]->admit(query.requests[0]);
  expect_error(refused, ErrorCode::kStaleEpoch);
  // Nor does a client take a reply from there: it is an erasure, and no liar's.
  const auto foreign = of_servers.client->query(wanted, rng).value();
  auto collector = of_client.client->collect(std::move(query.state));
  EXPECT_EQ(collector->add(0, of_servers.answer(foreign.requests)[0]).error().code(), ErrorCode::kStaleEpoch);
}

/// Which servers get seeds does not depend on what is wanted, and the seeds are drawn before it is looked at.
TEST(Seeds, GoToTheFirstServersWhateverIsWanted) {
  auto engine = pirx::testing::seeded_engine(48);
  const Encoded deployment(kTagW160, {2, 1, 1, 0, 5, 0, {6, 9, 1, true, true}}, engine, {.seeded = true});
  auto rng = Rng::from_os().value();
  std::set<std::string> seen;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const std::vector<std::uint64_t> wanted{i, 5 - i};
    const auto requests = deployment.client->query(wanted, rng)->requests;
    for (std::size_t j = 0; j < 5; ++j) {
      Reader reader(requests[j], "request");
      EXPECT_EQ(MessageHeader::decode(reader)->type, j < 2 ? MessageType::kSeeds : MessageType::kQuery);
      EXPECT_EQ(requests[j].size(), 80 + (j < 2 ? 2 * 32 : 2 * 6 * 21));
      if (j >= 2) continue;
      const ByteSpan body = ByteSpan(requests[j]).subspan(80);
      seen.insert(to_hex(body.first(32)));
      seen.insert(to_hex(body.subspan(32)));
    }
  }
  EXPECT_EQ(seen.size(), 6u * 2 * 2) << "no seed is used twice";
}

TEST(Seeds, ShareOneServerWithVectors) {
  auto engine = pirx::testing::seeded_engine(49);
  const Encoded deployment(kTagGf2_16, {1, 1, 1, 0, 3, 0, {30, 9, 1, true, true}}, engine, {.seeded = true});
  auto rng = Rng::from_os().value();
  const std::vector<std::uint64_t> wanted{3, 4};
  const auto seeds = deployment.client->query(wanted, rng).value();
  const auto vectors = Client(deployment.params()).query(wanted, rng).value();
  auto damaged = seeds.requests[0];
  damaged.pop_back();
  const std::vector<ByteSpan> batch{vectors.requests[0], seeds.requests[0], damaged, vectors.requests[0]};
  const auto replies = deployment.servers[0]->answer(batch);
  for (const std::size_t i : {0u, 1u, 3u}) {
    EXPECT_EQ(replies[i].value(), ask(*deployment.servers[0], batch[i]).value());
  }
  EXPECT_EQ(replies[2].error().code(), ErrorCode::kInvalidArgument);
}

/// Nothing but exactly c seeds for exactly this server is expanded; what it takes is charged as for vectors.
TEST(Seeds, HostileMessagesAreRefused) {
  auto engine = pirx::testing::seeded_engine(50);
  const Encoded deployment(kTagGf2_8, {1, 1, 1, 0, 3, 0, {1000, 1, 1, false, false}}, engine,
                           {.seeded = true});
  auto rng = Rng::from_os().value();
  const std::vector<std::uint64_t> wanted{3, 4};
  const auto request = deployment.client->query(wanted, rng)->requests[0];
  const auto& server = *deployment.servers[0];
  ASSERT_EQ(server.admit(request).value(), 2u);
  EXPECT_GE(server.working_bytes(2), 2u * 1000);
  const auto refused = [&](Bytes bytes, std::string_view part) {
    const auto admitted = server.admit(bytes);
    expect_error(admitted, ErrorCode::kInvalidArgument, part);
    EXPECT_FALSE(ask(server, bytes).has_value());
  };
  for (std::size_t size = 0; size < request.size(); ++size) {
    refused({request.begin(), request.begin() + static_cast<std::ptrdiff_t>(size)}, "");
  }
  auto bytes = request;
  bytes.push_back(std::byte{0});
  refused(bytes, "145 bytes instead of 144");
  const auto change = [&](std::size_t at, unsigned value) {
    auto changed = request;
    changed[at] = static_cast<std::byte>(value);
    return changed;
  };
  refused(change(6, 1), "144 bytes instead of 2080");  // a query of vectors
  refused(change(6, 5), "message type 5");
  refused(change(56, 77), "the server with coordinate");
  refused(change(64, 3), "144 bytes instead of 176");
  refused(change(65, 17), "queries, the most is 4096");
  refused(change(72, 1), "there are 1000 here");
}

TEST(Encodings, ShapeDependsOnTheNumberOfRecordsOnly) {
  auto engine = pirx::testing::seeded_engine(42);
  // Of 6 rows, those with the same index modulo M = 2 collide; q = 2 of all others fit a vector.
  const Encoded colliding(kTagGf2_8, {1, 2, 2, 0, 5, 2, {6, 9, 1, true, true}}, engine);
  const Encoded packed(kTagGf2_8, {1, 2, 2, 0, 5, 6, {6, 9, 1, true, true}}, engine);
  auto rng = Rng::from_os().value();
  for (const std::vector<std::uint64_t>& wanted :
       {std::vector<std::uint64_t>{0, 2, 4}, {0, 1, 2}, {3, 3, 3}, {5, 0, 5}}) {
    EXPECT_EQ(colliding.client->query(wanted, rng)->requests[0].size(), 80u + 3 * 3);
    EXPECT_EQ(packed.client->query(wanted, rng)->requests[0].size(), 80u + 2 * 3);
  }
}

/// Sums of three rows, whatever three: distinct, repeated, in any order.
TEST(RowSums, AreTheSumsOfTheRows) {
  auto engine = pirx::testing::seeded_engine(43);
  for (const auto& field : {kTagGf2_8, kTagGf2_16}) {
    for (int i = 0; i < 40; ++i) {
      const auto set = random_setting(engine);
      SCOPED_TRACE(field.name() + " " + text(set));
      const Encoded deployment(field, set, engine, {.seeded = engine() % 2 == 0});
      const auto& geometry = deployment.params().geometry();
      auto rng = Rng::from_os().value();
      std::vector<std::array<std::uint64_t, 3>> wanted(1 + engine() % 3);
      std::vector<Bytes> truth;
      for (auto& sum : wanted) {
        auto& bytes = truth.emplace_back(static_cast<std::size_t>(geometry.row_bytes()));
        for (auto& row : sum) {
          row = engine() % geometry.rows();
          for (std::size_t b = 0; b < bytes.size(); ++b) {
            bytes[b] ^= deployment.rows.at(static_cast<std::size_t>(row), b);
          }
        }
      }
      for (const std::size_t k : {std::size_t{deployment.params().needed()}, std::size_t{set.l}}) {
        auto query = deployment.client->query_sums(wanted, rng).value();
        EXPECT_EQ(query.requests.back().size(),
                  deployment.client->request_bytes(wanted.size(), QueryKind::kRowSums));
        const auto order = shuffled(set.l, engine);
        const std::size_t spare = k - deployment.params().needed();
        const auto answer =
            decode(deployment, std::move(query), std::span(order).first(k), spare / 2, engine);
        ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
        EXPECT_EQ(answer->records, truth);
        EXPECT_EQ(answer->certainty, spare == 0 ? Certainty::kUnverified : Certainty::kProven)
            << "digests of rows that are added up say nothing";
      }
    }
  }
}

TEST(RowSums, TakeOneVectorOfAPlainDatabaseAndThreeOfAnEncodedOne) {
  auto engine = pirx::testing::seeded_engine(44);
  auto rng = Rng::from_os().value();
  const std::vector<std::array<std::uint64_t, 3>> rows{{0, 1, 5}, {2, 2, 2}};
  const database::Geometry::Spec geometry{6, 9, 1, true, true};
  const auto vectors = [&](const Encoded::Setting& set) {
    const Encoded deployment(kTagGf2_8, set, engine);
    const auto query = deployment.client->query_sums(rows, rng).value();
    Reader reader(query.requests[0], "request");
    return MessageHeader::decode(reader)->queries;
  };
  EXPECT_EQ(vectors({1, 1, 1, 0, 3, 0, geometry}), 2u);
  EXPECT_EQ(vectors({1, 2, 1, 0, 3, 0, geometry}), 1u);
  EXPECT_EQ(vectors({1, 1, 2, 0, 3, 2, geometry}), 6u);
  EXPECT_EQ(vectors({1, 2, 2, 0, 4, 2, geometry}), 6u);
  EXPECT_EQ(vectors({1, 2, 2, 0, 4, 6, geometry}), 3u);
}

TEST(RowSums, AreRefusedOutsideCharacteristicTwoAndBeyondTheRows) {
  auto engine = pirx::testing::seeded_engine(45);
  auto rng = Rng::from_os().value();
  const database::Geometry::Spec geometry{6, 9, 1, true, true};
  const std::vector<std::array<std::uint64_t, 3>> rows{{0, 1, 5}}, beyond{{0, 1, 6}};
  for (const auto& field : {kTagW160, kTagW48, fp::PrimeField::create(64)->tag()}) {
    const Encoded deployment(field, {1, 1, 1, 0, 3, 0, geometry}, engine);
    const auto refused = deployment.client->query_sums(rows, rng);
    expect_error(refused, ErrorCode::kInvalidArgument, "characteristic 2");
  }
  const Encoded deployment(kTagGf2_8, {1, 1, 1, 0, 3, 0, geometry}, engine);
  EXPECT_EQ(deployment.client->query_sums(beyond, rng).error().code(), ErrorCode::kOutOfRange);
  EXPECT_EQ(deployment.client->query_sums({}, rng).error().code(), ErrorCode::kInvalidArgument);
}

TEST(RowSums, AskTheCallersCheck) {
  auto engine = pirx::testing::seeded_engine(46);
  const Encoded deployment(kTagGf2_8, {1, 1, 1, 0, 3, 0, {6, 9, 1, true, true}}, engine);
  auto rng = Rng::from_os().value();
  const std::vector<std::array<std::uint64_t, 3>> rows{{0, 1, 5}};
  auto query = deployment.client->query_sums(rows, rng).value();
  const auto replies = deployment.answer(query.requests);
  auto collector = deployment.client->collect(std::move(query.state), checked_by([](auto) { return false; }));
  for (std::size_t j = 0; j < 3; ++j) ASSERT_TRUE(collector->add(j, replies[j]).has_value());
  EXPECT_EQ(std::move(*collector).finish().error().code(), ErrorCode::kDataLoss);
}

/// A liar beyond what replies prove, found by the caller's check among the sums that fit.
TEST(RowSums, AreSettledByTheCallersCheck) {
  auto engine = pirx::testing::seeded_engine(47);
  for (const Encoded::Setting& set : {Encoded::Setting{1, 1, 1, 0, 3, 0, {6, 9, 1, true, true}},
                                      {1, 1, 2, 0, 4, 2, {6, 9, 1, true, true}}}) {
    const Encoded deployment(kTagGf2_8, set, engine);
    auto rng = Rng::from_os().value();
    const std::vector<std::array<std::uint64_t, 3>> rows{{0, 1, 5}};
    Bytes truth(static_cast<std::size_t>(deployment.params().geometry().row_bytes()));
    for (std::size_t b = 0; b < truth.size(); ++b) {
      truth[b] = deployment.rows.at(0, b) ^ deployment.rows.at(1, b) ^ deployment.rows.at(5, b);
    }
    auto query = deployment.client->query_sums(rows, rng).value();
    auto replies = deployment.answer(query.requests);
    replies[0].back() ^= std::byte{1};
    auto collector = deployment.client->collect(
        std::move(query.state), checked_by([&](auto records) { return records[0] == truth; }));
    for (std::size_t j = 0; j < set.l; ++j) ASSERT_TRUE(collector->add(j, replies[j]).has_value());
    const auto answer = std::move(*collector).finish();
    ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
    EXPECT_EQ(answer->records.at(0), truth);
    EXPECT_EQ(answer->certainty, Certainty::kProbable);
    EXPECT_EQ(answer->servers[0], ServerStatus::kSuspected);
  }
}

/// Liars who each say something else, about many sums, leave more to weigh than there is time for: by the
/// decoder's own limits, or as its caller ends it.
TEST(RowSums, ManyLiarsWithinTheBoundUndoNoAbsence) {
  constexpr std::size_t kLiars = 14, kSums = 100;
  auto engine = pirx::testing::seeded_engine(49);
  const Encoded deployment(kTagGf2_8, {4, 1, 1, 0, 33, 0, {6, 9, 1, true, true}}, engine);
  const std::vector<std::array<std::uint64_t, 3>> rows(kSums, {0, 1, 5});
  const std::vector<std::uint64_t> offsets(kSums);
  Bytes truth(static_cast<std::size_t>(deployment.params().geometry().slot_bytes()));
  for (std::size_t b = 0; b < truth.size(); ++b) {
    truth[b] = deployment.rows.at(0, b) ^ deployment.rows.at(1, b) ^ deployment.rows.at(5, b);
  }
  auto rng = Rng::from_os().value();
  const auto read = [&](std::size_t, std::span<const Bytes> slots) -> Result<Records> {
    for (const auto& slot : slots) {
      if (slot != truth) return fail(ErrorCode::kDataLoss, "no digest fits");
    }
    return Records(slots.size());
  };
  constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
  std::size_t last = kNever;
  for (const auto& [rounds, ended] : {std::pair{1, false}, {1, true}, {2, false}, {2, true}}) {
    SCOPED_TRACE(std::to_string(rounds) + (ended ? " ended" : ""));
    if (!ended) last = kNever;
    std::size_t asked = 0;
    const auto stop = [&] { return ++asked >= last; };
    std::unique_ptr<ReplyCollector> collector;
    for (int round = 0; round < rounds; ++round) {
      auto query = deployment.client->query_sums(rows, rng, offsets).value();
      auto replies = deployment.answer(query.requests);
      for (std::size_t j = 0; j < kLiars; ++j) {
        rng.fill(MutableByteSpan(replies[j]).subspan(MessageHeader::kBytes));
      }
      if (round == 0) {
        collector = deployment.client->collect(std::move(query.state), {std::nullopt, read, true, {}, stop});
      } else {
        ASSERT_TRUE(collector->ask_again(std::move(query.state)).has_value());
      }
      for (std::size_t j = 0; j < replies.size(); ++j) ASSERT_TRUE(collector->add(j, replies[j]).has_value());
    }
    const auto answer = std::move(*collector).finish();
    ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
    EXPECT_EQ(answer->missing.size(), kSums);
    EXPECT_EQ(answer->certainty, Certainty::kProven);
    EXPECT_EQ(std::ranges::count(answer->servers, ServerStatus::kLied), std::ptrdiff_t{kLiars});
    EXPECT_GE(asked, ended ? last : 10'000);
    last = asked / 2;  // what comes before the weighing asks some hundred times
  }
}

/// A sum that is proven to be no record: liars contest that only if they alone are enough to make another.
TEST(RowSums, OneLiarContestsNoAbsence) {
  auto engine = pirx::testing::seeded_engine(48);
  const Encoded deployment(kTagGf2_8, {1, 1, 1, 0, 7, 0, {6, 9, 1, true, true}}, engine);
  const std::vector<std::array<std::uint64_t, 3>> rows{{0, 1, 5}};
  Bytes truth(static_cast<std::size_t>(deployment.params().geometry().slot_bytes()));
  for (std::size_t b = 0; b < truth.size(); ++b) {
    truth[b] = deployment.rows.at(0, b) ^ deployment.rows.at(1, b) ^ deployment.rows.at(5, b);
  }
  auto rng = Rng::from_os().value();
  for (const std::size_t liars : {1u, 2u}) {
    const std::uint64_t offset = 0;
    auto query = deployment.client->query_sums(rows, rng, {&offset, 1}).value();
    auto replies = deployment.answer(query.requests);
    // Each in a word of its own, so that no coins make their lies cancel.
    for (std::size_t j = 0; j < liars; ++j) replies[j][MessageHeader::kBytes + j] ^= std::byte{0x51};
    // Any other slot has a digest that fits.
    const auto read = [&](std::size_t, std::span<const Bytes> slots) -> Result<Records> {
      return Records{slots[0] == truth ? std::nullopt : std::optional(slots[0])};
    };
    auto collector = deployment.client->collect(std::move(query.state), {std::nullopt, read, true});
    for (std::size_t j = 0; j < replies.size(); ++j) ASSERT_TRUE(collector->add(j, replies[j]).has_value());
    const auto answer = std::move(*collector).finish();
    if (liars == 2) {
      expect_error(answer, ErrorCode::kUndecodable);
      continue;
    }
    ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
    EXPECT_EQ(answer->missing, std::vector<std::size_t>{0});
    EXPECT_EQ(answer->certainty, Certainty::kProven);
    EXPECT_EQ(answer->servers[0], ServerStatus::kLied);
  }
}

}  // namespace
}  // namespace pirx::itpir::goldberg
