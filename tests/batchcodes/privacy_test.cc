// SPDX-License-Identifier: Apache-2.0
// Privacy by enumeration: over tiny fields, with every sequence of coins, any t servers see the very same
// distribution for every choice of indices, in ramp, u-ary, batch and tau-independent settings. Planted bugs
// show that the test can fail.
#include "batchcodes/model.h"

namespace pirx::batchcodes {
namespace {

using matrix::Matrix;
using pirx::testing::TinyGf4;
using pirx::testing::TinyPrime;

/// What is done wrong on purpose.
enum class Bug { kNone, kOneCoinForTwoRows, kSameCoefficients, kCoinsOfTheOtherVector };

template <class F>
struct Case {
  unsigned t, q, u, tau;
  std::uint64_t M;
  unsigned l;
  std::uint64_t blocks;
  std::size_t queries = 1;
  bool given = false;  ///< the first t servers' vectors are uniform, the others' completed from them
  Bug bug = Bug::kNone;

  Encoding encoding() const {
    const F f;
    return Encoding::create({f.tag(), t, q, u, tau, M, Encoding::suggested_coordinates(f.tag(), l).value()})
        .value();
  }

  /// For each group of servers, how often each view occurs over all coins.
  std::vector<std::vector<std::uint32_t>> views(const BatchPlan& plan,
                                                const std::vector<std::vector<std::size_t>>& groups) const {
    const F f;
    const PolynomialCode<F> code(strassen::Engine<F>(f), encoding());
    const auto R = static_cast<std::size_t>(encoding().rows(blocks));
    const auto size = static_cast<unsigned>(f.size_limit());
    std::vector<std::vector<std::uint32_t>> seen;
    for (const auto& group : groups) {
      std::size_t possible = 1;
      for (std::size_t i = 0; i < group.size() * R * queries; ++i) possible *= size;
      seen.emplace_back(possible, 0u);
    }
    auto shares = Matrix<std::uint8_t>::create(queries * l, R).value();
    auto coins = Matrix<std::uint8_t>::create(queries * t, R).value();
    for (;;) {
      for (std::size_t i = 0; i < queries; ++i) {
        const auto own = coins.view().window(bug == Bug::kCoinsOfTheOtherVector ? 0 : i * t, 0, t, R);
        if (bug == Bug::kOneCoinForTwoRows) own.at(0, R - 1) = own.at(0, 0);
        if (bug == Bug::kSameCoefficients) std::copy_n(own.row(0), R, own.row(t - 1));
        const auto out = shares.view().window(i * l, 0, l, R);
        if (given) {
          for (unsigned a = 0; a < t; ++a) std::copy_n(own.row(a), R, out.row(a));
          PIRX_CHECK(code.complete(plan.query(i), own, out.window(t, 0, l - t, R)).has_value());
        } else {
          PIRX_CHECK(code.share(plan.query(i), own, out).has_value());
        }
      }
      for (std::size_t g = 0; g < groups.size(); ++g) {
        std::size_t view = 0;
        for (const auto j : groups[g]) {
          for (std::size_t i = 0; i < queries; ++i) {
            for (std::size_t k = 0; k < R; ++k) view = view * size + shares.at(i * l + j, k);
          }
        }
        ++seen[g][view];
      }
      std::size_t at = 0;
      for (; at < queries * t * R; ++at) {
        auto& coin = coins.at(at / R, at % R);
        coin = static_cast<std::uint8_t>((coin + 1) % size);
        if (coin != 0) break;
      }
      if (at == queries * t * R) return seen;
    }
  }

