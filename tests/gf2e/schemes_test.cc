// SPDX-License-Identifier: Apache-2.0
// Schemes of products of bits (gf2e/kernels/bilinear_scheme.h) against the field: all pairs of bytes, all
// pairs of basis elements of 16-bit words. What is not exact is found out.
#include "gf2e/kernels/schemes.h"

#include <gtest/gtest.h>

#include "support/seed.h"

namespace pirx::gf2e {
namespace {

/// a * b as the scheme computes it.
template <std::size_t n, std::size_t rank>
std::uint64_t product(const BilinearScheme<n, rank>& scheme, std::uint64_t a, std::uint64_t b) {
  Bits products;
  for (std::size_t k = 0; k < rank; ++k) {
    if (scheme.A[k].dot({a}) && scheme.A[k].dot({b})) products = products ^ Bits::one(k);
  }
  std::uint64_t c = 0;
  for (std::size_t i = 0; i < n; ++i) c |= std::uint64_t{scheme.C[i].dot(products)} << i;
  return c;
}

/// Calls check(field, scheme type) for every scheme.
template <class Check>
void for_each_scheme(const Check& check) {
  const auto of = [&](const auto& f) {
    std::apply([&](const auto&... scheme) { (check(f, scheme), ...); },
               typename SchemesOf<std::remove_cvref_t<decltype(f)>>::Type());
  };
  of(Gf2_8());
  of(Gf2_16());
}

TEST(Schemes, HaveTheirRanks) {
  EXPECT_EQ(Karatsuba8::kScheme.kRank, 27u);
  EXPECT_EQ(Karatsuba16::kScheme.kRank, 81u);
  EXPECT_EQ(Crt8::kScheme.kRank, 24u);
  EXPECT_EQ(Crt16::kScheme.kRank, 60u);
}

TEST(Schemes, MultiplyAllPairsOfBytes) {
  for (unsigned a = 0; a < 256; ++a) {
    for (unsigned b = 0; b < 256; ++b) {
      const unsigned wanted = Gf2_8::mul(static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(b));
      ASSERT_EQ(product(Karatsuba8::kScheme, a, b), wanted) << a << " * " << b;
      ASSERT_EQ(product(Crt8::kScheme, a, b), wanted) << a << " * " << b;
    }
  }
}

TEST(Schemes, MultiplyWords) {
  const auto check = [](std::uint64_t a, std::uint64_t b) {
    const unsigned wanted = Gf2_16::mul(static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(b));
    ASSERT_EQ(product(Karatsuba16::kScheme, a, b), wanted) << a << " * " << b;
    ASSERT_EQ(product(Crt16::kScheme, a, b), wanted) << a << " * " << b;
  };
  for (unsigned i = 0; i < 16; ++i) {  // a basis: these prove the rest
    for (unsigned j = 0; j < 16; ++j) check(1u << i, 1u << j);
  }
  auto random = testing::seeded_engine(1);
  for (int round = 0; round < 20000; ++round) check(random() & 0xFFFF, random() & 0xFFFF);
}

// The static_asserts of schemes.h call these functions: they have to see each single wrong bit.
TEST(Schemes, OneWrongBitIsFound) {
  for_each_scheme([](const auto& f, const auto& type) {
    using F = std::remove_cvref_t<decltype(f)>;
    auto scheme = type.kScheme;
    ASSERT_TRUE(multiplies<F>(scheme));
    for (std::size_t i = 0; i < scheme.kBits; ++i) {
      for (std::size_t k = 0; k < scheme.kRank; ++k) {
        scheme.A[k].low ^= std::uint64_t{1} << i;
        EXPECT_FALSE(multiplies<F>(scheme)) << "bit " << i << " of A[" << k << "]";
        scheme.A[k].low ^= std::uint64_t{1} << i;
        scheme.C[i] = scheme.C[i] ^ Bits::one(k);
        EXPECT_FALSE(multiplies<F>(scheme)) << "bit " << k << " of C[" << i << "]";
        scheme.C[i] = scheme.C[i] ^ Bits::one(k);
      }
    }
  });
}

template <class Program, std::size_t rows>
void expect_wrong_steps_found(Program program, const Bits (&of)[rows]) {
  ASSERT_TRUE(computes(program, of));
  for (Step& step : program.step) {
    const Step right = step;
    step.a = static_cast<std::uint16_t>(right.a == 0 ? 3 : right.a - 1);
    EXPECT_FALSE(computes(program, of));
    step = right;
    step.b = 60000;  // does not exist
    EXPECT_FALSE(computes(program, of));
    step = right;
  }
  for (std::uint16_t& output : program.output) {
    ++output;
    EXPECT_FALSE(computes(program, of));
    --output;
  }
}

TEST(Schemes, OneWrongStepIsFound) {
  for_each_scheme([](const auto&, const auto& type) {
    expect_wrong_steps_found(type.kSums, type.kScheme.A);
    expect_wrong_steps_found(type.kResults, type.kScheme.C);
  });
}

}  // namespace
}  // namespace pirx::gf2e
