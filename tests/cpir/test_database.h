// SPDX-License-Identifier: Apache-2.0
// Random records in a database file, for the tests of single-server protocols.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "pirx/database/builder.h"

namespace pirx::cpir::testing {

/// Records of fixed or varying length in a database file that is removed again.
class TestDatabase {
 public:
  TestDatabase(std::uint64_t records, std::uint64_t record_bytes, std::uint64_t per_row, bool plain,
               std::mt19937_64& engine) {
    static int files = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("pirx-cpir-" + std::to_string(getpid()) + "-" + std::to_string(files++));
    database::BuildOptions options;
    options.records_per_row = per_row;
    options.fixed_record_bytes = plain ? record_bytes : 0;
    options.digests = !plain;
    auto builder = database::DatabaseBuilder::create(path_, options).value();
    for (std::uint64_t i = 0; i < records; ++i) {
      Bytes record(plain || i == 0 ? record_bytes : engine() % (record_bytes + 1));
      for (auto& byte : record) byte = static_cast<std::byte>(engine());
      EXPECT_TRUE(builder.add(record));
      records_.push_back(std::move(record));
    }
    EXPECT_TRUE(builder.finish());
    database_ = database::Database::open(path_).value();
  }
  ~TestDatabase() { std::filesystem::remove(path_); }
  TestDatabase(const TestDatabase&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::vector<Bytes>& records() const { return records_; }
  const std::shared_ptr<const database::Database>& database() const { return database_; }

 private:
  std::filesystem::path path_;
  std::vector<Bytes> records_;
  std::shared_ptr<const database::Database> database_;
};

}  // namespace pirx::cpir::testing
