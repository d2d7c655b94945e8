// SPDX-License-Identifier: Apache-2.0
// Privacy by enumeration for every kind of query that the client makes over polynomial encodings: ramp,
// u-ary, batch, colliding rows, tau-independent, sums of rows, seeds, and batch codes. Planted bugs show that
// the test can fail.
#include "itpir/make_client.h"
#include "pirx/itpir/goldberg/client.h"
#include "pirx/itpir/vertical.h"
#include "privacy_case.h"

namespace pirx::itpir::goldberg {
namespace {

using pirx::testing::TinyGf4;
using pirx::testing::TinyPrime;
using testing::Case;

/// `shape` in the setting of an encoding.
template <class F>
Case<F> encoded(Case<F> shape, unsigned q, unsigned u, unsigned tau, std::uint64_t M) {
  shape.ramp = q;
  shape.arity = u;
  shape.independence = tau;
  shape.modulus = M;
  return shape;
}
template <class F>
Case<F> sums(Case<F> shape) {
  shape.kind = QueryKind::kRowSums;
  return shape;
}

/// t servers learn nothing, t + 1 do; blinded or not.
template <class F>
void check(Case<F> shape) {
  SCOPED_TRACE("|F|=" + std::to_string(F().size_limit()) + " l=" + std::to_string(shape.l) +
               " t=" + std::to_string(shape.t) + " rows=" + std::to_string(shape.rows) +
               " q=" + std::to_string(shape.ramp) + " u=" + std::to_string(shape.arity) +
               " tau=" + std::to_string(shape.independence));
  EXPECT_TRUE(shape.private_against(shape.t));
  EXPECT_FALSE(shape.private_against(shape.t + 1));
}
template <class F>
void check_blinded(Case<F> shape) {
  shape.blinding = Blinding::kOn;
  EXPECT_TRUE(shape.private_against(shape.t));
}

TEST(PrivacyOfEncodings, Ramp) {
  check(encoded(Case<TinyPrime<5>>{3, 1, 3, 2}, 2, 1, 0, 0));
  check(encoded(Case<TinyPrime<5>>{3, 1, 2, 3}, 2, 1, 0, 0));  // a blank slot in the second vector
  check(encoded(Case<TinyPrime<7>>{4, 2, 2, 2}, 2, 1, 0, 0));
  check_blinded(encoded(Case<TinyPrime<5>>{3, 1, 2, 2}, 2, 1, 0, 0));
}

TEST(PrivacyOfEncodings, Ary) {
  check(encoded(Case<TinyPrime<5>>{3, 1, 4, 1}, 1, 2, 0, 2));
  check(encoded(Case<TinyPrime<7>>{4, 2, 4, 1}, 1, 2, 0, 2));
  check(encoded(Case<TinyPrime<7>>{3, 1, 5, 1}, 1, 2, 0, 4));
  check_blinded(encoded(Case<TinyPrime<5>>{3, 1, 4, 1}, 1, 2, 0, 2));
}

TEST(PrivacyOfEncodings, AryBatch) {
  check(encoded(Case<TinyPrime<11>>{4, 1, 4, 2}, 2, 2, 0, 4));
  check(encoded(Case<TinyPrime<11>>{4, 1, 4, 1}, 2, 2, 0, 4));
  check_blinded(encoded(Case<TinyPrime<11>>{4, 1, 2, 2}, 2, 2, 0, 2));
}

TEST(PrivacyOfEncodings, RowsThatCollideTakeAVectorEach) {
  check(encoded(Case<TinyPrime<7>>{4, 1, 4, 2}, 2, 2, 0, 2));
}

TEST(PrivacyOfEncodings, Independent) {
  check(encoded(Case<TinyPrime<5>>{3, 1, 3, 1}, 1, 1, 1, 1));
  check(encoded(Case<TinyGf4>{3, 1, 2, 1}, 1, 1, 1, 1));
  check(encoded(Case<TinyPrime<7>>{4, 1, 3, 2}, 2, 1, 1, 3));
  check_blinded(encoded(Case<TinyPrime<5>>{3, 1, 2, 1}, 1, 1, 1, 1));
}

TEST(PrivacyOfSums, OverThePlainDatabase) {
  check(sums(Case<TinyGf4>{2, 1, 3, 1}));
  check(sums(Case<TinyGf4>{3, 2, 2, 1}));
  check(sums(Case<TinyGf4>{2, 1, 2, 2}));
  check_blinded(sums(Case<TinyGf4>{2, 1, 2, 1}));
}

TEST(PrivacyOfSums, OverEncodings) {
  check(sums(encoded(Case<TinyPrime<5>>{3, 1, 2, 1}, 1, 2, 0, 2)));
  check(sums(encoded(Case<TinyPrime<5>>{3, 1, 2, 2}, 2, 1, 0, 0)));
}

/// A sum looks like a record.
TEST(PrivacyOfSums, OneServerCannotTellThemFromRecords) {
  const Case<TinyGf4> record{2, 1, 3, 1};
  const auto groups = record.groups_of(1);
  const std::vector<std::uint64_t> one{1};
  const auto expected = record.views(one, groups);
  for (const std::vector<std::uint64_t>& rows : {std::vector<std::uint64_t>{0, 1, 2}, {0, 0, 1}, {2, 2, 2}}) {
    EXPECT_EQ(sums(record).views(rows, groups), expected);
  }
}

template <class F>
Case<F> seeds(Case<F> shape) {
  shape.seeded = true;
  return shape;
}

/// Seeds that are as good as random: also of those who get seeds and those who get vectors together.
TEST(PrivacyOfSeeds, Plain) {
  check(seeds(Case<TinyPrime<5>>{3, 1, 3, 1}));
  check(seeds(Case<TinyPrime<7>>{4, 2, 2, 1}));
  check(seeds(Case<TinyPrime<5>>{3, 1, 2, 2}));
  check_blinded(seeds(Case<TinyGf4>{3, 2, 2, 1}));
}

TEST(PrivacyOfSeeds, OfEncodingsAndSums) {
  check(seeds(encoded(Case<TinyPrime<5>>{3, 1, 2, 3}, 2, 1, 0, 0)));
  check(seeds(encoded(Case<TinyPrime<7>>{4, 2, 4, 1}, 1, 2, 0, 2)));
  check(seeds(encoded(Case<TinyPrime<7>>{4, 1, 2, 2}, 2, 2, 0, 2)));
  check(seeds(sums(Case<TinyGf4>{3, 2, 2, 1})));
  check_blinded(seeds(encoded(Case<TinyPrime<5>>{3, 1, 2, 1}, 1, 1, 1, 1)));
}

TEST(PrivacyOfSeeds, CatchesSeedsThatAreUsedTwice) {
  // One seed for two servers.
  EXPECT_FALSE(seeds(Case<TinyPrime<5>>{3, 2, 2, 1, 2}).private_against(2));
  EXPECT_FALSE(seeds(Case<TinyPrime<7>>{4, 2, 2, 1, 2}).private_against(2));
  // One seed for two queries.
  EXPECT_FALSE(seeds(Case<TinyPrime<5>>{3, 1, 2, 2, 2}).private_against(1));
  EXPECT_FALSE(seeds(Case<TinyPrime<5>>{3, 2, 2, 2, 4}).private_against(2));
}

/// Four rows, two of them wanted: each bucket of the code is asked for one row, needed or not.
TEST(PrivacyOfBatchCodes, ServersSeeAQueryForEachBucketWhateverIsWanted) {
  const auto plain = database::Geometry::create({4, 1, 1, false, false}).value();
  const auto make = make_clients<Params, Client>([](const auto& geometry, const auto& version) {
    return Params::Spec{kTagGf2_8, geometry, version, {1, 2}, 1};
  });
  for (const char* code : {"subcube:2,1", "subset:2,1"}) {
    SCOPED_TRACE(code);
    const auto planner = VerticalClient::create(code, plain, {}, make).value();
    const Case<TinyPrime<3>> shape{2, 1, static_cast<unsigned>(planner.layout().bucket.rows()), 3};
    const auto views = [&](const std::vector<std::uint64_t>& wanted, std::size_t servers) {
      return shape.views(planner.plan(wanted).value().rows(), shape.groups_of(servers));
    };
    const auto first = views({0}, 1), of_both = views({0}, 2);
    bool all_alike = true;
    for (std::uint64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(views({i}, 1), first);
      for (std::uint64_t j = 0; j < 4; ++j) {
        EXPECT_EQ(views({i, j}, 1), first);
        all_alike &= views({i, j}, 2) == of_both;
      }
    }
    EXPECT_FALSE(all_alike) << "both servers together can decode";
  }
}

TEST(PrivacyOfEncodings, CatchesReusedCoins) {
  EXPECT_FALSE(encoded(Case<TinyPrime<5>>{3, 1, 4, 1, 1}, 1, 2, 0, 2).private_against(1));
  EXPECT_FALSE(encoded(Case<TinyPrime<7>>{4, 1, 4, 2, 2}, 2, 2, 0, 2).private_against(1));
  EXPECT_FALSE(sums(Case<TinyGf4>{2, 1, 3, 1, 2}).private_against(1));
}

}  // namespace
}  // namespace pirx::itpir::goldberg
