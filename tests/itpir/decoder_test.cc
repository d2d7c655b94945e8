// SPDX-License-Identifier: Apache-2.0
// Robust decoding as a client does it: sessions of queries against liars of every kind, at every number of
// them that is a border. What is promised is what is asserted: inside the unique radius always proven and the
// liars named, from one query; up to k - d - 2 proven after a few blinded ones; never proven and wrong inside
// the bound.
#include <set>

#include "checked_by.h"
#include "deployment.h"
#include "itpir/goldberg/decoding/proof.h"
#include "pirx/batchcodes/fields.h"
#include "support/tiny_field.h"

namespace pirx::itpir::goldberg {
namespace {

using testing::Code;
using testing::Deployment;
using testing::EngineSource;
using testing::expect_error;
using testing::range;
using testing::tamper;

/// Of the replies' polynomials.
template <class F>
unsigned degree_of(const Deployment<F>& deployment) {
  return testing::encoding_of(deployment.spec()).degree();
}

/// So many of k servers, at random.
std::vector<std::size_t> some_of(std::size_t k, std::size_t count, std::mt19937_64& engine) {
  auto servers = range(k);
  std::shuffle(servers.begin(), servers.end(), engine);
  servers.resize(count);
  return servers;
}

template <class F>
typename F::Sum random_nonzero(const F& f, std::mt19937_64& engine) {
  EngineSource rng{engine};
  for (;;) {
    const auto value = pirx::testing::random_element(f, rng);
    if (!f.equal(value, f.zero())) return value;
  }
}

enum class Lie {
  kGarbage,
  kOneBit,
  kSameShift,
  kScaledCopies,
  kDisjointWords,
  kLowDegree,      // a polynomial of their own
  kThroughHonest,  // one that passes through d honest servers
  kStaleDatabase,  // and they hide its epoch
  kSwapped,        // the replies to two queries
  kReplayed,       // the reply to an earlier query
  kAllZero,
  kSometimes,   // some words of some queries
  kRoaming,     // some of them in every query
  kSelective,   // when the share has a property
  kSameSecret,  // a line through 0, so that the record stays right; in tests of its own
};
constexpr Lie kLies[] = {Lie::kGarbage,       Lie::kOneBit,    Lie::kSameShift,     Lie::kScaledCopies,
                         Lie::kDisjointWords, Lie::kLowDegree, Lie::kThroughHonest, Lie::kStaleDatabase,
                         Lie::kSwapped,       Lie::kReplayed,  Lie::kAllZero,       Lie::kSometimes,
                         Lie::kRoaming,       Lie::kSelective};

template <class F>
struct Lies : Deployment<F>::Exchange {
  std::vector<bool> altered;  ///< whose reply is not the honest one
};

/// A query whose replies `liars` of the servers falsify in one of the ways above.
template <class F>
Lies<F> lie(const Deployment<F>& deployment, std::span<const std::uint64_t> wanted, Lie kind,
            std::span<const std::size_t> liars, std::mt19937_64& engine, Blinding blinding = Blinding::kOn) {
  const F& f = deployment.field();
  EngineSource rng{engine};
  Lies<F> result{deployment.exchange(wanted, engine, blinding), {}};
  auto& replies = result.replies;
  const auto truth = replies;
  const std::size_t words = (replies[0].size() - MessageHeader::kBytes) / f.sum_bytes();
  const auto coordinate = [&](std::size_t j) { return f.from_label(deployment.spec().coordinates[j]); };
  const auto liar = [&](std::size_t j) { return std::find(liars.begin(), liars.end(), j) != liars.end(); };

  const auto rows = deployment.rows();
  auto stale = matrix::Matrix<std::byte>::create(rows.rows, rows.cols).value();
  for (std::size_t i = 0; i < rows.rows; ++i) {
    std::copy_n(rows.row(i), rows.cols, stale.row(i));
    for (std::size_t b = 0; b < deployment.spec().geometry.row_bytes(); ++b) {
      stale.at(i, b) ^= static_cast<std::byte>(engine());
    }
  }
  std::vector<typename F::Sum> shared, slope;
  for (std::size_t w = 0; w < words; ++w) {
    shared.push_back(random_nonzero(f, engine));
    slope.push_back(random_nonzero(f, engine));
  }
  const auto earlier = deployment.exchange(wanted, engine, blinding).replies;
  for (std::size_t v = 0; v < liars.size(); ++v) {
    const std::size_t j = liars[v];
    auto& reply = replies[j];
    const auto add = [&](auto&& error) {
      for (std::size_t w = 0; w < words; ++w) tamper(f, reply, w, error(w));
    };
    switch (kind) {
      case Lie::kGarbage:
        add([&](std::size_t) { return pirx::testing::random_element(f, rng); });
        break;
      case Lie::kOneBit:
        tamper(f, reply, engine() % words, f.one());
        break;
      case Lie::kSameShift:
        add([&](std::size_t w) { return shared[w]; });
        break;
      case Lie::kScaledCopies: {
        const auto factor = random_nonzero(f, engine);
        add([&](std::size_t w) { return f.mul(factor, shared[w]); });
        break;
      }
      case Lie::kDisjointWords:
        for (std::size_t w = v; w < words; w += liars.size()) tamper(f, reply, w, random_nonzero(f, engine));
        break;
      case Lie::kLowDegree:
        add([&](std::size_t w) { return f.add(shared[w], f.mul(slope[w], coordinate(j))); });
        break;
      case Lie::kSameSecret:
        add([&](std::size_t w) { return f.mul(slope[w], coordinate(j)); });
        break;
      case Lie::kThroughHonest: {
        auto factor = f.one();
        for (std::size_t i = 0, roots = 0; i < replies.size() && roots < degree_of(deployment); ++i) {
          if (liar(i)) continue;
          factor = f.mul(factor, f.sub(coordinate(j), coordinate(i)));
          ++roots;
        }
        add([&](std::size_t w) { return f.mul(factor, shared[w]); });
        break;
      }
      case Lie::kStaleDatabase:
        reply = deployment.answer(
            *deployment.serve(deployment.spec().coordinates[j], std::as_const(stale).view()),
            result.requests[j]);
        break;
      case Lie::kSwapped: {
        const auto body = reply.begin() + MessageHeader::kBytes;
        const auto vectors = static_cast<std::ptrdiff_t>(deployment.vectors(wanted.size()));
        std::rotate(body, body + (reply.end() - body) / vectors, reply.end());
        break;
      }
      case Lie::kReplayed:
        reply = earlier[j];
        break;
      case Lie::kAllZero:
        std::fill(reply.begin() + MessageHeader::kBytes, reply.end(), std::byte{0});
        break;
      case Lie::kSometimes:
        add([&](std::size_t) { return engine() % 2 ? pirx::testing::random_element(f, rng) : f.zero(); });
        break;
      case Lie::kRoaming:
        if (engine() % 2) add([&](std::size_t w) { return shared[w]; });
        break;
      case Lie::kSelective:
        if (std::to_integer<unsigned>(result.requests[j].back()) % 2)
          add([&](std::size_t w) { return shared[w]; });
        break;
    }
  }
  for (std::size_t j = 0; j < replies.size(); ++j) result.altered.push_back(replies[j] != truth[j]);
  return result;
}

/// What came of a session of queries, as many as the decoder asks for.
struct Outcome {
  Result<Answer> answer = fail(ErrorCode::kInternal, "");
  DecodeReport report;
  std::size_t rounds = 0;
  std::vector<bool> altered;  ///< in any round
  std::size_t liars() const {
    return static_cast<std::size_t>(std::count(altered.begin(), altered.end(), true));
  }
};

template <class F>
Outcome hold_session(const Deployment<F>& deployment, std::span<const std::uint64_t> wanted, Lie kind,
                     std::span<const std::size_t> liars, std::optional<unsigned> declared,
                     std::mt19937_64& engine, Blinding blinding = Blinding::kOn) {
  Outcome outcome;
  outcome.altered.assign(deployment.servers.size(), false);
  std::optional<GoldbergCollector<F>> collector;
  do {
    const auto lies = lie(deployment, wanted, kind, liars, engine, blinding);
    if (!collector) {
      collector.emplace(deployment.collector(wanted, lies.blinding, {declared, {}}));
    } else {
      EXPECT_TRUE(collector->ask_again(testing::records_of(wanted), deployment.scalars(wanted, lies.blinding))
                      .has_value());
    }
    auto order = range(lies.replies.size());
    std::shuffle(order.begin(), order.end(), engine);
    for (const auto j : order) {
      EXPECT_TRUE(collector->add(j, lies.replies[j]).has_value());
      outcome.altered[j] = outcome.altered[j] || lies.altered[j];
      if (engine() % 4 == 0) static_cast<void>(collector->settled(0));
    }
    ++outcome.rounds;
    outcome.report = collector->decode().value();
    if (outcome.liars() == 0) {
      EXPECT_EQ(collector->solver_calls(), 0u);
    }
  } while (outcome.report.status == DecodeStatus::kNeedMoreQueries && outcome.rounds < kMaxRounds);
  outcome.answer = std::move(*collector).finish();
  return outcome;
}

/// One deployment, every kind of lie, every number of liars at a border.
template <class F>
void face_liars(const F& f, unsigned k, unsigned t, bool digests, std::uint64_t stream,
                const Code& code = {}) {
  auto engine = pirx::testing::seeded_engine(stream);
  const Deployment<F> deployment(f, {14, 9, 2, true, digests}, k, t, engine, code);
  const unsigned d = degree_of(deployment), radius = (k - d - 1) / 2, most = k - d - 2;
  for (const Lie kind : kLies) {
    for (const unsigned v : std::set<unsigned>{1, radius, radius + 1, most, k - d - 1, k - d}) {
      if (v == 0) continue;
      for (const bool declare : {false, true}) {
        SCOPED_TRACE(f.tag().name() + " k=" + std::to_string(k) + " t=" + std::to_string(t) +
                     " q=" + std::to_string(code.ramp) + " u=" + std::to_string(code.arity) +
                     " tau=" + std::to_string(code.independence) + " liars=" + std::to_string(v) +
                     (declare ? " declared" : "") + " kind=" + std::to_string(static_cast<int>(kind)));
        const auto liars = some_of(k, v, engine);
        std::vector<std::uint64_t> wanted;  // two query vectors
        std::vector<Bytes> truth;
        for (unsigned i = 0; i < 2 * code.ramp; ++i) {
          wanted.push_back(engine() % 14);
          truth.push_back(deployment.records[wanted.back()]);
        }
        const auto outcome =
            hold_session(deployment, wanted, kind, liars, declare ? std::optional(v) : std::nullopt, engine);
        const auto& answer = outcome.answer;
        const auto actual = outcome.liars();
        const bool proven = answer && answer->certainty == Certainty::kProven;
        // Never proven and wrong inside the bound; who is named did lie, and in a single round all are named.
        if (proven && actual <= answer->proof_bound) {
          EXPECT_EQ(answer->records, truth);
          for (std::size_t j = 0; j < k; ++j) {
            const bool named = answer->servers[j] == ServerStatus::kLied;
            if (outcome.rounds == 1 ? named != outcome.altered[j] : named && !outcome.altered[j]) {
              ADD_FAILURE() << "server " << j << " is " << server_status_name(answer->servers[j]);
            }
          }
        }
        if (actual <= radius && !(declare && v > radius)) {
          ASSERT_TRUE(proven);
          EXPECT_EQ(outcome.rounds, 1u);
          EXPECT_GE(answer->proof_bound, radius);
        }
        if (kind == Lie::kGarbage && v <= most) {
          ASSERT_TRUE(proven);
          EXPECT_EQ(outcome.rounds, 1u);
          EXPECT_GE(answer->proof_bound, most);
        }
        // Blinded queries tell a coalition apart, whatever it adds; a database of its own, also one of zeros,
        // is another matter.
        if (declare && v <= most && kind != Lie::kStaleDatabase && kind != Lie::kAllZero) {
          ASSERT_TRUE(proven) << static_cast<int>(outcome.report.status) << " after " << outcome.rounds;
          EXPECT_GE(answer->proof_bound, v);
          EXPECT_LE(outcome.rounds, v + 3);
        }
        if (declare && actual == k - d - 1) {
          EXPECT_FALSE(proven && outcome.report.status == DecodeStatus::kOk && answer->proof_bound >= v &&
                       answer->records != truth);
        }
        // With digests and d + 1 honest servers it is never wrong, whatever the others do.
        if (digests && k - v >= d + 1 && answer) {
          EXPECT_EQ(answer->records, truth);
        }
      }
    }
  }
}

TEST(Liars, Gf2_8) {
  std::uint64_t stream = 100;
  for (const auto& [k, t] : {std::pair{4u, 1u}, {5u, 1u}, {6u, 1u}, {7u, 2u}, {8u, 2u}, {9u, 2u}}) {
    face_liars(gf2e::Gf2_8{}, k, t, true, stream++);
    face_liars(gf2e::Gf2_8{}, k, t, false, stream++);
  }
}
TEST(Liars, Gf2_16) { face_liars(gf2e::Gf2_16{}, 8, 2, false, 200); }
TEST(Liars, W160) { face_liars(fp::W160{}, 6, 1, true, 300); }
TEST(Liars, W48) { face_liars(fp::W48{}, 6, 1, false, 400); }
/// Seven rows: with M = 8 any two of them fit in a vector of u = 2.
TEST(Liars, OfRampQueries) {
  face_liars(gf2e::Gf2_8{}, 8, 1, false, 410, {2});
  face_liars(fp::W160{}, 7, 1, true, 411, {2});
  face_liars(gf2e::Gf2_16{}, 9, 2, false, 412, {3});
}
TEST(Liars, OfEncodedDatabases) {
  face_liars(gf2e::Gf2_8{}, 8, 1, false, 420, {1, 2, 0, 2});
  face_liars(fp::W48{}, 7, 1, true, 421, {1, 2, 0, 8});
  face_liars(gf2e::Gf2_8{}, 9, 1, true, 422, {2, 2, 0, 8});
  face_liars(gf2e::Gf2_8{}, 7, 1, false, 423, {1, 1, 1, 1});
  face_liars(gf2e::Gf2_16{}, 11, 1, false, 424, {2, 2, 1, 8});
}

/// Without blinding a coalition that keeps to one plan is never told apart: the blinding is what does it.
void expect_blinding_to_matter(unsigned k, unsigned t, const Code& code) {
  auto engine = pirx::testing::seeded_engine(450);
  const Deployment<gf2e::Gf2_16> deployment({}, {14, 9, 2, true, false}, k, t, engine, code);
  ASSERT_EQ(k, 2 * (degree_of(deployment) + 2)) << "as many liars as honest servers, both degree + 2";
  const std::vector<std::uint64_t> wanted{3};
  for (const Lie kind : {Lie::kSameShift, Lie::kLowDegree, Lie::kThroughHonest}) {
    SCOPED_TRACE(static_cast<int>(kind));
    const auto liars = some_of(k, k / 2, engine);
    const auto bare = hold_session(deployment, wanted, kind, liars, k / 2, engine, Blinding::kOff);
    EXPECT_EQ(bare.report.status, DecodeStatus::kAmbiguous);
    EXPECT_GE(bare.rounds, 3u);
    EXPECT_GE(bare.report.candidates.size(), 2u);
    EXPECT_FALSE(bare.answer.has_value());
    const auto blinded = hold_session(deployment, wanted, kind, liars, k / 2, engine);
    EXPECT_EQ(blinded.report.status, DecodeStatus::kOk);
    ASSERT_TRUE(blinded.answer.has_value());
    EXPECT_EQ(blinded.answer->records.at(0), deployment.records[3]);
    for (std::size_t j = 0; j < k; ++j)
      EXPECT_EQ(blinded.answer->servers[j] == ServerStatus::kLied, blinded.altered[j]);
  }
}
TEST(Blinding, IsWhatTellsACoalitionApart) {
  expect_blinding_to_matter(8, 2, {});
  expect_blinding_to_matter(8, 1, {2});
  expect_blinding_to_matter(10, 1, {2, 2, 0, 8});
  expect_blinding_to_matter(8, 1, {1, 1, 1, 1});
}

/// Half of the servers hold another database: no number of queries says which half is right, but both answers
/// are known, and the caller's check settles it.
TEST(Stale, HalfOfTheServersAreAmbiguous) {
  auto engine = pirx::testing::seeded_engine(460);
  const Deployment<gf2e::Gf2_16> deployment({}, {14, 9, 2, true, false}, 8, 2, engine);
  const std::vector<std::uint64_t> wanted{5};
  const std::vector<std::size_t> liars{1, 2, 4, 7};
  const auto outcome = hold_session(deployment, wanted, Lie::kStaleDatabase, liars, std::nullopt, engine);
  EXPECT_EQ(outcome.report.status, DecodeStatus::kAmbiguous);
  EXPECT_EQ(outcome.report.rank, 3u) << "the errors follow the shares: degree + 1";
  EXPECT_EQ(outcome.rounds, 3u) << "two further queries that add nothing are enough";
  ASSERT_EQ(outcome.report.candidates.size(), 2u);
  for (std::size_t j = 0; j < 8; ++j) {
    EXPECT_NE(outcome.report.candidates[0].agrees[j], outcome.report.candidates[1].agrees[j]);
  }
  EXPECT_FALSE(outcome.answer.has_value());

  const auto lies = lie(deployment, wanted, Lie::kStaleDatabase, liars, engine);
  const auto check =
      checked_by([&](std::span<const Bytes> records) { return records[0] == deployment.records[5]; });
  const auto answer = deployment.decode(wanted, lies.replies, range(8), lies.blinding, check);
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(answer->records.at(0), deployment.records[5]);
  EXPECT_EQ(answer->certainty, Certainty::kProbable);
  for (std::size_t j = 0; j < 8; ++j) {
    EXPECT_EQ(answer->servers[j], lies.altered[j] ? ServerStatus::kSuspected : ServerStatus::kOk);
  }
  const auto refused = deployment.decode(wanted, lies.replies, range(8), lies.blinding,
                                         checked_by([](std::span<const Bytes>) { return false; }));
  EXPECT_EQ(refused.error().code(), ErrorCode::kUndecodable);
}

/// Or whoever reads it takes a sound database for a damaged one.
TEST(Check, WhatCannotBeReadIsALieOrACorruptDatabase) {
  auto engine = pirx::testing::seeded_engine(462);
  const Deployment<gf2e::Gf2_8> deployment({}, {14, 9, 2, true, false}, 4, 1, engine);
  const std::vector<std::uint64_t> wanted{5};
  const auto exchange = deployment.exchange(wanted, engine);
  DecodeOptions options;
  options.read = [](std::size_t, std::span<const Bytes>) -> Result<Records> {
    return fail(ErrorCode::kDataLoss, "no record is so long");
  };
  const auto decode = [&](std::size_t servers) {
    return deployment.decode(wanted, exchange.replies, range(servers), exchange.blinding, options);
  };
  expect_error(decode(2), ErrorCode::kUndecodable, "one of them lied");
  expect_error(decode(4), ErrorCode::kDataLoss, "servers lied");
}

TEST(Check, RefusesAnAnswerThatAllServersGive) {
  auto engine = pirx::testing::seeded_engine(461);
  const Deployment<gf2e::Gf2_8> deployment({}, {14, 9, 2, true, false}, 4, 1, engine);
  const std::vector<std::uint64_t> wanted{5};
  const auto exchange = deployment.exchange(wanted, engine);
  int asked = 0;
  const auto check =
      checked_by([&](std::span<const Bytes> records) { return ++asked > 0 && records[0].size() > 100; });
  const auto answer = deployment.decode(wanted, exchange.replies, range(4), exchange.blinding, check);
  EXPECT_EQ(answer.error().code(), ErrorCode::kDataLoss);
  EXPECT_EQ(asked, 1);
  // t + 1 replies that pass a check are probable.
  const auto right =
      checked_by([&](std::span<const Bytes> records) { return records[0] == deployment.records[5]; });
  const std::size_t two[] = {0, 3};
  EXPECT_EQ(deployment.decode(wanted, exchange.replies, two, exchange.blinding, right)->certainty,
            Certainty::kProbable);
}

/// Silent, late, cut, too long, of another epoch: erasures, and the others are decoded with what is left.
TEST(Erasures, LeaveTheOthersTheirBound) {
  auto engine = pirx::testing::seeded_engine(470);
  const Deployment<gf2e::Gf2_8> deployment({}, {14, 9, 2, true, false}, 9, 2, engine);
  const std::vector<std::uint64_t> wanted{5};
  auto lies = lie(deployment, wanted, Lie::kSameShift, std::vector<std::size_t>{8}, engine);
  auto collector = deployment.collector(wanted, lies.blinding);
  lies.replies[1].pop_back();
  lies.replies[2].push_back(std::byte{0});
  lies.replies[3][24 + 16] ^= std::byte{1};  // inside the database's identity
  for (const std::size_t j : {1u, 2u, 3u}) EXPECT_FALSE(collector.add(j, lies.replies[j]).has_value());
  for (const std::size_t j : {4u, 5u, 6u, 7u, 8u}) ASSERT_TRUE(collector.add(j, lies.replies[j]).has_value());
  EXPECT_EQ(collector.decode()->status, DecodeStatus::kOk);
  const auto answer = std::move(collector).finish().value();
  EXPECT_EQ(answer.records.at(0), deployment.records[5]);
  EXPECT_EQ(answer.certainty, Certainty::kProven);
  EXPECT_EQ(answer.responders, 5u);
  EXPECT_EQ(answer.proof_bound, 1u);
  const ServerStatus expected[] = {
      ServerStatus::kSilent,     ServerStatus::kMalformed, ServerStatus::kMalformed,
      ServerStatus::kStaleEpoch, ServerStatus::kOk,        ServerStatus::kOk,
      ServerStatus::kOk,         ServerStatus::kOk,        ServerStatus::kLied};
  for (std::size_t j = 0; j < 9; ++j) EXPECT_EQ(answer.servers[j], expected[j]) << j;
}

/// Different servers answer each round; a liar that one round proves is out of the other.
TEST(Rounds, WithOtherServersAreDecodedTogether) {
  auto engine = pirx::testing::seeded_engine(480);
  const Deployment<gf2e::Gf2_16> deployment({}, {14, 9, 2, true, false}, 9, 2, engine);
  const std::vector<std::uint64_t> wanted{5};
  const std::vector<std::size_t> liars{0, 1, 2};
  auto collector = deployment.collector(wanted, {}, {3u, {}});
  const auto first = lie(deployment, wanted, Lie::kSameShift, liars, engine, Blinding::kOff);
  for (const std::size_t j : {0u, 1u, 2u, 3u, 4u, 5u})
    ASSERT_TRUE(collector.add(j, first.replies[j]).has_value());
  EXPECT_NE(collector.decode()->status, DecodeStatus::kOk)
      << "3 of 6 with degree 2 is more than anyone corrects";
  const auto second = lie(deployment, wanted, Lie::kGarbage, liars, engine);
  ASSERT_TRUE(collector.ask_again(testing::records_of(wanted), deployment.scalars(wanted, second.blinding))
                  .has_value());
  for (const std::size_t j : {0u, 1u, 2u, 4u, 5u, 6u, 7u, 8u})
    ASSERT_TRUE(collector.add(j, second.replies[j]).has_value());
  EXPECT_EQ(collector.decode()->status, DecodeStatus::kOk);
  const auto answer = std::move(collector).finish().value();
  EXPECT_EQ(answer.records.at(0), deployment.records[5]);
  EXPECT_EQ(answer.rounds, 2u);
  EXPECT_EQ(answer.certainty, Certainty::kProven);
  for (std::size_t j = 0; j < 9; ++j) {
    EXPECT_EQ(answer.servers[j], j < 3    ? ServerStatus::kLied
                                 : j == 3 ? ServerStatus::kSilent
                                          : ServerStatus::kOk);
  }
}

/// As many liars as the caller assumes, who are alone in the second round: their agreement has a smaller
/// bound, so it names nobody, and what contradicts it is weighed, too.
TEST(Rounds, ThatLiarsAnswerAloneNameNobody) {
  for (const bool digests : {false, true}) {
    auto engine = pirx::testing::seeded_engine(481);
    const Deployment<gf2e::Gf2_16> deployment({}, {14, 9, 2, false, digests}, 5, 1, engine);
    const std::vector<std::uint64_t> wanted{5};
    const std::vector<std::size_t> liars{0, 1, 2};
    auto collector = deployment.collector(wanted, {}, {3u, {}});
    const auto first = lie(deployment, wanted, Lie::kStaleDatabase, liars, engine, Blinding::kOff);
    for (const std::size_t j : range(5)) ASSERT_TRUE(collector.add(j, first.replies[j]).has_value());
    EXPECT_NE(collector.decode()->status, DecodeStatus::kOk);
    const auto second = lie(deployment, wanted, Lie::kStaleDatabase, liars, engine);
    ASSERT_TRUE(collector.ask_again(testing::records_of(wanted), deployment.scalars(wanted, second.blinding))
                    .has_value());
    for (const std::size_t j : liars) ASSERT_TRUE(collector.add(j, second.replies[j]).has_value());
    const auto answer = std::move(collector).finish();
    if (!digests) {
      EXPECT_EQ(answer.error().code(), ErrorCode::kUndecodable) << answer.error().to_string();
      continue;
    }
    ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
    EXPECT_EQ(answer->records.at(0), deployment.records[5]);
    EXPECT_EQ(answer->certainty, Certainty::kProbable);
    for (const std::size_t j : range(5))
      EXPECT_EQ(answer->servers[j], j < 3 ? ServerStatus::kSuspected : ServerStatus::kSilent) << j;
  }
}

/// The honest ones are together only in a round that is not the last one of most replies.
TEST(Rounds, ThatHonestServersAnswerTogetherAreWeighed) {
  auto engine = pirx::testing::seeded_engine(482);
  const Deployment<gf2e::Gf2_16> deployment({}, {14, 9, 2, false, true}, 5, 1, engine);
  const Deployment<gf2e::Gf2_16> other({}, {14, 9, 2, false, true}, 5, 1, engine);
  const std::vector<std::uint64_t> wanted{5};
  auto collector = deployment.collector(wanted, {}, {3u, {}});
  const auto ask = [&](const auto& asked, std::initializer_list<std::size_t> servers) {
    for (const std::size_t j : servers) {
      ASSERT_TRUE(
          collector.add(j, j < 3 ? other.answer(*other.servers[j], asked.requests[j]) : asked.replies[j])
              .has_value());
    }
  };
  const auto first = lie(deployment, wanted, Lie::kAllZero, {}, engine, Blinding::kOff);
  ask(first, {0, 1, 3, 4});
  const auto second = lie(deployment, wanted, Lie::kAllZero, {}, engine);
  ASSERT_TRUE(collector.ask_again(testing::records_of(wanted), deployment.scalars(wanted, second.blinding))
                  .has_value());
  ask(second, {0, 1, 2, 3});
  const auto answer = std::move(collector).finish();
  expect_error(answer, ErrorCode::kUndecodable, "several answers have the right digests");
}

/// Nothing is known of the replies to a query where too few told the truth to make the answer.
TEST(Rounds, InWhichNobodyMakesTheAnswerSuspectNobody) {
  auto engine = pirx::testing::seeded_engine(483);
  const Deployment<gf2e::Gf2_16> deployment({}, {14, 9, 2, false, true}, 6, 2, engine);
  const std::vector<std::uint64_t> wanted{5};
  auto collector = deployment.collector(wanted, {});
  const auto add = [&](const auto& asked, std::initializer_list<std::size_t> servers) {
    for (const std::size_t j : servers) ASSERT_TRUE(collector.add(j, asked.replies[j]).has_value());
  };
  const std::vector<std::size_t> liars{4, 5};
  add(lie(deployment, wanted, Lie::kGarbage, liars, engine, Blinding::kOff), {0, 3, 4, 5});
  const auto second = lie(deployment, wanted, Lie::kGarbage, {}, engine);
  ASSERT_TRUE(collector.ask_again(testing::records_of(wanted), deployment.scalars(wanted, second.blinding))
                  .has_value());
  add(second, {0, 1, 2});
  const auto answer = std::move(collector).finish();
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(answer->records.at(0), deployment.records[5]);
  EXPECT_EQ(answer->certainty, Certainty::kProbable);
  for (const std::size_t j : range(6))
    EXPECT_EQ(answer->servers[j], j < 3 ? ServerStatus::kOk : ServerStatus::kSilent) << j;
}

/// A session for a record that the servers do not have, round by round. Liars send garbage, or what fits
/// another record together with the honest servers in `beside`. Without blinding.
struct AbsentRecord {
  AbsentRecord(unsigned l, unsigned t) : deployment({}, {14, 9, 1, false, false}, l, t, engine) {}

