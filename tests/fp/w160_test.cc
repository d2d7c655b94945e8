// SPDX-License-Identifier: Apache-2.0
// W160's scalars against NTL, the axioms, the wire, and random elements.
#include "pirx/fp/w160.h"

#include "fp_check.h"
#include "support/random_element.h"

namespace pirx::fp::testing {
namespace {

const W160 kField;

TEST(W160, IsTheSmallestPrimeAbove2To160) {
  EXPECT_EQ(kField.tag(), kTagW160);
  EXPECT_EQ(modulus(kField), NTL::NextPrime(NTL::power2_ZZ(160)));
  EXPECT_EQ(kField.word_bytes(), 20u);
  EXPECT_EQ(kField.elem_bytes(), 21u);
  EXPECT_EQ(kField.size_limit(), ~std::uint64_t{0});
}

TEST(W160, ArithmeticAgreesWithNtl) { check_arithmetic(kField, 100000); }

TEST(W160, InverseAgreesWithNtl) {
  auto engine = seeded_engine(4);
  EngineSource source{engine};
  const NTL::ZZ p = modulus(kField);
  for (int i = 0; i < 500; ++i) {
    const auto a = pirx::testing::random_element(kField, source);
    ASSERT_EQ(to_zz(kField, kField.inv(a)), NTL::InvMod(to_zz(kField, a), p));
  }
}

TEST(W160, FieldAxioms) { check_axioms(kField); }

TEST(W160, LabelsAreIntegers) {
  for (const std::uint64_t n :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{255}, ~std::uint64_t{0} - 1}) {
    EXPECT_EQ(to_zz(kField, kField.from_label(n)), NTL::to_ZZ(n));
  }
}

TEST(W160, WireRoundTripsAndRefusals) { check_wire(kField); }

TEST(W160, WordsAreLittleEndian) {
  std::array<std::byte, 20> word{};
  word[0] = std::byte{2};
  word[19] = std::byte{1};
  EXPECT_EQ(to_zz(kField, kField.load_word(word.data())), NTL::power2_ZZ(152) + 2);
}

TEST(W160, RandomIsUniform) { check_uniformity(kField); }

TEST(W160, RandomRefusesWhatIsNoElement) { check_rejection(kField); }

TEST(W160, RandomFillTakesAnyLength) {
  auto engine = seeded_engine(5);
  EngineSource source{engine};
  for (const std::size_t count : {0u, 1u, 63u, 64u, 65u, 1000u}) {
    std::vector<W160::Elem> values(count);
    kField.random_fill(source, std::span(values));
    for (const auto& a : values) EXPECT_FALSE(kField.equal(a, kField.zero()));
  }
}

}  // namespace
}  // namespace pirx::fp::testing
