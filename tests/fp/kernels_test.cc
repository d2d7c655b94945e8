// SPDX-License-Identifier: Apache-2.0
// Every kernel of the prime fields against the scalars: all short shapes, odd offsets and strides, guard
// bytes, a page without access right behind every operand, and sums of products at their largest.
#include "support/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "pirx/fp/prime_field.h"
#include "pirx/fp/w160.h"
#include "pirx/fp/w48.h"
#include "support/guarded.h"
#include "support/random_element.h"
#include "support/seed.h"

namespace pirx::fp {
namespace {

using pirx::testing::EngineSource;
using pirx::testing::runnable;
using pirx::testing::seeded_engine;

/// A rows x cols matrix of items of `width` bytes, `gap` bytes between rows and `offset` before the first, in
/// fenced memory that is filled with a guard byte.
struct Operand {
  static constexpr std::byte kGuard{0xA5};
  std::size_t rows, cols, width, offset, stride, bytes;
  pirx::testing::Guarded fence;
  MutableByteSpan memory;

  Operand(std::size_t rows_in, std::size_t cols_in, std::size_t width_in, std::size_t gap,
          std::size_t offset_in)
      : rows(rows_in),
        cols(cols_in),
        width(width_in),
        offset(offset_in),
        stride(cols * width + gap),
        bytes(offset + (rows == 0 ? 0 : (rows - 1) * stride + cols * width)),
        fence(bytes),
        memory(fence.tail(bytes, 0), bytes) {
    std::fill_n(memory.data(), memory.size(), kGuard);
  }
  std::byte* at(std::size_t i, std::size_t j) { return memory.data() + offset + i * stride + j * width; }
  template <class T>
  T* pointer() {
    return reinterpret_cast<T*>(memory.data() + offset);
  }
};

template <class T>
T get(const std::byte* from) {
  T out;
  std::memcpy(&out, from, sizeof out);
  return out;
}
template <class T>
void put(std::byte* to, const T& value) {
  std::memcpy(to, &value, sizeof value);
}

/// A random element; now and then one with long runs of ones or zeros.
template <class F>
typename F::Elem pick(const F& f, std::mt19937_64& engine) {
  EngineSource source{engine};
  const auto minus_one = f.sub(f.zero(), f.one());
  switch (engine() % 8) {
    case 0:
      return minus_one;
    case 1:
      return f.sub(minus_one, f.from_label(engine() % 16));
    case 2:
      return f.zero();
    default:
      return pirx::testing::random_element(f, source);
  }
}

/// One product, words and sums, checked against sum_scale and sum_add; guard bytes around R must survive.
template <class F>
void check_product(const F& f, const Kernels<F>& kernels, std::size_t q, std::size_t r, std::size_t s,
                   std::mt19937_64& engine) {
  using Elem = typename F::Elem;
  SCOPED_TRACE(::testing::Message() << kernels.name << " q=" << q << " r=" << r << " s=" << s);
  const auto small = [&] { return static_cast<std::size_t>(engine() % 64); };
  Operand Q(q, r, sizeof(Elem), small(), small());
  Operand words(r, s, f.word_bytes(), small(), small());
  Operand sums(r, s, sizeof(Elem), small(), small());
  Operand R(q, s, sizeof(Elem), small(), small());
  for (std::size_t k = 0; k < r; ++k) {
    for (std::size_t i = 0; i < q; ++i) put(Q.at(i, k), pick(f, engine));
    for (std::size_t j = 0; j < s; ++j) {
      put(sums.at(k, j), pick(f, engine));
      EngineSource{engine}.fill({words.at(k, j), f.word_bytes()});
      if (engine() % 8 == 0) std::fill_n(words.at(k, j), f.word_bytes(), std::byte{0xFF});
    }
  }
  for (const bool use_words : {true, false}) {
    for (std::size_t i = 0; i < q; ++i) {
      for (std::size_t j = 0; j < s; ++j) put(R.at(i, j), pick(f, engine));
    }
    Bytes expected(R.memory.data(), R.memory.data() + R.memory.size());
    for (std::size_t i = 0; i < q; ++i) {
      for (std::size_t j = 0; j < s; ++j) {
        std::byte* out = expected.data() + (R.at(i, j) - R.memory.data());
        auto sum = get<Elem>(out);
        for (std::size_t k = 0; k < r; ++k) {
          const auto d = use_words ? f.load_word(words.at(k, j)) : get<Elem>(sums.at(k, j));
          sum = f.sum_add(sum, f.sum_scale(get<Elem>(Q.at(i, k)), d));
        }
        put(out, sum);
      }
    }
    if (use_words) {
      kernels.muladd_words(f, q, r, s, Q.template pointer<Elem>(), Q.stride,
                           words.template pointer<std::byte>(), words.stride, R.template pointer<Elem>(),
                           R.stride);
    } else {
      kernels.muladd_sums(f, q, r, s, Q.template pointer<Elem>(), Q.stride, sums.template pointer<Elem>(),
                          sums.stride, R.template pointer<Elem>(), R.stride);
    }
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), R.memory.data()))
        << (use_words ? "words" : "sums");
  }
}

