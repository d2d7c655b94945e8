// SPDX-License-Identifier: Apache-2.0
// What tests of files share: a folder that is removed, bytes from a seed, whole files, results and their
// errors.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "pirx/base/bytes.h"

namespace pirx::testing {

/// A folder of this test alone.
class TemporaryFolder {
 public:
  enum Where { kDisk, kMemory };
  /// kMemory: where hundreds of syncs cost nothing, if the system has such a place with a GiB to spare.
  explicit TemporaryFolder(Where where = kDisk) {
    std::error_code error;
    const auto memory = std::filesystem::space("/dev/shm", error);
    const bool in_memory = where == kMemory && !error && memory.available >= std::uintmax_t{1} << 30;
    const auto parent =
        in_memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
    std::string name = (parent / "pirx-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  /// Names of the files in it, sorted.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::filesystem::path path_;
};

inline Bytes random_bytes(std::mt19937_64& engine, std::size_t size) {
  Bytes bytes(size);
  for (auto& b : bytes) b = static_cast<std::byte>(engine());
  return bytes;
}

inline Bytes to_bytes(std::string_view text) {
  const auto view = as_bytes(text);
  return {view.begin(), view.end()};
}

inline Bytes read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return to_bytes(text);
}

inline void write_file(const std::filesystem::path& path, ByteSpan bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(out.good());
}

/// Fails the test with the error's text.
template <class T>
bool good(const Result<T>& result) {
  EXPECT_TRUE(result.has_value()) << (result ? std::string() : result.error().to_string());
  return result.has_value();
}

/// Expects an error of that code whose message holds `part`.
template <class T>
void expect_error(const Result<T>& result, ErrorCode code, std::string_view part = {}) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(error_code_name(result.error().code()), error_code_name(code)) << result.error().message();
  EXPECT_NE(result.error().message().find(part), std::string::npos) << result.error().message();
}

}  // namespace pirx::testing
