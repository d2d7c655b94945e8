// SPDX-License-Identifier: Apache-2.0
// Errors at full size: their variance is that of the model, and rows fail as often as predicted where the
// parameters are weakened.
#include "cpir/inspire/noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cpir/inspire/client_core.h"
#include "cpir/inspire/packed_database.h"
#include "cpir/ring/bits.h"
#include "world.h"

namespace pirx::cpir::inspire {
namespace {

constexpr std::size_t kColumns = 2048;

/// One block of columns of random words, and queries for it whose replies are not rounded.
class Measurement {
 public:
  Measurement(Set set, unsigned t, std::size_t rows = 4096) : w_(set.w), rows_(rows) {
    auto engine = pirx::testing::seeded_engine();
    const std::size_t bytes = kColumns * set.word_bytes();
    std::vector<Bytes> records;
    for (std::size_t i = 0; i < rows_; ++i) records.push_back(pirx::testing::random_bytes(engine, bytes));
    EXPECT_TRUE(database::build(folder_ / "db", records, {},
                                {.records_per_row = 1, .fixed_record_bytes = bytes, .digests = false}));
    database_ = database::Database::open(folder_ / "db").value();
    Params::Spec spec{.geometry = database_->geometry(),
                      .version = database_->version(),
                      .set = set,
                      .layout = {},
                      .t = t,
                      .tr = set.tm,
                      .toy = true};
    packed_ = std::make_unique<PackedDatabase>(
        PackedDatabase::create(Params::create(spec).value(), *database_, 2, "", {}).value());
    const auto& params = packed_->params();
    core_ = std::make_unique<ClientCore>(params, ClientCore::expand(params));
    masks_ = {std::make_shared<const MaskSlots>(core_->mask_slots(packed_->masks(0)))};
  }

  /// Adds the errors of so many queries.
  void run(std::size_t queries) {
    const auto& params = packed_->params();
    const auto& set = params.set();
    const unsigned t = params.spec().t, bytes = div_up(t, 8u), tm = set.tm;
    const Coins coins = [this](MutableByteSpan out) { rng_.fill(out); };
    for (std::size_t k = 0; k < queries; ++k) {
      const std::size_t row = (k * 1237) % rows_;
      Bytes key(params.key_bytes()), numbers(params.query_bytes());
      auto secret = core_->query(FreshSecret(params, coins), row, coins, key, numbers);
      const auto data = product(packed_->words_shape(0), packed_->words(0), numbers, rows_, t, bytes);
      const auto packing =
          product(packed_->packing_shape(0), packed_->packing(0), key, set.l * set.d(), set.kappa, 6);
      Bytes body(run_bytes(kColumns, tm));
      BitWriter writer(body);
      for (std::size_t j = 0; j < kColumns; ++j) {
        const std::uint64_t z = (data[j] << (48 - 8 * bytes)) + packing[j];
        writer.put((z + (std::uint64_t{1} << (47 - tm))) >> (48 - tm) & ((std::uint64_t{1} << tm) - 1), tm);
      }
      writer.finish();
      const auto phases = core_->phases(std::move(secret), masks_, body);
      const auto* words = database_->rows().row(row);
      for (std::size_t j = 0; j < kColumns; ++j) {
        std::uint64_t word = 0;
        std::memcpy(&word, words + j * set.word_bytes(), set.word_bytes());
        const auto apart = static_cast<std::uint32_t>(phases.expose()[j] - (word << (tm - w_)))
                           << (32 - tm);  // modulo 2^tm, at the top
        const double error = std::ldexp(static_cast<double>(static_cast<std::int32_t>(apart)), -32);
        squares_ += error * error;
        wrong_ += std::abs(error) >= std::ldexp(1, -static_cast<int>(w_) - 1);
        ++words_;
      }
    }
  }

  double variance() const { return squares_ / static_cast<double>(words_); }
  double wrong() const { return static_cast<double>(wrong_); }
  double words() const { return static_cast<double>(words_); }
  /// The model for words that are uniform, whose squares are a third of the worst ones, and for replies
  /// rounded to tm bits.
  double model() const {
    const auto& params = packed_->params();
    auto noise = inspire::noise(params.set(), rows_, params.spec().t);
    noise.query /= 3;
    noise.rounding /= 3;
    return noise.total() + std::ldexp(1.0 / 12, -2 * static_cast<int>(params.set().tm));
  }

 private:
  static std::vector<std::uint64_t> product(const strassen::IntegerShape& shape, const std::byte* packed,
                                            ByteSpan run, std::size_t count, unsigned bits, unsigned bytes) {
    auto query = strassen::IntegerQueries::create(1, count, bytes).value();
    std::vector<std::uint64_t> numbers(count), sums(shape.columns);
    BitReader reader(run);
    for (auto& number : numbers) number = reader.get(bits) << (8 * bytes - bits);
    query.set(0, numbers);
    Bytes scratch(strassen::multiply_scratch_bytes(shape, query, shape.columns));
    strassen::multiply_integers(shape, packed, query, 0, shape.columns, sums.data(), shape.columns, scratch);
    return sums;
  }

  const unsigned w_;
  const std::size_t rows_;
  pirx::testing::TemporaryFolder folder_;
  std::shared_ptr<const database::Database> database_;
  std::unique_ptr<PackedDatabase> packed_;
  std::unique_ptr<ClientCore> core_;
  std::vector<std::shared_ptr<const MaskSlots>> masks_;
  Rng rng_ = Rng::from_os().value();
  double squares_ = 0;
  std::uint64_t wrong_ = 0, words_ = 0;
};

void expect_model(const Set& set, unsigned t, std::size_t queries, double within, std::size_t rows = 4096) {
  Measurement errors(set, t, rows);
  errors.run(queries);
  EXPECT_NEAR(errors.variance() / errors.model(), 1, within);
  EXPECT_EQ(errors.wrong(), 0);
  std::printf("s%u: %zu queries, variance / model %.4f\n", set.w, queries,
              errors.variance() / errors.model());
}

/// Failures of words are as often as a normal distribution of the model's variance makes them.
void expect_failures(const Set& set, unsigned t, std::size_t queries) {
  Measurement errors(set, t);
  errors.run(queries);
  const double threshold = std::ldexp(1, -static_cast<int>(set.w) - 1);
  const double predicted = errors.words() * std::erfc(threshold / std::sqrt(2 * errors.model()));
  ASSERT_GT(predicted, 100);
  EXPECT_NEAR(errors.wrong(), predicted, 5 * std::sqrt(predicted) + 0.1 * predicted);
  std::printf("%.0f words of %.0f are wrong, predicted are %.0f\n", errors.wrong(), errors.words(),
              predicted);
}

TEST(InspireNoise, IsThatOfTheModel) {
  expect_model(kS8, 28, 64, 0.03);
  expect_model(kS16, 44, 64, 0.03);
}

TEST(InspireNoise, FailuresAreAsPredicted) {
  expect_failures(kS8, 21, 100);
  auto short_masks = kS8;
  short_masks.tm = 17;
  expect_failures(short_masks, 28, 100);
}

TEST(InspireNoise, LongRun) {
  expect_model(kS8, 28, 1000, 0.015);
  expect_model(kS16, 44, 1000, 0.015);
  expect_failures(kS8, 21, 1000);
}

TEST(InspireNoise, MostRowsLongRun) { expect_model(kS8, 28, 64, 0.03, Params::kMostRows); }

}  // namespace
}  // namespace pirx::cpir::inspire