  /// Whether the views of every `colluding` servers have one distribution for all lists of up to q * queries
  /// blocks that a plan serves. `lists` counts them.
  bool private_against(std::size_t colluding, unsigned* lists = nullptr) const {
    std::vector<std::vector<std::size_t>> groups;
    for (unsigned mask = 0; mask < 1u << l; ++mask) {
      if (static_cast<std::size_t>(std::popcount(mask)) != colluding) continue;
      groups.emplace_back();
      for (unsigned j = 0; j < l; ++j) {
        if (mask >> j & 1) groups.back().push_back(j);
      }
    }
    std::vector<std::vector<std::uint64_t>> wishes{{}};
    for (std::size_t first = 0, length = 0; length < q * queries; ++length) {
      const std::size_t end = wishes.size();
      for (; first < end; ++first) {
        for (std::uint64_t block = 0; block < blocks; ++block) {
          wishes.push_back(wishes[first]);
          wishes.back().push_back(block);
        }
      }
    }
    std::vector<std::vector<std::uint32_t>> expected;
    unsigned planned = 0;
    for (std::size_t i = 1; i < wishes.size(); ++i) {
      const auto plan = plan_batch(encoding(), blocks, wishes[i], queries);
      if (!plan) continue;
      ++planned;
      const auto seen = views(*plan, groups);
      if (expected.empty()) expected = seen;
      if (seen != expected) return false;
    }
    if (lists != nullptr) *lists = planned;
    return planned > 1;
  }
};

/// t servers learn nothing; as many as can decode do.
template <class F>
void check(const Case<F>& shape) {
  SCOPED_TRACE("|F|=" + std::to_string(F().size_limit()) + " t=" + std::to_string(shape.t) +
               " q=" + std::to_string(shape.q) + " u=" + std::to_string(shape.u) +
               " tau=" + std::to_string(shape.tau) + " blocks=" + std::to_string(shape.blocks));
  EXPECT_TRUE(shape.private_against(shape.t));
  EXPECT_FALSE(shape.private_against(shape.t + 1));
}

TEST(Privacy, Ramp) {
  check(Case<TinyPrime<5>>{1, 2, 1, 0, 0, 3, 3});
  check(Case<TinyPrime<7>>{1, 2, 1, 0, 0, 4, 3});
  check(Case<TinyPrime<7>>{2, 2, 1, 0, 0, 4, 2});
  check(Case<TinyPrime<7>>{1, 3, 1, 0, 0, 4, 2});
}

TEST(Privacy, Ary) {
  check(Case<TinyPrime<5>>{1, 1, 2, 0, 2, 3, 4});
  check(Case<TinyPrime<7>>{1, 1, 2, 0, 2, 4, 5});
  check(Case<TinyPrime<7>>{2, 1, 2, 0, 2, 4, 4});
  check(Case<TinyPrime<7>>{1, 1, 3, 0, 3, 4, 6});
}

TEST(Privacy, AryBatch) {
  check(Case<TinyPrime<7>>{1, 2, 2, 0, 2, 4, 4});
  check(Case<TinyPrime<11>>{1, 2, 2, 0, 4, 4, 4});
  check(Case<TinyPrime<11>>{1, 2, 2, 0, 6, 5, 5});
  check(Case<TinyPrime<11>>{2, 2, 2, 0, 4, 5, 3});
}

TEST(Privacy, Independent) {
  check(Case<TinyPrime<5>>{1, 1, 1, 1, 1, 3, 3});
  check(Case<TinyGf4>{1, 1, 1, 1, 1, 3, 2});
  check(Case<TinyPrime<7>>{1, 2, 1, 1, 3, 4, 3});
  check(Case<TinyPrime<11>>{2, 1, 2, 1, 4, 5, 4});
}

TEST(Privacy, SeveralQueryVectors) {
  check(Case<TinyPrime<5>>{1, 1, 2, 0, 2, 3, 4, 2});
  check(Case<TinyPrime<7>>{1, 2, 2, 0, 2, 4, 3, 2});
}

TEST(Privacy, GivenVectors) {
  const auto given = [](auto shape) {
    shape.given = true;
    return shape;
  };
  check(given(Case<TinyPrime<7>>{1, 2, 1, 0, 0, 4, 3}));
  check(given(Case<TinyPrime<7>>{2, 1, 2, 0, 2, 4, 4}));
  check(given(Case<TinyPrime<11>>{2, 2, 2, 0, 4, 5, 3}));
}

TEST(Privacy, BlankSlotsLookLikeAnyOther) {
  // Among the wishes of every case above are shorter lists; here they are counted.
  unsigned lists = 0;
  EXPECT_TRUE((Case<TinyPrime<11>>{1, 2, 2, 0, 4, 4, 4}.private_against(1, &lists)));
  EXPECT_EQ(lists, 4u + 16u);
}

template <class F>
bool caught(Case<F> shape, Bug bug) {
  const bool sound = shape.private_against(shape.t);
  shape.bug = bug;
  return sound && !shape.private_against(shape.t);
}

TEST(Privacy, CatchesPlantedBugs) {
  EXPECT_TRUE(caught(Case<TinyPrime<7>>{1, 1, 2, 0, 2, 4, 4}, Bug::kOneCoinForTwoRows));
  EXPECT_TRUE(caught(Case<TinyPrime<7>>{2, 1, 2, 0, 2, 4, 4}, Bug::kSameCoefficients));
  EXPECT_TRUE(caught(Case<TinyPrime<5>>{1, 1, 2, 0, 2, 3, 4, 2}, Bug::kCoinsOfTheOtherVector));
}

}  // namespace
}  // namespace pirx::batchcodes
