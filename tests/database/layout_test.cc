// SPDX-License-Identifier: Apache-2.0
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
  EXPECT_EQ(load_le<std::uint32_t>(s.page.data() + 8), 2u);
  EXPECT_EQ(load_le<std::uint32_t>(s.page.data() + 12), 4096u);
  EXPECT_EQ(load_le<std::uint64_t>(s.page.data() + 16), 1000u);
  EXPECT_EQ(load_le<std::uint64_t>(s.page.data() + 24), 2000u);
  EXPECT_EQ(load_le<std::uint64_t>(s.page.data() + 32), 7u);
  EXPECT_EQ(load_le<std::uint64_t>(s.page.data() + 40), 3u);
  EXPECT_EQ(s.page[104], std::byte{0x5A});
  EXPECT_EQ(load_le<std::uint64_t>(s.page.data() + 136), 42u);
  EXPECT_EQ(load_le<std::uint64_t>(s.page.data() + 144), s.layout.rows.offset);
  EXPECT_EQ(load_le<std::uint64_t>(s.page.data() + 184), s.layout.checksums.length);
  EXPECT_EQ(load_le<std::uint64_t>(s.page.data() + 192), s.layout.file_bytes());
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
  s.page[8] = std::byte{1};
  fix_digest(s.page);
  expect_error(decode_header(s.page), ErrorCode::kDataLoss, "format version 1");
  s = sample();
  s.page[300] = std::byte{1};
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
  expect_refused(8, 2 | std::uint64_t{4095} << 32, "wrong size");
  expect_refused(16, 0, "impossible geometry");
  expect_refused(16, ~std::uint64_t{0}, "impossible geometry");
  expect_refused(24, 0, "impossible geometry");
  expect_refused(24, 3000, "section table");
  expect_refused(32, 1001, "impossible geometry");
  expect_refused(40, 19, "unknown flags");
  expect_refused(40, 4, "an earlier pirx");
  expect_refused(40, 11, "segments");
  expect_refused(48, 1, "not keyed");
  expect_refused(144, 8192, "section table");
  expect_refused(152, s.layout.rows.length + 64, "section table");
  expect_refused(160, s.layout.rows.offset, "section table");
  expect_refused(168, 1, "key index");
  expect_refused(168, ~std::uint64_t{0}, "key index");
  expect_refused(168, s.layout.keys.length + 4096, "section table");
  expect_refused(176, s.layout.keys.offset, "section table");
  expect_refused(184, s.layout.checksums.length + 32, "section table");
  expect_refused(192, s.layout.file_bytes() + 1, "section table");
  expect_refused(200, 2, "unknown parts");
  expect_refused(200, 1, "field tag");
  expect_refused(208, 1, "not zero");
  expect_refused(4056, std::uint64_t{1} << 63, "not zero");
}

const BucketInfo kBucket{kTagGf2_8, 4, 1, 12, 200};

/// The header page of a bucket, changed in one place and sealed again.
Result<Header> bucket_header(std::size_t offset, std::uint64_t value) {
  const auto layout = Layout::plan(sample().layout.geometry, 0, kBucket);
  Header header{*layout, {{}, 42}, {}};
  header.version.identity.fill(std::byte{0x11});
  header.content.fill(std::byte{0x22});
  Bytes page = encode_header(header);
  if (offset != 0) store_le(page.data() + offset, value);
  fix_digest(page);
  return decode_header(page);
}

TEST(Layout, ABucketHasFewerRowsAndTwoIdentities) {
  const auto header = bucket_header(0, 0);
  ASSERT_TRUE(good(header));
  EXPECT_EQ(header->layout.bucket, kBucket);
  EXPECT_EQ(header->version.identity[0], std::byte{0x11});
  EXPECT_EQ(header->content[0], std::byte{0x22});
  const Geometry& geometry = header->layout.geometry;
  EXPECT_EQ(geometry, sample().layout.geometry);
  EXPECT_EQ(header->layout.file_rows(), (geometry.rows() + 3) / 4);
  EXPECT_EQ(header->layout.rows.length, (geometry.rows() + 3) / 4 * geometry.row_stride());
}

TEST(Layout, EveryFieldOfABucketIsChecked) {
  const auto expect_refused = [](std::size_t offset, std::uint64_t value, std::string_view part) {
    expect_error(bucket_header(offset, value), ErrorCode::kDataLoss, part);
  };
  expect_refused(200, 0, "section table");
  expect_refused(200, 3, "unknown parts");
  expect_refused(208, 0, "field tag");
  expect_refused(208, 0x1b00080301, "field tag");
  expect_refused(216, 0, "at least one row");
  expect_refused(216, 3, "section table");
  for (const std::uint64_t rows : {std::uint64_t{1024}, std::uint64_t{0xFFFFFFFF}}) {
    expect_refused(216, rows, "at most 1023 rows");
  }
  expect_refused(216, 1, "would be the plain");
  expect_refused(224, 0, "modulus");
  expect_refused(224, 13, "modulus");
  expect_refused(272, 1, "not zero");
  // Another coordinate is another bucket: only the identity of the content tells.
  ASSERT_TRUE(good(bucket_header(232, 199)));
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

  BucketInfo bucket = kBucket;
  const auto of = [&] { return content_identity(*Layout::plan(s.layout.geometry, 0, bucket), checksums); };
  const Digest of_bucket = of();
  EXPECT_NE(of_bucket, content_identity(*Layout::plan(s.layout.geometry, 0), checksums));
  bucket.coordinate = 199;
  EXPECT_NE(of_bucket, of());
  bucket = kBucket;
  bucket.modulus = 16;
  EXPECT_NE(of_bucket, of());
  bucket = kBucket;
  bucket.independence = 2;
  EXPECT_NE(of_bucket, of());
}

}  // namespace
}  // namespace pirx::database
