// SPDX-License-Identifier: Apache-2.0
// Keyed databases: every key is found and no other one, whatever the size; damage, foreign parameters and
// refusals.
#include "pirx/database/key_filter.h"

#include <algorithm>

#include "keyed_fixture.h"
#include "src/database/key_hash.h"
#include "support/memory.h"

namespace pirx::database {
namespace {

/// What a client gets: the sum of three whole rows.
Bytes row_sum(const Database& db, const KeyFilter::Place& place) {
  Bytes sum(db.geometry().row_bytes());
  for (const std::uint64_t row : place.rows) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] ^= db.rows().row(row)[i];
  }
  return sum;
}

class KeyFilterSizes : public ::testing::TestWithParam<std::pair<std::uint64_t, std::uint64_t>> {};

TEST_P(KeyFilterSizes, FindsEveryKeyAndNoOther) {
  const auto [n, columns] = GetParam();
  if (testing::kSanitized && n >= 10000) GTEST_SKIP() << "more of the same takes half a minute";
  const TemporaryFolder folder;
  const auto report = build_keyed(folder / "db", upto(n), {.records_per_row = columns});
  ASSERT_TRUE(good(report));
  EXPECT_EQ(report->records, n);
  EXPECT_EQ(report->keys, n);
  const auto db = pirx::testing::open_verified(folder / "db");
  ASSERT_TRUE(good(db));
  const Geometry& geometry = (*db)->geometry();
  EXPECT_EQ(geometry.spec(), report->geometry);
  EXPECT_EQ(geometry.records(), n);
  if (columns != 0) {
    EXPECT_EQ(geometry.spec().records_per_row, std::min(columns, n));
  }
  const auto filter = KeyFilter::create(geometry);
  ASSERT_TRUE(good(filter));
  const std::uint64_t step = n > 20000 ? 37 : 1;
  for (std::uint64_t i = 0; i < n; i += step) {
    const auto place = filter->place(key_of(i));
    ASSERT_LT(place.rows[0], place.rows[1]);
    ASSERT_LT(place.rows[1], place.rows[2]);
    ASSERT_LT(place.rows[2], geometry.rows());
    ASSERT_LE(place.offset + geometry.slot_bytes(), geometry.row_bytes());
    auto found = filter->read(key_of(i), row_sum(**db, place));
    ASSERT_TRUE(good(found));
    const std::optional<Bytes> record = *std::move(found);
    ASSERT_TRUE(record.has_value()) << i;
    ASSERT_EQ(as_text(*record), value_of(i));
    const auto local = (*db)->lookup(key_of(i));
    ASSERT_TRUE(good(local));
    ASSERT_EQ(*local, record);
    const auto absent = (*db)->lookup("no " + key_of(i));
    ASSERT_TRUE(good(absent));
    ASSERT_FALSE(absent->has_value());
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, KeyFilterSizes,
                         ::testing::Values(std::pair{1, 0}, std::pair{2, 0}, std::pair{2, 2}, std::pair{3, 0},
                                           std::pair{3, 1}, std::pair{10, 0}, std::pair{10, 10},
                                           std::pair{100, 1}, std::pair{100, 7}, std::pair{100, 100},
                                           std::pair{1000, 0}, std::pair{10000, 0}, std::pair{10000, 1},
                                           std::pair{10000, 300}, std::pair{100000, 0},
                                           std::pair{100000, 1}));

TEST(KeyFilter, PlacesAndSlotsAreThoseOfTheDocument) {
  // Computed by a few lines of Python from docs/database_format.md.
  Geometry::Spec spec{.records = 100, .record_bytes = 20, .records_per_row = 10};
  spec.filter = FilterSpec{.segment_length = 17, .segments = 5, .tweak = 3, .seed = {}};
  for (std::size_t i = 0; i < 32; ++i) spec.filter->seed[i] = static_cast<std::byte>(i);
  const auto geometry = Geometry::create(spec);
  ASSERT_TRUE(good(geometry));
  EXPECT_EQ(geometry->rows(), 7u * 17);
  const auto filter = KeyFilter::create(*geometry);
  ASSERT_TRUE(good(filter));
  const struct {
    std::string_view key;
    std::array<std::uint64_t, 3> rows;
    std::uint64_t offset;
  } kKnown[] = {
      {"", {67, 80, 88}, 320},
      {"bash", {36, 64, 74}, 120},
      {"a rather long key, with spaces and \xff", {34, 52, 70}, 320},
  };
  for (const auto& known : kKnown) {
    EXPECT_EQ(filter->place(known.key).rows, known.rows) << known.key;
    EXPECT_EQ(filter->place(known.key).offset, known.offset) << known.key;
  }
  Bytes slot(40, std::byte{0xAA});
  filter->fill_slot("bash", to_bytes("hello"), slot);
  EXPECT_EQ(to_hex(slot), "050000005acbb5597bc957a8dc4f163cbbf65eb468656c6c6f" + std::string(30, '0'));
}

TEST(KeyFilter, DamageAndOtherKeysLookAbsent) {
  const TemporaryFolder folder;
  ASSERT_TRUE(good(build_keyed(folder / "db", upto(50))));
  const auto db = Database::open(folder / "db");
  ASSERT_TRUE(good(db));
  const auto filter = KeyFilter::create((*db)->geometry());
  ASSERT_TRUE(good(filter));
  const auto place = filter->place(key_of(17));
  const Bytes sum = row_sum(**db, place);
  const Bytes slot(sum.begin() + static_cast<std::ptrdiff_t>(place.offset),
                   sum.begin() + static_cast<std::ptrdiff_t>(place.offset + (*db)->geometry().slot_bytes()));
  ASSERT_TRUE(filter->read_slot(key_of(17), slot)->has_value());
  EXPECT_FALSE(filter->read_slot(key_of(18), slot)->has_value());
  for (std::size_t bit = 0; bit < slot.size() * 8; ++bit) {
    Bytes flipped = slot;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto read = filter->read_slot(key_of(17), flipped);
    ASSERT_TRUE(good(read));
    ASSERT_FALSE(read->has_value()) << "bit " << bit;
  }
  EXPECT_FALSE(filter->read(key_of(17), Bytes(sum.size()))->has_value());
  expect_error(filter->read(key_of(17), ByteSpan(sum).first(sum.size() - 1)), ErrorCode::kInvalidArgument,
               "sum of rows");
  expect_error(filter->read_slot(key_of(17), {}), ErrorCode::kInvalidArgument, "slot");
}

TEST(KeyFilter, AStoredLengthBeyondTheSlotIsDamage) {
  const Geometry::Spec small{
      .records = 1,
      .record_bytes = 4,
      .filter = FilterSpec{.segment_length = 1, .segments = 1, .tweak = 0, .seed = {}}};
  const auto filter = KeyFilter::create(*Geometry::create(small));
  ASSERT_TRUE(good(filter));
  Bytes slot(24);
  filter->fill_slot("key", to_bytes("four"), slot);
  EXPECT_EQ(as_text(*std::optional<Bytes>(*filter->read_slot("key", slot))), "four");
  // What a builder that lies would store: the digest fits a length that does not.
  store_le(slot.data(), std::uint32_t{5});
  const Digest digest =
      sha256(as_bytes(std::string("pirx keyed record v2") + std::string(32, '\0') +
                      std::string("\3\0\0\0\0\0\0\0key", 11) + std::string("\5\0\0\0four", 8)));
  std::copy_n(digest.begin(), 16, slot.begin() + 4);
  expect_error(filter->read_slot("key", slot), ErrorCode::kDataLoss, "stored length");
}

TEST(KeyFilter, RecordsOfOneLengthAndEmptyOnes) {
  const TemporaryFolder folder;
  auto builder = DatabaseBuilder::create(folder / "fixed", {.fixed_record_bytes = 5, .keyed = true});
  ASSERT_TRUE(good(builder));
  ASSERT_TRUE(good(builder->add("", as_bytes("empty"))));
  ASSERT_TRUE(good(builder->add(std::string_view("\0\n", 2), as_bytes("bytes"))));
  ASSERT_TRUE(good(builder->finish()));
  auto db = pirx::testing::open_verified(folder / "fixed");
  ASSERT_TRUE(good(db));
  EXPECT_EQ((*db)->geometry().slot_bytes(), 21u);
  EXPECT_EQ(as_text(**(*db)->lookup("")), "empty");
  EXPECT_EQ(as_text(**(*db)->lookup(std::string_view("\0\n", 2))), "bytes");
  EXPECT_FALSE((*db)->lookup(std::string_view("\0", 1))->has_value());

  auto empty = DatabaseBuilder::create(folder / "empty", {.keyed = true});
  ASSERT_TRUE(good(empty));
  ASSERT_TRUE(good(empty->add("a", {})));
  ASSERT_TRUE(good(empty->add("b", {})));
  ASSERT_TRUE(good(empty->finish()));
  db = pirx::testing::open_verified(folder / "empty");
  ASSERT_TRUE(good(db));
  EXPECT_EQ((*db)->lookup("b")->value().size(), 0u);
  EXPECT_FALSE((*db)->lookup("c")->has_value());
}

TEST(KeyFilter, RefusesWhatCannotBeKeyed) {
  const TemporaryFolder folder;
  expect_error(DatabaseBuilder::create(folder / "db", {.digests = false, .keyed = true}),
               ErrorCode::kInvalidArgument, "needs digests");
  auto builder = DatabaseBuilder::create(folder / "db", {.keyed = true});
  ASSERT_TRUE(good(builder));
  expect_error(builder->add(as_bytes("x")), ErrorCode::kInvalidArgument, "needs a key");
  expect_error(builder->finish(), ErrorCode::kInvalidArgument, "no records");
  ASSERT_TRUE(good(build(folder / "plain", {to_bytes("a")}, std::vector<std::string>{"k"})));
  const auto plain = Database::open(folder / "plain");
  ASSERT_TRUE(good(plain));
  expect_error((*plain)->lookup("k"), ErrorCode::kInvalidArgument, "not keyed");
  expect_error(KeyFilter::create((*plain)->geometry()), ErrorCode::kInvalidArgument, "not keyed");
  ASSERT_TRUE(good(build_keyed(folder / "keyed", upto(5))));
  const auto keyed = Database::open(folder / "keyed");
  ASSERT_TRUE(good(keyed));
  EXPECT_FALSE((*keyed)->has_keys());
  expect_error((*keyed)->record(0), ErrorCode::kInvalidArgument, "keyed");
}

TEST(KeyFilter, HostileGeometriesAreRefused) {
  const auto decode = [](const FilterSpec& filter, std::uint64_t records, std::uint64_t columns) {
    Writer writer;
    writer.put(records);
    writer.put(std::uint64_t{20});
    writer.put(columns);
    writer.put(std::uint64_t{11});
    writer.put(filter.segment_length);
    writer.put(filter.segments);
    writer.put(filter.tweak);
    writer.put_bytes(filter.seed);
    const Bytes bytes = std::move(writer).take();
    Reader reader(bytes, "geometry");
    return Geometry::decode(reader);
  };
  constexpr std::uint64_t kMost = ~std::uint64_t{0}, kBig = std::uint64_t{1} << 32;
  ASSERT_TRUE(good(decode({.segment_length = 5, .segments = 4, .tweak = kMost, .seed = {}}, 30, 1)));
  const auto refused = [&](std::uint64_t length, std::uint64_t segments, std::string_view part,
                           std::uint64_t records = 30, std::uint64_t columns = 1) {
    expect_error(
        decode({.segment_length = length, .segments = segments, .tweak = 0, .seed = {}}, records, columns),
        ErrorCode::kDataLoss, part);
  };
  refused(0, 4, "segments");
  refused(4, 0, "segments");
  refused(0, 0, "segments");
  refused(kBig, 1, "segments");
  refused(1, kBig, "segments");
  refused(kMost, kMost, "segments");
  refused(kBig - 1, kBig - 1, "2^56");
  refused(5, 4, "cannot hold", 31);
  refused(5, 4, "cannot hold", kMost, 10);
  refused(5, 4, "longer than the database", 3, 4);
  refused(kBig - 1, kBig - 1, "2^56", kMost, kMost);
  // Random ones: refused, or of rows that every key's place fits.
  auto engine = testing::seeded_engine(4);
  for (int round = 0; round < 20000; ++round) {
    const auto word = [&engine] { return engine() >> engine() % 64; };
    FilterSpec filter{.segment_length = word(), .segments = word(), .tweak = word(), .seed = {}};
    const auto geometry = decode(filter, word(), word());
    if (!geometry) continue;
    const auto place = KeyFilter::create(*geometry)->place("any");
    ASSERT_LT(place.rows[0], place.rows[1]);
    ASSERT_LT(place.rows[1], place.rows[2]);
    ASSERT_LT(place.rows[2], geometry->rows());
    ASSERT_LE(place.offset + geometry->slot_bytes(), geometry->row_bytes());
  }
}

}  // namespace
}  // namespace pirx::database
