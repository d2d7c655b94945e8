// SPDX-License-Identifier: Apache-2.0
// Products of powers against GMP's integers: every plan, kernel, number of rows and bases.
#include <gtest/gtest.h>

#include "cpir/dj/powers.h"
#include "dj_support.h"
#include "support/seed.h"

namespace pirx::cpir::dj {
namespace {

using testing::random_below;
using testing::usable_kernels;

class Given final : public Exponents {
 public:
  explicit Given(std::vector<std::vector<mpz_class>> values) : values_(std::move(values)) {}
  void load(std::size_t row, std::size_t base, std::span<std::uint64_t> words) const override {
    number_to_words(values_.at(row).at(base), words);
  }
  const mpz_class& at(std::size_t row, std::size_t base) const { return values_[row][base]; }

 private:
  std::vector<std::vector<mpz_class>> values_;
};

void check(const Ring& ring, const PowerShape& shape, const PowerPlan& plan, std::mt19937_64& engine) {
  SCOPED_TRACE(std::string(ring.kernel().name) + (plan.comb ? " comb " : " windows ") +
               std::to_string(plan.window) + ", rows per block " + std::to_string(plan.rows_per_block) +
               ", bases " + std::to_string(shape.bases) + ", bits " + std::to_string(shape.bits) + ", rows " +
               std::to_string(shape.rows));
  std::vector<mpz_class> bases;
  std::vector<std::uint64_t> imported(shape.bases * ring.stride());
  for (std::size_t i = 0; i < shape.bases; ++i) {
    bases.push_back(random_below(ring.modulus(), engine));
    ring.import_number(bases[i], imported.data() + i * ring.stride());
  }
  const mpz_class bound = mpz_class(1) << shape.bits;
  std::vector<std::vector<mpz_class>> values(shape.rows);
  for (auto& row : values) {
    for (std::size_t i = 0; i < shape.bases; ++i) {
      row.push_back(engine() % 4 == 0   ? mpz_class(0)
                    : engine() % 3 == 0 ? mpz_class(bound - 1)
                                        : random_below(bound, engine));
    }
  }
  const Given exponents(std::move(values));
  auto powers = Powers::create(ring, shape, plan, imported).value();
  for (std::size_t part = powers.parts(); part-- > 0;) powers.prepare(part);
  const std::size_t words = mpz_size(ring.modulus().get_mpz_t());
  std::vector<std::uint64_t> out(shape.rows * words);
  for (std::size_t block = powers.blocks(); block-- > 0;) powers.evaluate(block, exponents, out, words);
  for (std::size_t row = 0; row < shape.rows; ++row) {
    mpz_class expected = 1;
    for (std::size_t i = 0; i < shape.bases; ++i) {
      expected =
          expected * testing::power_mod(bases[i], exponents.at(row, i), ring.modulus()) % ring.modulus();
    }
    ASSERT_EQ(number_from_words(std::span(out).subspan(row * words, words)), expected) << "row " << row;
  }
}

std::uint64_t bytes_of(const Ring& ring, const PowerShape& shape, unsigned window) {
  return shape.bases * ring.stride() * 8 << window;
}

TEST(Powers, EveryPlanIsRight) {
  auto engine = pirx::testing::seeded_engine();
  const testing::KnownKey key("128");
  for (const auto* kernel : usable_kernels()) {
    for (unsigned s = 1; s <= 3; ++s) {
      const Ring ring(*kernel, key.n, s);
      for (int i = 0; i < 40; ++i) {
        const PowerShape shape{1 + engine() % 20, 1 + engine() % 200, 1 + engine() % 20};
        PowerPlan plan;
        plan.comb = engine() % 2 == 0;
        plan.window = 1 + static_cast<unsigned>(engine() % 6);
        plan.rows_per_block = std::size_t{1} << engine() % (kernel->lanes == 8 ? 4 : 1);
        plan.table_bytes = bytes_of(ring, shape, plan.window);
        check(ring, shape, plan, engine);
      }
    }
  }
}

TEST(Powers, LargeModuli) {
  auto engine = pirx::testing::seeded_engine(1);
  const testing::KnownKey key("1024");
  for (const auto* kernel : usable_kernels()) {
    const Ring ring(*kernel, key.n, 2);
    for (const std::size_t rows : {1u, 3u, 11u}) {
      const PowerShape shape{7, 500, rows};
      check(ring, shape, plan_powers(ring, shape, 1 << 22, 1), engine);
    }
  }
}

TEST(Powers, PlansFitTheirMemory) {
  const testing::KnownKey key("1024");
  for (const auto* kernel : usable_kernels()) {
    const Ring ring(*kernel, key.n, 1);
    for (const std::size_t rows : {1u, 8u, 64u, 100000u}) {
      for (const std::uint64_t cap : {std::uint64_t{0}, std::uint64_t{100'000}, std::uint64_t{64} << 20}) {
        const PowerShape shape{31, 1024, rows};
        const auto plan = plan_powers(ring, shape, cap, 1);
        EXPECT_EQ(plan.table_bytes, bytes_of(ring, shape, plan.window));
        EXPECT_TRUE(plan.table_bytes <= cap || (plan.window == 1 && !plan.comb));
        EXPECT_EQ(kernel->lanes % plan.rows_per_block, 0u);
      }
    }
    // Many rows are worth combs; one row is not, unless lanes make its squares for nothing.
    EXPECT_TRUE(plan_powers(ring, {7, 1024, 10000}, std::uint64_t{64} << 20, 1).comb);
    EXPECT_TRUE(kernel->lanes > 1 || !plan_powers(ring, {7, 1024, 1}, std::uint64_t{64} << 20, 1).comb);
  }
}

}  // namespace
}  // namespace pirx::cpir::dj
