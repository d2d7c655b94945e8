// SPDX-License-Identifier: Apache-2.0
// Selective failure, counted exactly: whatever at most t servers see and answer, what the client does next
// (whether it asks again, gives up, or whom it blames) has the same distribution over the other coins for
// every index. Every strategy of liars is a choice of replies for each view, so all of them are covered. Two
// controls show that the test can fail.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "checked_by.h"
#include "pirx/itpir/goldberg/client.h"
#include "pirx/itpir/vertical.h"
#include "privacy_case.h"

namespace pirx::itpir::goldberg::testing {
namespace {

using pirx::testing::TinyPrime;

constexpr std::uint64_t kRows = 2;

/// What the client shows to the world after the replies.
struct Outcome {
  DecodeStatus status;
  unsigned rank;
  std::vector<std::vector<bool>> candidates;
  std::optional<ErrorCode> error;  ///< of finish()
  std::optional<Certainty> certainty;
  std::vector<ServerStatus> servers;
  friend auto operator<=>(const Outcome&, const Outcome&) = default;
};

/// By what the liars see and what they answer, both packed into numbers: how often each outcome occurs.
using Tally = std::map<std::pair<std::uint64_t, std::uint64_t>, std::map<std::size_t, std::uint64_t>>;

template <class F>
class Game {
 public:
  Game(unsigned l, unsigned t, std::vector<std::size_t> liars, Blinding blinding, DecodeOptions options = {},
       const Code& code = {})
      : random_(pirx::testing::seeded_engine(l)),
        deployment_(F{}, {kRows, 1, 1, false, false}, l, t, random_, code),
        liars_(std::move(liars)),
        blinding_(blinding),
        options_(std::move(options)) {}

  /// Over every coin, when the client wants `index` of the database `words`.
  Tally play(std::span<const unsigned> words, std::uint64_t index) {
    const F f;
    const auto& spec = deployment_.spec();
    const std::size_t l = spec.coordinates.size();
    const auto row_coins = spec.threshold * static_cast<std::size_t>(encoding_of(spec).rows(kRows));
    const std::size_t coins = row_coins + (blinding_ == Blinding::kOn ? l : 0);
    const auto size = static_cast<unsigned>(f.size_limit());
    auto rows = matrix::Matrix<std::byte>::create(kRows, 1).value();
    for (std::size_t i = 0; i < kRows; ++i) rows.at(i, 0) = static_cast<std::byte>(words[i]);
    std::vector<std::unique_ptr<AnyServer>> servers;
    for (const auto coordinate : spec.coordinates)
      servers.push_back(deployment_.serve(coordinate, rows.view()));
    std::map<Bytes, Bytes> known;

    Tally tally;
    CoinTape tape(coins, coins);
    const auto client = deployment_.client(blinding_);
    do {
      auto query = client.query(records_of({&index, 1}), tape).value();
      if (blinding_ == Blinding::kOn && tape.drawn() > coins) continue;  // a zero is drawn again
      PIRX_CHECK(tape.drawn() == coins);
      std::vector<Bytes> replies;
      for (std::size_t j = 0; j < l; ++j) {
        auto& reply = known[query.requests[j]];
        if (reply.empty()) reply = deployment_.answer(*servers[j], query.requests[j]);
        replies.push_back(reply);
      }
      std::uint64_t view = 0, lies = 1;
      for (const auto j : liars_) {
        for (const auto byte : ByteSpan(query.requests[j]).subspan(MessageHeader::kBytes)) {
          view = view * size + std::to_integer<unsigned>(byte);
        }
        lies *= size;
      }
      for (std::uint64_t lie = 0; lie < lies; ++lie) {
        auto rest = lie;
        for (const auto j : liars_) {
          replies[j].back() = static_cast<std::byte>(rest % size);
          rest /= size;
        }
        ++tally[{view, lie}][judge(index, replies, std::as_const(query.blinding).expose())];
      }
    } while (tape.next(size));
    return tally;
  }

  /// What happened at all, by number.
  const std::map<Outcome, std::size_t>& outcomes() const { return outcomes_; }
  std::set<DecodeStatus> statuses() const {
    std::set<DecodeStatus> all;
    for (const auto& [outcome, number] : outcomes_) all.insert(outcome.status);
    return all;
  }

