// SPDX-License-Identifier: Apache-2.0
// Every kernel of GF(2), GF(2^8) and GF(2^16) against scalar arithmetic: shapes, strides, alignments, and not
// a byte read or written outside. Buffers end at an inaccessible page, and kernels are chosen for every
// subset of CPU features.
#include "support/kernels.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "pirx/base/buffer.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"
#include "support/guarded.h"
#include "support/seed.h"

namespace pirx::gf2e {
namespace {

using testing::below;
using testing::fill;
using testing::Guarded;
using testing::runnable;
using Engine = std::mt19937_64;

/// Bytes that `rows` rows of `width` bytes span.
std::size_t extent(std::size_t rows, std::size_t width, std::size_t stride) {
  return rows == 0 || width == 0 ? 0 : (rows - 1) * stride + width;
}

struct Product {
  std::size_t q = 0, r = 0, s = 0;
  std::size_t q_stride = 0, d_stride = 0, r_stride = 0;
};

/// R += Q * D by the scalar arithmetic of the field.
template <class F>
void muladd_ref(const F& f, const Product& p, const std::byte* Q, const std::byte* D, std::byte* R) {
  using Elem = typename F::Elem;
  using Sum = typename F::Sum;
  for (std::size_t i = 0; i < p.q; ++i) {
    for (std::size_t j = 0; j < p.s; ++j) {
      std::byte* at = R + i * p.r_stride + j * sizeof(Sum);
      Sum sum = load_le<Sum>(at);
      for (std::size_t k = 0; k < p.r; ++k) {
        const Elem c = load_le<Elem>(Q + i * p.q_stride + k * sizeof(Elem));
        sum = f.sum_add(sum, f.sum_scale(c, f.load_word(D + k * p.d_stride + j * f.word_bytes())));
      }
      store_le(at, sum);
    }
  }
}

/// Runs `kernels` on one product with random operands; Q, D and R lie `slack_*` bytes before their guard
/// pages.
template <class F>
class ProductTester {
 public:
  void check(const F& f, const Kernels<F>& kernels, const Product& p, Engine& rng, std::size_t slack_d,
             std::size_t slack_r, bool sums) {
    using Elem = typename F::Elem;
    using Sum = typename F::Sum;
    const std::size_t q_size = extent(p.q, p.r * sizeof(Elem), p.q_stride);
    const std::size_t d_size = extent(p.r, p.s * sizeof(Sum), p.d_stride);
    const std::size_t r_size = extent(p.q, p.s * sizeof(Sum), p.r_stride);
    // A hole of guard bytes before the operands as well.
    std::byte* Q = q_.tail(q_size, 0);
    std::byte* D = d_.tail(d_size, slack_d);
    std::byte* R = r_.tail(r_size, slack_r);
    fill(rng, {Q, q_size});
    if (sizeof(Elem) == 1 && f.size_limit() == 2) {
      for (std::size_t i = 0; i < q_size; ++i) Q[i] &= std::byte{1};
    }
    fill(rng, {D, d_size});
    const MutableByteSpan around{R - kGuard, r_size + kGuard + slack_r};
    fill(rng, around);
    Bytes want(around.begin(), around.end());
    muladd_ref(f, p, Q, D, want.data() + kGuard);
    const auto* q_typed = reinterpret_cast<const Elem*>(Q);
    auto* r_typed = reinterpret_cast<Sum*>(R);
    if (sums) {
      kernels.muladd_sums(f, p.q, p.r, p.s, q_typed, p.q_stride, reinterpret_cast<const Sum*>(D), p.d_stride,
                          r_typed, p.r_stride);
    } else {
      kernels.muladd_words(f, p.q, p.r, p.s, q_typed, p.q_stride, D, p.d_stride, r_typed, p.r_stride);
    }
    ASSERT_EQ(0, std::memcmp(want.data(), around.data(), want.size()))
        << kernels.name << " q=" << p.q << " r=" << p.r << " s=" << p.s << " strides " << p.q_stride << " "
        << p.d_stride << " " << p.r_stride << " slack " << slack_d << " " << slack_r << " sums " << sums;
  }

