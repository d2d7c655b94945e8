// SPDX-License-Identifier: Apache-2.0
// W48's scalars against NTL and against PrimeField, the axioms, the wire, and random elements.
#include "pirx/fp/w48.h"

#include "fp_check.h"
#include "pirx/fp/prime_field.h"
#include "support/random_element.h"

namespace pirx::fp::testing {
namespace {

const W48 kField;

TEST(W48, IsTheSmallestPrimeAbove2To48) {
  EXPECT_EQ(kField.tag(), kTagW48);
  EXPECT_EQ(modulus(kField), NTL::NextPrime(NTL::power2_ZZ(48)));
  EXPECT_EQ(modulus(kField), NTL::to_ZZ(W48::prime()[0]));
  EXPECT_EQ(kField.word_bytes(), 6u);
  EXPECT_EQ(kField.elem_bytes(), 7u);
  EXPECT_EQ(kField.size_limit(), (std::uint64_t{1} << 48) + 21);
}

TEST(W48, ArithmeticAgreesWithNtl) { check_arithmetic(kField, 100000); }

TEST(W48, InverseAgreesWithNtl) {
  auto engine = seeded_engine(4);
  EngineSource source{engine};
  const NTL::ZZ p = modulus(kField);
  for (int i = 0; i < 500; ++i) {
    const auto a = pirx::testing::random_element(kField, source);
    ASSERT_EQ(to_zz(kField, kField.inv(a)), NTL::InvMod(to_zz(kField, a), p));
  }
}

TEST(W48, FieldAxioms) { check_axioms(kField); }

TEST(W48, LabelsAreIntegers) {
  for (const std::uint64_t n :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{255}, W48::prime()[0] - 1}) {
    EXPECT_EQ(to_zz(kField, kField.from_label(n)), NTL::to_ZZ(n));
  }
}

TEST(W48, WireRoundTripsAndRefusals) { check_wire(kField); }

// Elements of 2^48 and more are no words: all 21 of them, and the last word before.
TEST(W48, TheElementsThatAreNoWords) {
  for (std::uint64_t n = (std::uint64_t{1} << 48) - 1; n < W48::prime()[0]; ++n) {
    std::array<std::byte, 6> word{};
    EXPECT_EQ(kField.store_word(kField.from_label(n), word.data()), n >> 48 == 0) << n;
  }
}

TEST(W48, WordsAreLittleEndian) {
  const std::array<std::byte, 6> word{std::byte{2}, {}, {}, {}, {}, std::byte{1}};
  EXPECT_EQ(to_zz(kField, kField.load_word(word.data())), NTL::power2_ZZ(40) + 2);
}

TEST(W48, RandomIsUniform) { check_uniformity(kField); }

TEST(W48, RandomRefusesWhatIsNoElement) { check_rejection(kField); }

TEST(W48, RandomFillTakesAnyLength) {
  auto engine = seeded_engine(5);
  EngineSource source{engine};
  for (const std::size_t count : {0u, 1u, 63u, 64u, 65u, 1000u}) {
    std::vector<W48::Elem> values(count);
    kField.random_fill(source, std::span(values));
    for (const auto& a : values) EXPECT_FALSE(kField.equal(a, kField.zero()));
  }
}

// Two fields with one tag must draw, count and travel alike.
TEST(W48, IsThePrimeFieldOfItsTag) {
  const auto reference = PrimeField::create(kTagW48).value();
  EXPECT_EQ(reference.size_limit(), kField.size_limit());
  EXPECT_EQ(reference.word_bytes(), kField.word_bytes());
  EXPECT_EQ(reference.elem_bytes(), kField.elem_bytes());
  auto engine = seeded_engine(6), same = engine;
  EngineSource source{engine}, same_source{same};
  for (int i = 0; i < 2000; ++i) {
    const auto a = pirx::testing::random_element(kField, source),
               b = pirx::testing::random_element(kField, source);
    const auto x = pirx::testing::random_element(reference, same_source),
               y = pirx::testing::random_element(reference, same_source);
    ASSERT_EQ(to_zz(kField, a), to_zz(reference, x));
    ASSERT_EQ(to_zz(kField, kField.mul(a, b)), to_zz(reference, reference.mul(x, y)));
    ASSERT_EQ(to_zz(kField, kField.sub(a, b)), to_zz(reference, reference.sub(x, y)));
    ASSERT_EQ(to_zz(kField, kField.inv(a)), to_zz(reference, reference.inv(x)));
  }
}

}  // namespace
}  // namespace pirx::fp::testing