 private:
  std::size_t judge(std::uint64_t index, const std::vector<Bytes>& replies,
                    std::span<const typename F::Elem> blinding) {
    std::vector<unsigned> key{static_cast<unsigned>(index)};
    for (const auto& reply : replies) key.push_back(std::to_integer<unsigned>(reply.back()));
    key.insert(key.end(), blinding.begin(), blinding.end());
    const auto [found, fresh] = judged_.try_emplace(std::move(key));
    if (!fresh) return found->second;

    auto collector = deployment_.collector({&index, 1}, blinding, options_);
    for (std::size_t j = 0; j < replies.size(); ++j) PIRX_CHECK(collector.add(j, replies[j]).has_value());
    const auto report = collector.decode().value();
    Outcome outcome{report.status, report.rank, {}, {}, {}, {}};
    for (const auto& candidate : report.candidates) outcome.candidates.push_back(candidate.agrees);
    const auto answer = std::move(collector).finish();
    if (answer) {
      outcome.certainty = answer->certainty;
      outcome.servers = answer->servers;
    } else {
      outcome.error = answer.error().code();
    }
    return found->second = outcomes_.try_emplace(std::move(outcome), outcomes_.size()).first->second;
  }

  std::mt19937_64 random_;
  Deployment<F> deployment_;
  std::vector<std::size_t> liars_;
  Blinding blinding_;
  DecodeOptions options_;
  std::map<std::vector<unsigned>, std::size_t> judged_;
  std::map<Outcome, std::size_t> outcomes_;
};

/// All databases of two words, for every single liar of l servers with t = 1.
template <class F>
std::set<DecodeStatus> expect_no_difference(unsigned l) {
  std::set<DecodeStatus> statuses;
  for (std::size_t liar = 0; liar < l; ++liar) {
    Game<F> game(l, 1, {liar}, Blinding::kOff);
    const auto size = static_cast<unsigned>(F{}.size_limit());
    for (unsigned a = 0; a < size; ++a) {
      for (unsigned b = 0; b < size; ++b) {
        const unsigned words[] = {a, b};
        EXPECT_TRUE(game.play(words, 0) == game.play(words, 1))
            << "server " << liar << " tells the index of database " << a << ", " << b;
      }
    }
    statuses.merge(game.statuses());
  }
  return statuses;
}

TEST(SelectiveFailure, LiarsThatAreCorrectedLearnNothing) {
  EXPECT_EQ(expect_no_difference<TinyPrime<7>>(4), std::set{DecodeStatus::kOk});
}

TEST(SelectiveFailure, LiarsThatAreOnlyNoticedLearnNothing) {
  const auto statuses = expect_no_difference<TinyPrime<5>>(3);
  EXPECT_TRUE(statuses.count(DecodeStatus::kOk));
  EXPECT_GT(statuses.size(), 1u) << "no lie stopped the client";
}

TEST(SelectiveFailure, BlindedQueriesTellNothing) {
  Game<TinyPrime<5>> game(3, 1, {1}, Blinding::kOn);
  const unsigned words[] = {3, 1};
  EXPECT_TRUE(game.play(words, 0) == game.play(words, 1));
  EXPECT_GT(game.statuses().size(), 1u);
}

TEST(SelectiveFailure, WhoMakesTheClientAskAgainLearnsNothing) {
  Game<TinyPrime<7>> game(6, 2, {1, 4}, Blinding::kOff);
  const unsigned words[] = {5, 2};
  EXPECT_TRUE(game.play(words, 0) == game.play(words, 1));
  EXPECT_TRUE(game.statuses().count(DecodeStatus::kOk));
  EXPECT_TRUE(game.statuses().count(DecodeStatus::kNeedMoreQueries));
}

/// Ramp, u-ary and tau-independent: replies of degree 2, so that one liar of four is noticed, and one of five
/// corrected.
TEST(SelectiveFailure, NorDoLiarsUnderACode) {
  for (const Code& code : {Code{2}, Code{1, 2, 0, 2}, Code{1, 1, 1, 1}}) {
    SCOPED_TRACE("q=" + std::to_string(code.ramp) + " u=" + std::to_string(code.arity) +
                 " tau=" + std::to_string(code.independence));
    const unsigned words[] = {5, 2};
    for (std::size_t liar = 0; liar < 4; ++liar) {
      Game<TinyPrime<7>> game(4, 1, {liar}, Blinding::kOff, {}, code);
      EXPECT_TRUE(game.play(words, 0) == game.play(words, 1)) << "server " << liar;
      EXPECT_GT(game.statuses().size(), 1u);
    }
    Game<TinyPrime<11>> more(5, 1, {3}, Blinding::kOff, {}, code);
    EXPECT_TRUE(more.play(words, 0) == more.play(words, 1));
    EXPECT_EQ(more.statuses(), std::set{DecodeStatus::kOk});
    Game<TinyPrime<7>> two(4, 1, {0, 2}, Blinding::kOff, {}, code);
    EXPECT_FALSE(two.play(words, 0) == two.play(words, 1)) << "more than t";
  }
}

/// The buckets of a batch code over GF(4), three servers and t = 1: enough replies to notice a liar, and a
/// digest that no wrong record has, which play() reads, decides what the client believes.
class BatchCode {
 public:
  using F = pirx::testing::TinyGf4;
  BatchCode(const std::string& code, std::size_t liar)
      : planner_(VerticalClient::create(
                     code, database::Geometry::create({kWords.size(), 1, 1, false, false}).value(), {},
                     planner_client)
                     .value()),
        engine_(pirx::testing::seeded_engine(4)),
        deployment_(F{}, planner_.layout().bucket.spec(), 3, 1, engine_),
        liar_(liar) {
    const auto& code_of = *planner_.layout().code;
    const auto& geometry = planner_.layout().bucket;
    const auto rows = static_cast<std::size_t>(geometry.rows()),
               stride = static_cast<std::size_t>(geometry.row_stride());
    for (std::size_t b = 0; b < code_of.buckets(); ++b) {
      auto& bucket = buckets_.emplace_back(matrix::Matrix<std::byte>::create(rows, stride).value());
      if (const auto slice = code_of.slice(b, kWords.size())) {
        for (std::size_t i = 0; i < slice->count; ++i) {
          bucket.at(i, 0) = static_cast<std::byte>(kWords[slice->first + i * slice->step]);
        }
      } else {
        for (const auto addend : code_of.addends(b)) {
          for (std::size_t i = 0; i < rows; ++i) bucket.at(i, 0) ^= buckets_[addend].at(i, 0);
        }
      }
    }
    for (const auto& bucket : buckets_) {
      auto& servers = servers_.emplace_back();
      for (const auto x : deployment_.spec().coordinates) {
        servers.push_back(deployment_.serve(x, std::as_const(bucket).view()));
      }
    }
  }

