// SPDX-License-Identifier: Apache-2.0
// Every limit of an encoding has its error; positions and plans.
#include "pirx/batchcodes/encoding.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "pirx/fp/w160.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"
#include "src/base/constant_time.h"
#include "support/seed.h"
#include "support/tiny_field.h"

namespace pirx::batchcodes {
namespace {

using pirx::testing::seeded_engine;

Encoding::Spec spec_of(unsigned t, unsigned q, unsigned u, unsigned tau, std::uint64_t modulus, unsigned l,
                       FieldTag field = kTagGf2_8) {
  return {field, t, q, u, tau, modulus, Encoding::suggested_coordinates(field, l).value()};
}

void expect_error(const Encoding::Spec& spec, const std::string& words) {
  const auto encoding = Encoding::create(spec);
  ASSERT_FALSE(encoding) << words;
  EXPECT_EQ(encoding.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(encoding.error().message().find(words), std::string::npos) << encoding.error().message();
}

TEST(ConstantTime, ComparisonsAndDivision) {
  auto engine = seeded_engine(1);
  const std::uint64_t edges[] = {
      0,          1,         2,    3, 254, 255, 256, (1ull << 32) - 1, 1ull << 32, (1ull << 63) - 1,
      1ull << 63, ~0ull - 1, ~0ull};
  const auto check = [](std::uint64_t a, std::uint64_t b) {
    EXPECT_EQ(mask_equal(a, b), a == b ? ~0ull : 0);
    EXPECT_EQ(mask_less(a, b), a < b ? ~0ull : 0);
    EXPECT_EQ(select(mask_less(a, b), a, b), std::min(a, b));
    if (b == 0) return;
    EXPECT_EQ(divide(a, b).quotient, a / b) << a << "/" << b;
    EXPECT_EQ(divide(a, b).remainder, a % b);
  };
  for (const auto a : edges) {
    for (const auto b : edges) check(a, b);
  }
  for (int i = 0; i < 100'000; ++i) check(engine() >> (engine() % 64), engine() >> (engine() % 64));
}

TEST(Encoding, NamedSchemesAndTheirDegrees) {
  const std::uint64_t r = 101;
  EXPECT_EQ(Encoding::create(spec_of(2, 1, 1, 0, 0, 3)).value().degree(), 2u);
  EXPECT_EQ(Encoding::create(spec_of(2, 3, 1, 0, 0, 6)).value().degree(), 4u);
  EXPECT_EQ(Encoding::create(spec_of(2, 1, 4, 0, 0, 6)).value().degree(), 5u);
  const auto batch = Encoding::create(spec_of(2, 3, 4, 0, Encoding::batch_modulus(4, r), 8)).value();
  EXPECT_EQ(batch.degree(), 7u);
  EXPECT_EQ(batch.spec().modulus, 104u);
  EXPECT_TRUE(batch.collision_free(r));
  EXPECT_FALSE(batch.collision_free(105));
  EXPECT_EQ(batch.rows(r), 26u);
  const auto independent = Encoding::create(spec_of(2, 1, 1, 3, 0, 6)).value();
  EXPECT_EQ(independent.degree(), 5u);
  EXPECT_EQ(independent.spec().modulus, 1u);
  EXPECT_TRUE(independent.has_data_coordinates());
}

TEST(Encoding, CoordinatesOfBlocks) {
  const auto plain = Encoding::create({kTagGf2_8, 1, 3, 1, 0, 0, {1, 0, 4, 7}}).value();
  EXPECT_EQ(plain.position(77, 0).row, 77u);
  EXPECT_EQ(plain.position(77, 0).coordinate, 2u);
  EXPECT_EQ(plain.position(0, 1).coordinate, 3u);
  EXPECT_EQ(plain.position(0, 2).coordinate, 5u);
  const auto goldberg = Encoding::create({kTagGf2_8, 1, 1, 1, 0, 0, {1, 2, 3}}).value();
  EXPECT_EQ(goldberg.position(9, 0).coordinate, 0u);
  const auto coded = Encoding::create(spec_of(1, 2, 4, 0, 12, 6)).value();
  EXPECT_EQ(coded.position(29, 1).row, 7u);
  EXPECT_EQ(coded.position(29, 1).coordinate, 5u);
}

TEST(Encoding, SizesOfFields) {
  EXPECT_EQ(Encoding::field_size(kTagGf2).value(), gf2e::Gf2_8{}.size_limit() >> 7);
  EXPECT_EQ(Encoding::field_size(kTagGf2_8).value(), gf2e::Gf2_8{}.size_limit());
  EXPECT_EQ(Encoding::field_size(kTagGf2_16).value(), gf2e::Gf2_16{}.size_limit());
  EXPECT_EQ(Encoding::field_size(kTagW48).value(), (1ull << 48) + 21);
  EXPECT_EQ(Encoding::field_size(kTagW160).value(), fp::W160{}.size_limit());
  EXPECT_EQ(Encoding::field_size(testing::TinyPrime<97>{}.tag()).value(), 97u);
  EXPECT_EQ(Encoding::field_size(testing::TinyGf4{}.tag()).value(), 4u);
  EXPECT_FALSE(Encoding::field_size({FieldKind::kPrime, 0, 0}));
  EXPECT_FALSE(Encoding::field_size({static_cast<FieldKind>(9), 8, 0}));
  EXPECT_FALSE(Encoding::suggested_coordinates(kTagGf2_8, 256));
  EXPECT_EQ(Encoding::suggested_coordinates(kTagGf2_8, 2).value(), (std::vector<std::uint64_t>{255, 254}));
  const auto w48 = Encoding::suggested_coordinates(kTagW48, 3).value();
  EXPECT_EQ(w48[0], 173961102589783u) << "0.618... of 2^48 + 21";
  EXPECT_EQ(w48[2], w48[0] - 2);
}

TEST(Encoding, RefusesCountsOfZero) {
  expect_error(spec_of(0, 1, 1, 0, 0, 3), "threshold");
  expect_error(spec_of(1, 0, 1, 0, 0, 3), "q = 0");
  expect_error(spec_of(1, 1, 0, 0, 0, 3), "u = 0");
}
TEST(Encoding, RefusesTooFewServers) {
  expect_error(spec_of(2, 3, 4, 1, 8, 8), "d + 1 = 9 servers");
  EXPECT_TRUE(Encoding::create(spec_of(2, 3, 4, 1, 8, 9)));
  expect_error({kTagGf2_8, 1, 1, 1, 0, 0, {}}, "d + 1 = 2 servers");
  expect_error({kTagGf2_8, ~0u, ~0u, ~0u, ~0u, 0, {1, 2, 3}}, "servers are needed");
}
TEST(Encoding, RefusesTooManyServers) {
  expect_error({kTagW160, 1, 1, 1, 0, 0, std::vector<std::uint64_t>(70'000, 1)}, "at most 65536");
}
TEST(Encoding, RefusesAModulusThatIsNoMultipleOfTheArity) {
  expect_error(spec_of(1, 1, 4, 0, 6, 6), "no multiple of the arity");
  expect_error(spec_of(1, 1, 4, 0, 2, 6), "no multiple of the arity");
}
TEST(Encoding, RefusesARampAtOneSharedCoordinate) {
  expect_error(spec_of(1, 2, 1, 1, 0, 6), "a tau-independent database with M = 1");
  expect_error(spec_of(1, 3, 2, 0, 2, 6), "the encoding with M = 2");
  EXPECT_TRUE(Encoding::create(spec_of(1, 2, 1, 1, 2, 6)));
}
TEST(Encoding, RefusesAFieldWithoutRoom) {
  expect_error({kTagGf2_8, 1, 1, 2, 0, 252, {252, 253, 254, 255, 251}}, "M + l = 252 + 5 coordinates");
  EXPECT_TRUE(Encoding::create({kTagGf2_8, 1, 1, 2, 0, 252, {252, 253, 254, 255}}));
  expect_error(spec_of(1, 1, 2, 0, ~0ull - 1, 4), "do not fit the field");
  // Without data coordinates: q + l.
  expect_error({testing::TinyPrime<7>{}.tag(), 1, 4, 1, 0, 0, {0, 1, 2, 3, 4}}, "q + l = 4 + 5 coordinates");
  EXPECT_TRUE(Encoding::create({testing::TinyPrime<7>{}.tag(), 1, 2, 1, 0, 0, {0, 1, 2, 3, 4}}));
}
TEST(Encoding, RefusesBadServerCoordinates) {
  expect_error({kTagGf2_8, 1, 1, 1, 0, 0, {1, 2, 1}}, "the same coordinate");
  expect_error({kTagGf2_8, 1, 1, 1, 0, 0, {1, 2, 256}}, "is no element");
  expect_error({kTagGf2_8, 1, 1, 4, 0, 8, {7, 8, 9, 10, 11}}, "also a data coordinate");
}
TEST(Encoding, RefusesUnknownFields) {
  expect_error({{FieldKind::kPrime, 1, 0}, 1, 1, 1, 0, 0, {1, 2}}, "no field");
}

/// Every wanted block is in the slot that the plan says, and no query vector has a coordinate twice.
void check_plan(const Encoding& encoding, std::uint64_t blocks, const std::vector<std::uint64_t>& wanted,
                std::size_t queries) {
  std::map<std::uint64_t, std::set<std::uint64_t>> at;
  for (const auto block : wanted)
    at[block % std::max<std::uint64_t>(1, encoding.spec().modulus)].insert(block);
  std::size_t most = 0;
  for (const auto& [coordinate, there] : at) most = std::max(most, there.size());
  const auto plan = plan_batch(encoding, blocks, wanted, queries);
  if (encoding.has_data_coordinates() && most > queries) {
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(plan.error().message().find("share a coordinate"), std::string::npos);
    return;
  }
  ASSERT_TRUE(plan) << plan.error().message();
  ASSERT_EQ(plan->queries(), queries);
  const std::size_t q = encoding.spec().ramp;
  std::set<std::uint64_t> fetched;
  for (std::size_t i = 0; i < queries; ++i) {
    ASSERT_EQ(plan->query(i).size(), q);
    std::set<std::uint64_t> coordinates;
    for (std::size_t m = 0; m < q; ++m) {
      const Slot slot = plan->query(i)[m];
      ASSERT_TRUE(slot.filled == 0 || slot.filled == ~0ull);
      if (slot.filled == 0) {
        EXPECT_EQ(slot.block, 0u);
        continue;
      }
      EXPECT_TRUE(coordinates.insert(encoding.position(slot.block, m).coordinate).second);
      fetched.insert(slot.block);
    }
  }
  EXPECT_EQ(fetched, std::set<std::uint64_t>(wanted.begin(), wanted.end()));
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const Slot slot = plan->query(plan->place(k) / q)[plan->place(k) % q];
    EXPECT_EQ(slot.block, wanted[k]);
    EXPECT_EQ(slot.filled, ~0ull);
  }
}

TEST(PlanBatch, RandomRepeatedAdjacentAndCollidingBlocks) {
  auto engine = seeded_engine(2);
  unsigned refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const unsigned u = 1 + static_cast<unsigned>(engine() % 3);
    const unsigned q = 1 + static_cast<unsigned>(engine() % 4);
    const unsigned tau = static_cast<unsigned>(engine() % 2);
    const std::uint64_t M = u * ((q + u - 1) / u + engine() % 4);
    const auto encoding = Encoding::create(spec_of(1, q, u, tau, M, 9)).value();
    const std::uint64_t blocks = 1 + engine() % 40;
    const std::size_t queries = 1 + engine() % 4;
    std::vector<std::uint64_t> wanted(1 + engine() % (queries * q));
    const auto style = engine() % 4;
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      wanted[k] = style == 0   ? engine() % blocks
                  : style == 1 ? (blocks - 1)
                  : style == 2 ? k % blocks
                               : k * M % blocks;
    }
    check_plan(encoding, blocks, wanted, queries);
    refused += !plan_batch(encoding, blocks, wanted, queries);
  }
  EXPECT_GT(refused, 50u);
  EXPECT_LT(refused, 2000u);
}

TEST(PlanBatch, WithoutDataCoordinatesInTheOrderWanted) {
  const auto encoding = Encoding::create(spec_of(1, 2, 1, 0, 0, 4)).value();
  const std::vector<std::uint64_t> wanted{5, 5, 3};
  check_plan(encoding, 6, wanted, 3);
  const auto plan = plan_batch(encoding, 6, wanted, 3).value();
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(plan.place(k), k);
}

TEST(PlanBatch, ErrorsNameNoIndex) {
  const auto encoding = Encoding::create(spec_of(1, 2, 2, 0, 4, 6)).value();
  const auto error = [&](std::vector<std::uint64_t> wanted, std::size_t queries, ErrorCode code) {
    const auto plan = plan_batch(encoding, 4321, wanted, queries);
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code(), code) << plan.error().message();
    EXPECT_EQ(plan.error().message().find("4007"), std::string::npos);
  };
  error({}, 1, ErrorCode::kInvalidArgument);
  error({1}, 0, ErrorCode::kInvalidArgument);
  error({1, 2, 3}, 1, ErrorCode::kInvalidArgument);
  error({1}, std::size_t{1} << 40, ErrorCode::kInvalidArgument);
  error({4321}, 1, ErrorCode::kOutOfRange);
  error({4007, ~0ull}, 1, ErrorCode::kOutOfRange);
  error({4007, 3}, 1, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace pirx::batchcodes
