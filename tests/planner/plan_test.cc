// SPDX-License-Identifier: Apache-2.0
// Plans: exact lengths of messages, arithmetic of totals and crossovers, choices that follow from the link,
// and questions that make no sense. Rates are made up, so that no time is judged.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>

#include "pirx/base/rng.h"
#include "pirx/batchcodes/encoding.h"
#include "pirx/cpir/dj/client.h"
#include "pirx/cpir/qr/client.h"
#include "pirx/database/builder.h"
#include "pirx/itpir/chor/client.h"
#include "pirx/itpir/dpf/client.h"
#include "pirx/itpir/goldberg/client.h"
#include "pirx/planner/planner.h"
#include "pirx/protocol.h"
#include "planner/rates_support.h"
#include "support/files.h"
#include "support/seed.h"
#include "support/serve.h"

namespace pirx::planner {
namespace {

using pirx::testing::expect_error;
using pirx::testing::good;
using pirx::testing::MadeUpRates;

Question small_question() {
  Question question;
  question.records = 4096;
  question.record_bytes = 100;
  question.link = {1e6, 1e7, 0.02};
  question.servers = 3;
  return question;
}

Plan plan_of(const Question& question) {
  MadeUpRates rates;
  auto plan = make_plan(question, rates);
  EXPECT_TRUE(good(plan));
  return std::move(*plan);
}

const Offer* find(const Plan& plan, std::string_view scheme, bool seeded = false) {
  for (const auto& offer : plan.offers) {
    if (offer.protocol == scheme && offer.seeded == seeded) return &offer;
  }
  return nullptr;
}

database::Geometry geometry_for(const Offer& offer, const Question& question) {
  auto geometry = database::Geometry::create({.records = question.records,
                                              .record_bytes = question.record_bytes,
                                              .records_per_row = offer.records_per_row,
                                              .variable_length = false,
                                              .digests = true});
  EXPECT_TRUE(good(geometry));
  return *geometry;
}

std::vector<std::uint32_t> numbers(const std::string& list) {
  std::vector<std::uint32_t> out;
  for (std::size_t at = 0; at < list.size();) {
    std::size_t used = 0;
    out.push_back(static_cast<std::uint32_t>(std::stoul(list.substr(at), &used)));
    at += used + 1;
  }
  return out;
}

/// Two primes, 3 modulo 4: 2^512 - 569 and 2^511 + 2^510 + kLow.
Bytes prime_512(unsigned which) {
  constexpr unsigned kLow = 3739;
  Bytes out(64, which == 0 ? std::byte{0xff} : std::byte{0});
  if (which != 0) out[0] = std::byte{0xc0};
  const unsigned low = which == 0 ? 65536 - 569 : kLow;
  out[62] = static_cast<std::byte>(low >> 8);
  out[63] = static_cast<std::byte>(low & 0xff);
  return out;
}

// What is predicted of several servers' messages is what a client sends and a server must reply.
TEST(PlanTest, BytesOfSeveralServersAreThoseOfRealMessages) {
  auto random = pirx::testing::seeded_engine(1);
  auto rng = Rng::from_os();
  ASSERT_TRUE(rng);
  for (int round = 0; round < 5; ++round) {
    Question question = small_question();
    question.records = 1 + random() % 5000;
    question.record_bytes = 1 + random() % 300;
    question.servers = 2 + static_cast<unsigned>(random() % 5);
    question.collusion = 1 + static_cast<unsigned>(random() % (question.servers - 1));
    question.link.up = std::pow(10.0, 3 + random() % 6);
    const auto plan = plan_of(question);
    std::size_t checked = 0;
    for (const auto& offer : plan.offers) {
      if (offer.servers < 2) continue;
      const auto geometry = geometry_for(offer, question);
      const itpir::ClientOptions options{.seeded = offer.seeded};
      std::unique_ptr<itpir::SharesClient> client;
      if (offer.protocol == "chor") {
        std::vector<std::uint64_t> coordinates;
        for (unsigned server = 1; server <= offer.servers; ++server) coordinates.push_back(server);
        auto params = itpir::chor::Params::create({geometry, {}, coordinates});
        ASSERT_TRUE(good(params));
        client = std::make_unique<itpir::chor::Client>(*params, options);
      } else if (offer.protocol == "dpf") {
        auto params = itpir::dpf::Params::create({geometry, {}, {1, 2}});
        ASSERT_TRUE(good(params));
        client = std::make_unique<itpir::dpf::Client>(*params);
      } else {
        const auto field = *itpir::field_by_name(offer.options.at("field"));
        const auto coordinates = *batchcodes::Encoding::suggested_coordinates(field, offer.servers);
        auto params = itpir::goldberg::Params::create({field, geometry, {}, coordinates, offer.threshold});
        ASSERT_TRUE(good(params));
        client = std::make_unique<itpir::goldberg::Client>(*params, options);
      }
      const std::uint64_t wish[] = {random() % question.records};
      auto query = client->query(wish, *rng);
      ASSERT_TRUE(good(query));
      std::uint64_t up = 0;
      for (const auto& request : query->requests) up += request.size();
      EXPECT_EQ(up, offer.bytes_up) << offer.protocol << " " << offer.settings;
      EXPECT_EQ(client->reply_bytes(1) * offer.servers, offer.bytes_down) << offer.protocol;
      ++checked;
    }
    EXPECT_EQ(checked, question.collusion == 1 ? 6u : 5u);  // dpf hides nothing from two
  }
}

TEST(PlanTest, BytesOfOneServerAreThoseOfRealMessages) {
  auto random = pirx::testing::seeded_engine(2);
  auto rng = Rng::from_os();
  ASSERT_TRUE(rng);
  const auto key =
      cpir::dj::SecretKey::from_primes(prime_512(0), prime_512(1), cpir::dj::KeyPolicy::kPaperReproduction);
  ASSERT_TRUE(good(key));
  const auto blum =
      cpir::qr::SecretKey::from_primes(prime_512(0), prime_512(1), cpir::dj::KeyPolicy::kPaperReproduction);
  ASSERT_TRUE(good(blum));
  for (int round = 0; round < 4; ++round) {
    Question question = small_question();
    question.servers = 1;
    question.records = 1 + random() % 3000;
    question.record_bytes = 1 + random() % 300;
    question.modulus_bits = 1024;
    question.reproduction = true;
    question.link = {std::pow(10.0, 3 + random() % 6), 1e6, 0.02};
    const auto plan = plan_of(question);
    const Offer* tree = find(plan, "dj-tree");
    ASSERT_NE(tree, nullptr);
    auto params = cpir::dj::Params::create({geometry_for(*tree, question),
                                            {},
                                            numbers(tree->options.at("arity")),
                                            1024,
                                            cpir::dj::KeyPolicy::kPaperReproduction});
    ASSERT_TRUE(good(params)) << tree->settings;
    auto client = cpir::dj::Client::create(*params, *key);
    ASSERT_TRUE(good(client));
    auto request = client->query(random() % params->rows(), *rng);
    ASSERT_TRUE(good(request));
    EXPECT_EQ(request->size(), tree->bytes_up);
    EXPECT_EQ(params->reply_bytes(), tree->bytes_down);

    const Offer* qr = find(plan, "qr");
    ASSERT_NE(qr, nullptr);
    auto matrix = cpir::qr::Params::create({geometry_for(*qr, question),
                                            {},
                                            std::stoull(qr->options.at("slots")),
                                            1024,
                                            cpir::dj::KeyPolicy::kPaperReproduction});
    ASSERT_TRUE(good(matrix));
    auto asker = cpir::qr::Client::create(*matrix, *blum);
    ASSERT_TRUE(good(asker));
    auto asked = asker->query(0, *rng);
    ASSERT_TRUE(good(asked));
    EXPECT_EQ(asked->size(), qr->bytes_up);
    EXPECT_EQ(matrix->reply_bytes(), qr->bytes_down);
  }
}

/// A database in `folder`, of records that are all 'x'.
std::shared_ptr<const database::Database> build(const testing::TemporaryFolder& folder,
                                                const Question& question, bool with_keys,
                                                const database::BuildOptions& options) {
  auto builder = *database::DatabaseBuilder::create(folder / "db", options);
  const Bytes record(question.record_bytes, std::byte{'x'});
  for (std::uint64_t i = 0; i < question.records; ++i) {
    EXPECT_TRUE(good(with_keys ? builder.add("key " + std::to_string(i), record) : builder.add(record)));
  }
  EXPECT_TRUE(good(builder.finish()));
  return *database::Database::open(folder / "db");
}

// Every piece is a message, and rows have padding, digests and checksums.
TEST(PlanTest, BytesAndRoundTripsOfADownloadAreThoseOfRealMessages) {
  struct Case {
    std::uint64_t records, record_bytes;
    bool there, keys;
    std::uint64_t pieces;
  };
  for (const Case& c :
       {Case{1, 1, false, false, 2}, Case{20'000, 1, false, false, 2}, Case{50'000, 100, false, false, 3},
        Case{20'000, 1, true, false, 2}, Case{20'000, 1, true, true, 2}}) {
    Question question = small_question();
    question.records = c.records;
    question.record_bytes = c.record_bytes;
    const testing::TemporaryFolder folder;
    const auto database = build(folder, question, c.keys,
                                {.fixed_record_bytes = c.there ? 0 : c.record_bytes, .digests = true});
    if (c.there) {
      question.geometry = database->geometry();
      question.key_index_bytes = database->key_index_bytes();
    }
    const auto plan = plan_of(question);
    const Offer* offer = find(plan, "download");
    ASSERT_NE(offer, nullptr);
    EXPECT_EQ(plan.download(), offer);
    EXPECT_EQ(offer->records_per_row, database->geometry().spec().records_per_row);
    auto deployed = testing::deploy(**find_protocol("download"), database, 1);
    ASSERT_TRUE(good(deployed));
    const auto client = join(*deployed->plan, {}, {});
    ASSERT_TRUE(good(client));
    auto retrieval = *(*client)->retrieve(std::vector<std::uint64_t>{0}, {}, *Rng::from_os());
    std::uint64_t up = 0, down = 0, round_trips = 0;
    for (auto wave = retrieval->outgoing(); !wave->empty(); wave = retrieval->outgoing()) {
      const auto& message = wave->at(0);
      const auto reply = testing::ask(*deployed->servers[0], message.bytes);
      ASSERT_TRUE(good(reply));
      up += message.bytes.size();
      down += reply->size();
      ++round_trips;
      ASSERT_TRUE(good(retrieval->receive(message.id, *reply)));
    }
    EXPECT_EQ(offer->bytes_once_up, up);
    EXPECT_EQ(offer->bytes_once, down);
    EXPECT_EQ(offer->round_trips_once, round_trips);
    EXPECT_EQ(round_trips, c.pieces);
    EXPECT_EQ(offer->bytes_up + offer->bytes_down + offer->round_trips, 0u);
    EXPECT_DOUBLE_EQ(total_seconds(*offer, question, question.link),
                     8.0 * static_cast<double>(up) / question.link.up +
                         8.0 * static_cast<double>(down) / question.link.down +
                         static_cast<double>(round_trips) * question.link.round_trip);
  }
}

// Many short records: their digests make a download many times as long as they are.
TEST(PlanTest, ADownloadOfShortRecordsIsNotRecommended) {
  Question question = small_question();
  question.servers = 1;
  question.records = 262'144;
  question.record_bytes = 1;
  question.link = {1e6, 1e7, 0.04};
  const auto plan = plan_of(question);
  EXPECT_NE(plan.offers.front().protocol, "download") << plan.advice;
  EXPECT_GT(total_seconds(*plan.download(), question, question.link), 3.5);
}

TEST(PlanTest, KeysAndMasksTakeRoundTrips) {
  Question question = small_question();
  question.servers = 1;
  const auto plan = plan_of(question);
  EXPECT_EQ(find(plan, "spiral")->round_trips_once, 2u);  // one is a query that is refused for want of keys
  EXPECT_EQ(find(plan, "inspire")->round_trips_once, 1u);
  EXPECT_EQ(find(plan, "dj-tree")->round_trips_once, 0u);
}

TEST(PlanTest, TotalsAddUp) {
  Question question = small_question();
  Offer offer;
  offer.bytes_up = 1000;
  offer.bytes_down = 3000;
  offer.bytes_once = 50000;
  offer.bytes_once_up = 7000;
  offer.server_seconds = 0.5;
  offer.client_seconds = 0.25;
  offer.ahead_seconds = 0.125;
  offer.prepare_seconds = 4;
  offer.round_trips = 3;
  offer.round_trips_once = 16;
  question.queries = 8;
  question.link = {8e3, 16e3, 0.1};
  const double once = 8 * 50000 / 16e3 + 8 * 7000 / 8e3 + 4 + 1.6;
  EXPECT_DOUBLE_EQ(total_seconds(offer, question, question.link),
                   0.3 + 1 + 1.5 + 0.5 + 0.25 + 0.125 + once / 8);
  question.ahead = true;
  EXPECT_DOUBLE_EQ(total_seconds(offer, question, question.link), 0.3 + 1 + 1.5 + 0.5 + 0.25 + once / 8);
}

// At the crossover, so many queries take as long as the download.
TEST(PlanTest, CrossoverIsWhereTotalsMeet) {
  Question question = small_question();
  for (const std::uint64_t queries : {std::uint64_t{1}, std::uint64_t{3}}) {
    question.queries = queries;
    const auto plan = plan_of(question);
    const Offer* download = find(plan, "download");
    ASSERT_NE(download, nullptr);
    std::size_t met = 0;
    for (const auto& offer : plan.offers) {
      const auto at = crossover(plan, offer, queries);
      if (offer.protocol == "download" || !at) continue;
      if (std::isinf(*at)) {  // fewer bytes and fewer round trips
        EXPECT_LT(offer.round_trips_once + queries * offer.round_trips, download->round_trips_once);
        continue;
      }
      const Link link{*at * question.link.up / question.link.down, *at, question.link.round_trip};
      const auto q = static_cast<double>(queries);
      EXPECT_NEAR(q * total_seconds(offer, question, link), q * total_seconds(*download, question, link),
                  1e-9 * q * total_seconds(offer, question, link))
          << offer.protocol;
      ++met;
    }
    EXPECT_GE(met, queries == 1 ? 1u : 3u);
  }
}

// Each query has its round trip, and a download some for all of them.
TEST(PlanTest, RankingAndAdviceAgreeWithTheCrossover) {
  Question question = small_question();
  question.records = 65536;
  question.queries = 50;
  question.link.round_trip = 1;
  std::size_t pays = 0, pays_not = 0;
  for (int exponent = 4; exponent < 9; ++exponent) {
    question.link.up = question.link.down = std::pow(10, exponent);
    const auto plan = plan_of(question);
    const auto& best = plan.offers.front();
    const auto download =
        std::find_if(plan.offers.begin(), plan.offers.end(), [](const Offer& o) { return o.whole; });
    for (auto offer = plan.offers.begin(); offer != plan.offers.end(); ++offer) {
      if (offer == download) continue;
      const auto below = crossover(plan, *offer, question.queries);
      EXPECT_EQ(offer<download, below&& * below> question.link.down) << offer->protocol << " 1e" << exponent;
      ++(offer < download ? pays : pays_not);
    }
    if (best.whole) continue;
    char times[64];
    std::snprintf(
        times, sizeof times, ", %.3g times faster",
        total_seconds(*download, question, question.link) / total_seconds(best, question, question.link));
    EXPECT_NE(plan.advice.find(times), std::string::npos) << plan.advice;
  }
  EXPECT_GT(pays, 0u);
  EXPECT_GT(pays_not, 0u);
}

TEST(PlanTest, CrossoverKnowsNeverAndAlways) {
  constexpr double kAlways = std::numeric_limits<double>::infinity();
  auto plan = plan_of(small_question());
  Offer offer;
  offer.bytes_down = plan.download()->bytes_once;
  offer.bytes_up = plan.download()->bytes_once_up;
  EXPECT_EQ(crossover(plan, offer, 1), std::nullopt);
  offer.bytes_down = 1;
  EXPECT_EQ(crossover(plan, offer, 1), kAlways);
  // The download takes more round trips than this computes.
  offer.server_seconds = 0.5 * plan.question.link.round_trip;
  EXPECT_EQ(crossover(plan, offer, 1), kAlways);
  offer.server_seconds = 1e9;
  EXPECT_LT(*crossover(plan, offer, 1), 1);
  std::erase_if(plan.offers, [](const Offer& of) { return of.whole; });
  EXPECT_EQ(crossover(plan, offer, 1), kAlways);
}

TEST(PlanTest, FastLinksDownload) {
  Question question = small_question();
  question.link = {1e15, 1e15, 0};
  const auto fast = plan_of(question);
  EXPECT_EQ(fast.offers.front().protocol, "download");
  EXPECT_EQ(fast.advice.find("Download the database"), 0u) << fast.advice;
  question.link = {1e4, 1e4, 0};
  question.records = 100000;
  const auto slow = plan_of(question);
  EXPECT_NE(slow.offers.front().protocol, "download");
  EXPECT_EQ(slow.advice.find("Use "), 0u) << slow.advice;
  // The fastest first.
  for (std::size_t i = 1; i < slow.offers.size(); ++i) {
    EXPECT_LE(total_seconds(slow.offers[i - 1], question, question.link),
              total_seconds(slow.offers[i], question, question.link));
  }
}

// Few selectors where bytes are dear, wide leaves where work is.
TEST(PlanTest, ArityFollowsTheLink) {
  Question question = small_question();
  question.servers = 1;
  question.records = 65536;
  question.record_bytes = 300;
  question.ahead = true;
  question.link = {1e4, 1e4, 0};
  const auto slow = plan_of(question);
  question.link = {1e8, 1e8, 0};
  const auto fast = plan_of(question);
  const Offer *thrifty = find(slow, "dj-tree"), *hasty = find(fast, "dj-tree");
  ASSERT_NE(thrifty, nullptr);
  ASSERT_NE(hasty, nullptr);
  EXPECT_LT(thrifty->bytes_up, hasty->bytes_up) << thrifty->settings << "; " << hasty->settings;
  EXPECT_GE(thrifty->server_seconds, hasty->server_seconds);
}

TEST(PlanTest, OneServerLeavesOthersOutAndSaysWhy) {
  Question question = small_question();
  question.servers = 1;
  const auto plan = plan_of(question);
  EXPECT_EQ(plan.offers.size(), 5u);
  EXPECT_EQ(plan.left_out.size(), 6u);
  for (const auto& [scheme, why] : plan.left_out)
    EXPECT_NE(why.find("two servers"), std::string::npos) << scheme;
}

TEST(PlanTest, AGivenGeometryIsKept) {
  Question question = small_question();
  auto geometry = database::Geometry::create(
      {.records = question.records, .record_bytes = question.record_bytes, .records_per_row = 7});
  ASSERT_TRUE(good(geometry));
  question.geometry = *geometry;
  for (const auto& offer : plan_of(question).offers) EXPECT_EQ(offer.records_per_row, 7u) << offer.protocol;
  question.records = 5;
  expect_error(check(question), ErrorCode::kInvalidArgument, "other records");
}

TEST(PlanTest, OneTinyRecordIsPlannedFor) {
  Question question = small_question();
  question.records = question.record_bytes = 1;
  EXPECT_EQ(plan_of(question).left_out.size(), 0u);
}

TEST(PlanTest, ImpossibleQuestionsAreRefused) {
  MadeUpRates rates;
  const auto refused = [&](const std::function<void(Question&)>& spoil, std::string_view part) {
    Question question = small_question();
    spoil(question);
    expect_error(make_plan(question, rates), ErrorCode::kInvalidArgument, part);
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  refused([](Question& q) { q.records = 0; }, "no records");
  refused([](Question& q) { q.record_bytes = 0; }, "no bytes");
  refused([](Question& q) { q.records = q.record_bytes = std::uint64_t{1} << 40; }, "2^56");
  refused([](Question& q) { q.records = std::uint64_t{1} << 60; }, "2^56");
  for (const double bad : {0.0, -1.0, kInfinity, std::nan(""), 1e16}) {
    refused([&](Question& q) { q.link.up = bad; }, "bandwidth up");
    refused([&](Question& q) { q.link.down = bad; }, "bandwidth down");
  }
  for (const double bad : {-1e-9, 1e5, std::nan("")}) {
    refused([&](Question& q) { q.link.round_trip = bad; }, "round trip");
  }
  refused([](Question& q) { q.server_cores = 0; }, "cores");
  refused([](Question& q) { q.client_cores = 5000; }, "cores");
  refused([](Question& q) { q.servers = 0; }, "servers");
  refused([](Question& q) { q.servers = 2000; }, "servers");
  refused([](Question& q) { q.collusion = 0; }, "collusion");
  refused([](Question& q) { q.collusion = 3; }, "all 3 servers");
  refused([](Question& q) { q.queries = 0; }, "queries");
  refused([](Question& q) { q.modulus_bits = 1024; }, "1024");
  refused([](Question& q) { q.modulus_bits = 3000; }, "3000");
}

// The largest questions that are allowed are answered or left out, without overflow.
TEST(PlanTest, AbsurdSizesAreNoTrouble) {
  for (const int log_records : {0, 20, 40, 55}) {
    Question question = small_question();
    question.records = std::uint64_t{1} << log_records;
    question.record_bytes = (std::uint64_t{1} << (55 - log_records));
    const auto plan = plan_of(question);
    std::size_t schemes = 0;
    for (const Protocol* protocol : protocols()) schemes += protocol->schemes.size();
    EXPECT_EQ(plan.offers.size() + plan.left_out.size(), schemes);
    for (const auto& offer : plan.offers) {
      EXPECT_TRUE(std::isfinite(total_seconds(offer, question, question.link))) << offer.protocol;
      EXPECT_GT(total_seconds(offer, question, question.link), 0) << offer.protocol;
    }
  }
}

// A protocol that took the name of another one's step would get its rates.
// A measurement that gives no time ends the plan. If it only left out the settings that need it, the same
// question would get another plan the next time.
TEST(PlanTest, ASpoiledMeasurementIsNoReasonToLeaveSomethingOut) {
  class Spoiled final : public Rates {
   public:
    Result<double> seconds(const RateId& id) override {
      if (id.step != "inspire_block" || measured_) return rates_.seconds(id);
      measured_ = true;
      PIRX_TRY(RateTable().set(id, 0));
      return 0;
    }

   private:
    MadeUpRates rates_;
    bool measured_ = false;
  } rates;
  expect_error(make_plan(small_question(), rates), ErrorCode::kUnavailable, "inspire_block");
}

TEST(RatesTest, NamesOfStepsAreUnique) {
  std::map<std::string_view, decltype(Step::measure)> steps;
  for (const Protocol* protocol : protocols()) {
    for (const Step& step : protocol->steps) {
      EXPECT_EQ(steps.emplace(step.name, step.measure).first->second, step.measure) << step.name;
    }
  }
  EXPECT_GT(steps.size(), 20u);
}

TEST(RatesTest, NamesComeBack) {
  for (const RateId& id : {RateId{"dj_product", {3072, 2, 7}}, RateId{"scan", {8, 20, 2}},
                           RateId{"gather", {160, 5, 2, 14}}, RateId{"hash", {6}}}) {
    const auto back = parse_rate(id.name());
    ASSERT_TRUE(good(back));
    EXPECT_EQ(*back, id);
  }
  for (const char* bad : {"", "hash", "hash/", "hash/1/2", "dj_product", "dj_product/1", "dj_product/1/2/3/4",
                          "dj_product/1/-2", "dj_product/1/99999999999", "other/1", "scan/8/20/2x"}) {
    expect_error(parse_rate(bad), ErrorCode::kDataLoss, "no rate");
  }
}

// Rates in proportion to a size come back in proportion, between the sizes that are measured and beyond.
TEST(RatesTest, SizesBetweenAreInterpolated) {
  class Linear final : public Rates {
    Result<double> seconds(const RateId& id) override {
      return 1e-9 * static_cast<double>(std::uint64_t{1} << id.of[1]);
    }
  } rates;
  constexpr std::uint32_t kGrid[] = {12, 16, 20, 28};
  for (const double size : {5e3, 1e5, 3e6, 5e7, 1e9, 1e12}) {
    const auto seconds = seconds_at(rates, {"scan", {8, 0, 1}}, 1, size, kGrid);
    ASSERT_TRUE(good(seconds));
    EXPECT_NEAR(*seconds, 1e-9 * size, 1e-15 * size);
  }
}

TEST(RatesTest, WhatNobodyHasIsNotMeasured) {
  Machine machine;
  for (const RateId& bad :
       {RateId{"dj_product", {3072, 0, 7}}, RateId{"dj_open", {3072, 11}}, RateId{"dj_product", {1000, 1, 7}},
        RateId{"qr_entry", {7, 8}}, RateId{"qr_entry", {3072, 15}}, RateId{"dj_entry", {3072, 1, 30}},
        RateId{"scan", {7, 12, 1}}, RateId{"scan", {8, 60, 1}}, RateId{"share", {8, 2, 2, 10}},
        RateId{"gather", {8, 0, 1, 10}}, RateId{"other", {}}, RateId{"dj_product", {3072, 1}},
        RateId{"hash", {}}}) {
    expect_error(machine.seconds(bad), ErrorCode::kInvalidArgument, "");
  }
}

}  // namespace
}  // namespace pirx::planner