  /// Over every coin, when the client wants these records. Without `reads` it compares rows, as if every
  /// bucket were wanted: the planted bug.
  Tally play(const std::vector<std::uint64_t>& wanted, bool reads = true) {
    const auto wish = planner_.plan(wanted).value();
    const std::size_t m = buckets_.size(), l = deployment_.spec().coordinates.size();
    const std::size_t coins = m * buckets_[0].rows();
    constexpr unsigned kSize = 4;
    const auto read = [&](std::size_t, std::span<const Bytes> rows) -> Result<Records> {
      PIRX_ASSIGN(auto records, planner_.records(wish, rows));
      for (std::size_t k = 0; k < wanted.size(); ++k) {
        if (records[k]->at(0) != static_cast<std::byte>(kWords[wanted[k]])) {
          return fail(ErrorCode::kDataLoss, "another record");
        }
      }
      if (!reads) return Records(rows.begin(), rows.end());
      return records;
    };
    const DecodeOptions options{std::nullopt, read, true};
    std::map<std::vector<Bytes>, std::size_t> judged;
    Tally tally;
    CoinTape tape(coins, coins);
    const auto client = deployment_.client(Blinding::kOff);
    do {
      const auto query = client.query(records_of(wish.rows()), tape).value();
      PIRX_CHECK(tape.drawn() == coins);
      std::vector<Bytes> replies;
      for (std::size_t j = 0; j < l; ++j) {
        for (std::size_t b = 0; b < m; ++b) {
          const auto of_bucket = deployment_.answer(*servers_[b][j], query.requests[j]);
          if (b == 0) replies.push_back(of_bucket);
          replies[j][MessageHeader::kBytes + b] = of_bucket[MessageHeader::kBytes + b];
        }
      }
      std::uint64_t view = 0, lies = 1;
      for (const auto byte : ByteSpan(query.requests[liar_]).subspan(MessageHeader::kBytes)) {
        view = view * kSize + std::to_integer<unsigned>(byte);
      }
      for (std::size_t b = 0; b < m; ++b) lies *= kSize;
      for (std::uint64_t lie = 0; lie < lies; ++lie) {
        auto rest = lie;
        for (std::size_t b = 0; b < m; ++b, rest /= kSize) {
          replies[liar_][MessageHeader::kBytes + b] = static_cast<std::byte>(rest % kSize);
        }
        const auto [found, fresh] = judged.try_emplace(replies);
        if (fresh) found->second = judge(wish, replies, options);
        ++tally[{view, lie}][found->second];
      }
    } while (tape.next(kSize));
    return tally;
  }
  std::size_t outcomes() const { return outcomes_.size(); }

