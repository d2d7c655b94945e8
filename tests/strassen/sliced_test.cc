// SPDX-License-Identifier: Apache-2.0
// Databases in planes: where every bit lies, the same on every instruction set, and that the plan's three
// ways over them agree.
#include "strassen/sliced.h"

#include <gtest/gtest.h>

#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"
#include "strassen/product_check.h"

namespace pirx::strassen {
namespace {

template <class F>
class Sliced : public ::testing::Test {
 protected:
  template <class Check>
  static void for_each_kernel(const Check& check) {
    for (const Kernels<F>& kernels : testing::runnable(kernel_table(F()))) {
      if (kernels.sliced != nullptr) check(kernels);
    }
  }
};
using Fields = ::testing::Types<gf2e::Gf2, gf2e::Gf2_8, gf2e::Gf2_16>;
TYPED_TEST_SUITE(Sliced, Fields);

TYPED_TEST(Sliced, EveryBitHasItsPlace) {
  auto engine = testing::seeded_engine(1);
  testing::EngineSource random{engine};
  const std::size_t word = sizeof(typename TypeParam::Sum);
  for (const std::size_t rows : {1, 7, 16, 19, 40}) {
    for (const std::size_t words : {1, 8, 63, 64, 65, 256, 300, 513}) {
      const std::size_t bytes = words * word, stride = bytes + engine() % 5;
      std::vector<std::byte> d(rows * stride);
      random.fill(d);
      TestFixture::for_each_kernel([&](const Kernels<TypeParam>& kernels) {
        const SlicedKernels& sliced = *kernels.sliced;
        const ConstView<std::byte> D{d.data(), rows, bytes, stride};
        auto made = SlicedMatrix::create(sliced, rows, bytes);
        ASSERT_TRUE(made);
        made->fill(sliced, Terms(&D, 1), 2);
        const std::size_t n = sliced.planes, width = SlicedKernels::kPanelVectors * SlicedKernels::kColumns;
        const std::size_t columns = bytes * 8 / n;
        EXPECT_EQ(made->groups() % 2, 0u);
        ASSERT_GE(made->groups() * 8, rows);
        std::size_t wrong = 0;
        for (std::size_t panel = 0; panel < made->panels(); ++panel) {
          const std::size_t held = made->vectors(panel) * SlicedKernels::kColumns;
          for (std::size_t row = 0; row < made->groups() * 8; ++row) {
            const std::byte* group = made->panel(panel) + row / 8 * sliced.group_bytes(made->vectors(panel));
            for (std::size_t c = 0; c < held; ++c) {
              const std::size_t column = panel * width + c;
              for (std::size_t b = 0; b < n; ++b) {
                bool want = false;  // padding
                if (row < rows && column < columns) {
                  const std::size_t bit = column * n + b;
                  want = (std::to_integer<unsigned>(d[row * stride + bit / 8]) >> (bit % 8) & 1) != 0;
                }
                wrong += want != ((std::to_integer<unsigned>(group[b * held + c]) >> (row % 8) & 1) != 0);
              }
            }
          }
        }
        EXPECT_EQ(wrong, 0u) << kernels.name << " rows=" << rows << " words=" << words;
      });
    }
  }
}

// Around the borders between multiplying directly, fused and plainly.
TYPED_TEST(Sliced, TheWaysAgreeWithTheTripleLoop) {
  auto engine = testing::seeded_engine(2);
  for (const std::size_t q : {1, 2, 3, 4, 5, 8, 9, 32, 33, 64, 65}) {
    testing::ProductCase<TypeParam> product(TypeParam(), {q, 150 + engine() % 20, 70}, engine() % 3, engine);
    TestFixture::for_each_kernel([&](const Kernels<TypeParam>& kernels) {
      product.expect_words(Engine<TypeParam>(TypeParam(), kernels), {1 + static_cast<int>(engine() % 3), -1},
                           Layout::kSliced);
    });
  }
}

// At odd shapes, with stored levels, plainly and fused.
TYPED_TEST(Sliced, TheSchemesAgreeWithTheTripleLoop) {
  auto engine = testing::seeded_engine(3);
  for (const std::size_t q : {1, 7, 19, 45}) {
    testing::ProductCase<TypeParam> product(TypeParam(), {q, 75 + engine() % 60, 130 + engine() % 9},
                                            engine() % 3, engine);
    TestFixture::for_each_kernel([&](Kernels<TypeParam> kernels) {
      for (const std::size_t fewest : {0, 1}) {
        for (const std::size_t fused : {0, 100}) {
          for (const int stored : {0, 1, 2}) {
            kernels.crossovers = {.fused = fused, .stored_level = 1, .fewest_products = fewest};
            const Engine<TypeParam> multiplier(TypeParam(), kernels);
            const Plan plan = multiplier.plan({q, 75, 130}, {1, -1}, {Layout::kSliced, 1, stored});
            const auto schemes = kernels.sliced->schemes;
            EXPECT_EQ(plan.products, (fewest == 1 ? schemes.back() : schemes.front()).products);
            EXPECT_EQ(plan.way == Way::kFused, fused > 0 && fewest == 0 && kernels.sliced->planes > 1);
            product.expect_words(multiplier, {1 + static_cast<int>(engine() % 3), -1}, Layout::kSliced,
                                 stored);
          }
        }
      }
    });
  }
}

}  // namespace
}  // namespace pirx::strassen