 private:
  static constexpr std::size_t kGuard = 256;
  static constexpr std::size_t kCapacity = std::size_t{1} << 17;
  Guarded q_{kCapacity}, d_{kCapacity}, r_{kCapacity};
};

template <class F>
class KernelsTest : public ::testing::Test {};
using Fields = ::testing::Types<Gf2, Gf2_8, Gf2_16>;
TYPED_TEST_SUITE(KernelsTest, Fields);

Product random_strides(Engine& rng, std::size_t q, std::size_t r, std::size_t s, std::size_t word) {
  Product p{q, r, s, r * word, s * word, s * word};
  if (rng() % 4 != 0) {
    p.q_stride += below(rng, 40);
    p.d_stride += below(rng, 80);
    p.r_stride += below(rng, 80);
  }
  return p;
}

TYPED_TEST(KernelsTest, EveryLengthAtEveryOffset) {
  const TypeParam f;
  ProductTester<TypeParam> tester;
  for (const auto& kernels : runnable(kernel_table(f))) {
    auto rng = pirx::testing::seeded_engine(1);
    for (std::size_t s = 0; s <= 257; ++s) {
      for (std::size_t offset = 0; offset < 64; offset += 1 + below(rng, 8)) {
        const Product p =
            random_strides(rng, 1 + below(rng, 5), 1 + below(rng, 3), s, sizeof(typename TypeParam::Sum));
        const std::size_t d_slack = offset + 64 * below(rng, 2);
        tester.check(f, kernels, p, rng, rng() % 3 == 0 ? 0 : d_slack, rng() % 3 == 0 ? 0 : below(rng, 64),
                     rng() % 2);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(KernelsTest, EveryShapeOfTheRegisterTile) {
  const TypeParam f;
  ProductTester<TypeParam> tester;
  for (const auto& kernels : runnable(kernel_table(f))) {
    auto rng = pirx::testing::seeded_engine(2);
    for (const std::size_t q : {0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33}) {
      for (const std::size_t r : {0, 1, 2, 3, 7, 8, 15, 16, 17, 40}) {
        for (int round = 0; round < 6; ++round) {
          const std::size_t s = round == 0 ? 0 : below(rng, 258);
          const Product p = random_strides(rng, q, r, s, sizeof(typename TypeParam::Sum));
          tester.check(f, kernels, p, rng, below(rng, 64), below(rng, 64), rng() % 2);
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

TYPED_TEST(KernelsTest, AnEmptyProductTakesNullPointers) {
  const TypeParam f;
  for (const auto& kernels : runnable(kernel_table(f))) {
    kernels.muladd_words(f, 0, 0, 0, nullptr, 0, nullptr, 0, nullptr, 0);
    kernels.muladd_sums(f, 3, 0, 0, nullptr, 0, nullptr, 0, nullptr, 0);
    kernels.add(f, 0, nullptr, nullptr, nullptr);
  }
}

TYPED_TEST(KernelsTest, EveryScalarTimesEveryByteOfAWord) {
  using Elem = typename TypeParam::Elem;
  using Sum = typename TypeParam::Sum;
  const TypeParam f;
  auto rng = pirx::testing::seeded_engine(3);
  std::vector<Sum> words(512);
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = static_cast<Sum>(sizeof(Sum) == 1 ? i : (i < 256 ? i : (i - 256) << 8));
  }
  for (const auto& kernels : runnable(kernel_table(f))) {
    for (std::uint64_t label = 0;
         label<f.size_limit(); label += f.size_limit()> 256 ? 1 + below(rng, 32) : 1) {
      const Elem c = f.from_label(label);
      std::vector<Sum> sums(words.size());
      kernels.muladd_sums(f, 1, 1, words.size(), &c, 0, words.data(), 0, sums.data(), 0);
      for (std::size_t i = 0; i < words.size(); ++i) {
        ASSERT_EQ(sums[i], f.sum_scale(c, words[i])) << kernels.name << " " << label << " " << i;
      }
    }
  }
}

TYPED_TEST(KernelsTest, AddAndSub) {
  using Sum = typename TypeParam::Sum;
  const TypeParam f;
  Guarded memory_a(4096), memory_b(4096), memory_out(4096);
  auto rng = pirx::testing::seeded_engine(4);
  for (const auto& kernels : runnable(kernel_table(f))) {
    for (std::size_t n = 0; n <= 257; ++n) {
      for (int round = 0; round < 8; ++round) {
        const std::size_t bytes = n * sizeof(Sum);
        std::byte* a = memory_a.tail(bytes, below(rng, 64));
        std::byte* b = memory_b.tail(bytes, below(rng, 64));
        std::byte* out = memory_out.tail(bytes, below(rng, 64));
        fill(rng, memory_a.all());
        fill(rng, memory_b.all());
        fill(rng, memory_out.all());
        MutableByteSpan around = memory_out.all();
        if (round % 4 == 1) {
          out = a;
          around = memory_a.all();
        } else if (round % 4 == 2) {
          out = b;
          around = memory_b.all();
        }
        const bool subtract = round >= 4;
        Bytes want(around.begin(), around.end());
        for (std::size_t i = 0; i < n; ++i) {
          const auto x = load_le<Sum>(a + i * sizeof(Sum)), y = load_le<Sum>(b + i * sizeof(Sum));
          store_le(want.data() + (out - around.data()) + i * sizeof(Sum),
                   subtract ? f.sum_sub(x, y) : f.sum_add(x, y));
        }
        (subtract ? kernels.sub : kernels.add)(f, n, reinterpret_cast<const Sum*>(a),
                                               reinterpret_cast<const Sum*>(b), reinterpret_cast<Sum*>(out));
        ASSERT_EQ(0, std::memcmp(want.data(), around.data(), want.size())) << kernels.name << " n=" << n;
      }
    }
  }
}

TYPED_TEST(KernelsTest, TheTableIsOrderedAndComplete) {
  const TypeParam f;
  const auto table = kernel_table(f);
  ASSERT_FALSE(table.empty());
  EXPECT_STREQ(table.back().name, "portable");
  EXPECT_EQ(table.back().needs, 0u);
  for (const auto& kernels : table) {
    EXPECT_TRUE(kernels.muladd_words && kernels.muladd_sums && kernels.add && kernels.sub) << kernels.name;
    EXPECT_GT(kernels.tile_rows, 0u);
    EXPECT_GE(kernels.tile_bytes, 64u);
    EXPECT_EQ(kernels.needs == 0, &kernels == &table.back()) << kernels.name;
    // "avx512" is for a CPU without GFNI; only GF(2) has it.
    const bool rows_only = kernels.needs == 0 || std::string(kernels.name) == "avx512";
    EXPECT_EQ(kernels.sliced == nullptr, rows_only) << kernels.name;
  }
}

/// The kernel that each set of features must get. A kernel that silently drops out of the table fails here.
template <class F>
std::string expected_kernel(const F& f, CpuFeatures allowed) {
#if defined(__x86_64__) && !defined(PIRX_PORTABLE_ONLY)
  const auto has = [allowed](CpuFeatures wanted) { return (allowed & wanted) == wanted; };
  if (has(kCpuAvx512 | kCpuGfni)) return "gfni512";
  if (f.tag() == kTagGf2 && has(kCpuAvx512)) return "avx512";
  if (has(kCpuAvx2 | kCpuGfni)) return "gfni256";
  if (has(kCpuAvx2)) return "avx2";
#else
  (void)f;
  (void)allowed;
#endif
  return "portable";
}

TYPED_TEST(KernelsTest, EverySubsetOfFeaturesGetsItsBestKernel) {
  const TypeParam f;
  constexpr CpuFeatures kAll = kCpuAvx2 | kCpuGfni | kCpuAvx512 | kCpuAvx512Ifma | kCpuAvx512Vbmi;
  ProductTester<TypeParam> tester;
  auto rng = pirx::testing::seeded_engine(5);
  for (CpuFeatures subset = 0; subset <= kAll; ++subset) {
    const auto& kernels = choose_kernels(f, subset);
    EXPECT_EQ(kernels.needs & ~subset, 0u) << kernels.name;
    EXPECT_EQ(kernels.name, expected_kernel(f, subset)) << cpu_features_name(subset);
    if ((kernels.needs & ~detected_cpu_features()) != 0) continue;
    const Product p = random_strides(rng, 5, 11, 1 + below(rng, 200), sizeof(typename TypeParam::Sum));
    tester.check(f, kernels, p, rng, 0, 0, false);
  }
}

TYPED_TEST(KernelsTest, TheProcessGetsTheBestKernelItMayUse) {
  const TypeParam f;
  const CpuFeatures allowed = allowed_cpu_features_or_die();
  EXPECT_EQ(allowed & ~detected_cpu_features(), 0u);
  const auto& kernels = choose_kernels(f, allowed);
  EXPECT_EQ(kernels.needs & ~allowed, 0u);
  EXPECT_EQ(kernels.name, expected_kernel(f, allowed));
}

TYPED_TEST(KernelsTest, PirxForceIsaDecides) {
  // Each case is a process of its own, since the environment is read once.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const TypeParam f;
  const CpuFeatures here = detected_cpu_features();
  const std::pair<const char*, CpuFeatures> cases[] = {
      {"portable", 0}, {"avx2", kCpuAvx2}, {"avx2-gfni", kCpuAvx2 | kCpuGfni}, {"avx512", here | kCpuAvx512}};
  for (const auto& [isa, features] : cases) {
    if ((features & ~here) != 0) continue;
    EXPECT_EXIT(
        {
          setenv("PIRX_FORCE_ISA", isa, 1);
          const CpuFeatures allowed = allowed_cpu_features_or_die();
          const auto& kernels = choose_kernels(f, allowed);
          const bool right = (kernels.needs & ~allowed) == 0 && kernels.name == expected_kernel(f, features);
          std::fprintf(stderr, "%s gives %s\n", isa, kernels.name);
          std::exit(right ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), isa);
  }
}

}  // namespace
}  // namespace pirx::gf2e
