// SPDX-License-Identifier: Apache-2.0
// The tables of the specification (4.4 and 6.3), layouts, the parameters message, and everything that a
// client refuses in it.
#include <gtest/gtest.h>

#include <cmath>

#include "cpir/inspire/noise.h"
#include "pirx/cpir/inspire/common.h"
#include "pirx/protocol.h"
#include "support/files.h"
#include "support/seed.h"

namespace pirx::cpir::inspire {
namespace {

using pirx::testing::expect_error;

database::Geometry records_of(std::uint64_t records, std::uint64_t bytes) {
  return database::Geometry::create(
             {.records = records, .record_bytes = bytes, .variable_length = false, .digests = false})
      .value();
}

/// A deployment of 4 MiB that a message can describe: 4096 rows of one record of 1024 bytes.
Params::Spec small(const Set& set = kS8) {
  Params::Spec spec{.geometry = records_of(4096, 1024),
                    .version = {.identity = sha256(as_bytes("identity")), .epoch = 7},
                    .set = set,
                    .layout = {},
                    .t = set.w == 8 ? 25U : 41U,
                    .tr = set.w + 3};
  spec.salt.fill(std::byte{0x5a});
  spec.masks = {sha256(as_bytes("block 0"))};
  return spec;
}

TEST(InspireNoise, TableOfLeastBits) {
  const struct {
    Set set;
    unsigned log_rows, tr, t;
    double log2_failure;
  } rows[] = {
      {kS16, 10, 19, 41, -47}, {kS16, 10, 20, 40, -49}, {kS8, 10, 11, 25, -50}, {kS8, 10, 12, 24, -51},
      {kS16, 12, 19, 42, -47}, {kS16, 12, 20, 41, -49}, {kS8, 12, 11, 26, -50}, {kS8, 12, 12, 25, -51},
      {kS16, 13, 19, 42, -45}, {kS16, 13, 20, 42, -54}, {kS8, 13, 11, 26, -47}, {kS8, 13, 12, 26, -57},
      {kS16, 14, 19, 43, -47}, {kS16, 14, 20, 42, -49}, {kS8, 14, 11, 27, -50}, {kS8, 14, 12, 26, -51},
      {kS16, 15, 19, 43, -45}, {kS16, 15, 20, 43, -54}, {kS8, 15, 11, 27, -47}, {kS8, 15, 12, 27, -57},
      {kS16, 16, 19, 44, -47}, {kS16, 16, 20, 43, -49}, {kS8, 16, 11, 28, -50}, {kS8, 16, 12, 27, -51},
      {kS16, 17, 19, 44, -45}, {kS16, 17, 20, 44, -54}, {kS8, 17, 11, 28, -47}, {kS8, 17, 12, 28, -57},
  };
  for (const auto& row : rows) {
    const std::size_t columns = Params::kMostRowBytes / row.set.word_bytes(),
                      count = std::size_t{1} << row.log_rows;
    EXPECT_EQ(least_t(row.set, count, columns, row.tr), row.t) << row.set.w << ' ' << row.log_rows;
    // The table's bounds are those without the 5 % to spare.
    const double variance = noise(row.set, count, row.t).total() / 1.05;
    EXPECT_EQ(std::round(log2_failure(row.set, columns, row.tr, variance)), row.log2_failure)
        << row.set.w << ' ' << row.log_rows;
  }
}

TEST(InspireNoise, SharesOfTheParts) {
  for (const auto& [set, t, rounding, key, secret, masks] :
       {std::tuple{kS8, 27U, 0.08, 0.04, 0.72, 0.16}, std::tuple{kS16, 43U, 0.07, 0.09, 0.69, 0.15}}) {
    const Noise n = noise(set, 1 << 15, t);
    EXPECT_NEAR(n.rounding / n.total(), rounding, 0.005);
    EXPECT_NEAR(n.key_rounding / n.total(), key, 0.005);
    EXPECT_NEAR(n.secret / n.total(), secret, 0.005);
    EXPECT_NEAR(n.masks / n.total(), masks, 0.005);
    EXPECT_LT(n.query + n.key, 1e-4 * n.total());
  }
}

TEST(InspireParams, ChoiceHasTheSizesOfTheTable) {
  // KB are 1000 bytes, as in the specification, whose search left out some numbers of records a row: for
  // three lines of it there is a shorter sum.
  const struct {
    unsigned log_bytes;
    std::uint64_t record;
    Set set;
    Goal goal;
    std::size_t rows, columns;
    unsigned t, tr;
    double query, reply, masks;
  } table[] = {
      {28, 4096, kS8, Goal::kBytes, 10923, 24576, 26, 11, 47, 34, 123},
      {28, 4096, kS8, Goal::kTime, 65536, 4096, 27, 11, 233, 6, 20},
      {28, 4096, kS16, Goal::kBytes, 8192, 16384, 42, 19, 67, 39, 115},
      {28, 32768, kS8, Goal::kBytes, 8192, 32768, 26, 11, 38, 45, 164},
      {28, 262144, kS16, Goal::kBytes, 1024, 131072, 41, 19, 29, 311, 918},
      {30, 4096, kS8, Goal::kBytes, 18725, 57344, 26, 11, 73, 79, 287},
      {30, 4096, kS8, Goal::kTime, 87382, 12288, 27, 11, 307, 17, 61},
      {30, 4096, kS16, Goal::kBytes, 15421, 34816, 42, 19, 105, 83, 244},
      {30, 4096, kS16, Goal::kTime, 65536, 8192, 43, 19, 376, 19, 57},
      {30, 32768, kS8, Goal::kBytes, 16384, 65536, 26, 11, 65, 90, 328},
      {30, 32768, kS8, Goal::kTime, 32768, 32768, 27, 11, 122, 45, 164},
      {30, 262144, kS16, Goal::kBytes, 4096, 131072, 42, 19, 45, 311, 918},
      {33, 4096, kS8, Goal::kBytes, 59919, 143360, 27, 11, 214, 197, 717},
      {33, 32768, kS8, Goal::kBytes, 65536, 131072, 27, 11, 233, 180, 655},
      {33, 262144, kS8, Goal::kBytes, 32768, 262144, 27, 11, 122, 360, 1311},
      {33, 262144, kS16, Goal::kBytes, 32768, 131072, 43, 19, 200, 311, 918},
      {35, 4096, kS8, Goal::kBytes, 131072, 262144, 28, 11, 471, 360, 1311},
      {35, 4096, kS16, Goal::kBytes, 131072, 131072, 44, 19, 744, 311, 918},
  };
  for (const auto& row : table) {
    SCOPED_TRACE(std::to_string(row.log_bytes) + " " + std::to_string(row.record) + " " +
                 std::to_string(row.set.w) + (row.goal == Goal::kBytes ? " bytes" : " time"));
    const auto geometry = records_of((std::uint64_t{1} << row.log_bytes) / row.record, row.record);
    const auto params = choose_params(geometry, {}, row.set, row.goal);
    ASSERT_TRUE(params) << params.error().to_string();
    EXPECT_EQ(params->rows(), row.rows);
    EXPECT_EQ(params->columns(), row.columns);
    EXPECT_EQ(params->spec().t, row.t);
    EXPECT_EQ(params->spec().tr, row.tr);
    EXPECT_NEAR(static_cast<double>(params->request_bytes()) / 1e3, row.query, 0.5);
    EXPECT_NEAR(static_cast<double>(params->reply_bytes()) / 1e3, row.reply, 0.51);
    EXPECT_NEAR(static_cast<double>(params->blocks() * params->masks_bytes()) / 1e3, row.masks, 0.51);
    EXPECT_EQ(params->key_bytes(), row.set.w == 8 ? 11776U : 23552U);
    EXPECT_EQ(params->masks_bytes(), row.set.w == 8 ? 10240U : 14336U);
    EXPECT_LE(params->log2_failure(), -40);
  }
}

TEST(InspireParams, ChoiceAmongBothSets) {
  const auto geometry = records_of(1 << 18, 4096);
  EXPECT_EQ(choose_params(geometry, {}, std::nullopt, Goal::kBytes).value().set(), kS8);
  // A record that is longer than a row takes as few rows as it can.
  const auto long_records = choose_params(records_of(100, 300'001), {}, kS16, Goal::kBytes).value();
  EXPECT_EQ(long_records.spec().layout, (Layout{.per_row = 1, .rows_each = 2}));
  EXPECT_EQ(long_records.rows(), 200U);
  EXPECT_EQ(long_records.columns(), 75001U);
  // Less than a row in all, with a word that two records share.
  const auto tiny = choose_params(records_of(5, 1), {}, kS16, Goal::kBytes).value();
  EXPECT_EQ(tiny.spec().layout.per_row, 5U);
  EXPECT_EQ(tiny.columns(), 3U);
}

/// What a goal makes least: the bytes of a record's queries and replies; for time first the passes that these
/// take over the data and H, of which H counts only beyond a tenth of the data.
double cost(const Params& params, Goal goal) {
  const auto queries = static_cast<double>(params.spec().layout.rows_each),
             bytes = queries * static_cast<double>(params.request_bytes() + params.reply_bytes());
  if (goal == Goal::kBytes) return bytes;
  const double data = static_cast<double>(params.rows()) * static_cast<double>(params.row_bytes()),
               packing = static_cast<double>(params.columns()) *
                         static_cast<double>(params.set().l * params.d() * params.set().packing_bytes);
  return bytes + 1e9 * queries * (1 + std::max(0.0, packing / data - 0.1));
}

/// The layout with the least t, if it is one.
std::optional<Params> laid_out(const database::Geometry& geometry, const Set& set, const Layout& layout,
                               unsigned tr) {
  Params::Spec spec{
      .geometry = geometry, .version = {}, .set = set, .layout = layout, .t = set.most_t(), .tr = tr};
  const auto widest = Params::create(spec);
  if (!widest) return std::nullopt;
  spec.t = least_t(set, widest->rows(), widest->columns(), tr).value();
  return Params::create(spec).value();
}

/// Of all layouts, whether several records share a row or a record takes several rows, none is better.
TEST(InspireParams, ChoiceIsTheBestOfAllLayouts) {
  auto engine = pirx::testing::seeded_engine();
  std::size_t layouts = 0, several = 0;
  for (int round = 0; round < 60; ++round) {
    constexpr std::uint64_t kBytes[] = {1,    3,    16,     100,     256,     1001,
                                        4096, 5000, 33'000, 131'072, 262'144, 300'001};
    const std::uint64_t bytes = kBytes[static_cast<std::size_t>(round) % std::size(kBytes)];
    const std::uint64_t a_row = std::max<std::uint64_t>(1, Params::kMostRowBytes / bytes);
    // From a record to the most that fit; of the shortest ones only so many that a test can try all layouts.
    const double most = a_row > 3000 ? 3000 : static_cast<double>(Params::kMostRows / 2 * a_row);
    const double part = static_cast<double>(engine() >> 11) * 0x1p-53;
    const auto units = static_cast<std::uint64_t>(std::exp2(part * std::log2(most)));
    SCOPED_TRACE(std::to_string(units) + " records of " + std::to_string(bytes) + " bytes");
    const auto geometry = records_of(units, bytes);
    std::optional<Params> chosen[2][2], any[2];  // of a set and a goal; of a goal
    for (const auto goal : {Goal::kBytes, Goal::kTime}) {
      const auto g = static_cast<std::size_t>(goal);
      chosen[0][g] = choose_params(geometry, {}, kS8, goal).value();
      chosen[1][g] = choose_params(geometry, {}, kS16, goal).value();
      any[g] = choose_params(geometry, {}, std::nullopt, goal).value();
      EXPECT_EQ(cost(*any[g], goal), std::min(cost(*chosen[0][g], goal), cost(*chosen[1][g], goal)));
    }
    for (const auto& set : {kS8, kS16}) {
      const auto try_layout = [&](const Layout& layout) {
        for (const unsigned tr : {set.w + 3, set.w + 4}) {
          const auto other = laid_out(geometry, set, layout, tr);
          if (!other) return;
          ++layouts;
          for (const auto goal : {Goal::kBytes, Goal::kTime}) {
            const auto& best = *chosen[set.w == 16][static_cast<std::size_t>(goal)];
            ASSERT_LE(cost(best, goal), cost(*other, goal))
                << "s" << set.w << (goal == Goal::kBytes ? " bytes: " : " time: ") << best.rows() << " rows, "
                << other->rows() << " are better";
          }
        }
      };
      for (std::uint64_t per_row = 1; per_row <= std::min(a_row, units); ++per_row) {
        try_layout({.per_row = per_row, .rows_each = 1});
      }
      for (std::uint64_t each = 2; each <= 9; ++each) try_layout({.per_row = 1, .rows_each = each});
      several += chosen[0][0]->spec().layout.per_row > 1;
    }
  }
  EXPECT_GT(layouts, 10'000U);
  EXPECT_GT(several, 20U);
}

/// Not only those numbers of records a row that are near a power of some step.
TEST(InspireParams, EveryNumberOfRecordsARowIsChosenForSomeDatabase) {
  for (const auto goal : {Goal::kBytes, Goal::kTime}) {
    std::vector<bool> chosen(65);
    for (double records = 1; records <= 64.0 * Params::kMostRows; records *= 1.008) {
      const auto params = choose_params(records_of(static_cast<std::uint64_t>(records), 4096), {}, kS8, goal);
      ASSERT_TRUE(params) << params.error().to_string();
      chosen[params->spec().layout.per_row] = true;
    }
    for (std::size_t per_row = 1; per_row <= 64; ++per_row) {
      EXPECT_TRUE(chosen[per_row]) << per_row << (goal == Goal::kBytes ? " bytes" : " time");
    }
  }
}

/// 2^17 rows of 256 KiB are served, and one record more is refused, with what to do.
TEST(InspireParams, ADatabaseOfMoreRowsIsRefused) {
  for (const std::uint64_t bytes : {std::uint64_t{4}, std::uint64_t{4096}, Params::kMostRowBytes,
                                    Params::kMostRowBytes + 1, 5 * Params::kMostRowBytes}) {
    const std::uint64_t most = bytes <= Params::kMostRowBytes
                                   ? Params::kMostRows * (Params::kMostRowBytes / bytes)
                                   : Params::kMostRows / div_up(bytes, Params::kMostRowBytes);
    for (const auto& set : {std::optional<Set>(), std::optional(kS8), std::optional(kS16)}) {
      for (const auto goal : {Goal::kBytes, Goal::kTime}) {
        const auto full = choose_params(records_of(most, bytes), {}, set, goal);
        ASSERT_TRUE(full) << full.error().to_string();
        EXPECT_LE(full->rows(), Params::kMostRows);
        EXPECT_GT(full->rows(), Params::kMostRows - 5);
        for (const std::uint64_t more : {most + 1, 3 * most}) {
          const auto refused = choose_params(records_of(more, bytes), {}, set, goal);
          expect_error(refused, ErrorCode::kInvalidArgument, "at most 131072 rows of 262144 bytes");
          expect_error(refused, ErrorCode::kInvalidArgument,
                       "this one has " + std::to_string(more) + " records of " + std::to_string(bytes));
          expect_error(refused, ErrorCode::kInvalidArgument, "split it into several databases");
        }
      }
    }
  }
}

/// What a server may say of its rows determines the layout, and every layout that create() takes says so.
TEST(InspireParams, EveryLayoutIsReadBackFromRowsAndColumns) {
  std::size_t good = 0, refused = 0;
  for (const std::uint64_t bytes : {1, 2, 3, 5, 16, 33, 700, 1024}) {
    for (const std::uint64_t units : {1, 2, 7, 100}) {
      for (const auto& set : {kS8, kS16}) {
        for (std::uint64_t per_row = 1; per_row <= 9; ++per_row) {
          for (std::uint64_t each = 1; each <= 9; ++each) {
            auto spec = small(set);
            spec.geometry = records_of(units, bytes);
            spec.layout = {per_row, each};
            const std::size_t word = set.word_bytes();
            spec.masks.resize(div_up(div_up(per_row * bytes, word * each), 2048));
            const auto params = Params::create(spec);
            const std::uint64_t row = div_up(per_row * bytes, word * each) * word;
            const bool fits = per_row == 1 || each == 1;
            const bool wastes = each > 1
                                    ? (each - 1) * row >= bytes
                                    : per_row > units || (per_row < units && row >= (per_row + 1) * bytes);
            ASSERT_EQ(params.has_value(), fits && !wastes)
                << bytes << ' ' << units << ' ' << per_row << ' ' << each;
            ++(params ? good : refused);
            if (!params) continue;
            EXPECT_EQ(params->rows(), div_up(units, per_row) * each);
            EXPECT_EQ(params->row_bytes(), row);
            const auto back = Params::decode(params->encode());
            ASSERT_TRUE(back) << back.error().to_string();
            EXPECT_EQ(back->spec().layout, spec.layout);
            EXPECT_EQ(back->digest(), params->digest());
            for (std::uint64_t unit = 0; unit < units; ++unit) {
              const auto at = params->locate(unit).value();
              EXPECT_EQ(at.row, unit / per_row * each);
              EXPECT_EQ(at.offset, unit % per_row * bytes);
            }
            expect_error(params->locate(units), ErrorCode::kOutOfRange, "no such record");
          }
        }
      }
    }
  }
  EXPECT_GT(good, 100U);
  EXPECT_GT(refused, 100U);
}

TEST(InspireParams, RowsOfAKeyedDatabaseAreUnits) {
  const auto geometry =
      database::Geometry::create({.records = 10,
                                  .record_bytes = 40,
                                  .records_per_row = 2,
                                  .filter = database::FilterSpec{.segment_length = 4, .segments = 3}})
          .value();
  auto spec = small();
  spec.geometry = geometry;
  const auto params = Params::create(spec).value();
  EXPECT_EQ(params.unit_bytes(), geometry.row_bytes());
  EXPECT_EQ(params.rows(), geometry.rows());
}

TEST(InspireParams, MessageHasTheFieldsOfTheSpecification) {
  const auto params = Params::create(small()).value();
  const Bytes message = params.encode();
  ASSERT_EQ(message.size(), 8U + 40 + 40 + 16 + 88 + 32 + 32);
  EXPECT_EQ(load_le<std::uint32_t>(message.data() + 48), 8U);
  EXPECT_EQ(load_le<std::uint32_t>(message.data() + 60), 25U);    // t
  EXPECT_EQ(load_le<std::uint32_t>(message.data() + 72), 11U);    // tr
  EXPECT_EQ(load_le<std::uint64_t>(message.data() + 88), 4096U);  // R
  EXPECT_EQ(load_le<std::uint64_t>(message.data() + 96), 1024U);  // C
  EXPECT_EQ(params.digest(), sha256(message));
  EXPECT_EQ(parameters_epoch(message), 7U);
  EXPECT_EQ(Params::decode(message).value().digest(), params.digest());
}

/// One field of the message changed.
Bytes with_number(Bytes message, std::size_t at, std::uint32_t value) {
  store_le(message.data() + at, value);
  return message;
}

TEST(InspireParams, RefusesNumbersOfNoSet) {
  for (const auto& set : {kS8, kS16}) {
    const Bytes message = Params::create(small(set)).value().encode();
    // w, eta, log2 d, kappa, tm, l, beta, delta
    for (const std::size_t at : {48, 52, 56, 64, 68, 76, 80, 84}) {
      const auto value = load_le<std::uint32_t>(message.data() + at);
      for (const std::uint32_t other : {value - 1, value + 1, value ^ 24, ~std::uint32_t{0}}) {
        expect_error(Params::decode(with_number(message, at, other)), ErrorCode::kInvalidArgument,
                     "numbers of the scheme");
      }
    }
  }
}

TEST(InspireParams, RefusesTooFewBits) {
  for (const auto& set : {kS8, kS16}) {
    auto spec = small(set);
    spec.t = *least_t(set, 4096, set.w == 8 ? 1024 : 512, spec.tr);
    const Bytes message = Params::create(spec).value().encode();
    EXPECT_TRUE(Params::decode(message));
    // t too small by one
    expect_error(Params::decode(with_number(message, 60, spec.t - 1)), ErrorCode::kInvalidArgument,
                 "decoded wrongly");
    expect_error(Params::decode(with_number(message, 60, 0)), ErrorCode::kInvalidArgument, "bits");
    expect_error(Params::decode(with_number(message, 60, set.most_t() + 1)), ErrorCode::kInvalidArgument,
                 "bits");
    expect_error(Params::decode(with_number(message, 72, set.w + 1)), ErrorCode::kInvalidArgument,
                 "decoded wrongly");
    expect_error(Params::decode(with_number(message, 72, set.w)), ErrorCode::kInvalidArgument, "bits");
    expect_error(Params::decode(with_number(message, 72, set.tm + 1)), ErrorCode::kInvalidArgument, "bits");
  }
}

TEST(InspireParams, RefusesRowsThatDoNotFit) {
  const Bytes message = Params::create(small()).value().encode();
  for (const std::uint64_t rows :
       {std::uint64_t{0}, std::uint64_t{4095}, std::uint64_t{4097}, ~std::uint64_t{0}}) {
    Bytes wrong = message;
    store_le(wrong.data() + 88, rows);
    expect_error(Params::decode(wrong), ErrorCode::kInvalidArgument, "do not fit");
  }
  for (const auto& [columns, part] : {std::pair<std::uint64_t, std::string_view>{0, "empty"},
                                      {1025, "do not fit"},
                                      {1023, "do not fit"},
                                      {2048, "do not fit"},
                                      {std::uint64_t{1} << 18, "do not fit"},
                                      {(std::uint64_t{1} << 18) + 1, "longer"},
                                      {~std::uint64_t{0}, "longer"}}) {
    Bytes wrong = message;
    store_le(wrong.data() + 96, columns);
    expect_error(Params::decode(wrong), ErrorCode::kInvalidArgument, part);
  }
}

TEST(InspireParams, RefusesWhatIsTooLarge) {
  auto spec = small();
  spec.t = 32;
  spec.tr = 12;
  spec.masks.clear();
  spec.geometry = records_of(Params::kMostRows, 16);
  EXPECT_TRUE(Params::create(spec));
  spec.geometry = records_of(Params::kMostRows + 1, 16);
  expect_error(Params::create(spec), ErrorCode::kInvalidArgument, "more than 131072 rows");
  spec.geometry = records_of(std::uint64_t{1} << 44, 16);
  expect_error(Params::create(spec), ErrorCode::kInvalidArgument, "more than 131072 rows");
  spec.layout.per_row = ~std::uint64_t{0};
  expect_error(Params::create(spec), ErrorCode::kInvalidArgument, "longer than");
  spec.layout = {.per_row = 1, .rows_each = ~std::uint64_t{0}};
  expect_error(Params::create(spec), ErrorCode::kInvalidArgument, "wastes");
  spec.layout = {};
  spec.geometry = records_of(4, Params::kMostRowBytes);
  EXPECT_TRUE(Params::create(spec));
  spec.geometry = records_of(4, Params::kMostRowBytes + 1);
  expect_error(Params::create(spec), ErrorCode::kInvalidArgument, "longer than");
  spec.geometry = records_of(4, std::uint64_t{1} << 50);
  expect_error(Params::create(spec), ErrorCode::kInvalidArgument, "longer than");
  spec.layout.rows_each = std::uint64_t{1} << 32;
  expect_error(Params::create(spec), ErrorCode::kInvalidArgument, "more than 131072 rows");
  spec.layout = {.per_row = 0, .rows_each = 1};
  expect_error(Params::create(spec), ErrorCode::kInvalidArgument, "not both");
}

TEST(InspireParams, RefusesLengthsAndDigests) {
  const Bytes message = Params::create(small()).value().encode();
  for (std::size_t length = 0; length < message.size(); ++length) {
    EXPECT_EQ(Params::decode(ByteSpan(message).first(length)).error().code(), ErrorCode::kDataLoss) << length;
  }
  // A salt of 31 bytes is a message that ends a byte too early.
  Bytes short_salt = message;
  short_salt.erase(short_salt.begin() + 200);
  expect_error(Params::decode(short_salt), ErrorCode::kDataLoss, "parameters message");
  Bytes longer = message;
  longer.push_back(std::byte{0});
  expect_error(Params::decode(longer), ErrorCode::kDataLoss, "parameters message");
  auto spec = small();
  spec.masks.emplace_back();
  expect_error(Params::create(spec), ErrorCode::kInvalidArgument, "2 digests of masks for 1 blocks");
}

TEST(InspireParams, EveryBitOfTheMessageCounts) {
  const auto params = Params::create(small()).value();
  const Bytes message = params.encode();
  for (std::size_t bit = 0; bit < 8 * message.size(); ++bit) {
    Bytes wrong = message;
    wrong[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    const auto read = Params::decode(wrong);
    EXPECT_TRUE(!read || (read->encode() == wrong && read->digest() == sha256(wrong))) << bit;
  }
}

TEST(InspireParams, AnyMessageIsReadOrRefused) {
  auto engine = pirx::testing::seeded_engine();
  std::size_t read = 0;
  for (int round = 0; round < 20000; ++round) {
    Bytes message = Params::create(small(round % 2 == 0 ? kS8 : kS16)).value().encode();
    for (auto changes = 1 + engine() % 3; changes > 0; --changes) {
      const auto kind = engine() % 6;
      const auto at = static_cast<std::ptrdiff_t>(48 + engine() % (message.size() - 55));
      if (kind == 0) message.resize(static_cast<std::size_t>(at) + 8);
      if (kind == 1) message.resize(message.size() + engine() % 64);
      if (kind == 2) message[static_cast<std::size_t>(at)] ^= static_cast<std::byte>(1U << engine() % 8);
      if (kind == 3) std::fill_n(message.begin() + at, 8, std::byte{0xff});
      if (kind == 4) std::fill_n(message.begin() + at, 8, std::byte{0});
      if (kind == 5) store_le(message.data() + at, std::uint64_t{1} << engine() % 64);
    }
    const auto params = Params::decode(message);
    if (params) {
      ++read;
      ASSERT_EQ(params->encode(), message);
      ASSERT_LE(params->rows(), Params::kMostRows);
      ASSERT_LE(params->row_bytes(), Params::kMostRowBytes);
      ASSERT_LE(params->log2_failure(), -40);
    } else {
      ASSERT_TRUE(params.error().code() == ErrorCode::kDataLoss ||
                  params.error().code() == ErrorCode::kInvalidArgument)
          << params.error().to_string();
    }
  }
  EXPECT_GT(read, 100U);
}

TEST(InspireParams, ToysAreNotOnTheWire) {
  auto spec = small();
  spec.set.log_d = 6;
  spec.masks.clear();
  expect_error(Params::create(spec), ErrorCode::kInvalidArgument, "numbers of the scheme");
  spec.toy = true;
  EXPECT_DEATH(static_cast<void>(Params::create(spec).value().encode()), "");
}

TEST(InspireParams, MaskDigest) {
  Salt salt{};
  salt.fill(std::byte{1});
  const Bytes masks(16, std::byte{2});
  Bytes all;
  for (const ByteSpan part : {ByteSpan(as_bytes("pirx inspire masks")), ByteSpan(salt)}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  for (const int byte : {3, 1, 0, 0, 0, 0, 0, 0}) all.push_back(static_cast<std::byte>(byte));
  all.insert(all.end(), masks.begin(), masks.end());
  EXPECT_EQ(mask_digest(salt, 259, masks), sha256(all));
}

}  // namespace
}  // namespace pirx::cpir::inspire