template <class F>
void check_add_sub(const F& f, const Kernels<F>& kernels, std::size_t n, std::mt19937_64& engine) {
  using Elem = typename F::Elem;
  SCOPED_TRACE(::testing::Message() << kernels.name << " n=" << n);
  Operand a(1, n, sizeof(Elem), 0, 0), b(1, n, sizeof(Elem), 0, 0), out(1, n, sizeof(Elem), 0, 8);
  std::vector<Elem> sum(n), difference(n);
  for (std::size_t i = 0; i < n; ++i) {
    put(a.at(0, i), pick(f, engine));
    put(b.at(0, i), pick(f, engine));
    sum[i] = f.sum_add(get<Elem>(a.at(0, i)), get<Elem>(b.at(0, i)));
    difference[i] = f.sum_sub(get<Elem>(a.at(0, i)), get<Elem>(b.at(0, i)));
  }
  const auto same = [&](Operand& x, const std::vector<Elem>& y) {
    return n == 0 || std::memcmp(x.at(0, 0), y.data(), n * sizeof(Elem)) == 0;
  };
  auto* pa = a.template pointer<Elem>();
  auto* pb = b.template pointer<Elem>();
  auto* po = out.template pointer<Elem>();
  kernels.add(f, n, pa, pb, po);
  ASSERT_TRUE(same(out, sum));
  kernels.sub(f, n, pa, pb, po);
  ASSERT_TRUE(same(out, difference));
  ASSERT_EQ(*out.memory.data(), Operand::kGuard);
  kernels.sub(f, n, pa, pb, pb);  // in place, second operand
  ASSERT_TRUE(same(b, difference));
  kernels.sub(f, n, pa, po, pa);  // in place, first operand: a - (a - b) = b
  kernels.add(f, n, pa, po, pa);  // and back to a
  for (std::size_t i = 0; i < n; ++i) {
    const auto twice = f.sum_add(get<Elem>(a.at(0, i)), get<Elem>(a.at(0, i)));
    ASSERT_TRUE(f.sum_equal(twice, f.sum_add(sum[i], difference[i])));
  }
}

TEST(Kernels, TablesEndWithThePortableOne) {
  const W160 w160;
  const W48 w48;
  const PrimeField prime = *PrimeField::create(160);
  EXPECT_EQ(kernel_table(w160).back().needs, 0u);
  EXPECT_STREQ(kernel_table(w160).back().name, "portable");
  EXPECT_EQ(kernel_table(w48).back().needs, 0u);
  EXPECT_STREQ(kernel_table(w48).back().name, "portable");
  EXPECT_EQ(kernel_table(prime).back().needs, 0u);
  for (const auto& kernels : kernel_table(w48)) {
    EXPECT_GT(kernels.tile_rows, 0u);
    EXPECT_EQ(kernels.tile_bytes % w48.word_bytes(), 0u);
  }
  for (const auto& kernels : kernel_table(w160)) {
    EXPECT_GT(kernels.tile_rows, 0u);
    EXPECT_EQ(kernels.tile_bytes % w160.word_bytes(), 0u);
  }
#if defined(__x86_64__) && !defined(PIRX_PORTABLE_ONLY)
  EXPECT_STREQ(kernel_table(w160).front().name, "amx");
  EXPECT_STREQ(kernel_table(w48).front().name, "amx");
#else
  EXPECT_EQ(kernel_table(w160).size(), 1u);
  EXPECT_EQ(kernel_table(w48).size(), 1u);
#endif
}

