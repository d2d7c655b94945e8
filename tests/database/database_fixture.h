// SPDX-License-Identifier: Apache-2.0
// What the database tests share: a database built from records, and the files of tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "pirx/database/builder.h"
#include "support/files.h"
#include "support/open_verified.h"
#include "support/seed.h"

namespace pirx::database {

using testing::expect_error;
using testing::good;
using testing::random_bytes;
using testing::read_file;
using testing::TemporaryFolder;
using testing::to_bytes;
using testing::write_file;

/// Whether it is an error of that code whose message holds `part`: for children, whose expectations nobody
/// counts. Says what it got otherwise.
template <class T>
bool is_error(const Result<T>& result, ErrorCode code, std::string_view part) {
  if (!result && result.error().code() == code && result.error().message().find(part) != std::string::npos) {
    return true;
  }
  std::fprintf(stderr, "got: %s\n", result ? "no error" : result.error().to_string().c_str());
  return false;
}

/// Builds `records` (with `keys` when there are any) into `target`.
inline Result<BuildReport> build(const std::filesystem::path& target, const std::vector<Bytes>& records,
                                 const std::vector<std::string>& keys = {},
                                 const BuildOptions& options = {}) {
  PIRX_ASSIGN(auto builder, DatabaseBuilder::create(target, options));
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (keys.empty()) {
      PIRX_TRY(builder.add(records[i]));
    } else {
      PIRX_TRY(builder.add(keys[i], records[i]));
    }
  }
  return builder.finish();
}

/// Writes the bytes of `from` into the file `to`, of the same size, and sets the time of the change back: `cp
/// -p` of a file as old.
inline void overwrite(const std::filesystem::path& to, const std::filesystem::path& from) {
  const auto time = std::filesystem::last_write_time(to);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // file systems count time in ticks
  const Bytes bytes = read_file(from);
  ASSERT_EQ(std::filesystem::file_size(to), bytes.size());
  std::fstream(to, std::ios::in | std::ios::out | std::ios::binary) << as_text(bytes);
  std::filesystem::last_write_time(to, time);
}

}  // namespace pirx::database
