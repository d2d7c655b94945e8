// Round trips of the builder, its keys, its report, and everything that it refuses.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <map>

#include "database_fixture.h"

namespace pirx::database {
namespace {

std::vector<Bytes> random_records(std::mt19937_64& engine, std::size_t count, std::size_t size, bool fixed) {
  std::vector<Bytes> records;
  for (std::size_t i = 0; i < count; ++i)
    records.push_back(random_bytes(engine, fixed ? size : engine() % (size + 1)));
  return records;
}

void expect_records(const Database& database, const std::vector<Bytes>& records) {
  ASSERT_EQ(database.geometry().records(), records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto record = database.record(i);
    ASSERT_TRUE(good(record));
    ASSERT_TRUE(std::ranges::equal(*record, records[i])) << "record " << i;
  }
}

TEST(Builder, EveryRecordComesBackForEveryCountAndSize) {
  const TemporaryFolder folder;
  auto engine = testing::seeded_engine(1);
  const auto target = folder / "db";
  for (std::size_t count = 1; count <= 100; ++count) {
    const std::size_t sizes[] = {1, 3, 7, 31, 64, 255, 4096};
    for (std::size_t s = 0; s < std::size(sizes); ++s) {
      // Every combination of the options comes up for every size, spread over the counts.
      const std::size_t variant = count + s;
      const bool fixed = variant % 2 == 0;
      BuildOptions options;
      options.fixed_record_bytes = fixed ? sizes[s] : 0;
      options.digests = variant / 2 % 2 == 0;
      options.records_per_row = variant / 4 % 3 == 0 ? 0 : variant / 4 % 3 == 1 ? 1 : 3;
      const auto records = random_records(engine, count, sizes[s], fixed);
      const auto report = build(target, records, {}, options);
      ASSERT_TRUE(good(report));
      const auto database = Database::open(target, {.verify_content = true});
      ASSERT_TRUE(good(database));
      expect_records(**database, records);
      EXPECT_EQ((*database)->version(), report->version);
      EXPECT_EQ((*database)->file_bytes(), std::filesystem::file_size(target));
      EXPECT_EQ(report->file_bytes, std::filesystem::file_size(target));
      EXPECT_EQ((*database)->geometry(), *Geometry::create(report->geometry));
      EXPECT_FALSE((*database)->has_keys());
      std::uint64_t payload = 0, longest = 0;
      for (const auto& record : records) {
        payload += record.size();
        longest = std::max<std::uint64_t>(longest, record.size());
      }
      EXPECT_EQ(report->payload_bytes, payload);
      EXPECT_EQ(report->longest_record, longest);
      EXPECT_EQ(records[report->longest_position].size(), longest);
      EXPECT_EQ(report->payload_bytes + report->padding_bytes, (*database)->geometry().data_bytes());
    }
  }
  EXPECT_EQ(folder.files(), std::vector<std::string>{"db"});
}

}  // namespace
}  // namespace pirx::database
