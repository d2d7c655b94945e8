// SPDX-License-Identifier: Apache-2.0
// The Fourier transform over the ring against its definition, and the butterflies of every kernel.
#include "cpir/inspire/ring_fft.h"

#include <gtest/gtest.h>

#include "offline_support.h"
#include "support/seed.h"

namespace pirx::cpir::inspire {
namespace {

using namespace testing;
using U32 = std::uint32_t;

class RingFftTest : public ::testing::TestWithParam<const RingKernel*> {
 protected:
  std::mt19937_64 engine_ = pirx::testing::seeded_engine();
};
INSTANTIATE_TEST_SUITE_P(Kernels, RingFftTest, ::testing::ValuesIn(usable_kernels()),
                         [](const auto& kernel) { return std::string(kernel.param->name); });

/// Rows with memory of their own.
template <class T>
struct OwnRows {
  explicit OwnRows(std::size_t d)
      : memory(Rows<T>::words(d) * sizeof(T)), order(d + 1), rows({memory.data(), order}) {}
  Bytes memory;
  std::vector<std::uint16_t> order;
  Rows<T> rows;
};

TEST_P(RingFftTest, IsTheSum) {
  for (const unsigned log_d : {6u, 7u, 8u, 11u}) {
    const Ring ring(log_d, *GetParam());
    const std::size_t d = ring.d();
    for (std::size_t k = 0; k < 2; ++k) {
      const std::uint64_t q = kPrimes[k];
      OwnRows<U32> own(d);
      std::vector<std::vector<U32>> in(d, std::vector<U32>(d));
      for (std::size_t i = 0; i < d; ++i) {
        for (auto& x : in[i]) x = static_cast<U32>(i % 7 == 0 ? q - 1 : engine_() % q);
        std::copy(in[i].begin(), in[i].end(), own.rows[i]);
      }
      ring_fft(*GetParam(), ring.prime(k), own.rows);
      for (std::size_t g = 1; g < 2 * d; g += log_d == 11 ? 1366 : 2) {
        std::vector<std::uint64_t> sum(d);
        for (std::size_t i = 0; i < d; ++i) {
          for (std::size_t n = 0; n < d; ++n) {
            const std::size_t at = (n + i * g) % (2 * d);
            sum[at % d] += at < d ? in[i][n] : q - in[i][n];
          }
        }
        for (std::size_t n = 0; n < d; ++n)
          ASSERT_EQ(own.rows[row_of(g, log_d)][n], sum[n] % q) << log_d << ' ' << g;
      }
    }
  }
}

TEST_P(RingFftTest, TheTransposeIsTheSum) {
  for (const unsigned log_d : {6u, 7u, 8u, 11u}) {
    const std::size_t d = std::size_t{1} << log_d;
    OwnRows<std::int32_t> integers(d);
    OwnRows<float> floats(d);
    std::vector<std::vector<std::int32_t>> in(2 * d, std::vector<std::int32_t>(d));
    for (std::size_t g = 1; g < 2 * d; g += 2) {
      // So small that floating-point sums are exact.
      for (auto& x : in[g]) x = static_cast<std::int32_t>(engine_() % 4096) - 2048;
      std::copy(in[g].begin(), in[g].end(), integers.rows[row_of(g, log_d)]);
      std::copy(in[g].begin(), in[g].end(), floats.rows[row_of(g, log_d)]);
    }
    ASSERT_TRUE(ring_fft_transposed(*GetParam(), integers.rows));
    ring_fft_transposed(*GetParam(), floats.rows);
    for (std::size_t column = 0; column < d; column += log_d == 11 ? 683 : 1) {
      std::vector<std::int32_t> sum(d);
      for (std::size_t g = 1; g < 2 * d; g += 2) {
        for (std::size_t n = 0; n < d; ++n) {
          const std::size_t at = (n + g * column) % (2 * d);
          sum[at % d] += at < d ? in[g][n] : -in[g][n];
        }
      }
      for (std::size_t n = 0; n < d; ++n) {
        ASSERT_EQ(integers.rows[column][n], sum[n]);
        ASSERT_EQ(floats.rows[column][n], static_cast<float>(sum[n]));
      }
    }
  }
}

/// One digit polynomial t_g: H y is t_g tau_g(y), and column n is X^(g n) t_g.
TEST_P(RingFftTest, OneDigitPolynomial) {
  const std::size_t d = 64;
  for (const std::size_t g : {1u, 5u, 77u, 127u}) {
    OwnRows<std::int32_t> own(d);
    Polynomial t(d);
    for (auto& x : t) x = static_cast<std::int32_t>(engine_());
    std::copy(t.begin(), t.end(), own.rows[row_of(g, 6)]);
    ASSERT_TRUE(ring_fft_transposed(*GetParam(), own.rows));
    const Ring& ring = Ring::get(6);
    const auto y = random_polynomial(d, engine_), expected = multiply(ring, t, automorphism_ref(y, g));
    for (std::size_t k = 0; k < d; ++k) {
      Wide product = 0;
      for (std::size_t n = 0; n < d; ++n) product += static_cast<Wide>(own.rows[n][k]) * y[n];
      ASSERT_EQ(centred(product), expected[k]);
    }
  }
}

TEST_P(RingFftTest, SumsThatDoNotFitAreSeen) {
  const std::size_t d = 64;
  // Column 0 has their sum: 64 of 2^25 are 2^31, one too many; the negative ones fit.
  for (const std::int32_t most : {(1 << 25) - 1, 1 << 25, -(1 << 25), -(1 << 25) - 1}) {
    OwnRows<std::int32_t> own(d);
    for (std::size_t g = 1; g < 2 * d; g += 2) own.rows[row_of(g, 6)][17] = most;
    EXPECT_EQ(ring_fft_transposed(*GetParam(), own.rows), most == (1 << 25) - 1 || most == -(1 << 25))
        << most;
  }
}

TEST_P(RingFftTest, Butterflies) {
  const RingKernel& kernel = *GetParam();
  constexpr std::size_t kMost = 257 + 64;
  std::vector<U32> a(kMost), b(kMost), sum(kMost), difference(kMost);
  const auto fill = [&](U32 q) {
    for (auto* array : {&a, &b}) {
      for (auto& x : *array) {
        const std::uint64_t r = engine_();
        x = r % 5 == 0 ? 0 : r % 5 == 1 ? q - 1 : static_cast<U32>((r >> 8) % q);
      }
    }
  };
  for (std::size_t count = 0; count <= 257; count += count < 40 ? 1 : 31) {
    for (std::size_t offset = 0; offset < 64; offset += 7) {
      for (const U32 q : kPrimes) {
        fill(q);
        sum.assign(kMost, 77);
        difference = sum;
        kernel.butterfly(q, sum.data() + offset, difference.data() + offset / 2, a.data() + offset,
                         b.data() + 3, count);
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_EQ(sum[offset + i], (a[offset + i] + b[3 + i]) % q);
          ASSERT_EQ(difference[offset / 2 + i], (a[offset + i] + q - b[3 + i]) % q);
        }
        ASSERT_EQ(sum[offset + count], 77);
        ASSERT_EQ(difference[offset / 2 + count], 77);
        // In place, either way.
        auto in_place = a;
        kernel.butterfly(q, in_place.data(), difference.data(), in_place.data(), b.data(), count);
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(in_place[i], (a[i] + b[i]) % q);
        in_place = a;
        kernel.butterfly(q, sum.data(), in_place.data(), in_place.data(), b.data(), count);
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(in_place[i], (a[i] + q - b[i]) % q);
      }
      // A single pair that does not fit, at every place.
      std::vector<std::int32_t> x(count), y(count), s(count), t(count);
      std::vector<float> fx(count), fy(count), fs(count), ft(count);
      for (std::size_t i = 0; i < count; ++i) {
        x[i] = static_cast<std::int32_t>(engine_()) >> 1;
        y[i] = static_cast<std::int32_t>(engine_()) >> 1;
        fx[i] = static_cast<float>(x[i] >> 8);
        fy[i] = static_cast<float>(y[i] >> 8);
      }
      ASSERT_TRUE(kernel.butterfly_integers(s.data(), t.data(), x.data(), y.data(), count));
      kernel.butterfly_floats(fs.data(), ft.data(), fx.data(), fy.data(), count);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(s[i], x[i] + y[i]);
        ASSERT_EQ(t[i], x[i] - y[i]);
        ASSERT_EQ(fs[i], fx[i] + fy[i]);
        ASSERT_EQ(ft[i], fx[i] - fy[i]);
      }
      if (count == 0) continue;
      const std::size_t at = engine_() % count;
      const std::int32_t greatest = std::numeric_limits<std::int32_t>::max();
      const std::int32_t pairs[][2] = {{greatest, 1}, {-greatest, -2}, {greatest, -1}, {-greatest, 2}};
      for (const auto& pair : pairs) {
        auto x2 = x, y2 = y;
        x2[at] = pair[0];
        y2[at] = pair[1];
        ASSERT_FALSE(kernel.butterfly_integers(s.data(), t.data(), x2.data(), y2.data(), count));
        y2[at] = 0;
        ASSERT_TRUE(kernel.butterfly_integers(s.data(), t.data(), x2.data(), y2.data(), count));
      }
    }
  }
}

}  // namespace
}  // namespace pirx::cpir::inspire