template <class F>
void check_every_subset_of_cpu_features(const F& f) {
  auto engine = seeded_engine(1);
  const CpuFeatures detected = detected_cpu_features();
  for (CpuFeatures subset = 0; subset < 128; ++subset) {
    const auto& kernels = choose_kernels(f, subset);
    const auto has = [subset](CpuFeatures features) { return (features & ~subset) == 0; };
    const CpuFeatures vnni = kCpuAvx512 | kCpuAvx512Ifma | kCpuAvx512Vnni;
    const char* want = kernel_table(f).size() == 1        ? "portable"
                       : has(vnni | kCpuAmxInt8)          ? "amx"
                       : has(vnni) && f.tag() == kTagW160 ? "vnni"
                       : has(kCpuAvx512 | kCpuAvx512Ifma) ? "ifma"
                       : has(kCpuAvx2)                    ? "avx2"
                                                          : "portable";
    EXPECT_STREQ(kernels.name, want) << subset;
    if ((subset & ~detected) != 0) continue;
    ASSERT_NO_FATAL_FAILURE(check_product(f, kernels, 4, 9, 13, engine));
  }
}

TEST(Kernels, W160EverySubsetOfCpuFeatures) { check_every_subset_of_cpu_features(W160()); }
TEST(Kernels, W48EverySubsetOfCpuFeatures) { check_every_subset_of_cpu_features(W48()); }

template <class F>
void check_all_short_shapes(const F& f) {
  auto engine = seeded_engine(2);
  for (const auto& kernels : runnable(kernel_table(f))) {
    for (std::size_t n = 0; n <= 70; ++n) {
      ASSERT_NO_FATAL_FAILURE(check_product(f, kernels, engine() % 8, engine() % 12, n, engine));
      ASSERT_NO_FATAL_FAILURE(check_product(f, kernels, engine() % 5, n, engine() % 20, engine));
      ASSERT_NO_FATAL_FAILURE(check_product(f, kernels, n, engine() % 6, engine() % 20, engine));
      ASSERT_NO_FATAL_FAILURE(check_product(f, kernels, 1, 1, n, engine));
      ASSERT_NO_FATAL_FAILURE(check_product(f, kernels, 16 + engine() % 9, engine() % 5, 2 * n, engine));
      ASSERT_NO_FATAL_FAILURE(check_add_sub(f, kernels, n, engine));
    }
  }
}

TEST(Kernels, W160AllShortShapes) { check_all_short_shapes(W160()); }
TEST(Kernels, W48AllShortShapes) { check_all_short_shapes(W48()); }

template <class F>
void check_around_row_blocks(const F& f) {
  auto engine = seeded_engine(3);
  for (const auto& kernels : runnable(kernel_table(f))) {
    for (const std::size_t r :
         {63u, 64u, 65u, 127u, 128u, 129u, 255u, 256u, 257u, 511u, 512u, 513u, 1024u, 1025u}) {
      ASSERT_NO_FATAL_FAILURE(check_product(f, kernels, 4, r, 9, engine));
      ASSERT_NO_FATAL_FAILURE(check_product(f, kernels, 17, r, 3, engine));
    }
  }
}

TEST(Kernels, W160AroundRowBlocks) { check_around_row_blocks(W160()); }
TEST(Kernels, W48AroundRowBlocks) { check_around_row_blocks(W48()); }