 private:
  static constexpr std::array<unsigned, 2> kWords{2, 1};
  static Result<std::shared_ptr<const SharesClient>> planner_client(const database::Geometry& geometry,
                                                                    const database::Version& version,
                                                                    const ClientOptions& options) {
    return std::make_shared<const Client>(
        Params::create({kTagGf2_8, geometry, version, {1, 2, 3}, 1}).value(), options);
  }
  /// Not whom it blames: a digest that does not fit tells the client where the lie was, but nobody else.
  std::size_t judge(const VerticalClient::Wish& wish, const std::vector<Bytes>& replies,
                    const DecodeOptions& options) {
    auto collector = deployment_.collector(wish.rows(), {}, options);
    for (std::size_t j = 0; j < replies.size(); ++j) PIRX_CHECK(collector.add(j, replies[j]).has_value());
    const auto report = collector.decode().value();
    Outcome outcome{report.status, report.rank, {}, {}, {}, {}};
    const auto answer = std::move(collector).finish();
    if (answer) {
      outcome.certainty = answer->certainty;
    } else {
      outcome.error = answer.error().code();
    }
    return outcomes_.try_emplace(std::move(outcome), outcomes_.size()).first->second;
  }

  VerticalClient planner_;
  std::mt19937_64 engine_;
  Deployment<F> deployment_;
  std::size_t liar_;
  std::vector<matrix::Matrix<std::byte>> buckets_;
  std::vector<std::vector<std::unique_ptr<AnyServer>>> servers_;  ///< by bucket and server
  std::map<Outcome, std::size_t> outcomes_;
};

/// A lie in a bucket that is not wanted must not end otherwise than one in a bucket that is.
TEST(SelectiveFailure, NorDoLiarsUnderABatchCode) {
  for (std::size_t liar = 0; liar < 3; ++liar) {
    BatchCode game("subcube:2,1", liar);
    const auto first = game.play({0});
    for (const std::vector<std::uint64_t>& wanted :
         {std::vector<std::uint64_t>{1}, {0, 1}, {1, 0}, {0, 0}, {1, 1}}) {
      EXPECT_TRUE(game.play(wanted) == first) << "server " << liar << " tells " << wanted[0];
    }
    EXPECT_GT(game.outcomes(), 1u) << "no lie was noticed";
  }
}

TEST(SelectiveFailure, ControlAClientThatComparesRowsOfBucketsIsNoticed) {
  BatchCode game("subcube:2,1", 1);
  EXPECT_FALSE(game.play({0}, false) == game.play({1}, false));
}

TEST(SelectiveFailure, ControlOneLiarMoreThanTIsNoticed) {
  Game<TinyPrime<5>> game(4, 1, {0, 3}, Blinding::kOff);
  const unsigned words[] = {3, 1};
  EXPECT_FALSE(game.play(words, 0) == game.play(words, 1));
}

/// A client that stops at certain records is what the attack needs: the tally sees it.
TEST(SelectiveFailure, ControlAClientThatLooksAtRecordsIsNoticed) {
  const auto options =
      checked_by([](std::span<const Bytes> records) { return records[0][0] != std::byte{3}; });
  Game<TinyPrime<5>> game(4, 1, {2}, Blinding::kOff, options);
  const unsigned words[] = {3, 1};
  EXPECT_FALSE(game.play(words, 0) == game.play(words, 1));
}

}  // namespace
}  // namespace pirx::itpir::goldberg::testing
