// SPDX-License-Identifier: Apache-2.0
// The numbers of queries at which one way takes over from another: they decide about the way and never about
// the product.
#include <gtest/gtest.h>

#include "pirx/fp/w160.h"
#include "pirx/fp/w48.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"
#include "strassen/product_check.h"

namespace pirx::strassen {
namespace {

/// The kernels of F that this machine has, each with these crossovers.
template <class F, class Check>
void with_crossovers(const F& f, const Crossovers& crossovers, const Check& check) {
  for (Kernels<F> kernels : testing::runnable(kernel_table(f))) {
    SCOPED_TRACE(kernels.name);
    kernels.crossovers = crossovers;
    check(kernels, Engine<F>(f, kernels));
  }
}

template <class F>
class AnyCrossovers : public ::testing::Test {};
using CrossoverFields = ::testing::Types<gf2e::Gf2, gf2e::Gf2_8, gf2e::Gf2_16, fp::W160, fp::W48>;
TYPED_TEST_SUITE(AnyCrossovers, CrossoverFields);

// Also for ways that a kernel lacks.
TYPED_TEST(AnyCrossovers, ChangeNoProduct) {
  const TypeParam f;
  auto random = testing::seeded_engine(f.tag().bits);
  const auto any = [&] { return static_cast<std::size_t>(random() % 17); };
  for (int round = 0; round < 4; ++round) {
    testing::ProductCase<TypeParam> product(f, {1 + random() % 70, 130 + random() % 70, 70 + random() % 60},
                                            random() % 3, random);
    with_crossovers(f, {any(), any(), any(), any(), any(), any(), any(), any()},
                    [&](const auto& kernels, const auto& engine) {
                      product.expect_words(engine, {1 + static_cast<int>(random() % 3), -1});
                      if (kernels.sliced != nullptr)
                        product.expect_words(engine, {2, -1}, Layout::kSliced, 2);
                      if (kernels.residues != nullptr)
                        product.expect_words(engine, {2, -1}, Layout::kResidues);
                    });
  }
}

TYPED_TEST(AnyCrossovers, ResiduesAreTakenFromThereOnAndNeverAtZero) {
  const TypeParam f;
  auto random = testing::seeded_engine(f.tag().bits + 500u);
  const PrepareOptions keep{.layout = Layout::kResidues}, rows{.layout = Layout::kRows};
  with_crossovers(f, {.residues = 5, .kept_residues = 2}, [&](const auto& kernels, const auto& engine) {
    if (kernels.residues == nullptr) return;
    const std::size_t words = std::max<std::size_t>(kernels.residue_words, 1) + 3;
    for (const std::size_t q : {1u, 2u, 4u, 5u, 9u}) {
      const Shape shape{q, 70, words};
      const Plan fresh = engine.plan(shape, {1, -1}, rows), kept = engine.plan(shape, {1, -1}, keep);
      EXPECT_EQ(fresh.way == Way::kResidues, q >= 5) << q;
      EXPECT_EQ(fresh.layout, Layout::kRows);
      EXPECT_EQ(kept.way == Way::kResidues, q >= 2) << q;
      EXPECT_EQ(kept.layout == Layout::kResidues, q >= 2) << q;
      testing::ProductCase<TypeParam> product(f, shape, 1, random);
      product.expect_words(engine, {2, -1}, Layout::kRows);
      product.expect_words(engine, {2, -1}, Layout::kResidues);
    }
  });
  with_crossovers(f, {}, [&](const auto&, const auto& engine) {
    for (const auto& options : {keep, rows}) {
      EXPECT_NE(engine.plan({1000, 4096, 4096}, {1, -1}, options).way, Way::kResidues);
    }
  });
}

TEST(Crossovers, TheTilesAreChosenWhereTheyAreAllowed) {
  const CpuFeatures needs = kCpuAvx512 | kCpuAvx512Ifma | kCpuAvx512Vnni | kCpuAmxInt8;
  const bool allowed = (allowed_cpu_features_or_die() & needs) == needs;
  EXPECT_EQ(std::string_view(Engine<fp::W160>(fp::W160{}).kernels().name) == "amx", allowed);
  EXPECT_EQ(std::string_view(Engine<fp::W48>(fp::W48{}).kernels().name) == "amx", allowed);
}

// The direct way writes whole batches of answers. Blocks of queries are padded, so it gives way to another.
TEST(Crossovers, DirectProductsAreNotForStoredLevels) {
  auto random = testing::seeded_engine(77);
  with_crossovers(
      gf2e::Gf2_8{}, {.direct = 16, .stored_level = 8}, [&](const auto& kernels, const auto& engine) {
        if (kernels.sliced == nullptr) return;
        for (const std::size_t q : {17u, 19u, 31u, 33u}) {
          EXPECT_NE(engine.plan({q, 64, 1024}, {1, -1}, {Layout::kSliced, 1, 1}).way, Way::kDirect);
          testing::ProductCase<gf2e::Gf2_8> product({}, {q, 64, 1024}, 1, random);
          product.expect_words(engine, {1, -1}, Layout::kSliced, 1);
        }
      });
}

}  // namespace
}  // namespace pirx::strassen
