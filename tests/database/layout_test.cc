// The header page: its fields where the document puts them, and every refusal.
#include "src/database/layout.h"

#include <algorithm>

#include "database_fixture.h"
#include "src/database/key_index.h"

namespace pirx::database {
namespace {

struct Sample {
  Layout layout;
  Version version;
  Bytes page;
};

Sample sample() {
  const auto geometry = Geometry::create({.records = 1000, .record_bytes = 2000, .records_per_row = 7});
  const auto layout = Layout::plan(*geometry, key_index_size(1000, 12345));
  Version version;
  version.identity.fill(std::byte{0x5A});
  version.epoch = 42;
  return {*layout, version, encode_header(*layout, version)};
}

void fix_digest(Bytes& page) {
  const Digest digest = sha256(ByteSpan(page).first(kPageBytes - 32));
  std::copy(digest.begin(), digest.end(), page.end() - 32);
}

TEST(Layout, SectionsAreAlignedInOrderAndCovered) {
  const Sample s = sample();
  EXPECT_EQ(s.layout.rows.offset, kPageBytes);
  EXPECT_EQ(s.layout.rows.length, s.layout.geometry.data_bytes());
  EXPECT_EQ(s.layout.keys.offset % kPageBytes, 0u);
  EXPECT_GE(s.layout.keys.offset, s.layout.rows.end());
  EXPECT_LT(s.layout.keys.offset, s.layout.rows.end() + kPageBytes);
  EXPECT_EQ(s.layout.checksums.offset % kPageBytes, 0u);
  EXPECT_GE(s.layout.checksums.offset, s.layout.keys.end());
  EXPECT_EQ(s.layout.chunks(), (s.layout.checksums.offset - kPageBytes + kChunkBytes - 1) / kChunkBytes);
}

TEST(Layout, HeaderFieldsLieWhereTheDocumentSays) {
  const Sample s = sample();
  ASSERT_EQ(s.page.size(), 4096u);
  EXPECT_EQ(as_text(ByteSpan(s.page).first(8)), "PIRXDB\r\n");
  EXPECT_EQ(load_le<std::uint32_t>(s.page.data() + 8), 1u);
  EXPECT_EQ(load_le<std::uint32_t>(s.page.data() + 12), 4096u);
  EXPECT_EQ(load_le<std::uint64_t>(s.page.data() + 16), 1000u);
  EXPECT_EQ(load_le<std::uint64_t>(s.page.data() + 24), 2000u);
  EXPECT_EQ(load_le<std::uint64_t>(s.page.data() + 32), 7u);
  EXPECT_EQ(load_le<std::uint64_t>(s.page.data() + 40), 3u);
  EXPECT_EQ(s.page[48], std::byte{0x5A});
  EXPECT_EQ(load_le<std::uint64_t>(s.page.data() + 80), 42u);
  EXPECT_EQ(load_le<std::uint64_t>(s.page.data() + 88), s.layout.rows.offset);
  EXPECT_EQ(load_le<std::uint64_t>(s.page.data() + 128), s.layout.checksums.length);
  EXPECT_EQ(load_le<std::uint64_t>(s.page.data() + 136), s.layout.file_bytes());
  const auto header = decode_header(s.page);
  ASSERT_TRUE(good(header));
  EXPECT_EQ(header->version, s.version);
  EXPECT_EQ(header->layout.geometry, s.layout.geometry);
  EXPECT_EQ(header->layout.keys, s.layout.keys);
}

TEST(Layout, RefusesForeignAndNewer) {
  Sample s = sample();
  s.page[0] ^= std::byte{1};
  expect_error(decode_header(s.page), ErrorCode::kDataLoss, "not a pirx database");
  s = sample();
  s.page[8] = std::byte{2};
  fix_digest(s.page);
  expect_error(decode_header(s.page), ErrorCode::kDataLoss, "format version 2");
  s = sample();
  s.page[200] = std::byte{1};
  expect_error(decode_header(s.page), ErrorCode::kDataLoss, "checksum");
}

TEST(Layout, EveryFieldIsCheckedBehindAGoodDigest) {
  const auto expect_refused = [](std::size_t offset, std::uint64_t value, std::string_view part) {
    Sample s = sample();
    store_le(s.page.data() + offset, value);
    fix_digest(s.page);
    expect_error(decode_header(s.page), ErrorCode::kDataLoss, part);
  };
  const Sample s = sample();
  expect_refused(8, 1 | std::uint64_t{4095} << 32, "wrong size");
  expect_refused(16, 0, "impossible geometry");
  expect_refused(16, ~std::uint64_t{0}, "impossible geometry");
  expect_refused(24, 0, "impossible geometry");
  expect_refused(24, 3000, "section table");
  expect_refused(32, 1001, "impossible geometry");
  expect_refused(40, 7, "unknown flags");
  expect_refused(88, 8192, "section table");
  expect_refused(96, s.layout.rows.length + 64, "section table");
  expect_refused(104, s.layout.rows.offset, "section table");
  expect_refused(112, 1, "key index");
  expect_refused(112, ~std::uint64_t{0}, "key index");
  expect_refused(112, s.layout.keys.length + 4096, "section table");
  expect_refused(120, s.layout.keys.offset, "section table");
  expect_refused(128, s.layout.checksums.length + 32, "section table");
  expect_refused(136, s.layout.file_bytes() + 1, "section table");
  expect_refused(144, 1, "not zero");
  expect_refused(4056, std::uint64_t{1} << 63, "not zero");
}

TEST(Layout, IdentityCoversGeometryKeysAndChecksumsButNotTheEpoch) {
  const Sample s = sample();
  const Bytes checksums(s.layout.checksums.length, std::byte{1});
  Bytes other = checksums;
  other.back() ^= std::byte{1};
  const auto base = content_identity(s.layout, checksums);
  EXPECT_NE(base, content_identity(s.layout, other));
  EXPECT_NE(base, content_identity(*Layout::plan(s.layout.geometry, s.layout.keys.length + 1), checksums));
  auto spec = s.layout.geometry.spec();
  spec.digests = false;
  EXPECT_NE(base, content_identity(*Layout::plan(*Geometry::create(spec), s.layout.keys.length), checksums));
}

}  // namespace
}  // namespace pirx::database
