// SPDX-License-Identifier: Apache-2.0
// The engine of the shipped fields: against the triple loop with every kernel this machine has, and every
// error.
#include "pirx/strassen/engine.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "pirx/fp/prime_field.h"
#include "pirx/fp/w160.h"
#include "pirx/fp/w48.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"
#include "strassen/product_check.h"
#include "support/files.h"

namespace pirx::testing {
namespace {

/// The field, and words enough for a few vectors of its kernels.
template <class F>
struct Shipped {
  static F field() { return F(); }
  static constexpr std::size_t kWords = 700;
};
template <>
struct Shipped<fp::W160> {
  static fp::W160 field() { return {}; }
  static constexpr std::size_t kWords = 60;
};
template <>
struct Shipped<fp::W48> {
  static fp::W48 field() { return {}; }
  static constexpr std::size_t kWords = 100;
};
template <>
struct Shipped<fp::PrimeField> {
  static fp::PrimeField field() { return fp::PrimeField::create(64).value(); }
  static constexpr std::size_t kWords = 20;
};

template <class F>
class ShippedEngine : public ::testing::Test {};
using ManyFields = ::testing::Types<gf2e::Gf2, gf2e::Gf2_8, gf2e::Gf2_16, fp::W160, fp::W48, fp::PrimeField>;
TYPED_TEST_SUITE(ShippedEngine, ManyFields);

TYPED_TEST(ShippedEngine, EqualsTheTripleLoopForEveryKernelDepthAndThreadCount) {
  using F = TypeParam;
  const F f = Shipped<F>::field();
  auto engine = seeded_engine(f.tag().bits);
  for (const auto& shape : some_shapes(Shipped<F>::kWords, 6, engine)) {
    ProductCase<F> product(f, shape, engine() % 3, engine);
    for (const Kernels<F>& kernels : runnable(kernel_table(f))) {
      const strassen::Engine<F> with_kernel(f, kernels);
      for (int depth = -1; depth <= 4; ++depth) {
        product.expect_words(with_kernel, {1 + static_cast<int>(engine() % 4), depth});
        product.expect_sums(with_kernel, {1 + static_cast<int>(engine() % 4), depth});
      }
    }
  }
}

TYPED_TEST(ShippedEngine, TilesMeetOnLargerProducts) {
  const auto f = Shipped<TypeParam>::field();
  auto engine = seeded_engine(1000u + f.tag().bits);
  ProductCase<TypeParam> product(f, {5, 300, 10 * Shipped<TypeParam>::kWords + 3}, 1, engine);
  for (const Kernels<TypeParam>& kernels : runnable(kernel_table(f))) {
    for (const int depth : {0, 2}) product.expect_words(strassen::Engine<TypeParam>(f, kernels), {2, depth});
  }
}

// Shapes around the blocks and panels of the bit-sliced layout and of Toom-Cook, and deep enough for
// Strassen.
TYPED_TEST(ShippedEngine, PanelsMeetOnLargerProducts) {
  const auto f = Shipped<TypeParam>::field();
  auto engine = seeded_engine(2000u + f.tag().bits);
  const std::size_t panel = 256 * f.tag().bits / (8 * sizeof(typename TypeParam::Sum));
  const std::vector<strassen::Shape> shapes = {
      {1, 1200, 70},
      {2, 530, 2 * panel + 1},
      {3, 1040, panel},
      {9, 520, panel - 1},
      {33, 513, 64},
      {40, 300, 4 * panel + 9},
      {64 + engine() % 20, 600 + engine() % 90, 4 * panel + engine() % panel}};
  for (const auto& shape : shapes) {
    ProductCase<TypeParam> product(f, shape, engine() % 3, engine);
    for (const Kernels<TypeParam>& kernels : runnable(kernel_table(f))) {
      if (kernels.sliced == nullptr && kernels.toom == nullptr) continue;
      const auto layout = kernels.sliced != nullptr ? strassen::Layout::kSliced : strassen::Layout::kRows;
      for (const int depth : {-1, 1, 2, 3}) {
        for (const int threads : {1, 3}) {
          product.expect_words(strassen::Engine<TypeParam>(f, kernels), {threads, depth}, layout);
        }
      }
    }
  }
}

// The multi-modular way, from one query on, with residues kept and made on the way: around blocks of 64 rows
// and 16 columns, over more rows than are summed at a time, more than one pass of queries and block of
// columns.
TYPED_TEST(ShippedEngine, ResiduesEqualTheTripleLoop) {
  const auto f = Shipped<TypeParam>::field();
  auto engine = seeded_engine(4000u + f.tag().bits);
  const std::vector<strassen::Shape> shapes = {{1, 64, 16},
                                               {16, 65 + engine() % 60, 33},
                                               {17, 200 + engine() % 100, 1 + engine() % 40},
                                               {3, 4096 + engine() % 200, 17},
                                               {2, 33000 + engine() % 200, 3},
                                               {260, 70, 18},
                                               {36, 64 + engine() % 300, 150 + engine() % 40}};
  for (const auto& shape : shapes) {
    std::optional<ProductCase<TypeParam>> product;
    for (Kernels<TypeParam> kernels : runnable(kernel_table(f))) {
      if (kernels.residues == nullptr) continue;
      if (!product) product.emplace(f, shape, engine() % 3, engine);
      kernels.crossovers.residues = kernels.crossovers.kept_residues = kernels.residue_words = 1;
      const strassen::Engine<TypeParam> with_kernel(f, kernels);
      for (const auto layout : {strassen::Layout::kRows, strassen::Layout::kResidues}) {
        const int threads = 1 + static_cast<int>(engine() % 4);
        EXPECT_EQ(with_kernel.plan(shape, {threads}, {layout}).way, strassen::Way::kResidues);
        product->expect_words(with_kernel, {threads, -1}, layout);
      }
    }
  }
}

// Scalars and words at their largest.
TYPED_TEST(ShippedEngine, ResiduesOfTheLargestProducts) {
  using F = TypeParam;
  if constexpr (std::is_same_v<F, fp::W160> || std::is_same_v<F, fp::W48>) {
    const F f;
    const std::size_t rows = 40000;
    const auto largest = f.sub(f.zero(), f.one());
    const std::vector<typename F::Elem> q(rows, largest);
    const std::vector<std::byte> d(rows * f.word_bytes(), std::byte{0xff});
    // -1 times a word, so many times.
    const auto want = f.mul(f.mul(largest, f.load_word(d.data())), f.from_label(rows));
    for (Kernels<F> kernels : runnable(kernel_table(f))) {
      if (kernels.residues == nullptr) continue;
      kernels.crossovers.residues = kernels.crossovers.kept_residues = kernels.residue_words = 1;
      const strassen::Engine<F> engine(f, kernels);
      const auto prepared = engine.prepare({d.data(), rows, f.word_bytes(), f.word_bytes()});
      ASSERT_TRUE(prepared);
      typename F::Sum r;
      ASSERT_TRUE(engine.multiply({q.data(), 1, rows, rows * sizeof q[0]}, *prepared, {&r, 1, 1, sizeof r}));
      EXPECT_TRUE(f.sum_equal(r, want)) << kernels.name;
    }
  }
}

// Databases with levels of Strassen stored, at shapes whose blocks end in mid-group and mid-vector, with as
// many levels used as there are and fewer.
TYPED_TEST(ShippedEngine, StoredLevelsEqualTheTripleLoop) {
  const auto f = Shipped<TypeParam>::field();
  if (f.tag().bits > 16) GTEST_SKIP() << "a prime field has no planes";
  auto engine = seeded_engine(3000u + f.tag().bits);
  const std::size_t vector = 64 * f.tag().bits / (8 * sizeof(typename TypeParam::Sum));
  const std::vector<strassen::Shape> shapes = {{1, 64, 4 * vector},
                                               {3, 33 + engine() % 90, 2 * vector + engine() % (9 * vector)},
                                               {17, 129 + engine() % 200, 5 * vector + 1},
                                               {70 + engine() % 90, 150 + engine() % 90, 8 * vector + 3}};
  for (const auto& shape : shapes) {
    ProductCase<TypeParam> product(f, shape, engine() % 3, engine);
    for (const Kernels<TypeParam>& kernels : runnable(kernel_table(f))) {
      if (kernels.sliced == nullptr) continue;
      const strassen::Engine<TypeParam> with_kernel(f, kernels);
      for (int stored = 1; stored <= 3; ++stored) {
        for (int depth = -1; depth <= stored; ++depth) {
          const int threads = 1 + static_cast<int>(engine() % 2);
          product.expect_words(with_kernel, {threads, depth}, strassen::Layout::kSliced, stored);
        }
      }
    }
  }
}

// A database that is stored for Strassen is no larger than said, and one query on it reads no more than the
// plain one.
TEST(Engine, StoredLevelsSayWhatTheyTake) {
  const gf2e::Gf2_8 f;
  for (const Kernels<gf2e::Gf2_8>& kernels : kernel_table(f)) {
    const strassen::Engine<gf2e::Gf2_8> engine(f, kernels);
    const strassen::PrepareOptions options{strassen::Layout::kAuto, 1, 2};
    const std::uint64_t bytes = engine.prepared_bytes(1024, 2048, options);
    EXPECT_EQ(bytes, kernels.sliced == nullptr ? 0u : 1024u * 2048 / 16 * 47);
    EXPECT_EQ(engine.prepared_bytes(1024, 2048), kernels.sliced == nullptr ? 0u : 1024u * 2048);
    const strassen::Plan one = engine.plan({1, 1024, 2048}, {1, -1}, options);
    EXPECT_EQ(one.depth, 0) << "no sums of rows where there is one row";
    EXPECT_EQ(one.stored, kernels.sliced == nullptr ? 0 : 2);
    EXPECT_EQ(one.to_string().find("stored=2") != std::string::npos, kernels.sliced != nullptr);
  }
  // Too small to be cut, and too large to be had.
  const strassen::Engine<gf2e::Gf2_8> engine(f);
  const strassen::PrepareOptions deep{strassen::Layout::kAuto, 1, 3};
  EXPECT_EQ(engine.plan({1, 16, 64}, {1, -1}, {strassen::Layout::kSliced, 1, 3}).stored, 0);
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  const std::uint64_t all = engine.prepared_bytes(kMost, kMost, deep);
  EXPECT_TRUE(all == 0 || all == std::numeric_limits<std::uint64_t>::max());
}

// The largest scalars times the largest words, where every carry that Toom-Cook may need is needed.
TEST(Engine, LargestValuesOfW160) {
  const fp::W160 f;
  const strassen::Shape shape{9, 5000, 25};
  const auto largest = f.sub(f.zero(), f.one());
  const std::vector<std::byte> d(shape.r * shape.s * f.word_bytes(), std::byte{0xFF});
  const std::vector<fp::W160::Elem> q(shape.q * shape.r, largest);
  std::vector<fp::W160::Sum> out(shape.q * shape.s);
  // -1 times the word, 5000 times.
  const auto want = f.mul(f.from_label(shape.r), f.sub(f.zero(), f.load_word(d.data())));
  for (const auto& kernels : runnable(kernel_table(f))) {
    const strassen::Engine<fp::W160> engine(f, kernels);
    const auto prepared =
        engine.prepare({d.data(), shape.r, shape.s * f.word_bytes(), shape.s * f.word_bytes()});
    ASSERT_TRUE(prepared);
    ASSERT_TRUE(engine.multiply({q.data(), shape.q, shape.r, shape.r * sizeof(largest)}, *prepared,
                                {out.data(), shape.q, shape.s, shape.s * sizeof(largest)}));
    for (const auto& sum : out) ASSERT_TRUE(f.equal(sum, want)) << kernels.name;
  }
}

using Bytes8 = gf2e::Gf2_8;

// More queries than one pass takes, and more rows than the queries' matrices are made for at a time: against
// the rows.
template <class F>
void expect_passes_and_chunks(const F& f, const strassen::Shape& shape) {
  auto source = seeded_engine(4);
  EngineSource random{source};
  std::vector<std::byte> d(shape.r * shape.s * f.word_bytes());
  random.fill(d);
  std::vector<typename F::Elem> q(shape.q * shape.r);
  f.random_fill(random, std::span(q));
  const matrix::ConstView<std::byte> D{d.data(), shape.r, shape.s * f.word_bytes(), shape.s * f.word_bytes()};
  const matrix::ConstView<typename F::Elem> Q{q.data(), shape.q, shape.r, shape.r * sizeof q[0]};
  std::vector<typename F::Sum> want;
  for (const Kernels<F>& kernels : runnable(kernel_table(f))) {
    if (kernels.sliced == nullptr && kernels.toom == nullptr) continue;
    const strassen::Engine<F> engine(f, kernels);
    const auto product = [&](strassen::Layout layout, const strassen::ExecOptions& options) {
      std::vector<typename F::Sum> out(shape.q * shape.s);
      const auto prepared = engine.prepare(D, {layout, 2});
      EXPECT_TRUE(prepared);
      EXPECT_TRUE(
          engine.multiply(Q, *prepared, {out.data(), shape.q, shape.s, shape.s * sizeof out[0]}, options));
      return out;
    };
    // One level of Strassen on rows is never Toom-Cook.
    if (want.empty()) want = product(strassen::Layout::kRows, {2, 1});
    const auto layout = kernels.sliced != nullptr ? strassen::Layout::kSliced : strassen::Layout::kRows;
    for (const strassen::ExecOptions& options :
         {strassen::ExecOptions{1, 0}, {5, -1}, {2, kernels.sliced ? 1 : 0}}) {
      const auto out = product(layout, options);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < out.size(); ++i) wrong += !f.sum_equal(out[i], want[i]);
      EXPECT_EQ(wrong, 0u) << kernels.name << " threads=" << options.threads << " depth=" << options.depth;
    }
  }
}

TEST(Engine, PassesAndChunksAddUp) {
  expect_passes_and_chunks(Bytes8(), {1030, 10'000, 70});
  expect_passes_and_chunks(gf2e::Gf2_16(), {1030, 4'000, 70});
  expect_passes_and_chunks(fp::W160(), {300, 2'500, 30});
}

TEST(Engine, BitsInRowsAreUnpackedAFewAtATime) {
  auto engine = seeded_engine(5);
  for (const auto& shape : {strassen::Shape{600, 5001, 3}, {300, 4000, 40}}) {
    ProductCase<gf2e::Gf2> product(gf2e::Gf2(), shape, 1, engine);
    for (const Kernels<gf2e::Gf2>& kernels : runnable(kernel_table(gf2e::Gf2()))) {
      const strassen::Engine<gf2e::Gf2> with_kernel(gf2e::Gf2(), kernels);
      product.expect_words(with_kernel, {3, -1}, strassen::Layout::kRows);
      product.expect_words(with_kernel, {2, 1}, strassen::Layout::kRows);
    }
  }
}

TEST(Engine, BitsOfAnotherShapeAreRefused) {
  const strassen::Engine<gf2e::Gf2> engine((gf2e::Gf2()));
  const std::vector<std::byte> d(100 * 40), q(64);
  std::vector<std::uint8_t> r(64, 0xEE);
  for (const auto layout : {strassen::Layout::kRows, strassen::Layout::kSliced}) {
    const auto prepared = engine.prepare({d.data(), 100, 40, 40}, {layout});
    ASSERT_TRUE(prepared);
    const auto refused = [&](strassen::ConstView<std::byte> Q, strassen::View<std::uint8_t> R) {
      const auto done = engine.multiply_bits(Q, *prepared, R);
      return !done && done.error().code() == ErrorCode::kInvalidArgument;
    };
    EXPECT_TRUE(refused({q.data(), 1, 12, 13}, {r.data(), 1, 40, 40})) << "Q has 96 columns";
    EXPECT_TRUE(refused({q.data(), 1, 14, 14}, {r.data(), 1, 40, 40})) << "Q has 112 columns";
    EXPECT_TRUE(refused({q.data(), 1, 13, 13}, {r.data(), 2, 20, 20})) << "R has another shape";
    EXPECT_TRUE(refused({q.data(), 2, 13, 12}, {r.data(), 2, 40, 40})) << "the rows of Q overlap";
    EXPECT_EQ(r, std::vector<std::uint8_t>(64, 0xEE)) << "a refused product must leave R alone";
  }
}

TEST(Engine, ADatabasePreparedForAnotherIsRefused) {
  const std::vector<std::byte> d(1024);
  std::vector<std::uint8_t> q(64 * 16), r(16 * 16);
  const Bytes8 f;
  const Kernels<Bytes8>& portable = kernel_table(f).back();
  const auto planes =
      strassen::Engine<Bytes8>(f).prepare({d.data(), 64, 16, 16}, {strassen::Layout::kSliced});
  ASSERT_TRUE(planes);
  if (planes->layout() == strassen::Layout::kSliced) {
    const auto done = strassen::Engine<Bytes8>(f, portable)
                          .multiply({q.data(), 16, 64, 64}, *planes, {r.data(), 16, 16, 16});
    expect_error(done, ErrorCode::kInvalidArgument);
  }
  const auto narrow = fp::PrimeField::create(8).value(), wide = fp::PrimeField::create(256).value();
  const auto words = strassen::Engine<fp::PrimeField>(narrow).prepare({d.data(), 2, 8, 8});
  ASSERT_TRUE(words);
  const std::vector<fp::PrimeField::Elem> scalars(2);
  std::vector<fp::PrimeField::Sum> sums(8);
  const auto done = strassen::Engine<fp::PrimeField>(wide).multiply(
      {scalars.data(), 1, 2, 2 * sizeof scalars[0]}, *words, {sums.data(), 1, 8, 8 * sizeof sums[0]});
  expect_error(done, ErrorCode::kInvalidArgument);
}

// Rows 1 MiB apart and more: the product must not care.
TEST(Engine, HugeStrides) {
  const Bytes8 f;
  const strassen::Engine<Bytes8> engine(f);
  const std::size_t rows = 6, words = 70, stride = (std::size_t{1} << 20) + 1;
  auto source = seeded_engine(3);
  std::vector<std::byte> d(rows * stride);
  std::vector<std::uint8_t> q(3 * stride), r(3 * stride);
  EngineSource random{source};
  random.fill({d.data(), d.size()});
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < rows; ++k) q[i * stride + k] = static_cast<std::uint8_t>(source());
  }
  const auto prepared = engine.prepare({d.data(), rows, words, stride});
  ASSERT_TRUE(prepared);
  ASSERT_TRUE(engine.multiply({q.data(), 3, rows, stride}, *prepared, {r.data(), 3, words, stride}, {2, 1}));
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < words; ++j) {
      std::uint8_t sum = 0;
      for (std::size_t k = 0; k < rows; ++k) {
        sum = f.add(sum, f.mul(q[i * stride + k], std::to_integer<std::uint8_t>(d[k * stride + j])));
      }
      EXPECT_EQ(r[i * stride + j], sum);
    }
  }
}

TEST(Engine, ShapesThatDoNotFitAreRefused) {
  const Bytes8 f;
  const strassen::Engine<Bytes8> engine(f);
  const std::vector<std::byte> d(64);
  const std::vector<std::uint8_t> q(64);
  std::vector<std::uint8_t> r(64, 0xEE);
  const auto prepared = engine.prepare({d.data(), 4, 8, 8});
  ASSERT_TRUE(prepared);
  EXPECT_EQ(prepared->rows(), 4u);
  EXPECT_EQ(prepared->cols(), 8u);
  const auto refused = [&](strassen::ConstView<std::uint8_t> Q, strassen::View<std::uint8_t> R) {
    const auto done = engine.multiply(Q, *prepared, R);
    const auto sums = engine.multiply_sums(Q, {q.data(), 4, 8, 8}, R);
    return !done && done.error().code() == ErrorCode::kInvalidArgument && !sums &&
           sums.error().code() == ErrorCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused({q.data(), 2, 5, 5}, {r.data(), 2, 8, 8})) << "Q has more columns than D rows";
  EXPECT_TRUE(refused({q.data(), 2, 4, 4}, {r.data(), 3, 8, 8})) << "R has more rows than Q";
  EXPECT_TRUE(refused({q.data(), 2, 4, 4}, {r.data(), 2, 7, 8})) << "R has fewer columns than D";
  EXPECT_TRUE(refused({q.data(), 2, 4, 3}, {r.data(), 2, 8, 8})) << "the rows of Q overlap";
  EXPECT_TRUE(refused({q.data(), 2, 4, 4}, {r.data(), 2, 8, 7})) << "the rows of R overlap";
  EXPECT_TRUE(refused({q.data(), 2, 4, std::numeric_limits<std::size_t>::max()}, {r.data(), 2, 8, 8}));
  EXPECT_EQ(r, std::vector<std::uint8_t>(64, 0xEE)) << "a refused product must leave R alone";
}

TEST(Engine, ImpossibleDatabasesAreRefused) {
  const gf2e::Gf2_16 f;
  const strassen::Engine<gf2e::Gf2_16> engine(f);
  const std::vector<std::byte> d(64);
  constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
  for (const auto& view : {strassen::ConstView<std::byte>{d.data(), 2, 7, 8},     // half a word
                           strassen::ConstView<std::byte>{d.data(), 2, 8, 6},     // rows overlap
                           strassen::ConstView<std::byte>{d.data(), kMax, 8, 8},  // rows * stride overflows
                           strassen::ConstView<std::byte>{d.data(), 3, 8, kMax}}) {
    const auto prepared = engine.prepare(view);
    expect_error(prepared, ErrorCode::kInvalidArgument);
    EXPECT_FALSE(prepared.error().message().empty());
  }
  const auto sums = engine.multiply_sums({}, {nullptr, 0, kMax, 0}, {nullptr, 0, kMax, 0});
  expect_error(sums, ErrorCode::kInvalidArgument);
}

TEST(Engine, NoMemoryForTheWorkspaceIsAnError) {
  // 2^59 queries of no columns: their partial sums have 8 * 2^59 bytes and more.
  const Bytes8 f;
  const strassen::Engine<Bytes8> engine(f);
  const std::size_t q = std::size_t{1} << 59;
  const std::vector<std::byte> d(16);
  std::uint8_t byte = 0;
  const auto prepared = engine.prepare({d.data(), 16, 1, 1});
  ASSERT_TRUE(prepared);
  const auto done = engine.multiply({&byte, q, 16, 16}, *prepared, {&byte, q, 1, 1}, {8, 0});
  expect_error(done, ErrorCode::kResourceExhausted);
}

TEST(Engine, ThePlanIsWhatTheEngineRuns) {
  const Bytes8 f;
  const strassen::Engine<Bytes8> engine(f);
  const strassen::PrepareOptions rows{.layout = strassen::Layout::kRows};
  const auto plan = engine.plan({64, 1000, 1000}, {2, 1}, rows);
  EXPECT_EQ(plan.depth, 1);
  EXPECT_EQ(plan.threads, 2);
  EXPECT_EQ(plan.kernel, engine.kernels().name);
  EXPECT_EQ(plan.to_string(), engine.plan({64, 1000, 1000}, {2, 1}, rows).to_string());
}

}  // namespace
}  // namespace pirx::testing
