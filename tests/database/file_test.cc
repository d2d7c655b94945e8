// The file layer's own promises: errors, printable text, spools.
#include "src/database/file.h"

#include <algorithm>
#include <cerrno>

#include "database_fixture.h"

namespace pirx::database {
namespace {

TEST(File, ErrorsNameActionFileCauseAndRemedy) {
  const Error full = system_error("write", "/x/y", ENOSPC);
  EXPECT_EQ(full.code(), ErrorCode::kResourceExhausted);
  EXPECT_EQ(full.message().find("cannot write /x/y: No space left on device; free space"), 0u)
      << full.message();
  EXPECT_EQ(system_error("write", "/x", EFBIG).code(), ErrorCode::kResourceExhausted);
  EXPECT_EQ(system_error("open", "/x", EACCES).code(), ErrorCode::kUnavailable);
}

TEST(File, ForeignTextIsMadeHarmless) {
  EXPECT_EQ(printable("a\x1b[2J\n\x7f\xc3\xa9"), "a?[2J??\xc3\xa9");
  EXPECT_EQ(printable(std::string(1000, 'x')), std::string(300, 'x') + "...");
}

TEST(File, SpoolGivesBackWhatItTook) {
  const TemporaryFolder folder;
  auto engine = testing::seeded_engine(14);
  auto spool = Spool::create(folder / "target");
  ASSERT_TRUE(good(spool));
  EXPECT_TRUE(folder.files().empty());
  Bytes all;
  for (int i = 0; i < 50; ++i) {
    const Bytes piece = random_bytes(engine, engine() % (i % 10 == 0 ? 3'000'000 : 50'000));
    ASSERT_TRUE(good(spool->append(piece)));
    all.insert(all.end(), piece.begin(), piece.end());
    ASSERT_EQ(spool->size(), all.size());
  }
  ASSERT_TRUE(good(spool->flush()));
  SpoolReader reader(*spool, 100, all.size(), 5000);
  std::size_t at = 100;
  while (!reader.done()) {
    Bytes piece(std::min<std::size_t>(engine() % 12000, all.size() - at));
    ASSERT_TRUE(good(reader.read(piece)));
    ASSERT_TRUE(std::equal(piece.begin(), piece.end(), all.begin() + static_cast<std::ptrdiff_t>(at)));
    at += piece.size();
  }
  EXPECT_EQ(at, all.size());
}

TEST(File, ReadAtNamesAFileThatGotShorter) {
  const TemporaryFolder folder;
  write_file(folder / "f", to_bytes("12345"));
  const auto fd = open_for_reading(folder / "f", true);
  ASSERT_TRUE(good(fd));
  Bytes bytes(6);
  expect_error(read_at(fd->get(), 0, bytes, folder / "f"), ErrorCode::kDataLoss, "shorter");
  EXPECT_EQ(*read_full(fd->get(), bytes, folder / "f"), 5u);
}

}  // namespace
}  // namespace pirx::database
