// SPDX-License-Identifier: Apache-2.0
// Random records in a database file, for the tests of single-server protocols.
#pragma once

#include "database/database_fixture.h"

namespace pirx::cpir::testing {

/// Records of fixed or varying length in a database file that is removed again.
class TestDatabase {
 public:
  TestDatabase(std::uint64_t records, std::uint64_t record_bytes, std::uint64_t per_row, bool plain,
               std::mt19937_64& engine) {
    for (std::uint64_t i = 0; i < records; ++i) {
      const auto bytes = plain || i == 0 ? record_bytes : engine() % (record_bytes + 1);
      records_.push_back(pirx::testing::random_bytes(engine, bytes));
    }
    EXPECT_TRUE(database::build(
        path(), records_, {},
        {.records_per_row = per_row, .fixed_record_bytes = plain ? record_bytes : 0, .digests = !plain}));
    database_ = database::Database::open(path()).value();
  }
  TestDatabase(const TestDatabase&) = delete;

  std::filesystem::path path() const { return folder_ / "db"; }
  const std::vector<Bytes>& records() const { return records_; }
  const std::shared_ptr<const database::Database>& database() const { return database_; }

 private:
  pirx::testing::TemporaryFolder folder_;
  std::vector<Bytes> records_;
  std::shared_ptr<const database::Database> database_;
};

}  // namespace pirx::cpir::testing
