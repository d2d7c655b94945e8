// SPDX-License-Identifier: Apache-2.0
// The scalars of W160 and W48 against NTL, the axioms, the wire, and random elements; those of W48 also
// against PrimeField.
#include "fp_check.h"
#include "pirx/fp/prime_field.h"
#include "pirx/fp/w160.h"
#include "pirx/fp/w48.h"
#include "support/random_element.h"

namespace pirx::fp::testing {
namespace {

template <class F>
struct ReferencePrime : ::testing::Test {
  static constexpr std::size_t kWordBits = 8 * F::kWordBytes;
  const F field{};
};
using Primes = ::testing::Types<W160, W48>;
TYPED_TEST_SUITE(ReferencePrime, Primes);

TYPED_TEST(ReferencePrime, IsTheSmallestPrimeAboveAllWords) {
  const auto& f = this->field;
  EXPECT_EQ(modulus(f), NTL::NextPrime(NTL::power2_ZZ(this->kWordBits)));
  EXPECT_EQ(f.word_bytes(), this->kWordBits / 8);
  EXPECT_EQ(f.elem_bytes(), f.word_bytes() + 1);
}

TYPED_TEST(ReferencePrime, ArithmeticAgreesWithNtl) { check_arithmetic(this->field, 100000); }

TYPED_TEST(ReferencePrime, InverseAgreesWithNtl) {
  auto engine = seeded_engine(4);
  EngineSource source{engine};
  const NTL::ZZ p = modulus(this->field);
  for (int i = 0; i < 500; ++i) {
    const auto a = pirx::testing::random_element(this->field, source);
    ASSERT_EQ(to_zz(this->field, this->field.inv(a)), NTL::InvMod(to_zz(this->field, a), p));
  }
}

TYPED_TEST(ReferencePrime, FieldAxioms) { check_axioms(this->field); }

TYPED_TEST(ReferencePrime, LabelsAreIntegers) {
  for (const std::uint64_t n :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{255}, this->field.size_limit() - 1}) {
    EXPECT_EQ(to_zz(this->field, this->field.from_label(n)), NTL::to_ZZ(n));
  }
}

TYPED_TEST(ReferencePrime, WireRoundTripsAndRefusals) { check_wire(this->field); }

TYPED_TEST(ReferencePrime, WordsAreLittleEndian) {
  std::array<std::byte, TypeParam::kWordBytes> word{};
  word[0] = std::byte{2};
  word.back() = std::byte{1};
  EXPECT_EQ(to_zz(this->field, this->field.load_word(word.data())), NTL::power2_ZZ(this->kWordBits - 8) + 2);
}

TYPED_TEST(ReferencePrime, RandomIsUniform) { check_uniformity(this->field); }

TYPED_TEST(ReferencePrime, RandomRefusesWhatIsNoElement) { check_rejection(this->field); }

TYPED_TEST(ReferencePrime, RandomFillTakesAnyLength) {
  auto engine = seeded_engine(5);
  EngineSource source{engine};
  for (const std::size_t count : {0u, 1u, 63u, 64u, 65u, 1000u}) {
    std::vector<typename TypeParam::Elem> values(count);
    this->field.random_fill(source, std::span(values));
    for (const auto& a : values) EXPECT_FALSE(this->field.equal(a, this->field.zero()));
  }
}

TEST(ReferencePrimes, HaveTheirTagsAndSizes) {
  EXPECT_EQ(W160{}.tag(), kTagW160);
  EXPECT_EQ(W160{}.size_limit(), ~std::uint64_t{0});
  EXPECT_EQ(W48{}.tag(), kTagW48);
  EXPECT_EQ(W48{}.size_limit(), (std::uint64_t{1} << 48) + 21);
  EXPECT_EQ(W48{}.size_limit(), W48::prime()[0]);
}

// Elements of 2^48 and more are no words: all 21 of them, and the last word before.
TEST(W48, TheElementsThatAreNoWords) {
  const W48 f;
  for (std::uint64_t n = (std::uint64_t{1} << 48) - 1; n < W48::prime()[0]; ++n) {
    std::array<std::byte, 6> word{};
    EXPECT_EQ(f.store_word(f.from_label(n), word.data()), n >> 48 == 0) << n;
  }
}

// Two fields with one tag must draw, count and travel alike.
TEST(W48, IsThePrimeFieldOfItsTag) {
  const W48 f;
  const auto reference = PrimeField::create(kTagW48).value();
  EXPECT_EQ(reference.size_limit(), f.size_limit());
  EXPECT_EQ(reference.word_bytes(), f.word_bytes());
  EXPECT_EQ(reference.elem_bytes(), f.elem_bytes());
  auto engine = seeded_engine(6), same = engine;
  EngineSource source{engine}, same_source{same};
  for (int i = 0; i < 2000; ++i) {
    const auto a = pirx::testing::random_element(f, source), b = pirx::testing::random_element(f, source);
    const auto x = pirx::testing::random_element(reference, same_source),
               y = pirx::testing::random_element(reference, same_source);
    ASSERT_EQ(to_zz(f, a), to_zz(reference, x));
    ASSERT_EQ(to_zz(f, f.mul(a, b)), to_zz(reference, reference.mul(x, y)));
    ASSERT_EQ(to_zz(f, f.sub(a, b)), to_zz(reference, reference.sub(x, y)));
    ASSERT_EQ(to_zz(f, f.inv(a)), to_zz(reference, reference.inv(x)));
  }
}

}  // namespace
}  // namespace pirx::fp::testing