// With x = 2^160 - 1 = -8 every limb is full: the sums of products are as large as they get. (p - 1 = -1 has
// the largest top limb instead.) The expected values need no field: 64 r, 8 r and r.
TEST(Kernels, W160LargestSums) {
  const W160 f;
  const W160::Elem minus_one = f.sub(f.zero(), f.one());
  const W160::Elem minus_eight = f.sub(f.zero(), f.from_label(8));
  for (const auto& kernels : runnable(kernel_table(f))) {
    for (const std::size_t r : {1u, 511u, 512u, 513u, 585u, 1024u, 5000u}) {
      constexpr std::size_t q = 4, s = 17;
      const Bytes words(r * s * 20, std::byte{0xFF});
      for (const bool full : {true, false}) {
        SCOPED_TRACE(::testing::Message() << kernels.name << " r=" << r << " full=" << full);
        const std::vector<W160::Elem> Q(q * r, full ? minus_eight : minus_one);
        const std::vector<W160::Elem> sums(r * s, full ? minus_eight : minus_one);
        std::vector<W160::Elem> R(q * s, minus_one);
        kernels.muladd_words(f, q, r, s, Q.data(), r * sizeof(W160::Elem), words.data(), s * 20, R.data(),
                             s * sizeof(W160::Elem));
        for (const auto& value : R) ASSERT_TRUE(f.equal(value, f.from_label((full ? 64 : 8) * r - 1)));
        R.assign(q * s, minus_one);
        kernels.muladd_sums(f, q, r, s, Q.data(), r * sizeof(W160::Elem), sums.data(), s * sizeof(W160::Elem),
                            R.data(), s * sizeof(W160::Elem));
        for (const auto& value : R) ASSERT_TRUE(f.equal(value, f.from_label((full ? 64 : 1) * r - 1)));
      }
    }
  }
}

// The portable kernel's 128-bit columns hold 349,525 products of full limbs; a stride of zero repeats one
// row.
TEST(Kernels, W160MoreRowsThanAnyAccumulatorHolds) {
  const W160 f;
  const W160::Elem minus_eight = f.sub(f.zero(), f.from_label(8));
  constexpr std::size_t r = 700001;
  const std::vector<W160::Elem> Q(r, minus_eight);
  const Bytes word(20, std::byte{0xFF});
  for (const auto& kernels : runnable(kernel_table(f))) {
    W160::Elem sum;
    kernels.muladd_words(f, 1, r, 1, Q.data(), 0, word.data(), 0, &sum, 0);
    EXPECT_TRUE(f.equal(sum, f.from_label(64 * r))) << kernels.name;
    sum = f.one();
    kernels.muladd_sums(f, 1, r, 1, Q.data(), 0, &minus_eight, 0, &sum, 0);
    EXPECT_TRUE(f.equal(sum, f.from_label(64 * r + 1))) << kernels.name;
  }
}

// The same for W48, whose words are at most 2^48 - 1 = -22. Its other extremes are the scalars whose products
// with that word have the largest low half, 2^52 - 1, and the largest high half, that of p - 1.
TEST(Kernels, W48LargestSums) {
  const W48 f;
  constexpr std::uint64_t half = (std::uint64_t{1} << 52) - 1, word = (std::uint64_t{1} << 48) - 1;
  // x (2^48 - 1) = -1 modulo 2^52 for x = 2^48 + 1.
  const std::uint64_t full_half = (std::uint64_t{1} << 48) + 1;
  ASSERT_EQ(full_half * word & half, half);
  const std::uint64_t scalars[] = {W48::prime()[0] - 1, word, full_half};
  for (const auto& kernels : runnable(kernel_table(f))) {
    for (const std::size_t r : {1u, 128u, 129u, 255u, 256u, 257u, 1024u, 5000u}) {
      constexpr std::size_t q = 17, s = 53;
      const Bytes words(r * s * 6, std::byte{0xFF});
      for (const std::uint64_t scalar : scalars) {
        SCOPED_TRACE(::testing::Message() << kernels.name << " r=" << r << " scalar=" << scalar);
        const std::vector<W48::Elem> Q(q * r, W48::Elem{scalar});
        const auto product = [&](W48::Elem d) {
          return f.sub(f.mul(f.mul({scalar}, d), f.from_label(r)), f.one());
        };
        std::vector<W48::Elem> R(q * s, {W48::prime()[0] - 1});
        kernels.muladd_words(f, q, r, s, Q.data(), r * sizeof(W48::Elem), words.data(), s * 6, R.data(),
                             s * sizeof(W48::Elem));
        for (const auto& value : R) ASSERT_TRUE(f.equal(value, product({word})));
        for (const std::uint64_t d : scalars) {
          const std::vector<W48::Elem> sums(r * s, W48::Elem{d});
          R.assign(q * s, {W48::prime()[0] - 1});
          kernels.muladd_sums(f, q, r, s, Q.data(), r * sizeof(W48::Elem), sums.data(), s * sizeof(W48::Elem),
                              R.data(), s * sizeof(W48::Elem));
          for (const auto& value : R) ASSERT_TRUE(f.equal(value, product({d})));
        }
      }
    }
  }
}

