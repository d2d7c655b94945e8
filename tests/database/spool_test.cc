// SPDX-License-Identifier: Apache-2.0
// Spools give back what they took, and leave nothing in the folder.
#include "src/database/spool.h"

#include <algorithm>

#include "database_fixture.h"

namespace pirx::database {
namespace {

TEST(Spool, GivesBackWhatItTook) {
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
    const std::size_t skipped =
        std::min<std::size_t>(engine() % 3 == 0 ? engine() % 20000 : 0, all.size() - at);
    reader.skip(skipped);
    at += skipped;
    Bytes piece(std::min<std::size_t>(engine() % 12000, all.size() - at));
    ASSERT_TRUE(good(reader.read(piece)));
    ASSERT_TRUE(std::equal(piece.begin(), piece.end(), all.begin() + static_cast<std::ptrdiff_t>(at)));
    at += piece.size();
  }
  EXPECT_EQ(at, all.size());
}

}  // namespace
}  // namespace pirx::database
