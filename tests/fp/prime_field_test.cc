// SPDX-License-Identifier: Apache-2.0
// PrimeField: the primes, the same checks as W160 for many widths, and agreement with W160.
#include "pirx/fp/prime_field.h"

#include <thread>

#include "fp_check.h"
#include "pirx/fp/w160.h"
#include "support/random_element.h"

namespace pirx::fp::testing {
namespace {

PrimeField make(unsigned word_bits) {
  auto f = PrimeField::create(word_bits);
  EXPECT_TRUE(f.has_value());
  return *f;
}

TEST(PrimeField, KnownPrimes) {
  const std::pair<unsigned, std::uint32_t> known[] = {{8, 1},   {16, 1},   {24, 43}, {32, 15},  {48, 21},
                                                      {64, 13}, {128, 51}, {160, 7}, {256, 297}};
  for (const auto& [bits, low] : known) {
    const PrimeField f = make(bits);
    EXPECT_EQ(f.tag(), (FieldTag{FieldKind::kPrime, static_cast<std::uint16_t>(bits + 1), low}));
    EXPECT_EQ(f.word_bytes(), bits / 8);
  }
  EXPECT_EQ(make(160).tag(), kTagW160);
  EXPECT_EQ(make(48).tag(), kTagW48);
}

TEST(PrimeField, EveryWidthGivesTheSmallestPrime) {
  for (unsigned bits = 8; bits <= 256; bits += 8) {
    const NTL::ZZ p = modulus(make(bits));
    EXPECT_TRUE(NTL::ProbPrime(p)) << bits;
    for (NTL::ZZ n = NTL::power2_ZZ(bits); n < p; ++n) EXPECT_FALSE(NTL::ProbPrime(n)) << bits;
  }
}

TEST(PrimeField, RefusesOtherWidths) {
  for (const unsigned bits : {0u, 1u, 7u, 9u, 12u, 255u, 257u, 264u, 4096u, ~0u}) {
    const auto f = PrimeField::create(bits);
    ASSERT_FALSE(f.has_value()) << bits;
    EXPECT_EQ(f.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(f.error().message().find(std::to_string(bits)), std::string::npos);
  }
}

TEST(PrimeField, TagsNameFields) {
  for (unsigned bits = 8; bits <= 256; bits += 8) {
    const FieldTag tag = make(bits).tag();
    const auto f = PrimeField::create(tag);
    ASSERT_TRUE(f.has_value());
    EXPECT_EQ(f->tag(), tag);
  }
  const FieldTag refused[] = {kTagGf2_8,
                              {FieldKind::kPrime, 0, 0},
                              {FieldKind::kPrime, 8, 3},
                              {FieldKind::kPrime, 161, 9},
                              {FieldKind::kPrime, 161, 0},
                              {FieldKind::kPrime, 0xFFFF, 7},
                              {FieldKind::kBinary, 161, 7}};
  for (const FieldTag& tag : refused) {
    const auto f = PrimeField::create(tag);
    ASSERT_FALSE(f.has_value()) << tag.name();
    EXPECT_EQ(f.error().code(), ErrorCode::kInvalidArgument);
  }
}

TEST(PrimeField, ArithmeticAgreesWithNtl) {
  for (const unsigned bits : {8u, 16u, 32u, 56u, 64u, 72u, 160u, 192u, 256u})
    check_arithmetic(make(bits), 2000);
}

TEST(PrimeField, Gf257Exhaustively) {
  const PrimeField f = make(8);
  for (std::uint64_t a = 0; a < 257; ++a) {
    for (std::uint64_t b = 0; b < 257; ++b) {
      const auto x = f.from_label(a), y = f.from_label(b);
      ASSERT_TRUE(f.equal(f.add(x, y), f.from_label((a + b) % 257)));
      ASSERT_TRUE(f.equal(f.sub(x, y), f.from_label((a + 257 - b) % 257)));
      ASSERT_TRUE(f.equal(f.mul(x, y), f.from_label(a * b % 257)));
    }
  }
}

TEST(PrimeField, FieldAxioms) {
  for (const unsigned bits : {8u, 16u, 64u, 160u, 256u}) check_axioms(make(bits));
}

TEST(PrimeField, WireRoundTripsAndRefusals) {
  for (unsigned bits = 8; bits <= 256; bits += 8) check_wire(make(bits));
}

TEST(PrimeField, SizeLimit) {
  EXPECT_EQ(make(8).size_limit(), 257u);
  EXPECT_EQ(make(32).size_limit(), (std::uint64_t{1} << 32) + 15);
  EXPECT_EQ(make(56).size_limit(), (std::uint64_t{1} << 56) + 81);
  EXPECT_EQ(make(64).size_limit(), ~std::uint64_t{0});
  EXPECT_EQ(make(256).size_limit(), ~std::uint64_t{0});
}

TEST(PrimeField, RandomIsUniform) {
  for (const unsigned bits : {16u, 64u, 160u, 256u}) check_uniformity(make(bits));
  const PrimeField f = make(8);
  auto engine = seeded_engine(6);
  EngineSource source{engine};
  std::vector<int> counts(257);
  for (int i = 0; i < 257 * 100; ++i) ++counts[pirx::testing::random_element(f, source).limb[0]];
  EXPECT_LT(chi_square(counts), chi_square_limit(257));
}

TEST(PrimeField, RandomRefusesWhatIsNoElement) {
  for (const unsigned bits : {16u, 64u, 160u, 256u}) check_rejection(make(bits));
}

TEST(PrimeField, AgreesWithW160) {
  const PrimeField f = make(160);
  const W160 g;
  auto engine = seeded_engine(7);
  EngineSource source{engine};
  auto values = edge_values(g);
  for (int i = 0; i < 20000; ++i) values.push_back(pirx::testing::random_element(g, source));
  for (std::size_t i = 1; i < values.size(); ++i) {
    const auto a = values[i], b = values[engine() % values.size()];
    const auto x = from_zz(f, to_zz(g, a)), y = from_zz(f, to_zz(g, b));
    ASSERT_EQ(to_zz(f, f.mul(x, y)), to_zz(g, g.mul(a, b)));
    ASSERT_EQ(to_zz(f, f.sub(x, y)), to_zz(g, g.sub(a, b)));
    if (i % 50 != 0) continue;
    ASSERT_EQ(to_zz(f, f.inv(x)), to_zz(g, g.inv(a)));
  }
}

TEST(PrimeField, ThreadsWithDifferentPrimesDoNotDisturbEachOther) {
  std::array<int, 4> wrong{};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([t, &wrong] {
      const auto f = PrimeField::create(16 * (t + 1));
      auto power = f->from_label(3);
      for (int i = 0; i < 3000; ++i) {
        if (!f->equal(f->mul(power, f->inv(power)), f->one())) ++wrong[t];
        power = f->mul(power, f->from_label(3));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const int count : wrong) EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace pirx::fp::testing