// No sum of products may outgrow what holds it; a stride of zero repeats one row.
TEST(Kernels, W48MoreRowsThanAnyAccumulatorHolds) {
  const W48 f;
  const W48::Elem minus_one{W48::prime()[0] - 1}, minus_22{(std::uint64_t{1} << 48) - 1};
  constexpr std::size_t r = 700001;
  const std::vector<W48::Elem> Q(r, minus_one);
  const Bytes word(6, std::byte{0xFF});
  for (const auto& kernels : runnable(kernel_table(f))) {
    W48::Elem sum;
    kernels.muladd_words(f, 1, r, 1, Q.data(), 0, word.data(), 0, &sum, 0);
    EXPECT_TRUE(f.equal(sum, f.from_label(22 * r))) << kernels.name;
    sum = f.one();
    kernels.muladd_sums(f, 1, r, 1, Q.data(), 0, &minus_22, 0, &sum, 0);
    EXPECT_TRUE(f.equal(sum, f.from_label(22 * r + 1))) << kernels.name;
  }
}

TEST(Kernels, PrimeFieldShortShapes) {
  auto engine = seeded_engine(4);
  for (const unsigned bits : {8u, 64u, 160u, 256u}) {
    const PrimeField f = *PrimeField::create(bits);
    for (const auto& kernels : runnable(kernel_table(f))) {
      for (std::size_t n = 0; n <= 70; n += bits == 160 ? 1 : 9) {
        ASSERT_NO_FATAL_FAILURE(check_product(f, kernels, engine() % 3, engine() % 4, n, engine));
        ASSERT_NO_FATAL_FAILURE(check_product(f, kernels, engine() % 3, n, engine() % 4, engine));
        ASSERT_NO_FATAL_FAILURE(check_add_sub(f, kernels, n, engine));
      }
    }
  }
}

TEST(Kernels, PrimeFieldGivesW160sProducts) {
  const W160 f;
  const PrimeField g = *PrimeField::create(160);
  auto engine = seeded_engine(5);
  constexpr std::size_t q = 3, r = 40, s = 11;
  Bytes words(r * s * 20);
  EngineSource{engine}.fill(words);
  std::vector<W160::Elem> Q(q * r), R(q * s);
  for (auto& a : Q) a = pick(f, engine);
  std::vector<PrimeField::Elem> Q_ref(q * r), R_ref(q * s);
  for (std::size_t i = 0; i < Q.size(); ++i) std::copy_n(Q[i].limb, 3, Q_ref[i].limb);
  kernel_table(g).back().muladd_words(g, q, r, s, Q_ref.data(), r * sizeof(Q_ref[0]), words.data(), s * 20,
                                      R_ref.data(), s * sizeof(R_ref[0]));
  for (const auto& kernels : runnable(kernel_table(f))) {
    R.assign(R.size(), f.zero());
    kernels.muladd_words(f, q, r, s, Q.data(), r * sizeof(Q[0]), words.data(), s * 20, R.data(),
                         s * sizeof(R[0]));
    for (std::size_t i = 0; i < R.size(); ++i) {
      ASSERT_TRUE(std::equal(R[i].limb, R[i].limb + 3, R_ref[i].limb)) << kernels.name;
    }
  }
}

}  // namespace
}  // namespace pirx::fp
