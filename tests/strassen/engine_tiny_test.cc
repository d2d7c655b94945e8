// SPDX-License-Identifier: Apache-2.0
// The engine's templates over tiny fields, with tiny tiles, so that small products have many blocks and
// edges.
#include <gtest/gtest.h>

#include "strassen/product_check.h"
#include "support/tiny_engine.h"

namespace pirx::testing {
namespace {

template <class F>
class TinyEngine : public ::testing::Test {};
using TinyFields = ::testing::Types<TinyPrime<2>, TinyPrime<3>, TinyGf4, TinyPrime<5>, TinyPrime<7>,
                                    TinyPrime<11>, TinyPrime<97>>;
TYPED_TEST_SUITE(TinyEngine, TinyFields);

TYPED_TEST(TinyEngine, EqualsTheTripleLoopForEveryTileDepthAndThreadCount) {
  const TypeParam f;
  auto engine = seeded_engine(f.size_limit());
  for (const auto& shape : some_shapes(150, 3, engine)) {
    ProductCase<TypeParam> product(f, shape, engine() % 3, engine);
    for (const auto& [tile_rows, tile_bytes] :
         {std::pair<std::size_t, std::size_t>{64, 256}, {5, 7}, {1, 1}, {0, 0}}) {
      Kernels<TypeParam> kernels = kernel_table(f).front();
      kernels.tile_rows = tile_rows;
      kernels.tile_bytes = tile_bytes;
      const strassen::Engine<TypeParam> tiled(f, kernels);
      for (int depth = -1; depth <= 4; ++depth) {
        product.expect_words(tiled, {1 + static_cast<int>(engine() % 4), depth});
        product.expect_sums(tiled, {1 + static_cast<int>(engine() % 4), depth});
      }
    }
  }
}

TYPED_TEST(TinyEngine, TheChosenKernelIsTheTablesFirst) {
  const TypeParam f;
  const strassen::Engine<TypeParam> engine(f);
  EXPECT_STREQ(engine.kernels().name, "portable");
  EXPECT_EQ(engine.field().tag(), f.tag());
}

TYPED_TEST(TinyEngine, OneProductIsTheSameOnEveryThreadCountAndDepth) {
  const TypeParam f;
  auto engine = seeded_engine(100 + f.size_limit());
  Kernels<TypeParam> kernels = kernel_table(f).front();
  kernels.tile_rows = 8;
  kernels.tile_bytes = 16;
  const strassen::Engine<TypeParam> tiled(f, kernels);
  // Long rows (threads share columns) and short ones (threads share rows).
  for (const strassen::Shape& shape : {strassen::Shape{9, 40, 1100}, {9, 500, 3}}) {
    ProductCase<TypeParam> product(f, shape, 1, engine);
    for (int depth = 0; depth <= 4; ++depth) {
      for (int threads = 1; threads <= 4; ++threads) product.expect_words(tiled, {threads, depth});
    }
  }
}

// Kernels count the products that they are asked for.
TEST(Engine, EveryLevelSavesAnEighthOfTheProducts) {
  static std::size_t products;
  using F = TinyPrime<7>;
  const F f;
  Kernels<F> kernels = kernel_table(f).front();
  kernels.muladd_words = [](const F& field, std::size_t q, std::size_t r, std::size_t s,
                            const std::uint8_t* Q, std::size_t q_stride, const std::byte* D,
                            std::size_t d_stride, std::uint8_t* R, std::size_t r_stride) noexcept {
    products += q * r * s;
    kernel_table(field).front().muladd_words(field, q, r, s, Q, q_stride, D, d_stride, R, r_stride);
  };
  kernels.muladd_sums = [](const F& field, std::size_t q, std::size_t r, std::size_t s, const std::uint8_t* Q,
                           std::size_t q_stride, const std::uint8_t* D, std::size_t d_stride, std::uint8_t* R,
                           std::size_t r_stride) noexcept {
    products += q * r * s;
    kernel_table(field).front().muladd_sums(field, q, r, s, Q, q_stride, D, d_stride, R, r_stride);
  };
  auto engine = seeded_engine(7001);
  ProductCase<F> product(f, {16, 64, 128}, 0, engine);
  const std::size_t all = std::size_t{16} * 64 * 128;
  std::size_t expected = 2 * all;  // the case multiplies twice: whole, and in two windows of rows
  for (int depth = 0; depth <= 3; ++depth) {
    products = 0;
    product.expect_words(strassen::Engine<F>(f, kernels), {1, depth});
    // Each level leaves 7 of 8 products.
    EXPECT_EQ(products, expected) << depth;
    expected = expected / 8 * 7;
  }
}

}  // namespace
}  // namespace pirx::testing
