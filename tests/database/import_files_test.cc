// SPDX-License-Identifier: Apache-2.0
// Folders, lines and fixed-size records.
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "importer_fixture.h"
#include "memory_limit.h"

namespace pirx::database {
namespace {

namespace fs = std::filesystem;

TEST(ImportFolder, RegularFilesInOrderOfPath) {
  const TemporaryFolder folder, out;
  fs::create_directories(folder / "b/inner");
  fs::create_directories(folder / "empty");
  write_file(folder / "b/inner/x", to_bytes("1"));
  write_file(folder / "b-file", to_bytes("2"));
  write_file(folder / "a", {});
  write_file(folder / "z", to_bytes(std::string("3\0\n", 3)));
  fs::create_symlink(folder / "a", folder / "link");
  fs::create_directory_symlink("/", folder / "root");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const fs::path& path : {folder.path(), folder / "b/..", folder / ""}) {
    LeftOut left_out;
    const auto rows = imported(out, [&](DatabaseBuilder& builder) -> Result<void> {
      PIRX_ASSIGN(left_out, import_folder(path, builder));
      return {};
    });
    ASSERT_TRUE(good(rows));
    EXPECT_EQ(left_out, (LeftOut{.hidden = 0, .links = 2, .others = 1}));
    EXPECT_EQ(*rows, (Rows{{"a", ""}, {"b-file", "2"}, {"b/inner/x", "1"}, {"z", std::string("3\0\n", 3)}}));
  }
}

TEST(ImportFolder, HiddenFilesOnlyWhenAskedFor) {
  const TemporaryFolder folder, out;
  fs::create_directories(folder / ".git/refs");
  fs::create_directories(folder / "b");
  write_file(folder / ".git/HEAD", to_bytes("ref: refs/heads/main"));
  write_file(folder / ".git/refs/x", to_bytes("0"));
  write_file(folder / "b/.env", to_bytes("SECRET=1"));
  write_file(folder / "b/x..y", to_bytes("1"));
  for (const HiddenFiles hidden : {HiddenFiles::kLeaveOut, HiddenFiles::kTake}) {
    LeftOut left_out;
    const auto rows = imported(out, [&](DatabaseBuilder& builder) -> Result<void> {
      PIRX_ASSIGN(left_out, import_folder(folder.path(), builder, hidden));
      return {};
    });
    ASSERT_TRUE(good(rows));
    const bool taken = hidden == HiddenFiles::kTake;
    EXPECT_EQ(left_out, (LeftOut{.hidden = taken ? 0u : 2u, .links = 0, .others = 0}));
    EXPECT_EQ(rows->size(), taken ? 4u : 1u);
    EXPECT_EQ((*rows)[0].first, taken ? ".git/HEAD" : "b/x..y");
  }
}

TEST(ImportFolder, ALinkThatTakesTheirPlaceIsNotFollowed) {
  const TemporaryFolder secret, out;
  write_file(secret / "file", to_bytes("secret"));
  for (const std::string_view name : {"file", "inner/file"}) {
    const TemporaryFolder folder;
    fs::create_directories((folder / name).parent_path());
    write_file(folder / "a", Bytes(std::size_t{3} << 20));
    write_file(folder / name, to_bytes("mine"));
    bool swapped = false;
    // After the first record the folder has been listed.
    const auto swap = [&](std::uint64_t, std::uint64_t) {
      if (std::exchange(swapped, true)) return;
      const bool whole_folder = name != "file";
      fs::rename(folder / (whole_folder ? "inner" : "file"), out / name.substr(0, 5));
      if (whole_folder) {
        fs::create_directory_symlink(secret.path(), folder / "inner");
      } else {
        fs::create_symlink(secret / "file", folder / "file");
      }
    };
    const auto rows =
        imported(out, [&](DatabaseBuilder& builder) { return import_folder(folder.path(), builder); },
                 {.progress = swap});
    EXPECT_TRUE(swapped);
    expect_error(rows, ErrorCode::kUnavailable, "cannot open " + (folder / name).native());
  }
}

TEST(ImportFolder, AFileThatIsWrittenToMeanwhileIsRefused) {
  const TemporaryFolder folder, out;
  write_file(folder / "file", Bytes(std::size_t{16} << 20));
  std::atomic<bool> done = false;
  std::thread writer([&] {  // which sets back the time of its last change, as `cp -p` may
    std::fstream file(folder / "file", std::ios::in | std::ios::out | std::ios::binary);
    const auto time = fs::last_write_time(folder / "file");
    while (!done) {
      file.seekp(0).put('x').flush();
      fs::last_write_time(folder / "file", time);
    }
  });
  // At the first try, unless the writer had no turn.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  Result<Rows> rows;
  do {
    rows = imported(out, [&](DatabaseBuilder& builder) { return import_folder(folder.path(), builder); });
  } while (rows && std::chrono::steady_clock::now() < end);
  done = true;
  writer.join();
  expect_error(rows, ErrorCode::kDataLoss, "file: the file changed while it was read");
}

TEST(ImportFolder, RefusesWhatCannotBe) {
  const TemporaryFolder folder, out;
  const auto import = [&](const fs::path& path, const TemporaryFolder& target,
                          const BuildOptions& options = {}) {
    return imported(
        target, [&](DatabaseBuilder& builder) { return import_folder(path, builder); }, options);
  };
  expect_error(import(folder.path(), out), ErrorCode::kInvalidArgument, "no records");
  expect_error(import(folder / "absent", out), ErrorCode::kUnavailable, "absent");
  write_file(folder / "file", to_bytes("12345"));
  expect_error(import(folder / "file", out), ErrorCode::kUnavailable, "directory");
  expect_error(import(folder.path(), folder), ErrorCode::kInvalidArgument, "would lie in the folder");
  expect_error(import(folder.path().parent_path(), out), ErrorCode::kInvalidArgument,
               "would lie in the folder");
  BuildOptions small;
  small.max_record_bytes = 4;
  expect_error(import(folder.path(), out, small), ErrorCode::kResourceExhausted,
               "file: the file has 5 bytes");
  expect_error(import(folder.path(), out, {.fixed_record_bytes = 4}), ErrorCode::kInvalidArgument,
               "file: a record of 5");
}

Result<Rows> lines(std::string_view text) {
  return imported_text(
      text, [](const fs::path& file, DatabaseBuilder& builder) { return import_lines(file, builder); });
}

TEST(ImportLines, EveryKindOfLineEnd) {
  const auto expect_lines = [](std::string_view text, const std::vector<std::string>& expected) {
    const auto rows = lines(text);
    ASSERT_TRUE(good(rows));
    ASSERT_EQ(rows->size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ((*rows)[i].second, expected[i]);
  };
  expect_lines("a\nb\n", {"a", "b"});
  expect_lines("a\r\nb", {"a", "b"});
  expect_lines("\n\n", {"", ""});
  expect_lines("a\rb\r", {"a\rb\r"});
  expect_lines("\r\n", {""});
  expect_lines("x\r\r\n", {"x\r"});
  expect_lines(
      "\xef\xbb\xbf"
      "a",
      {"\xef\xbb\xbf"
       "a"});
  // Across the reader's buffers.
  const std::string big(700001, 'x');
  expect_lines(big + "\n" + big + "y\r\n" + big, {big, big + "y", big});
  for (std::size_t pad = (1 << 18) - 3; pad < (1 << 18) + 3; ++pad) {
    expect_lines(std::string(pad, 'x') + "\r\nb\n", {std::string(pad, 'x'), "b"});
  }
  expect_error(lines(""), ErrorCode::kInvalidArgument, "no records");
}

TEST(ImportLines, LimitsNameTheLine) {
  const auto result = imported_text(
      "a\nb\ncc\n",
      [](const fs::path& file, DatabaseBuilder& builder) { return import_lines(file, builder); },
      {.fixed_record_bytes = 1});
  expect_error(result, ErrorCode::kInvalidArgument, "line 3: a record of 2 bytes");
}

TEST(ImportLines, BadRowsAreCountedAndLeftOut) {
  BadRows bad;
  const auto rows = imported_text(
      "aa\nb\ncc\n",
      [&](const fs::path& file, DatabaseBuilder& builder) { return import_lines(file, builder, &bad); },
      {.fixed_record_bytes = 2});
  ASSERT_TRUE(good(rows));
  EXPECT_EQ(*rows, (Rows{{"", "aa"}, {"", "cc"}}));
  EXPECT_EQ(bad.count, 1u);
}

TEST(ImportLines, ReadsPipes) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::thread writer([&] { write_file(folder / "pipe", to_bytes("one\ntwo\n")); });
  const auto rows =
      imported(folder, [&](DatabaseBuilder& builder) { return import_lines(folder / "pipe", builder); });
  writer.join();
  ASSERT_TRUE(good(rows));
  EXPECT_EQ(*rows, (Rows{{"", "one"}, {"", "two"}}));
}

Result<Rows> fixed(std::string_view text, std::uint64_t record_bytes) {
  return imported_text(text, [&](const fs::path& file, DatabaseBuilder& builder) {
    return import_fixed(file, record_bytes, builder);
  });
}

TEST(ImportFixed, CutsExactly) {
  const auto rows = fixed("abcdefgh1234", 4);
  ASSERT_TRUE(good(rows));
  EXPECT_EQ(*rows, (Rows{{"", "abcd"}, {"", "efgh"}, {"", "1234"}}));
  auto engine = testing::seeded_engine(11);
  const std::string big = random_text(engine, "0123456789abcdef", 3 * 999'999);
  for (const std::size_t size : {std::size_t{999'999}, 3 * std::size_t{999'999}, std::size_t{1001}}) {
    const auto many = fixed(std::string_view(big).substr(0, big.size() / size * size), size);
    ASSERT_TRUE(good(many));
    ASSERT_EQ(many->size(), big.size() / size);
    for (std::size_t i = 0; i < many->size(); ++i) ASSERT_EQ((*many)[i].second, big.substr(i * size, size));
  }
}

TEST(ImportFixed, RefusesLeftoversAndImpossibleSizes) {
  expect_error(fixed("abcde", 4), ErrorCode::kDataLoss,
               "input: 5 bytes are no multiple of the record size, 4");
  expect_error(fixed("abc", 4), ErrorCode::kDataLoss, "no multiple");
  expect_error(fixed("abc", 0), ErrorCode::kInvalidArgument, "at least one byte");
  expect_error(fixed("abc", ~std::uint64_t{0}), ErrorCode::kResourceExhausted, "limit");
  expect_error(fixed("", 4), ErrorCode::kInvalidArgument, "no records");
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::thread writer([&] { write_file(folder / "pipe", to_bytes("abcde")); });
  expect_error(
      imported(folder, [&](DatabaseBuilder& builder) { return import_fixed(folder / "pipe", 2, builder); }),
      ErrorCode::kDataLoss, "no multiple");
  writer.join();
}

/// Truncated, or written over with as many bytes, as soon as part of it was read.
TEST(Importers, AFileThatChangesWhileItIsReadIsRefused) {
  const TemporaryFolder folder;
  const auto file = folder / "input";
  std::string rows;
  while (rows.size() < (std::size_t{5} << 20))
    rows += R"({"k":)" + std::to_string(1'000'000 + rows.size()) + "}\n";
  const std::size_t row = rows.find('\n') + 1, half = rows.size() / row / 2 * row;
  const auto change = [&](bool cut) {
    if (cut) {
      fs::resize_file(file, half);
    } else {
      std::ofstream(file, std::ios::in | std::ios::binary) << rows;
    }
  };
  const std::function<Result<void>(DatabaseBuilder&)> imports[] = {
      [&](DatabaseBuilder& builder) { return import_lines(file, builder); },
      [&](DatabaseBuilder& builder) { return import_fixed(file, row, builder); },
      [&](DatabaseBuilder& builder) { return import_delimited(file, '\t', false, {}, builder); },
      [&](DatabaseBuilder& builder) { return import_json_lines(file, {}, builder); },
  };
  for (const bool cut : {true, false}) {
    for (const auto& import : imports) {
      write_file(file, as_bytes(rows));
      bool changed = false;
      const auto progress = [&](std::uint64_t, std::uint64_t) {
        if (!std::exchange(changed, true)) change(cut);
      };
      expect_error(imported(folder, import, {.progress = progress}), ErrorCode::kDataLoss,
                   "input: the file changed while it was read");
      EXPECT_TRUE(changed);
    }
    const auto visited = [&](const auto& read) {
      write_file(file, as_bytes(rows));
      bool changed = false;
      expect_error(read([&](const auto&) {
                     if (!std::exchange(changed, true)) change(cut);
                     return true;
                   }),
                   ErrorCode::kDataLoss, "input: the file changed while it was read");
    };
    visited([&](const auto& visit) { return read_delimited(file, '\t', visit); });
    visited([&](const auto& visit) { return read_json_lines(file, visit); });
  }
}

TEST(Importers, NoMemoryIsAnError) {
  if (!kCanLimitMemory) GTEST_SKIP() << "sanitizers allow no memory limit";
  // One line of 300 MiB of zeros, which takes no disk.
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "input");
  const auto file = folder / "input/big";
  write_file(file, {});
  const std::uint64_t size = std::uint64_t{300} << 20;
  std::filesystem::resize_file(file, size);
  expect_true_within(std::uint64_t{250} << 20, [&] {
    auto builder = DatabaseBuilder::create(folder / "db", {});
    const auto no_memory = [](const auto& result) {
      return is_error(result, ErrorCode::kResourceExhausted, "out of memory");
    };
    return builder.has_value() && no_memory(import_folder(folder / "input", *builder)) &&
           no_memory(import_lines(file, *builder)) && no_memory(import_fixed(file, size, *builder)) &&
           no_memory(import_delimited(file, ',', true, {}, *builder)) &&
           no_memory(import_json_lines(file, {}, *builder));
  });
}

}  // namespace
}  // namespace pirx::database
