// The table of thresholds: what it says, what it refuses, and that no table changes a product.
#include "pirx/strassen/tuning.h"

#include <gtest/gtest.h>

#include <set>

#include "pirx/fp/w160.h"
#include "pirx/fp/w48.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"
#include "strassen/product_check.h"

namespace pirx::strassen {
namespace {

TEST(Tuning, EveryWayHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const Way way : kWays) names.insert(way_name(way));
  EXPECT_EQ(names.size(), std::size(kWays));
  EXPECT_EQ(way_name(Way::kDirect), "direct");
  EXPECT_EQ(way_name(Way::kStoredLevel), "stored_level");
}

TEST(Tuning, ShippedIsAValidTable) {
  const auto again = Tuning::create(Tuning::shipped().thresholds());
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(again->thresholds(), Tuning::shipped().thresholds());
}

TEST(Tuning, WhatATableDoesNotListTheShippedOneDecides) {
  const auto tuning = Tuning::create({{kTagGf2_8, "gfni512", Way::kFused, 17}}).value();
  EXPECT_EQ(tuning.queries(kTagGf2_8, "gfni512", Way::kFused), 17u);
  EXPECT_EQ(tuning.queries(kTagGf2_8, "gfni512", Way::kDirect), 4u);
  EXPECT_EQ(tuning.queries(kTagGf2_16, "gfni512", Way::kFused), 32u);
  EXPECT_EQ(tuning.queries(kTagGf2_8, "gfni512", Way::kToom), std::nullopt);
  EXPECT_EQ(tuning.queries(kTagGf2_8, "unheard-of", Way::kFused), std::nullopt);
}

TEST(Tuning, NonsenseIsRefusedByName) {
  const auto refused = [](std::vector<Threshold> thresholds, const char* says) {
    const auto tuning = Tuning::create(std::move(thresholds));
    ASSERT_FALSE(tuning);
    EXPECT_EQ(tuning.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(tuning.error().message().find(says), std::string::npos) << tuning.error().message();
  };
  refused({{kTagGf2_8, "avx2", Way::kFused, 8}, {kTagGf2_8, "avx2", Way::kFused, 9}},
          "the threshold fused of gf2_8 on avx2 is there twice");
  refused({{kTagGf2_8, "avx2", Way::kDirect, 17}}, "at most 16");
  refused({{kTagW160, "ifma", Way::kToom, (std::size_t{1} << 20) + 1}}, "toom of w160 on ifma is 1048577");
}

TEST(Tuning, EnginesTakeTheProcessTuningWhenTheyAreMade) {
  const gf2e::Gf2_8 f;
  const auto& kernels = kernel_table(f).back();  // portable: levels in rows
  const Engine<gf2e::Gf2_8> before(f, kernels);
  set_process_tuning(Tuning::create({{f.tag(), kernels.name, Way::kLevelInRows, 0}}).value());
  const Engine<gf2e::Gf2_8> after(f, kernels);
  const Engine<gf2e::Gf2_8> own(f, kernels, Tuning());
  set_process_tuning({});
  const Shape shape{256, 4096, 4096};
  EXPECT_GT(before.plan(shape).depth, 0);
  EXPECT_EQ(after.plan(shape).depth, 0);
  EXPECT_EQ(own.plan(shape).depth, before.plan(shape).depth);
}

// Tables that ask for anything, also for ways that a kernel lacks.
template <class F>
void expect_the_same_products() {
  const F f;
  auto engine = testing::seeded_engine(f.tag().bits);
  for (int round = 0; round < 4; ++round) {
    testing::ProductCase<F> product(f, {1 + engine() % 70, 130 + engine() % 70, 70 + engine() % 60},
                                    engine() % 3, engine);
    for (const Kernels<F>& kernels : kernel_table(f)) {
      if ((kernels.needs & ~detected_cpu_features()) != 0) continue;
      std::vector<Threshold> thresholds;
      for (const Way way : kWays) thresholds.push_back({f.tag(), kernels.name, way, engine() % 17});
      const Engine<F> tuned(f, kernels, Tuning::create(thresholds).value());
      product.expect_words(tuned, {1 + static_cast<int>(engine() % 3), -1});
      if (kernels.sliced != nullptr) product.expect_words(tuned, {2, -1}, Layout::kSliced, 2);
      if (kernels.residues != nullptr) product.expect_words(tuned, {2, -1}, Layout::kResidues);
    }
  }
}

TEST(Tuning, NoTableChangesAProduct) {
  expect_the_same_products<gf2e::Gf2>();
  expect_the_same_products<gf2e::Gf2_8>();
  expect_the_same_products<gf2e::Gf2_16>();
  expect_the_same_products<fp::W160>();
  expect_the_same_products<fp::W48>();
}

// Both ways through residues are taken from the number of queries that the table says, on every kernel that
// has them, and never where it says 0.
template <class F>
void expect_residues_where_the_table_says() {
  const F f;
  auto random = testing::seeded_engine(f.tag().bits + 500u);
  for (const Kernels<F>& kernels : kernel_table(f)) {
    if ((kernels.needs & ~detected_cpu_features()) != 0 || kernels.residues == nullptr) continue;
    SCOPED_TRACE(kernels.name);
    const auto engine_with = [&](std::size_t fresh, std::size_t kept) {
      return Engine<F>(f, kernels,
                       Tuning::create({{f.tag(), kernels.name, Way::kToom, 0},
                                       {f.tag(), kernels.name, Way::kResidues, fresh},
                                       {f.tag(), kernels.name, Way::kKeptResidues, kept}})
                           .value());
    };
    const std::size_t words = std::max<std::size_t>(kernels.residue_words, 1) + 3;
    const PrepareOptions keep{.layout = Layout::kResidues}, rows{.layout = Layout::kRows};
    const auto tuned = engine_with(5, 2);
    for (const std::size_t q : {1u, 2u, 4u, 5u, 9u}) {
      const Shape shape{q, 70, words};
      EXPECT_EQ(tuned.plan(shape, {1, -1}, rows).residues, q >= 5) << q;
      EXPECT_FALSE(tuned.plan(shape, {1, -1}, rows).kept);
      EXPECT_EQ(tuned.plan(shape, {1, -1}, keep).residues, q >= 2) << q;
      EXPECT_EQ(tuned.plan(shape, {1, -1}, keep).kept, q >= 2) << q;
      testing::ProductCase<F> product(f, shape, 1, random);
      product.expect_words(tuned, {2, -1}, Layout::kRows);
      product.expect_words(tuned, {2, -1}, Layout::kResidues);
    }
    const auto never = engine_with(0, 0);
    for (const auto& options : {keep, rows}) {
      EXPECT_FALSE(never.plan({1000, 4096, 4096}, {1, -1}, options).residues);
    }
  }
}

TEST(Tuning, ResiduesW160) { expect_residues_where_the_table_says<fp::W160>(); }
TEST(Tuning, ResiduesW48) { expect_residues_where_the_table_says<fp::W48>(); }

TEST(Tuning, TheTilesAreChosenWhereTheyAreAllowed) {
  const CpuFeatures needs = kCpuAvx512 | kCpuAvx512Ifma | kCpuAvx512Vnni | kCpuAmxInt8;
  const bool allowed = (allowed_cpu_features_or_die() & needs) == needs;
  EXPECT_EQ(std::string_view(Engine<fp::W160>(fp::W160{}).kernels().name) == "amx", allowed);
  EXPECT_EQ(std::string_view(Engine<fp::W48>(fp::W48{}).kernels().name) == "amx", allowed);
}

// A table that wants the direct way for many queries meets blocks of queries that are padded: it gives way.
TEST(Tuning, DirectProductsAreNotForStoredLevels) {
  const gf2e::Gf2_8 f;
  auto random = testing::seeded_engine(77);
  for (const auto& kernels : kernel_table(f)) {
    if ((kernels.needs & ~detected_cpu_features()) != 0 || kernels.sliced == nullptr) continue;
    const auto table = Tuning::create({{f.tag(), kernels.name, Way::kDirect, 16},
                                       {f.tag(), kernels.name, Way::kStoredLevel, 8}})
                           .value();
    const Engine<gf2e::Gf2_8> engine(f, kernels, table);
    for (const std::size_t q : {17u, 19u, 31u, 33u}) {
      const PrepareOptions prepared{Layout::kSliced, 1, 1};
      EXPECT_FALSE(engine.plan({q, 64, 1024}, {1, -1}, prepared).direct);
      testing::ProductCase<gf2e::Gf2_8> product(f, {q, 64, 1024}, 1, random);
      product.expect_words(engine, {1, -1}, Layout::kSliced, 1);
    }
  }
}

}  // namespace
}  // namespace pirx::strassen
