// SPDX-License-Identifier: Apache-2.0
// Audits in one process: every verdict, with servers that lie, are silent or hold another database; and that
// what servers get has the same number and sizes for every certificate.
#include "examples/ct/audit.h"

#include <gtest/gtest.h>

#include "examples/ct/files.h"
#include "examples/ct/log.h"
#include "pirx/database/builder.h"
#include "pirx/itpir/goldberg/server.h"
#include "support/files.h"
#include "support/seed.h"

namespace pirx::ct {
namespace {

using testing::expect_error;
using testing::good;

enum class Mood { kHonest, kLies, kSilent, kForged };

/// A log of generated certificates, its database behind so many servers, and a second database with forged
/// proofs.
class World {
 public:
  World(std::uint64_t leaves, bool by_index, std::size_t servers, unsigned threshold)
      : moods(servers, Mood::kHonest), threshold_(threshold), generator_(*CertificateGenerator::create()) {
    check(Log::create(folder_ / "log"));
    auto log = *Log::open(folder_ / "log");
    check(log.append({}, leaves, 1000));
    publication = log.build_database(folder_ / "db", {.levels = 3, .by_index = by_index})->publication;
    build_forged(by_index);
    for (std::size_t i = 0; i < servers; ++i) {
      urls_.push_back("http://127.0.0.1:" + std::to_string(i + 1));
      honest_.push_back(serve("db", i + 1));
      forged_.push_back(serve("forged", i + 1));
    }
  }

  Certificate certificate(std::uint64_t number) const { return *parse_certificate(generator_.make(number)); }

  Result<Audit> audit(const Certificate& certificate, AuditOptions options = {}) {
    sent.clear();
    PIRX_ASSIGN(const auto deployment, make_deployment(publication, urls_, threshold_));
    PIRX_ASSIGN(auto fetcher, make_client(publication, deployment, false,
                                          [this](const auto& requests, const auto&, const auto& on_settled) {
                                            return answer(requests, on_settled);
                                          }));
    return ct::audit(publication, certificate, fetcher, options);
  }

  Publication publication = {.head = {},
                             .geometry = *database::Geometry::create({.records = 1, .record_bytes = 1})};
  std::vector<Mood> moods;
  bool all_forged =
      false;  ///< the log itself is the forger: all servers hold the forged database, under its own name
  std::vector<std::vector<std::size_t>> sent;  ///< sizes of the requests of each round

 private:
  template <class T>
  static void check(const Result<T>& result) {
    if (!result) throw std::runtime_error(result.error().to_string());
  }
  std::unique_ptr<AnyServer> serve(const char* name, std::uint64_t coordinate) {
    auto db = database::Database::open(folder_ / name);
    check(db);
    auto server = itpir::goldberg::make_server(*db, {.coordinate = coordinate, .threads = 1});
    check(server);
    return std::move(*server);
  }
  /// The same records in the same layout, in each of which one bit of the first hash is wrong.
  void build_forged(bool by_index) {
    const auto db = *database::Database::open(folder_ / "db");
    auto builder = *database::DatabaseBuilder::create(
        folder_ / "forged",
        {.fixed_record_bytes = db->geometry().record_bytes(),
         .keyed = !by_index,
         .seed = by_index ? std::nullopt : std::optional(db->geometry().spec().filter->seed)});
    for (std::uint64_t i = 0; i < publication.head.tree_size; ++i) {
      const auto key = certificate_key(sha256(generator_.make(i)));
      const auto honest = by_index ? *db->record(i) : ByteSpan();
      Bytes record = by_index ? Bytes(honest.begin(), honest.end()) : **db->lookup(key);
      record[20] ^= std::byte{1};
      check(by_index ? builder.add(record) : builder.add(key, record));
    }
    check(builder.finish());
  }
  std::vector<http::CallOutcome> answer(const std::vector<Bytes>& requests,
                                        const http::HttpTransport::OnSettled& on_settled) {
    auto& sizes = sent.emplace_back();
    std::vector<http::CallOutcome> outcomes;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      sizes.push_back(requests[i].size());
      outcomes.push_back({.reply = fail(ErrorCode::kUnavailable, "no answer in time")});
      if (moods[i] == Mood::kSilent) {
        on_settled(i, outcomes[i]);
        continue;
      }
      const auto& server = (all_forged || moods[i] == Mood::kForged) ? forged_[i] : honest_[i];
      Bytes request = requests[i];
      // A conspirator answers from its own database under the other's name; where all do, the client asks for
      // that one.
      const auto name = [](const AnyServer& s) {
        return itpir::ServerParameters::decode(s.parameters())->version;
      };
      rename(request, name(*server));
      const ByteSpan span = request;
      outcomes[i].reply = server->answer({&span, 1}).front();
      if (outcomes[i].reply) {
        rename(*outcomes[i].reply, publication.version);
        if (moods[i] == Mood::kLies) {
          auto engine = testing::seeded_engine(i);
          for (std::size_t at = itpir::MessageHeader::kBytes; at < outcomes[i].reply->size(); ++at) {
            (*outcomes[i].reply)[at] ^= static_cast<std::byte>(engine());
          }
        }
      }
      if (on_settled(i, outcomes[i])) break;
    }
    while (outcomes.size() < requests.size())
      outcomes.push_back({.reply = fail(ErrorCode::kUnavailable, "abandoned")});
    return outcomes;
  }
  /// Puts another database's identity and epoch into a message (docs/wire_format.md section 2).
  static void rename(Bytes& message, const database::Version& version) {
    std::copy(version.identity.begin(), version.identity.end(), message.begin() + 16);
    store_le(message.data() + 48, version.epoch);
  }

