// SPDX-License-Identifier: Apache-2.0
// The external sort against std::sort, in memory and over many runs, and its temporary files.
#include "src/database/key_sorter.h"

#include <algorithm>

#include "database_fixture.h"

namespace pirx::database {
namespace {

TEST(KeySorter, SortsLikeStdSortWhateverTheMemory) {
  const TemporaryFolder folder;
  auto engine = testing::seeded_engine(4);
  for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{200000}, std::uint64_t{1} << 30}) {
    for (const std::size_t count : {0u, 1u, 2u, 1000u, 50000u}) {
      KeySorter sorter(folder / "target", memory);
      std::vector<std::pair<std::string, std::uint64_t>> keys;
      std::uint64_t bytes = 0;
      for (std::size_t i = 0; i < count; ++i) {
        // Few letters, so that duplicates and prefixes are common; some long, beyond any read buffer.
        std::string key(engine() % 500 == 0 ? engine() % KeySorter::kMaxKeyBytes : engine() % 8, 'a');
        for (char& c : key) c = static_cast<char>(engine() % 3 * 100);
        ASSERT_TRUE(good(sorter.add(key, i)));
        bytes += key.size();
        keys.emplace_back(std::move(key), i);
      }
      EXPECT_EQ(sorter.count(), count);
      EXPECT_EQ(sorter.key_bytes(), bytes);
      std::sort(keys.begin(), keys.end());
      for (int pass = 0; pass < 2; ++pass) {
        std::size_t at = 0;
        const auto visited =
            sorter.for_each([&](std::string_view key, std::uint64_t position) -> Result<void> {
              EXPECT_LT(at, keys.size());
              if (at >= keys.size() || key != keys[at].first || position != keys[at].second) {
                return fail(ErrorCode::kInternal, "key " + std::to_string(at) + " is wrong");
              }
              ++at;
              return {};
            });
        ASSERT_TRUE(good(visited));
        ASSERT_EQ(at, count);
      }
    }
  }
  EXPECT_TRUE(folder.files().empty());
}

TEST(KeySorter, AnErrorOfTheVisitorStopsIt) {
  const TemporaryFolder folder;
  KeySorter sorter(folder / "target", 0);
  for (std::uint64_t i = 0; i < 20000; ++i) ASSERT_TRUE(good(sorter.add(std::to_string(i), i)));
  int calls = 0;
  const auto result = sorter.for_each([&](std::string_view, std::uint64_t) -> Result<void> {
    return ++calls == 5 ? Result<void>(fail(ErrorCode::kUnavailable, "enough")) : Result<void>();
  });
  expect_error(result, ErrorCode::kUnavailable, "enough");
  EXPECT_EQ(calls, 5);
}

TEST(KeySorter, AnUnwritableFolderIsAnError) {
  const TemporaryFolder folder;
  KeySorter sorter(folder / "absent" / "target", 0);
  Result<void> result;
  for (std::uint64_t i = 0; result && i < 20000; ++i) result = sorter.add(std::to_string(i), i);
  expect_error(result, ErrorCode::kUnavailable, "absent");
}

}  // namespace
}  // namespace pirx::database
