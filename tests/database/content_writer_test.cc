// SPDX-License-Identifier: Apache-2.0
// What is written in pieces of any size lies in the file as it is, and every chunk's checksum behind it.
#include "src/database/content_writer.h"

#include "database_fixture.h"

namespace pirx::database {
namespace {

TEST(ContentWriter, WritesAndChecksumsEveryChunk) {
  const TemporaryFolder folder;
  auto engine = testing::seeded_engine(23);
  const auto geometry = Geometry::create({.records = 5, .record_bytes = 700'001, .records_per_row = 2});
  ASSERT_TRUE(good(geometry));
  const auto layout = Layout::plan(*geometry, 0);
  ASSERT_TRUE(good(layout));
  const auto file = TemporaryFile::create(folder / "db");
  ASSERT_TRUE(good(file));
  std::uint64_t told = 0;
  const Progress progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_GT(done, told);
    EXPECT_EQ(total, layout->file_bytes());
    told = done;
  };
  ContentWriter writer(*file, *layout, progress);
  Bytes expected(kPageBytes);
  while (expected.size() < layout->rows.end() - 2'000'000) {
    const Bytes piece = random_bytes(engine, engine() % 1'500'000);
    ASSERT_TRUE(good(writer.append(piece)));
    expected.insert(expected.end(), piece.begin(), piece.end());
    ASSERT_EQ(writer.at(), expected.size());
  }
  ASSERT_TRUE(good(writer.put(std::uint32_t{0x04030201})));
  for (const int b : {1, 2, 3, 4}) expected.push_back(static_cast<std::byte>(b));
  const auto checksums = writer.finish();
  ASSERT_TRUE(good(checksums));
  EXPECT_EQ(told, layout->checksums.offset);
  expected.resize(layout->checksums.offset);
  for (std::uint64_t chunk = 0; chunk < layout->chunks(); ++chunk) {
    const ByteSpan content = ByteSpan(expected).subspan(kPageBytes + chunk * kChunkBytes);
    const Digest digest = sha256(content.first(std::min<std::size_t>(content.size(), kChunkBytes)));
    EXPECT_TRUE(std::equal(digest.begin(), digest.end(), checksums->data() + chunk * sizeof digest)) << chunk;
  }
  expected.insert(expected.end(), checksums->begin(), checksums->end());
  EXPECT_TRUE(read_file(file->path()) == expected);
}

}  // namespace
}  // namespace pirx::database