  testing::TemporaryFolder folder_;
  unsigned threshold_;
  std::vector<std::string> urls_;
  CertificateGenerator generator_;
  std::vector<std::unique_ptr<AnyServer>> honest_, forged_;
};

TEST(Audit, EveryCertificateIsFoundByItsFingerprint) {
  World world(21, false, 3, 1);
  for (std::uint64_t i = 0; i < 21; ++i) {
    const auto report = world.audit(world.certificate(i));
    ASSERT_TRUE(good(report)) << i;
    EXPECT_EQ(report->verdict, Verdict::kIncluded) << i;
    EXPECT_EQ(report->inclusion.index, i);
  }
}

TEST(Audit, ByIndex) {
  World world(21, true, 3, 1);
  for (const std::uint64_t i : {0u, 7u, 20u}) {
    const auto report = world.audit(world.certificate(i), {.index = i});
    ASSERT_TRUE(good(report)) << i;
    EXPECT_EQ(report->verdict, Verdict::kIncluded) << i;
  }
  EXPECT_EQ(world.audit(world.certificate(3), {.index = 4})->verdict, Verdict::kForged);
  expect_error(world.audit(world.certificate(3), {.index = 21}), ErrorCode::kOutOfRange, "");
  expect_error(world.audit(world.certificate(3)), ErrorCode::kInvalidArgument, "--index");
  World keyed(21, false, 3, 1);
  expect_error(keyed.audit(keyed.certificate(3), {.index = 3}), ErrorCode::kInvalidArgument,
               "leave --index away");
}

TEST(Audit, AbsentIsProvenAndLooksLikePresent) {
  World world(21, false, 4, 1);
  const auto there = world.audit(world.certificate(5), {.wait_for_all = true});
  ASSERT_TRUE(good(there));
  const auto sent = world.sent;
  ASSERT_EQ(sent.size(), 1u);
  for (const std::uint64_t absent : {100u, 101u, 102u, 103u}) {
    const auto report = world.audit(world.certificate(absent), {.wait_for_all = true});
    ASSERT_TRUE(good(report));
    EXPECT_EQ(report->verdict, Verdict::kAbsent);
    EXPECT_EQ(report->certainty, Certainty::kProven);
    EXPECT_GE(report->proof_bound, 1u);
    EXPECT_EQ(world.sent, sent) << "rounds or sizes of requests differ";
  }
}

TEST(Audit, TrafficDoesNotDependOnTheRecordEvenUnderLies) {
  // With a liar, and with the log's own forgery: rounds and sizes are the same for present, absent and
  // forged.
  for (const bool forged : {false, true}) {
    World world(21, false, 4, 1);
    world.all_forged = forged;
    world.moods[2] = Mood::kLies;
    std::optional<std::vector<std::vector<std::size_t>>> sent;
    for (const std::uint64_t number : {0u, 20u, 100u, 101u}) {
      ASSERT_TRUE(good(world.audit(world.certificate(number), {.wait_for_all = true})));
      if (!sent) sent = world.sent;
      EXPECT_EQ(world.sent, *sent) << number;
    }
  }
}

TEST(Audit, LiarsAreNamedAndPresenceNeedsNoMajority) {
  World world(21, false, 4, 1);
  world.moods[1] = Mood::kLies;
  auto report = world.audit(world.certificate(5), {.wait_for_all = true});
  ASSERT_TRUE(good(report));
  EXPECT_EQ(report->verdict, Verdict::kIncluded);
  EXPECT_EQ(report->servers[1].status, ServerStatus::kLied);
  report = world.audit(world.certificate(100), {.wait_for_all = true});
  ASSERT_TRUE(good(report));
  EXPECT_EQ(report->verdict, Verdict::kAbsent);
  EXPECT_EQ(report->servers[1].status, ServerStatus::kLied);

  // Two replies of two: no redundancy at all, but the proof leads to the signed root.
  world.moods = {Mood::kHonest, Mood::kSilent, Mood::kHonest, Mood::kSilent};
  report = world.audit(world.certificate(5));
  ASSERT_TRUE(good(report));
  EXPECT_EQ(report->verdict, Verdict::kIncluded);
  EXPECT_EQ(report->servers[1].status, ServerStatus::kSilent);
  // Half of the servers answer from a forged database: no majority, and still the proof decides.
  world.moods = {Mood::kForged, Mood::kForged, Mood::kHonest, Mood::kHonest};
  report = world.audit(world.certificate(5), {.wait_for_all = true});
  ASSERT_TRUE(good(report));
  EXPECT_EQ(report->verdict, Verdict::kIncluded);
}

TEST(Audit, TooFewOrLyingIsNeverAVerdict) {
  World world(21, false, 4, 1);
  // Of two replies an absence cannot be told from a lie.
  world.moods = {Mood::kHonest, Mood::kSilent, Mood::kHonest, Mood::kSilent};
  auto report = world.audit(world.certificate(100));
  ASSERT_TRUE(good(report));
  EXPECT_EQ(report->verdict, Verdict::kUndecided);
  world.moods = {Mood::kLies, Mood::kSilent, Mood::kHonest, Mood::kSilent};
  report = world.audit(world.certificate(5));
  ASSERT_TRUE(good(report));
  EXPECT_EQ(report->verdict, Verdict::kUndecided);
  // Two liars who show a wrong proof with right digests are no evidence against the log.
  world.moods = {Mood::kForged, Mood::kSilent, Mood::kForged, Mood::kSilent};
  report = world.audit(world.certificate(5));
  ASSERT_TRUE(good(report));
  EXPECT_EQ(report->verdict, Verdict::kUndecided);
  EXPECT_NE(report->reason.find("does not lead"), std::string::npos) << report->reason;
  // Fewer than can answer, or more liars than can be told apart.
  world.moods = {Mood::kHonest, Mood::kSilent, Mood::kSilent, Mood::kSilent};
  expect_error(world.audit(world.certificate(5)), ErrorCode::kUndecodable, "http://127.0.0.1:2: ");
  world.moods = {Mood::kLies, Mood::kLies, Mood::kHonest, Mood::kLies};
  expect_error(world.audit(world.certificate(5), {.wait_for_all = true}), ErrorCode::kUndecodable, "");
}

TEST(Audit, ForgedProofsAreCaught) {
  for (const bool by_index : {false, true}) {
    World world(21, by_index, 4, 1);
    world.all_forged = true;
    for (const std::uint64_t i : {0u, 11u, 20u}) {
      AuditOptions options{.wait_for_all = true};
      if (by_index) options.index = i;
      const auto report = world.audit(world.certificate(i), options);
      ASSERT_TRUE(good(report));
      EXPECT_EQ(report->verdict, Verdict::kForged);
      EXPECT_NE(report->reason.find("does not lead"), std::string::npos) << report->reason;
    }
  }
}

TEST(Audit, PublicationsAndServersThatDoNotFit) {
  World world(21, false, 3, 1);
  auto& publication = world.publication;
  const std::vector<std::string> urls = {"http://127.0.0.1:1", "http://127.0.0.1:2"};
  expect_error(make_deployment(publication, {"http://127.0.0.1:1", "http://127.0.0.1:1"}, 1),
               ErrorCode::kInvalidArgument, "listed twice");
  expect_error(make_deployment(publication, urls, 2), ErrorCode::kInvalidArgument, "");
  auto deployment = make_deployment(publication, urls, 1);
  ASSERT_TRUE(good(deployment));
  EXPECT_TRUE(good(make_client(publication, *deployment)));
  auto other = publication;
  other.version.epoch += 9;
  expect_error(make_client(other, *deployment), ErrorCode::kStaleEpoch, "another database");
  other = publication;
  ++other.levels;
  expect_error(make_client(other, *deployment), ErrorCode::kDataLoss, "length");
  other = publication;
  auto spec = other.geometry.spec();
  ++spec.records_per_row;
  spec.filter.reset();
  other.geometry = *database::Geometry::create(spec);
  expect_error(make_client(other, *deployment), ErrorCode::kDataLoss, "shape");
  PlanSpec coded{*Options::create(deployment->plan->protocol().members,
                                  {{"field", "gf2_8"}, {"threshold", "1"}, {"code", "subcube:2,1"}}, ""),
                 other.geometry, publication.version, deployment->plan->coordinates()};
  const auto plan = deployment->plan->protocol().plan(coded);
  ASSERT_TRUE(good(plan));
  deployment->plan = *plan;
  expect_error(make_client(publication, *deployment), ErrorCode::kInvalidArgument, "batch code");
}

}  // namespace
}  // namespace pirx::ct