  void ask(std::span<const std::size_t> from, std::span<const std::size_t> liars,
           std::optional<std::vector<std::size_t>> beside = {}) {
    const gf2e::Gf2_8 f;
    const auto x = [&](std::size_t j) { return f.from_label(deployment.spec().coordinates[j]); };
    auto replies =
        lie(deployment, wanted, Lie::kGarbage, beside ? range(0) : liars, engine, Blinding::kOff).replies;
    for (const auto j : liars) {
      if (!beside) break;
      auto error = f.one();  // of the polynomial that is 1 at 0 and 0 at these servers
      for (const auto other : *beside) {
        error = f.mul(error, f.mul(f.sub(x(j), x(other)), f.inv(f.sub(f.zero(), x(other)))));
      }
      for (std::size_t w = 0; w < forged.size(); ++w) tamper(f, replies[j], w, error);
    }
    if (!collector) {
      DecodeOptions options;
      options.read_checks = true;
      options.read = [this](std::size_t, std::span<const Bytes> found) -> Result<Records> {
        return Records{found[0] == forged ? std::optional(forged) : std::nullopt};
      };
      collector.emplace(deployment.collector(wanted, {}, options));
    } else {
      EXPECT_TRUE(
          collector->ask_again(testing::records_of(wanted), deployment.scalars(wanted, {})).has_value());
    }
    for (const auto j : from) EXPECT_TRUE(collector->add(j, replies[j]).has_value());
  }
  void expect_proven(std::span<const std::size_t> liars) {
    const auto answer = std::move(*collector).finish();
    ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
    EXPECT_EQ(answer->missing, std::vector<std::size_t>{0});
    EXPECT_EQ(answer->certainty, Certainty::kProven);
    for (std::size_t j = 0; j < deployment.servers.size(); ++j) {
      const bool liar = std::find(liars.begin(), liars.end(), j) != liars.end();
      EXPECT_EQ(answer->servers[j] == ServerStatus::kLied, liar) << j;
    }
  }
  void expect_contested() {
    expect_error(std::move(*collector).finish(), ErrorCode::kUndecodable,
                 "others make one whose digest is right");
  }

