// SPDX-License-Identifier: Apache-2.0
// The ring against schoolbook arithmetic, every kernel of this machine, and the worst case of lazy sums.
#include "cpir/ring/ring.h"

#include <gtest/gtest.h>

#include "cpir/spiral/gadget.h"
#include "spiral_support.h"
#include "support/seed.h"

namespace pirx::cpir::spiral {
namespace {

using namespace testing;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

class RingTest : public ::testing::TestWithParam<const RingKernel*> {
 protected:
  std::mt19937_64 engine_ = pirx::testing::seeded_engine();
};
INSTANTIATE_TEST_SUITE_P(Kernels, RingTest, ::testing::ValuesIn(usable_kernels()),
                         [](const auto& kernel) { return std::string(kernel.param->name); });

TEST_P(RingTest, TransformsOfAllSizes) {
  for (unsigned log_d = kMinLogDimension; log_d <= kLogDimension; ++log_d) {
    const Ring ring(log_d, *GetParam());
    const std::size_t d = ring.d();
    const auto a = random_polynomial(d, engine_);
    EXPECT_EQ(coefficients(ring, slots(ring, a)), a);
    // The slot of x is the root itself; x^k gives its powers.
    std::vector<std::int64_t> x(d);
    x[1] = 1;
    const auto values = slots(ring, x);
    std::size_t exponent = 1 + engine_() % (d - 1);
    std::vector<std::int64_t> y(d);
    y[exponent] = 1;
    const auto powers = slots(ring, y);
    for (std::size_t k = 0; k < 2; ++k) {
      for (std::size_t i = 0; i < d; ++i) {
        ASSERT_EQ(power(values[k * d + i], d, kPrimes[k]), kPrimes[k] - 1);
        ASSERT_EQ(power(values[k * d + i], exponent, kPrimes[k]), powers[k * d + i]);
      }
    }
    // Extreme numbers: all q - 1, and the largest signed ones.
    std::vector<std::int64_t> largest(d, -1);
    EXPECT_EQ(coefficients(ring, slots(ring, largest)), largest);
    std::vector<std::int32_t> small(d);
    std::vector<std::int64_t> same(d);
    for (std::size_t i = 0; i < d; ++i) {
      small[i] = static_cast<std::int32_t>(engine_() % (1u << 28)) - (1 << 27);
      same[i] = small[i];
    }
    std::vector<U32> out(2 * d);
    ring.forward_small(out.data(), small.data());
    EXPECT_EQ(out, slots(ring, same));
    const Ring reference(log_d, kPortableKernel);
    EXPECT_EQ(slots(ring, a), slots(reference, a));
    std::vector<U32> ones;
    for (std::size_t i = 0; i < 2 * d; ++i) ones.push_back(kPrimes[i / d] - 1);
    std::vector<U32> expected(2 * d);
    ring.inverse(out.data(), ones.data());
    reference.inverse(expected.data(), ones.data());
    EXPECT_EQ(out, expected);
  }
}

TEST_P(RingTest, ProductsAreNegacyclicConvolutions) {
  for (unsigned log_d = 6; log_d <= 8; ++log_d) {
    const Ring ring(log_d, *GetParam());
    const auto a = random_polynomial(ring.d(), engine_), b = random_polynomial(ring.d(), engine_);
    auto fa = slots(ring, a), fb = slots(ring, b), sum = fa, difference = fa;
    ring.add(sum.data(), fa.data(), fb.data());
    ring.subtract(difference.data(), fa.data(), fb.data());
    ring.to_montgomery(fb.data(), fb.data());
    ring.multiply(fa.data(), fa.data(), fb.data());
    EXPECT_EQ(coefficients(ring, fa), multiply_ref(a, b));
    const auto added = coefficients(ring, sum), taken = coefficients(ring, difference);
    for (std::size_t i = 0; i < ring.d(); ++i) {
      ASSERT_EQ(added[i], centred(static_cast<Wide>(a[i]) + b[i]));
      ASSERT_EQ(taken[i], centred(static_cast<Wide>(a[i]) - b[i]));
    }
  }
}

TEST_P(RingTest, AutomorphismsAndMonomials) {
  for (unsigned log_d = kMinLogDimension; log_d <= kLogDimension; log_d += 5) {
    const Ring ring(log_d, *GetParam());
    const std::size_t d = ring.d();
    const auto a = random_polynomial(d, engine_);
    const auto fa = slots(ring, a);
    for (unsigned r = 0; r < log_d; ++r) {
      std::vector<U32> out(2 * d);
      ring.automorphism(r, out.data(), fa.data());
      EXPECT_EQ(coefficients(ring, out), automorphism_ref(a, (d >> r) + 1));
      ring.multiply(out.data(), fa.data(), ring.monomial(r));
      std::vector<std::int64_t> rotated(d);
      const std::size_t by = std::size_t{1} << r;
      for (std::size_t i = 0; i < d; ++i) rotated[i] = i + by < d ? a[i + by] : -a[i + by - d];
      EXPECT_EQ(coefficients(ring, out), rotated);
    }
  }
}

TEST_P(RingTest, ComposeAtTheEdges) {
  const Ring ring(6, *GetParam());
  auto a = random_polynomial(64, engine_);
  const auto half = static_cast<std::int64_t>(kModulus / 2);
  const std::int64_t edges[] = {
      0, 1, -1, half, -half, half - 1, 1 - half, kPrimes[0], -std::int64_t{kPrimes[1]}};
  std::copy(std::begin(edges), std::end(edges), a.begin());
  std::vector<std::int64_t> out(64);
  ring.compose(out.data(), residues(a).data());
  EXPECT_EQ(out, a);
}

TEST_P(RingTest, LazySumsHoldTheirWorstCase) {
  const Ring ring(6, *GetParam());
  const std::size_t d = 64;
  for (std::size_t k = 0; k < 2; ++k) {
    const U32 q = kPrimes[k];
    const std::vector<U32> a(kLazyProducts * d, q - 1);
    std::vector<U32> out(d);
    ring.kernel().inner_product(ring.prime(k), out.data(), a.data(), d, a.data(), d, kLazyProducts);
    const U64 by = power(ring.prime(k).one, q - 2, q);
    for (const U32 x : out) ASSERT_EQ(x, kLazyProducts * by % q);
    std::vector<U32> b(3 * d), c(3 * d);
    for (auto* array : {&b, &c})
      for (auto& x : *array) x = static_cast<U32>(engine_() % q);
    ring.kernel().inner_product(ring.prime(k), out.data(), b.data(), d, c.data(), d, 3);
    for (std::size_t i = 0; i < d; ++i) {
      U64 sum = 0;
      for (std::size_t j = 0; j < 3; ++j) sum += U64{b[j * d + i]} * c[j * d + i];
      ASSERT_EQ(out[i], sum % q * by % q);
    }
  }
}

TEST_P(RingTest, FusedTransformsAndProducts) {
  for (const unsigned log_d : {kMinLogDimension, 8u, kLogDimension}) {
    const Ring ring(log_d, *GetParam());
    const std::size_t d = ring.d(), stride = polynomial_stride(d);
    for (const unsigned count : {1u, 2u, 3u, 6u, 7u, 24u, 25u, 60u}) {
      for (const bool worst : {false, true}) {
        auto workspace = Workspace::create(d, count).value(), same = Workspace::create(d, count).value();
        std::vector<U32> columns(2 * count * stride), out(2 * stride);
        for (unsigned k = 0; k < count; ++k) {
          for (std::size_t i = 0; i < d; ++i) {
            const std::int64_t most = (std::int64_t{1} << 27) - 1;
            const std::int64_t digit = worst ? most : random_number(engine_) % most;
            workspace.digits[k][d + i] = same.digits[k][d + i] = static_cast<U32>(digit);
          }
        }
        for (std::size_t at = 0; at < columns.size(); ++at) {
          const U32 q = kPrimes[at % stride / d % 2];
          columns[at] = worst ? q - 1 : static_cast<U32>(engine_() % q);
        }
        multiply_digits(ring, count, columns.data(), out.data(), workspace);
        transform_digits(ring, count, same);
        std::vector<U32> expected(d);
        for (std::size_t at = 0; at < 4; ++at) {
          const std::size_t k = at % 2, begin = at / 2 * stride + k * d;
          ring.kernel().inner_product(ring.prime(k), expected.data(), same.digits[0] + k * d, stride,
                                      columns.data() + begin, 2 * stride, count);
          ASSERT_EQ(std::vector<U32>(out.begin() + static_cast<std::ptrdiff_t>(begin),
                                     out.begin() + static_cast<std::ptrdiff_t>(begin + d)),
                    expected);
        }
      }
    }
  }
}

TEST_P(RingTest, FusedTransformsAndSum) {
  for (const unsigned log_d : {kMinLogDimension, 7u, kLogDimension}) {
    const Ring ring(log_d, *GetParam());
    const std::size_t d = ring.d(), stride = polynomial_stride(d);
    for (const std::size_t count : {1u, 2u, 3u, 7u, 24u, 25u, 64u}) {
      for (const bool worst : {false, true}) {
        // As in a workspace: digits in the second halves, which the second prime overwrites.
        std::vector<U32> digits(count * stride), factors(count * stride), transforms(count * stride),
            out(2 * d), expected(2 * d);
        for (std::size_t at = 0; at < factors.size(); ++at) {
          const U32 q = kPrimes[at % stride / d % 2];
          factors[at] = worst ? q - 1 : static_cast<U32>(engine_() % q);
          const std::int32_t most = (1 << 27) - 1;
          digits[at] = static_cast<U32>(worst ? most : static_cast<std::int32_t>(engine_()) % most);
        }
        for (std::size_t j = 0; j < count; ++j) {
          ring.forward_small(transforms.data() + j * stride,
                             reinterpret_cast<const std::int32_t*>(digits.data() + j * stride + d));
        }
        for (std::size_t k = 0; k < 2; ++k) {
          ring.kernel().inner_product(ring.prime(k), expected.data() + k * d, transforms.data() + k * d,
                                      stride, factors.data() + k * d, stride, count);
          ring.kernel().transform_sum(ring.prime(k), out.data() + k * d, digits.data() + k * d,
                                      digits.data() + d, factors.data() + k * d, stride, count);
        }
        ASSERT_EQ(out, expected);
      }
    }
  }
}

TEST_P(RingTest, FirstDimension) {
  const Ring ring(6, *GetParam());
  const auto word = [](U64 low, U64 high) { return low | high << 32; };
  for (const std::size_t rows : {1u, 7u, 256u, 257u, 1024u}) {
    for (const bool worst : {true, false}) {
      const std::size_t columns = 5, queries = 5;
      std::vector<U64> database(columns * rows * kBlockSlots);
      std::vector<std::vector<U64>> query(queries, std::vector<U64>(rows * 2 * kBlockSlots + 1)),
          out(queries, std::vector<U64>(columns * 2 * kBlockSlots));
      const auto fill = [&](std::vector<U64>& words) {
        for (auto& x : words)
          x = worst ? word(kPrimes[0] - 1, kPrimes[1] - 1)
                    : word(engine_() % kPrimes[0], engine_() % kPrimes[1]);
      };
      fill(database);
      for (auto& q : query) fill(q);
      std::vector<const U64*> in;
      std::vector<U64*> to;
      for (std::size_t n = 0; n < queries; ++n) {
        in.push_back(query[n].data());
        to.push_back(out[n].data());
      }
      ring.kernel().first_dimension(ring.prime(0), ring.prime(1), database.data(), rows, columns, in.data(),
                                    queries, to.data());
      for (std::size_t n = 0; n < queries; ++n) {
        for (std::size_t at = 0; at < out[n].size(); ++at) {
          const std::size_t column = at / (2 * kBlockSlots), slot = at % kBlockSlots;
          for (std::size_t k = 0; k < 2; ++k) {
            const U64 q = kPrimes[k], by = power(ring.prime(k).one, q - 2, kPrimes[k]);
            U64 sum = 0;
            for (std::size_t i = 0; i < rows; ++i) {
              const U64 a = database[(column * rows + i) * kBlockSlots + slot] >> (32 * k) & 0xffffffff;
              const U64 b = query[n][i * 2 * kBlockSlots + at % (2 * kBlockSlots)] >> (32 * k) & 0xffffffff;
              sum = (sum + a * b) % q;
            }
            ASSERT_EQ(out[n][at] >> (32 * k) & 0xffffffff, sum * by % q);
          }
        }
      }
    }
  }
}

/// Digits one at a time, as the definition says.
std::vector<std::int64_t> digits_ref(const Gadget& gadget, std::int64_t c) {
  const auto& spec = gadget.spec();
  const auto z = static_cast<std::int64_t>(spec.z), delta = static_cast<std::int64_t>(gadget.delta());
  const auto floor_divide = [](std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); };
  if (delta > 1) c = floor_divide(c + delta / 2, delta);
  std::vector<std::int64_t> out;
  for (unsigned k = spec.drop; k + 1 < spec.t; ++k) {
    const std::int64_t r = c + z / 2 - floor_divide(c + z / 2, z) * z - z / 2;
    out.push_back(r);
    c = (c - r) / z;
  }
  out.push_back(c);
  return out;
}

TEST_P(RingTest, DigitsOfEveryKindOfGadget) {
  const std::size_t d = 4096;  // digits do not depend on the ring
  std::vector<Gadget> gadgets;
  for (const U32 z : {2u,   3u,   4u,   5u,   7u,   9u,    10u,   16u,    27u,    100u,
                      127u, 128u, 243u, 256u, 638u, 2319u, 4096u, 16384u, 65535u, 65536u}) {
    gadgets.push_back(Gadget::create({.z = z}).value());
    const auto t = gadgets.back().spec().t;
    for (U32 drop = 1; drop < t; drop += 1 + t / 4)
      gadgets.push_back(Gadget::create({.z = z, .drop = drop}).value());
    gadgets.push_back(Gadget::create({.z = z, .domain = Domain::kResidues}).value());
  }
  for (const U32 bits : {1u, 2u, 8u})
    gadgets.push_back(Gadget::create({.z = 512, .drop = 3, .bits = bits}).value());
  gadgets.push_back(Gadget::create({.z = 512, .bits = 5}).value());
  for (int round = 0; round < 20; ++round)
    gadgets.push_back(Gadget::create({.z = static_cast<U32>(2 + engine_() % 65535)}).value());
  for (const auto& gadget : gadgets) {
    const auto& spec = gadget.spec();
    const bool whole = spec.domain == Domain::kComposed;
    const U64 modulus = whole ? kModulus : kPrimes[1];
    const auto half = static_cast<std::int64_t>(modulus / 2);
    const unsigned count = gadget.digits() / gadget.parts();
    std::vector<std::int64_t> c(d);
    for (auto& x : c) x = random_number(engine_) % (half + 1);
    std::int64_t power_of_z = 1;
    for (std::size_t i = 0; i + 8 < 400; i += 8) {
      const std::int64_t edges[] = {0,
                                    1,
                                    half,
                                    power_of_z,
                                    (power_of_z - 1) / 2,
                                    power_of_z / 2,
                                    (power_of_z + 1) / 2,
                                    half - power_of_z};
      for (std::size_t j = 0; j < 8; ++j)
        c[i + j] = i % 16 == 0 ? edges[j] % (half + 1) : -(edges[j] % (half + 1));
      if (i % 16 == 8)
        power_of_z = power_of_z > half / static_cast<std::int64_t>(spec.z) ? 1 : power_of_z * spec.z;
    }
    std::vector<std::int32_t> out(d * count);
    GetParam()->digits(digit_plan(gadget, modulus), d, out.data(), d, c.data());
    double squares = 0;
    for (std::size_t i = 0; i < d; ++i) {
      const auto expected = digits_ref(gadget, c[i]);
      Wide sum = 0;
      Wide weight = static_cast<Wide>(gadget.delta());
      for (unsigned k = 0; k < count; ++k, weight *= spec.z) {
        const std::int64_t digit = out[k * d + i];
        ASSERT_EQ(digit, expected[k]) << "z=" << spec.z << " drop=" << spec.drop << " k=" << k;
        if (k + 1 < count) {
          ASSERT_LE(2 * digit, static_cast<std::int64_t>(spec.z) - 1);
          ASSERT_GE(2 * digit, -static_cast<std::int64_t>(spec.z));
        }
        sum += weight * digit;
        if (i >= 400) squares += static_cast<double>(digit) * static_cast<double>(digit);
      }
      const Wide off = sum - c[i];
      ASSERT_LE(off < 0 ? -off : off, static_cast<Wide>(gadget.delta() / 2));
    }
    if (whole) {
      const double mean = squares / static_cast<double>(d - 400);
      EXPECT_NEAR(mean / gadget.mean_square(), 1, 0.12)
          << "z=" << spec.z << " t=" << spec.t << " drop=" << spec.drop;
    }
  }
}

TEST_P(RingTest, UnsignedDigitsAreThoseOfPositionalNotation) {
  const std::size_t d = 256;
  for (const U32 z : {2u, 3u, 7u, 16u, 100u, 127u, 256u, 2319u, 32768u, 65535u, 65536u}) {
    const auto gadget = Gadget::create({.z = z, .domain = Domain::kUnsigned}).value();
    const unsigned count = gadget.digits();
    std::vector<std::int64_t> c(d);
    for (auto& x : c) x = static_cast<std::int64_t>(engine_() % kModulus);
    const auto q = static_cast<std::int64_t>(kModulus);
    const std::int64_t edges[] = {0,     1,     z - 1, z, std::int64_t{z} * z - 1, std::int64_t{z} * z,
                                  q / 2, q - z, q - 1};
    std::copy(std::begin(edges), std::end(edges), c.begin());
    std::vector<std::int32_t> out(d * count);
    GetParam()->digits(digit_plan(gadget, kModulus), d, out.data(), d, c.data());
    for (std::size_t i = 0; i < d; ++i) {
      std::int64_t rest = c[i];
      for (unsigned k = 0; k < count; ++k, rest /= z) {
        ASSERT_EQ(out[k * d + i], rest % z) << "z=" << z << " number " << c[i] << " digit " << k;
      }
      ASSERT_EQ(rest, 0);
    }
  }
}

TEST_P(RingTest, ResiduesAndWholeNumbersRecomposeAlike) {
  const Ring ring(6, *GetParam());
  for (const U32 z : {2u, 3u, 16u, 128u, 1000u}) {
    for (const auto domain : {Domain::kComposed, Domain::kResidues, Domain::kUnsigned}) {
      const auto gadget = Gadget::create({.z = z, .domain = domain}).value();
      auto workspace = Workspace::create(64, gadget.digits()).value();
      const auto a = random_polynomial(64, engine_);
      decompose(ring, gadget, slots(ring, a).data(), 0, workspace);
      transform_digits(ring, gadget.digits(), workspace);
      std::vector<Wide> sum(64);
      for (unsigned k = 0; k < gadget.digits(); ++k) {
        const U32* from = workspace.digits[k];
        const auto digit = coefficients(ring, std::vector<U32>(from, from + 128));
        for (std::size_t i = 0; i < 64; ++i) {
          if (domain == Domain::kUnsigned) {
            ASSERT_TRUE(digit[i] >= 0 && digit[i] < static_cast<std::int64_t>(z));
          }
          sum[i] += static_cast<Wide>(digit[i]) * static_cast<Wide>(gadget.weight(k));
        }
      }
      for (std::size_t i = 0; i < 64; ++i) ASSERT_EQ(centred(sum[i]), a[i]);
    }
  }
}

TEST(GadgetTest, BadOnesAreRefused) {
  for (const Gadget::Spec& spec :
       {Gadget::Spec{.z = 1}, Gadget::Spec{.z = 65537}, Gadget::Spec{.z = 3, .t = 35},
        Gadget::Spec{.z = 3, .t = 37}, Gadget::Spec{.z = 2, .t = 58}, Gadget::Spec{.z = 16, .drop = 14},
        Gadget::Spec{.z = 256, .drop = 1, .domain = Domain::kResidues},
        Gadget::Spec{.z = 65536, .t = 0xffffffff}, Gadget::Spec{.z = 9, .bits = 1},
        Gadget::Spec{.z = 16, .bits = 4}, Gadget::Spec{.z = 16, .bits = 0xffffffff},
        Gadget::Spec{.z = 16, .bits = 1, .domain = Domain::kResidues},
        Gadget::Spec{.z = 16, .drop = 1, .domain = Domain::kUnsigned},
        Gadget::Spec{.z = 16, .domain = static_cast<Domain>(3)},
        Gadget::Spec{.z = 2, .t = 0, .drop = 0xffffffff}}) {
    EXPECT_EQ(Gadget::create(spec).error().code(), ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(Gadget::create({.z = 2})->digits(), 56u);
  EXPECT_EQ(Gadget::create({.z = 3})->digits(), 36u);
  EXPECT_EQ(Gadget::create({.z = 4})->digits(), 28u);
  EXPECT_EQ(Gadget::create({.z = 256})->digits(), 7u);
  EXPECT_EQ(Gadget::create({.z = 512, .drop = 4})->digits(), 3u);
  EXPECT_EQ(Gadget::create({.z = 3, .domain = Domain::kResidues})->digits(), 36u);
  const auto gadget = Gadget::create({.z = 9, .drop = 3}).value();
  Writer writer;
  gadget.encode(writer);
  const Bytes bytes = std::move(writer).take();
  EXPECT_EQ(bytes.size(), Gadget::kBytes);
  Reader reader(bytes, "gadget");
  EXPECT_EQ(Gadget::decode(reader).value(), gadget);
}

}  // namespace
}  // namespace pirx::cpir::spiral
