// SPDX-License-Identifier: Apache-2.0
// Geometry: the derived sizes, every refusal, the balanced choice against a full search, slots and their
// damage.
#include <algorithm>

#include "database_fixture.h"

namespace pirx::database {
namespace {

TEST(Geometry, DerivesSizes) {
  const auto geometry = Geometry::create(
      {.records = 10, .record_bytes = 100, .records_per_row = 3, .variable_length = true, .digests = true});
  ASSERT_TRUE(good(geometry));
  EXPECT_EQ(geometry->slot_bytes(), 120u);
  EXPECT_EQ(geometry->rows(), 4u);
  EXPECT_EQ(geometry->row_bytes(), 360u);
  EXPECT_EQ(geometry->row_stride(), 448u);
  EXPECT_EQ(geometry->data_bytes(), 4u * 448);
  EXPECT_EQ(geometry->words_per_row(20), 18u);
  EXPECT_EQ(geometry->words_per_row(7), 52u);
  const auto location = geometry->locate(9);
  ASSERT_TRUE(good(location));
  EXPECT_EQ(location->row, 3u);
  EXPECT_EQ(location->offset, 0u);
  EXPECT_EQ(geometry->locate(5)->row, 1u);
  EXPECT_EQ(geometry->locate(5)->offset, 240u);
}

TEST(Geometry, StrideLeavesRoomForWords) {
  for (std::uint64_t bytes = 1; bytes < 300; ++bytes) {
    const auto geometry = Geometry::create({.records = 2,
                                            .record_bytes = bytes,
                                            .records_per_row = 1,
                                            .variable_length = false,
                                            .digests = false});
    ASSERT_TRUE(good(geometry));
    EXPECT_EQ(geometry->slot_bytes(), bytes);
    EXPECT_EQ(geometry->row_stride() % 64, 0u);
    EXPECT_GE(geometry->row_stride(), bytes + 31);
    for (std::uint64_t word = 1; word <= 32; ++word)
      EXPECT_LE(geometry->words_per_row(word) * word, geometry->row_stride());
  }
}

TEST(Geometry, LocateRefusesWithoutNamingTheIndex) {
  const auto geometry = Geometry::create({.records = 77, .record_bytes = 1});
  ASSERT_TRUE(good(geometry));
  const auto result = geometry->locate(123456789);
  expect_error(result, ErrorCode::kOutOfRange, "77 records");
  EXPECT_EQ(result.error().message().find("123456789"), std::string::npos);
  EXPECT_FALSE(geometry->locate(77).has_value());
  EXPECT_FALSE(geometry->locate(~std::uint64_t{0}).has_value());
}

TEST(Geometry, RefusesImpossibleOnes) {
  const auto expect_refused = [](const Geometry::Spec& spec, std::string_view part) {
    expect_error(Geometry::create(spec), ErrorCode::kInvalidArgument, part);
  };
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  expect_refused({.records = 0, .record_bytes = 1}, "at least one record");
  expect_refused({.records = 1, .record_bytes = 0}, "at least one byte");
  expect_refused({.records = 1, .record_bytes = 1, .records_per_row = 0}, "at least one record");
  expect_refused({.records = 3, .record_bytes = 1, .records_per_row = 4}, "longer than the database");
  expect_refused({.records = 1, .record_bytes = std::uint64_t{1} << 32}, "at most 4294967295 bytes");
  for (const std::uint64_t a :
       {kMost, kMost - 20, kMost / 2, std::uint64_t{1} << 56, (std::uint64_t{1} << 56) - 30}) {
    expect_refused({.records = 1, .record_bytes = a, .variable_length = false}, "2^56");
    expect_refused({.records = a, .record_bytes = 64}, "2^56");
    expect_refused({.records = a, .record_bytes = 64, .records_per_row = a}, "2^56");
    expect_refused({.records = a, .record_bytes = a, .records_per_row = a, .variable_length = false}, "2^56");
    expect_refused({.records = a, .record_bytes = (1u << 31), .records_per_row = a / 2}, "2^56");
  }
}

TEST(Geometry, BalancedIsTheMinimumOfAFullSearch) {
  for (std::uint64_t records = 1; records <= 300; ++records) {
    for (const std::uint64_t slot : {1u, 2u, 3u, 5u, 21u, 84u, 1000u, 100000u}) {
      std::uint64_t least = ~std::uint64_t{0};
      for (std::uint64_t k = 1; k <= records; ++k) least = std::min(least, (records + k - 1) / k + k * slot);
      const auto k = Geometry::balanced_records_per_row(records, slot);
      ASSERT_GE(k, 1u);
      ASSERT_LE(k, records);
      ASSERT_EQ((records + k - 1) / k + k * slot, least) << records << " records, slot " << slot;
    }
  }
  // Extremes neither overflow nor take long.
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  EXPECT_EQ(Geometry::balanced_records_per_row(1, kMost), 1u);
  EXPECT_EQ(Geometry::balanced_records_per_row(kMost, kMost), 1u);
  EXPECT_NEAR(static_cast<double>(Geometry::balanced_records_per_row(std::uint64_t{1} << 56, 1)), 0x1p28,
              0x1p15);
}

TEST(Geometry, EncodingRoundTripsAndRefusesDamage) {
  const auto geometry = Geometry::create(
      {.records = 1000, .record_bytes = 77, .records_per_row = 9, .variable_length = false, .digests = true});
  ASSERT_TRUE(good(geometry));
  Writer writer;
  geometry->encode(writer);
  const Bytes encoded = std::move(writer).take();
  ASSERT_EQ(encoded.size(), Geometry::kBytes);
  const auto decode = [](ByteSpan bytes) {
    Reader reader(bytes, "geometry");
    return Geometry::decode(reader);
  };
  const auto decoded = decode(encoded);
  ASSERT_TRUE(good(decoded));
  EXPECT_EQ(*decoded, *geometry);
  for (std::size_t size = 0; size < encoded.size(); ++size) {
    expect_error(decode(ByteSpan(encoded).first(size)), ErrorCode::kDataLoss, "geometry");
  }
  Bytes changed = encoded;
  changed[24] = std::byte{16};
  expect_error(decode(changed), ErrorCode::kDataLoss, "unknown flags");
  changed = encoded;
  store_le(changed.data() + 16, std::uint64_t{0});
  expect_error(decode(changed), ErrorCode::kDataLoss, "impossible geometry");
}

class GeometrySlots : public ::testing::TestWithParam<std::pair<bool, bool>> {};

TEST_P(GeometrySlots, EveryFlippedBitOfAReadSlotIsFoundOrHarmless) {
  const auto [variable, digests] = GetParam();
  const auto geometry = Geometry::create({.records = 5,
                                          .record_bytes = 20,
                                          .records_per_row = 2,
                                          .variable_length = variable,
                                          .digests = digests});
  ASSERT_TRUE(good(geometry));
  auto engine = testing::seeded_engine(2);
  for (std::size_t size = variable ? 0 : 20; size <= 20; ++size) {
    const Bytes data = random_bytes(engine, size);
    Bytes slot(geometry->slot_bytes(), std::byte{0xAA});
    geometry->fill_slot(3, data, slot);
    const auto read = geometry->read_slot(3, slot);
    ASSERT_TRUE(good(read));
    ASSERT_TRUE(std::ranges::equal(*read, data));
    if (digests) {
      expect_error(geometry->read_slot(2, slot), ErrorCode::kDataLoss, "digest");
    }
    for (std::size_t bit = 0; bit < slot.size() * 8; ++bit) {
      Bytes flipped = slot;
      flipped[bit / 8] ^= std::byte{1} << (bit % 8);
      const auto damaged = geometry->read_slot(3, flipped);
      if (digests) {
        ASSERT_FALSE(damaged.has_value()) << "bit " << bit;
        EXPECT_EQ(damaged.error().code(), ErrorCode::kDataLoss);
      } else if (damaged) {
        EXPECT_FALSE(std::ranges::equal(*damaged, data)) << "bit " << bit;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Options, GeometrySlots,
                         ::testing::Values(std::pair{false, false}, std::pair{false, true},
                                           std::pair{true, false}, std::pair{true, true}));

TEST(Geometry, SlotDamageIsNamed) {
  const auto geometry = Geometry::create({.records = 5, .record_bytes = 20, .digests = false});
  ASSERT_TRUE(good(geometry));
  Bytes slot(geometry->slot_bytes());
  geometry->fill_slot(0, to_bytes("four"), slot);
  slot.back() = std::byte{1};
  expect_error(geometry->read_slot(0, slot), ErrorCode::kDataLoss, "padding");
  store_le(slot.data(), std::uint32_t{21});
  expect_error(geometry->read_slot(0, slot), ErrorCode::kDataLoss, "length");
  store_le(slot.data(), ~std::uint32_t{0});
  expect_error(geometry->read_slot(0, slot), ErrorCode::kDataLoss, "length");
}

TEST(Geometry, SlotDigestIsThatOfTheDocument) {
  // SHA-256("pirx record v1" || 7 as u64 || 5 as u64 || "hello"), computed by hand.
  const auto geometry = Geometry::create({.records = 8, .record_bytes = 6});
  ASSERT_TRUE(good(geometry));
  Bytes slot(geometry->slot_bytes());
  geometry->fill_slot(7, to_bytes("hello"), slot);
  const Digest digest =
      sha256(as_bytes(std::string_view("pirx record v1\7\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0hello", 35)));
  EXPECT_EQ(load_le<std::uint32_t>(slot.data()), 5u);
  EXPECT_TRUE(std::equal(digest.begin(), digest.begin() + 16, slot.begin() + 4));
  EXPECT_EQ(as_text(ByteSpan(slot).subspan(20)), std::string_view("hello\0", 6));
}

}  // namespace
}  // namespace pirx::database