  std::mt19937_64 engine = pirx::testing::seeded_engine(512);
  Deployment<gf2e::Gf2_8> deployment;
  std::vector<std::uint64_t> wanted{5};
  Bytes forged = [this] {
    auto record = deployment.records[5];
    for (auto& byte : record) byte ^= std::byte{1};
    return record;
  }();
  std::optional<GoldbergCollector<gf2e::Gf2_8>> collector;
};

/// d liars, and an honest server that was silent in the round which proves the absence, make a record in
/// another round. A server that is known to have lied is no honest one.
TEST(Absences, AreNotContestedBesideAServerThatWasSilent) {
  const std::vector<std::size_t> two{0, 1}, three{0, 1, 7}, later{0, 1, 2, 3, 7};
  AbsentRecord silent(8, 2);
  silent.ask(range(7), two);
  silent.ask(later, two, std::vector<std::size_t>{7});
  silent.expect_proven(two);

  AbsentRecord known(8, 2);
  known.ask(range(8), three);
  known.ask(range(7), two);
  known.ask(later, three, range(0));
  known.expect_contested();
}

/// At most d honest servers make a record that there is not: of d + 1 it may be one liar, of 2 d + 1 it is
/// d + 1.
TEST(Absences, AreContestedByManyServersThatWereSilent) {
  const std::vector<std::size_t> two{5, 6}, three{5, 6, 7};
  AbsentRecord few(8, 1);
  few.ask(range(5), {});
  few.ask(two, two, range(0));
  few.expect_proven({});

  AbsentRecord many(8, 1);
  many.ask(range(5), {});
  many.ask(three, three, range(0));
  many.expect_contested();
}

/// A session for record 5 in which the test chooses who answers and who lies, round by round. Over this field
/// there are no accidents.
struct ChosenRounds {
  /// Without blinding the lies of several servers go on fitting a polynomial.
  ChosenRounds(unsigned l, unsigned t, std::optional<unsigned> liars = {}, Blinding of = Blinding::kOn)
      : deployment({}, {14, 9, 2, true, false}, l, t, engine), declared(liars), blinding(of) {}

  /// One round more, with the replies of `from`, and what the decoder says then.
  DecodeStatus ask(std::span<const std::size_t> from, std::span<const std::size_t> liars,
                   Lie kind = Lie::kGarbage) {
    const auto lies = lie(deployment, wanted, kind, liars, engine, blinding);
    if (!collector) {
      collector.emplace(deployment.collector(wanted, lies.blinding, {declared, {}}));
    } else {
      EXPECT_TRUE(collector->ask_again(testing::records_of(wanted), deployment.scalars(wanted, lies.blinding))
                      .has_value());
    }
    for (const auto j : from) EXPECT_TRUE(collector->add(j, lies.replies[j]).has_value());
    return collector->decode()->status;
  }
  Answer finish() {
    auto answer = std::move(*collector).finish().value();
    EXPECT_EQ(answer.records.at(0), deployment.records[5]);
    EXPECT_EQ(answer.certainty, Certainty::kProven);
    return answer;
  }

  std::mt19937_64 engine = pirx::testing::seeded_engine(486);
  Deployment<fp::W48> deployment;
  const std::optional<unsigned> declared;
  const Blinding blinding;
  std::vector<std::uint64_t> wanted{5};
  std::optional<GoldbergCollector<fp::W48>> collector;
};

/// d + 1 servers always agree with each other, whoever lied, and d of them make nothing at all.
TEST(Rounds, ThatShareFewServersProveNothingTogether) {
  const std::size_t first[] = {0, 1, 2, 3, 4}, liars[] = {3, 4};
  const std::vector<std::size_t> sharing_two{3, 4, 5, 6, 7}, sharing_three{2, 3, 4, 5, 6};
  for (const auto& second : {sharing_two, sharing_three}) {
    SCOPED_TRACE(second[0]);
    ChosenRounds session(8, 2);
    EXPECT_EQ(session.ask(first, liars, Lie::kSameShift), DecodeStatus::kFailed);
    EXPECT_NE(session.ask(second, liars, Lie::kSameShift), DecodeStatus::kOk);
    EXPECT_EQ(std::move(*session.collector).finish().error().code(), ErrorCode::kUndecodable);
  }
}

/// That server 0 lied is proven while no more than five lied, and so is all that is decided without it.
TEST(Rounds, ProveNoMoreThanWhatTheyBuildOn) {
  ChosenRounds session(9, 2);
  const std::size_t liars[] = {0};
  for (int round = 0; round < 2; ++round) EXPECT_EQ(session.ask(range(9), liars), DecodeStatus::kOk);
  EXPECT_EQ(session.finish().proof_bound, 5u);
}

/// Server 0 lies in three rounds and is one liar. The third has six replies, which show three once the record
/// is known.
TEST(Rounds, CountALiarOfSeveralRoundsOnce) {
  ChosenRounds session(9, 2);
  const std::size_t one[] = {0}, two[] = {0, 5};
  for (int round = 0; round < 2; ++round) EXPECT_EQ(session.ask(range(9), one), DecodeStatus::kOk);
  EXPECT_EQ(session.ask(range(6), two), DecodeStatus::kOk);
  const auto answer = session.finish();
  for (std::size_t j = 0; j < 6; ++j) {
    EXPECT_EQ(answer.servers[j], j == 0 || j == 5 ? ServerStatus::kLied : ServerStatus::kOk) << j;
  }
  EXPECT_EQ(answer.proof_bound, 3u);
}

/// Servers 0 and 1 lie, together with server 2's honest reply on one polynomial. The four replies of the
/// first round would prove that server 3 lied, if no more than one did; the six of the second correct two.
TEST(Rounds, OfFewRepliesDoNotStandInTheWayOfThoseThatProveMore) {
  for (const std::optional<unsigned> declared : {std::optional<unsigned>(), std::optional<unsigned>(0)}) {
    ChosenRounds session(6, 1, declared, Blinding::kOff);
    const std::size_t liars[] = {0, 1}, few[] = {0, 1, 2, 3};
    session.ask(few, liars, Lie::kThroughHonest);
    session.ask(range(6), liars, Lie::kThroughHonest);
    const auto answer = session.finish();
    for (std::size_t j = 0; j < 6; ++j) {
      EXPECT_EQ(answer.servers[j], j < 2 ? ServerStatus::kLied : ServerStatus::kOk) << j;
    }
    EXPECT_EQ(answer.proof_bound, 2u);
  }
}

/// Of the five replies of the first round, three lie alike. That the other two lied would be shown, if no
/// more than two did; the nine of the second may have three liars among them.
TEST(Rounds, OfFewRepliesNameNobodyWhomMoreLiarsCouldHaveMade) {
  ChosenRounds session(9, 1, {}, Blinding::kOff);
  const std::size_t liars[] = {0, 1, 2}, few[] = {0, 1, 2, 4, 6};
  session.ask(few, liars, Lie::kSameSecret);
  session.ask(range(9), {});
  const auto answer = session.finish();
  for (std::size_t j = 0; j < 9; ++j) EXPECT_EQ(answer.servers[j], ServerStatus::kOk) << j;
  EXPECT_EQ(answer.proof_bound, 7u);
}

/// Nine replies that agree are proven against six liars, five against two.
TEST(Rounds, GiveTheAnswerOfTheOneThatProvesMost) {
  ChosenRounds session(9, 2);
  EXPECT_EQ(session.ask(range(9), {}), DecodeStatus::kOk);
  EXPECT_EQ(session.ask(range(5), {}), DecodeStatus::kOk);
  EXPECT_EQ(session.finish().proof_bound, 6u);
}

/// Six of nine lie in every round. Fewer servers answer the last two, so that each of these tells something
/// new.
TEST(Rounds, AreNotAskedForWhenThereCanBeNoMore) {
  ChosenRounds session(9, 2);
  for (std::size_t round = 1; round <= kMaxRounds - 2; ++round) session.ask(range(9), range(6));
  EXPECT_EQ(session.ask(range(8), range(6)), DecodeStatus::kNeedMoreQueries);
  EXPECT_EQ(session.ask(range(7), range(6)), DecodeStatus::kFailed);
}

/// Some lie in the first round and behave in the second, which then proves the answer.
template <class F>
struct TwoRounds {
  bool asked_again = false;
  std::vector<bool> altered;
  Result<Answer> answer = fail(ErrorCode::kInternal, "");
  bool all_named() const {
    for (std::size_t j = 0; j < altered.size(); ++j) {
      if ((answer->servers[j] == ServerStatus::kLied) != altered[j]) return false;
    }
    return true;
  }
};
template <class F>
TwoRounds<F> lie_then_behave(const Deployment<F>& deployment, std::span<const std::uint64_t> wanted, Lie kind,
                             std::span<const std::size_t> liars, std::optional<unsigned> declared,
                             std::mt19937_64& engine) {
  TwoRounds<F> result;
  const auto first = lie(deployment, wanted, kind, liars, engine);
  result.altered = first.altered;
  auto collector = deployment.collector(wanted, first.blinding, {declared, {}});
  for (std::size_t j = 0; j < first.replies.size(); ++j) {
    EXPECT_TRUE(collector.add(j, first.replies[j]).has_value());
  }
  if (collector.decode()->status == DecodeStatus::kNeedMoreQueries) {
    result.asked_again = true;
    const auto second = deployment.exchange(wanted, engine);
    EXPECT_TRUE(collector.ask_again(testing::records_of(wanted), deployment.scalars(wanted, second.blinding))
                    .has_value());
    for (std::size_t j = 0; j < second.replies.size(); ++j) {
      EXPECT_TRUE(collector.add(j, second.replies[j]).has_value());
    }
  }
  result.answer = std::move(collector).finish();
  return result;
}

TEST(Rounds, NameWhoLiedOnlyInTheFirst) {
  auto engine = pirx::testing::seeded_engine(482);
  const Deployment<gf2e::Gf2_8> deployment({}, {14, 9, 2, true, false}, 9, 2, engine);
  const std::vector<std::uint64_t> wanted{9};
  unsigned asked_again = 0;
  for (int run = 0; run < 60; ++run) {
    const auto liars = some_of(9, 4, engine);
    const auto session = lie_then_behave(deployment, wanted, Lie::kSameShift, liars, std::nullopt, engine);
    ASSERT_TRUE(session.answer.has_value()) << session.answer.error().to_string();
    EXPECT_EQ(session.answer->records.at(0), deployment.records[9]);
    EXPECT_EQ(session.answer->certainty, Certainty::kProven);
    EXPECT_GE(session.answer->proof_bound, 4u);
    EXPECT_TRUE(session.all_named()) << "run " << run << " of " << session.answer->rounds << " rounds";
    asked_again += session.asked_again;
  }
  EXPECT_GT(asked_again, 0u);
}

/// So few liars that one round corrects them, but a caller who wants to be safe from more asks again. Over a
/// small field an accident clears one of them in about one session of 1,000.
TEST(Rounds, NameFewLiarsWhereMoreAreDeclared) {
  auto engine = pirx::testing::seeded_engine(485);
  const Deployment<gf2e::Gf2_8> deployment({}, {14, 9, 2, true, false}, 9, 2, engine);
  const std::vector<std::uint64_t> wanted{9};
  unsigned asked_again = 0, unnamed = 0;
  for (int run = 0; run < 100; ++run) {
    const auto liars = some_of(9, 3, engine);
    const auto session = lie_then_behave(deployment, wanted, Lie::kSameShift, liars, 5, engine);
    ASSERT_TRUE(session.answer.has_value()) << session.answer.error().to_string();
    EXPECT_EQ(session.answer->certainty, Certainty::kProven);
    asked_again += session.asked_again;
    unnamed += !session.all_named();
  }
  EXPECT_GT(asked_again, 0u);
  EXPECT_LE(unnamed, 8u);
}

template <class F>
void expect_few_liars_named(const F& f, unsigned k, unsigned t, const Code& code = {}) {
  auto engine = pirx::testing::seeded_engine(483);
  const Deployment<F> deployment(f, {14, 9, 2, true, false}, k, t, engine, code);
  const unsigned d = degree_of(deployment);
  const std::vector<std::uint64_t> wanted{5, 9, 5};  // one of them twice
  for (const Lie kind : {Lie::kSameShift, Lie::kOneBit, Lie::kScaledCopies}) {
    for (unsigned v = 1; v <= (k - d - 1) / 2; ++v) {
      SCOPED_TRACE(f.tag().name() + " kind=" + std::to_string(static_cast<int>(kind)) +
                   " liars=" + std::to_string(v));
      const auto liars = some_of(k, v, engine);
      const auto session = lie_then_behave(deployment, wanted, kind, liars, k - d - 2, engine);
      ASSERT_TRUE(session.answer.has_value()) << session.answer.error().to_string();
      EXPECT_EQ(session.answer->certainty, Certainty::kProven);
      EXPECT_GE(session.answer->proof_bound, k - d - 2);
      EXPECT_TRUE(session.all_named()) << session.asked_again;
    }
  }
}
TEST(Rounds, NameFewLiarsUnderEveryCode) {
  expect_few_liars_named(gf2e::Gf2_16{}, 9, 2);
  expect_few_liars_named(fp::W160{}, 7, 1);
  expect_few_liars_named(gf2e::Gf2_16{}, 9, 2, {2});
  expect_few_liars_named(gf2e::Gf2_16{}, 9, 1, {1, 2, 0, 2});
  expect_few_liars_named(gf2e::Gf2_16{}, 9, 1, {1, 1, 1, 1});
}

/// Liars who want an honest server to be named, over fields where accidents are frequent. Goes on until
/// enough of the sessions had further rounds, in which servers are compared.
template <class F>
void expect_no_honest_server_named(const F& f, unsigned k, unsigned t, int runs) {
  auto engine = pirx::testing::seeded_engine(484);
  const Deployment<F> deployment(f, {5, 3, 1, false, false}, k, t, engine);
  const std::vector<std::uint64_t> wanted{3};
  unsigned compared = 0;
  for (int run = 0; run < runs || compared <= 20; ++run) {
    ASSERT_LT(run, 20 * runs) << "only " << compared << " sessions asked again";
    for (const Lie kind : kLies) {
      const auto liars = some_of(k, 1 + engine() % (k - t - 1), engine);
      const auto declared =
          engine() % 2 ? std::optional(static_cast<unsigned>(engine() % (k - t))) : std::nullopt;
      const auto session = lie_then_behave(deployment, wanted, kind, liars, declared, engine);
      const auto lied = std::count(session.altered.begin(), session.altered.end(), true);
      if (!session.answer || session.answer->certainty != Certainty::kProven ||
          lied > static_cast<std::ptrdiff_t>(session.answer->proof_bound)) {
        continue;
      }
      compared += session.asked_again;
      EXPECT_EQ(session.answer->records.at(0), deployment.records[3]);
      for (std::size_t j = 0; j < k; ++j) {
        EXPECT_TRUE(session.altered[j] || session.answer->servers[j] == ServerStatus::kOk)
            << f.tag().name() << " run " << run << " kind " << static_cast<int>(kind) << " server " << j;
      }
    }
  }
}
TEST(Rounds, NameNoHonestServerWithinTheBound) {
  expect_no_honest_server_named(pirx::testing::TinyPrime<97>{}, 9, 2, 100);
  expect_no_honest_server_named(pirx::testing::TinyPrime<97>{}, 7, 1, 100);
  expect_no_honest_server_named(gf2e::Gf2_8{}, 9, 2, 100);
}

TEST(Rounds, AreForTheSameRecordsAndNotTooMany) {
  auto engine = pirx::testing::seeded_engine(481);
  const Deployment<gf2e::Gf2_8> deployment({}, {14, 9, 2, true, false}, 3, 1, engine);
  const std::vector<std::uint64_t> wanted{5}, other{6};
  auto collector = deployment.collector(wanted);
  const auto refused = collector.ask_again(testing::records_of(other), deployment.scalars(other, {}));
  expect_error(refused, ErrorCode::kInvalidArgument, "same records");
  for (std::size_t round = 1; round < kMaxRounds; ++round) {
    ASSERT_TRUE(collector.ask_again(testing::records_of(wanted), deployment.scalars(wanted, {})).has_value());
  }
  const auto many = collector.ask_again(testing::records_of(wanted), deployment.scalars(wanted, {}));
  EXPECT_NE(many.error().message().find("8 rounds"), std::string::npos);
}

/// Replies that are no code words at all, of any rank, end in an error or an answer, in time.
TEST(Fuzz, ArbitraryRepliesEndInTime) {
  auto engine = pirx::testing::seeded_engine(490);
  for (int i = 0; i < 300; ++i) {
    const unsigned l = 3 + engine() % 10, t = 1 + engine() % (l - 1);
    const bool digests = engine() % 2;
    const Deployment<gf2e::Gf2_8> deployment({}, {8, 6, 2, true, digests}, l, t, engine);
    const std::vector<std::uint64_t> wanted{1, 2};
    auto replies = deployment.ask(wanted, engine);
    auto collector = deployment.collector(
        wanted, {}, {engine() % 2 ? std::optional(static_cast<unsigned>(engine() % 20)) : std::nullopt, {}});
    const unsigned shape = engine() % 3;
    for (std::size_t j = 0; j < l; ++j) {
      for (std::size_t b = MessageHeader::kBytes; b < replies[j].size(); ++b) {
        if (shape == 0 || engine() % 16 == 0)
          replies[j][b] = static_cast<std::byte>(shape == 2 ? 0 : engine());
      }
      if (engine() % 8 == 0) continue;
      ASSERT_TRUE(collector.add(j, replies[j]).has_value());
    }
    static_cast<void>(collector.decode());
    static_cast<void>(std::move(collector).finish());
  }
}

/// Whoever says how many may lie gets no proof against fewer, even if all that replied agree.
TEST(ProofBound, IsAtLeastWhatTheCallerDeclared) {
  auto engine = pirx::testing::seeded_engine(495);
  for (const bool digests : {false, true}) {
    const Deployment<gf2e::Gf2_8> deployment({}, {100, 40, 4, true, digests}, 9, 2, engine);
    const std::vector<std::uint64_t> wanted{7};
    const auto replies = deployment.ask(wanted, engine);
    for (unsigned k = 4; k <= 9; ++k) {
      for (unsigned declared = 0; declared <= 6; ++declared) {
        auto collector = deployment.collector(wanted, {}, {declared, {}});
        for (std::size_t j = 0; j < k; ++j) ASSERT_TRUE(collector.add(j, replies[j]).has_value());
        const auto answer = std::move(collector).finish();
        ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
        EXPECT_EQ(answer->proof_bound, k - 3);
        const auto unproven = digests ? Certainty::kProbable : Certainty::kUnverified;
        EXPECT_EQ(answer->certainty, declared <= k - 3 ? Certainty::kProven : unproven)
            << k << " replies, " << declared << " liars";
      }
    }
  }
}

/// Three of eight lied in one way: more than (k - d - 1) / 2 = 2, which the decoder assumes first. It then
/// looks through all that four liars, the most that can be corrected, leave.
TEST(ProofBound, OfMoreLiarsThanAssumedIsTheMostThatCanBeCorrected) {
  ChosenRounds session(8, 2);
  EXPECT_EQ(session.ask(range(8), range(3), Lie::kSameShift), DecodeStatus::kOk);
  EXPECT_EQ(session.finish().proof_bound, 4u);
}

/// Against v liars, d + 1 + v replies that agree are enough, and no fewer.
TEST(Settled, WithAReplyMoreForEachLiar) {
  auto engine = pirx::testing::seeded_engine(496);
  const Deployment<gf2e::Gf2_8> deployment({}, {14, 9, 2, true, false}, 6, 2, engine);
  const std::vector<std::uint64_t> wanted{5};
  const auto replies = deployment.ask(wanted, engine);
  auto collector = deployment.collector(wanted);
  for (unsigned k = 1; k <= 6; ++k) {
    ASSERT_TRUE(collector.add(k - 1, replies[k - 1]).has_value());
    for (unsigned liars = 0; liars <= 4; ++liars) {
      EXPECT_EQ(collector.settled(liars), k >= 3 + liars) << k << " replies, " << liars << " liars";
    }
  }
}

/// Five servers, t = 2, one stopped, one lying: four replies can show a lie but not correct it.
TEST(Digests, SettleOneLiarAmongFourWithThresholdTwo) {
  auto engine = pirx::testing::seeded_engine(500);
  const Deployment<gf2e::Gf2_8> deployment({}, {100, 40, 4, true, true}, 5, 2, engine);
  for (std::size_t stopped = 0; stopped < 5; ++stopped) {
    for (std::size_t liar = 0; liar < 5; ++liar) {
      if (liar == stopped) continue;
      const std::vector<std::uint64_t> wanted{engine() % 100};
      const std::vector<std::size_t> liars{liar};
      const auto replies = lie(deployment, wanted, Lie::kGarbage, liars, engine, Blinding::kOff).replies;
      auto from = range(5);
      from.erase(from.begin() + static_cast<std::ptrdiff_t>(stopped));
      const auto answer = deployment.decode(wanted, replies, from);
      ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
      EXPECT_EQ(answer->records.at(0), deployment.records[wanted[0]]);
      EXPECT_EQ(answer->certainty, Certainty::kProbable);
      EXPECT_EQ(answer->proof_bound, 0u);
      for (std::size_t j = 0; j < 5; ++j) {
        EXPECT_EQ(answer->servers[j], j == liar      ? ServerStatus::kSuspected
                                      : j == stopped ? ServerStatus::kSilent
                                                     : ServerStatus::kOk);
      }
    }
  }
}

TEST(Digests, WithoutThemTheSameIsUndecodable) {
  auto engine = pirx::testing::seeded_engine(501);
  const Deployment<gf2e::Gf2_8> deployment({}, {100, 40, 4, true, false}, 4, 2, engine);
  const std::vector<std::uint64_t> wanted{3};
  const std::vector<std::size_t> liars{1};
  const auto answer = deployment.decode(
      wanted, lie(deployment, wanted, Lie::kOneBit, liars, engine, Blinding::kOff).replies, range(4));
  expect_error(answer, ErrorCode::kUndecodable, "no digests");
}

TEST(Digests, NameACorruptDatabase) {
  auto engine = pirx::testing::seeded_engine(502);
  const Deployment<gf2e::Gf2_8> deployment({}, {6, 10, 1, true, true}, 4, 1, engine);
  const std::uint64_t wanted = 2;
  auto rows = matrix::Matrix<std::byte>::create(deployment.rows().rows, deployment.rows().cols).value();
  for (std::size_t i = 0; i < 6; ++i) std::copy_n(deployment.rows().row(i), rows.cols(), rows.row(i));
  rows.at(2, 7) ^= std::byte{1};
  EngineSource rng{engine};
  const auto requests =
      deployment.client(Blinding::kOff).query(testing::records_of({&wanted, 1}), rng).value().requests;
  std::vector<Bytes> replies;
  for (std::size_t j = 0; j < 4; ++j) {
    replies.push_back(deployment.answer(*deployment.serve(j + 1, std::as_const(rows).view()), requests[j]));
  }
  const auto answer = deployment.decode({&wanted, 1}, replies, range(4));
  expect_error(answer, ErrorCode::kDataLoss, "corrupt");
  // With t + 1 replies nobody can tell a liar from a corrupt database.
  EXPECT_EQ(deployment.decode({&wanted, 1}, replies, range(2)).error().code(), ErrorCode::kUndecodable);
}

/// More colluders than the radius agree with each other on another record; its digest gives them away.
TEST(Digests, OverruleAColludingMajority) {
  auto engine = pirx::testing::seeded_engine(503);
  const Deployment<gf2e::Gf2_8> deployment({}, {6, 10, 1, true, true}, 5, 1, engine);
  const std::uint64_t wanted = 2;
  auto replies = deployment.ask({&wanted, 1}, engine);
  for (const std::size_t j : {0u, 1u, 2u}) {  // the truth plus one constant: a polynomial of degree t again
    tamper(gf2e::Gf2_8{}, replies[j], 8, 0x40);
  }
  const auto answer = deployment.decode({&wanted, 1}, replies, range(5));
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(answer->records.at(0), deployment.records[wanted]);
  EXPECT_EQ(answer->certainty, Certainty::kProbable);
  for (std::size_t j = 0; j < 5; ++j) {
    EXPECT_EQ(answer->servers[j], j < 3 ? ServerStatus::kSuspected : ServerStatus::kOk);
  }
}

/// Liars who hold another database with right digests; it differs from the true one in record `changed`.
template <class F>
std::vector<Bytes> answer_from_another(const Deployment<F>& deployment, std::span<const std::uint64_t> wanted,
                                       std::uint64_t changed, const Bytes& record,
                                       std::span<const std::size_t> liars, std::mt19937_64& engine) {
  const auto& geometry = deployment.spec().geometry;
  const auto rows = deployment.rows();
  auto other = matrix::Matrix<std::byte>::create(rows.rows, rows.cols).value();
  for (std::size_t i = 0; i < rows.rows; ++i) std::copy_n(rows.row(i), rows.cols, other.row(i));
  const auto at = geometry.locate(changed).value();
  geometry.fill_slot(changed, record,
                     {other.row(static_cast<std::size_t>(at.row)) + at.offset,
                      static_cast<std::size_t>(geometry.slot_bytes())});
  auto exchange = deployment.exchange(wanted, engine, Blinding::kOff);
  for (const auto j : liars) {
    const auto server = deployment.serve(deployment.spec().coordinates[j], std::as_const(other).view());
    exchange.replies[j] = deployment.answer(*server, exchange.requests[j]);
  }
  return exchange.replies;
}

/// d + 1 servers are honest, and at least as many liars make another record with the right digest. The client
/// reckons with that many.
TEST(Digests, OfTwoDatabasesAreAmbiguous) {
  auto engine = pirx::testing::seeded_engine(508);
  const std::vector<std::uint64_t> wanted{2};
  unsigned suspected = 0;
  for (unsigned t = 1; t <= 3; ++t) {
    for (unsigned v = t + 1; v <= 2 * t + 1; ++v) {
      const unsigned k = t + 1 + v;
      SCOPED_TRACE("t=" + std::to_string(t) + " k=" + std::to_string(k));
      const Deployment<gf2e::Gf2_16> deployment({}, {6, 10, 1, true, true}, k, t, engine);
      const auto liars = some_of(k, v, engine);
      const Bytes forged(7, std::byte{0x77});
      const auto replies = answer_from_another(deployment, wanted, 2, forged, liars, engine);
      const auto answer = deployment.decode(wanted, replies, range(k), {}, {v, {}});
      expect_error(answer, ErrorCode::kUndecodable, "several answers have the right digests");
      // The caller's check is offered both, and chooses.
      for (const Bytes& believed : {deployment.records[2], forged}) {
        auto check = checked_by([&](std::span<const Bytes> records) { return records[0] == believed; });
        check.liars = v;
        const auto chosen = deployment.decode(wanted, replies, range(k), {}, check);
        ASSERT_TRUE(chosen.has_value()) << chosen.error().to_string();
        EXPECT_EQ(chosen->records.at(0), believed);
        EXPECT_EQ(chosen->certainty, Certainty::kProbable);
        // Of the others, accident clears one now and then: with some who hold the record they make it, too.
        for (std::size_t j = 0; j < k; ++j) {
          const bool liar = std::find(liars.begin(), liars.end(), j) != liars.end();
          suspected += chosen->servers[j] == ServerStatus::kSuspected;
          if (liar == (believed == forged)) {
            EXPECT_EQ(chosen->servers[j], ServerStatus::kOk);
          }
        }
      }
      auto no = checked_by([](std::span<const Bytes>) { return false; });
      no.liars = v;
      const auto none = deployment.decode(wanted, replies, range(k), {}, no);
      EXPECT_EQ(none.error().code(), ErrorCode::kUndecodable);
    }
  }
  EXPECT_GT(suspected, 20u);
}

/// Two databases that have the wanted record in common: it is the answer, and nobody is suspected.
TEST(Digests, OfARecordInBothDatabasesAccuseNobody) {
  auto engine = pirx::testing::seeded_engine(509);
  const Deployment<gf2e::Gf2_8> deployment({}, {6, 10, 1, true, true}, 7, 2, engine);
  const std::vector<std::uint64_t> wanted{2};
  const std::vector<std::size_t> liars{0, 2, 3, 6};
  const auto replies = answer_from_another(deployment, wanted, 4, Bytes(3), liars, engine);
  const auto answer = deployment.decode(wanted, replies, range(7), {}, {4u, {}});
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(answer->records.at(0), deployment.records[2]);
  EXPECT_EQ(answer->certainty, Certainty::kProbable);
  for (std::size_t j = 0; j < 7; ++j) EXPECT_EQ(answer->servers[j], ServerStatus::kOk) << j;
}

/// Two liars of four make another record for the first of two keys, with a right digest, or a wrong sum; and
/// likewise for the second, of which the honest ones say the truth, too. A missing key has no digest that
/// could speak for it.
TEST(Digests, OfTwoRecordsForAKeyAreAmbiguousThoughAnotherIsMissing) {
  auto engine = pirx::testing::seeded_engine(511);
  constexpr std::size_t kBytes = 9;
  const Deployment<gf2e::Gf2_8> deployment({}, {14, kBytes, 1, false, false}, 4, 1, engine);
  const std::vector<std::uint64_t> wanted{5, 9};
  enum Says : std::uint8_t { kTruth = 0, kForged = 0x40, kJunk = 0x41 };  // what is added to every byte
  const auto made = [&](std::size_t wish, Says says) {
    auto record = deployment.records[wanted[wish]];
    for (auto& byte : record) byte ^= std::byte{says};
    return record;
  };
  struct Case {
    bool missing;  ///< the second key
    Says first, second;
    std::string error;  ///< none: the first record is right
  };
  const std::string several = "several answers have the right digests", none = "no answer has the right";
  for (const auto& [missing, first, second, error] :
       {Case{true, kForged, kForged, several}, Case{false, kForged, kJunk, several},
        Case{true, kJunk, kJunk, none}, Case{false, kJunk, kJunk, ""}, Case{true, kTruth, kForged, ""}}) {
    DecodeOptions options;
    options.read_checks = true;
    options.read = [&, absent = missing](std::size_t from, std::span<const Bytes> found) -> Result<Records> {
      Records records(found.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        const bool exists = from + i == 0 || !absent;
        if ((exists && found[i] == made(from + i, kTruth)) || found[i] == made(from + i, kForged)) {
          records[i] = found[i];
        }
      }
      return records;
    };
    for (const std::size_t liar : {0u, 2u}) {
      SCOPED_TRACE(std::to_string(missing) + " " + std::to_string(first) + " " + std::to_string(second));
      auto replies = deployment.ask(wanted, engine);
      for (std::size_t w = 0; w < 2 * kBytes; ++w) {
        for (const std::size_t j : {liar, liar + 1}) {
          tamper(gf2e::Gf2_8{}, replies[j], w, w < kBytes ? first : second);
        }
      }
      const auto answer = deployment.decode(wanted, replies, range(4), {}, options);
      if (!error.empty()) {
        expect_error(answer, ErrorCode::kUndecodable, error);
      } else {
        ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
        EXPECT_EQ(answer->records.at(0), made(0, kTruth));
        EXPECT_EQ(answer->certainty, Certainty::kProbable);
      }
      // The caller's check is offered whole answers, and chooses.
      auto check = options;
      check.believe = [&](const auto& records) { return records[0] == made(0, kTruth) && !records[1]; };
      const auto chosen = deployment.decode(wanted, replies, range(4), {}, check);
      EXPECT_EQ(chosen.has_value(), missing);
      if (chosen) {
        EXPECT_EQ(chosen->missing, std::vector<std::size_t>{1});
      }
      check.believe = [](const auto&) { return true; };
      const auto any = deployment.decode(wanted, replies, range(4), {}, check);
      expect_error(any, ErrorCode::kUndecodable, several);
    }
  }
}

/// What cannot be weighed against all other answers is not called probable.
TEST(Digests, OfMoreSetsThanCanBeWeighedSettleNothing) {
  auto engine = pirx::testing::seeded_engine(510);
  const Deployment<gf2e::Gf2_8> deployment({}, {4, 4, 1, true, true}, 17, 6, engine);
  const std::vector<std::uint64_t> wanted{1};
  const auto replies = answer_from_another(deployment, wanted, 1, Bytes(4), range(10), engine);
  const auto answer = deployment.decode(wanted, replies, range(17), {}, {10u, {}});
  expect_error(answer, ErrorCode::kUndecodable, "too many ways to choose 7 of them to weigh every answer");
}

/// Liars who spoil other slots of the row need not know what is wanted; every subset then has the right
/// digests. That must neither take the client's time nor the record.
TEST(Search, LiesElsewhereInTheRowCostNothing) {
  auto engine = pirx::testing::seeded_engine(504);
  const Deployment<gf2e::Gf2_8> deployment({}, {8, 1000, 8, true, true}, 16, 7, engine);
  const std::uint64_t wanted = 0;
  auto replies = deployment.ask({&wanted, 1}, engine);
  for (std::size_t liar = 0; liar < 8; ++liar) tamper(gf2e::Gf2_8{}, replies[liar], 5000 + liar, 0x40);
  const auto answer = deployment.decode({&wanted, 1}, replies, range(16));
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(answer->records.at(0), deployment.records[wanted]);
  EXPECT_EQ(answer->certainty, Certainty::kProbable);
}

TEST(Search, IsBounded) {
  auto engine = pirx::testing::seeded_engine(504);
  const Deployment<gf2e::Gf2_8> deployment({}, {4, 4, 1, true, true}, 24, 10, engine);
  const std::vector<std::uint64_t> wanted{1};
  auto servers = range(13);
  const auto answer = deployment.decode(
      wanted, lie(deployment, wanted, Lie::kGarbage, servers, engine, Blinding::kOff).replies, range(24));
  expect_error(answer, ErrorCode::kUndecodable, "too many ways");
}

TEST(Sums, ThatAreNoWordAreNoRecord) {
  // 2^160 is an element of W160 and no word: a liar can send replies that interpolate to it.
  auto engine = pirx::testing::seeded_engine(505);
  const Deployment<fp::W160> deployment({}, {3, 20, 1, false, false}, 2, 1, engine);
  const std::uint64_t wanted = 1;
  auto replies = deployment.ask({&wanted, 1}, engine);
  // Both replies hold the constant polynomial 2^160.
  for (auto& reply : replies) {
    std::fill(reply.begin() + MessageHeader::kBytes, reply.end(), std::byte{0});
    reply.back() = std::byte{1};
  }
  const auto answer = deployment.decode({&wanted, 1}, replies, range(2));
  expect_error(answer, ErrorCode::kUndecodable);
}

TEST(Rows, MustEndInZeros) {
  // Rows of 21 bytes are two words of 20: both replies hold the constant polynomial 2^8, a byte behind the
  // row.
  auto engine = pirx::testing::seeded_engine(507);
  const Deployment<fp::W160> deployment({}, {3, 21, 1, false, false}, 2, 1, engine);
  const std::uint64_t wanted = 1;
  auto replies = deployment.ask({&wanted, 1}, engine);
  ASSERT_TRUE(deployment.decode({&wanted, 1}, replies, range(2)).has_value());
  for (auto& reply : replies) {
    std::fill(reply.begin() + MessageHeader::kBytes, reply.end(), std::byte{0});
    reply[MessageHeader::kBytes + 21 + 1] = std::byte{1};
  }
  const auto answer = deployment.decode({&wanted, 1}, replies, range(2));
  expect_error(answer, ErrorCode::kUndecodable);
}

TEST(FastPath, SeesDifferencesBehindTheFirstSlice) {
  auto engine = pirx::testing::seeded_engine(506);
  const Deployment<gf2e::Gf2_8> deployment({}, {2, 100'000, 1, true, true}, 4, 1, engine);
  const std::uint64_t wanted = 1;
  auto replies = deployment.ask({&wanted, 1}, engine);
  tamper(gf2e::Gf2_8{}, replies[2], 99'999, 0x80);
  const auto answer = deployment.decode({&wanted, 1}, replies, range(4)).value();
  EXPECT_EQ(answer.records.at(0), deployment.records[1]);
  EXPECT_EQ(answer.servers[2], ServerStatus::kLied);
}

// d + 1 points choose the polynomial: of k servers that all agree, k - d liars and d honest ones make a false
// one.
TEST(Decoder, ServersThatAllAgreeMayHoldOneLiarLessThanCanForge) {
  for (std::size_t d = 0; d < 4; ++d) {
    for (std::size_t k = d + 1; k < 9; ++k) EXPECT_EQ(decoding::proof_bound(k, d, k, 0), k - d - 1);
  }
}

}  // namespace
}  // namespace pirx::itpir::goldberg
