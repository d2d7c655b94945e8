// SPDX-License-Identifier: Apache-2.0
// Files of prepared databases: what was written is read, and everything else is refused.
#include "src/database/prepared_file.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "database_fixture.h"
#include "pirx/base/sha256.h"
#include "support/forks.h"

namespace pirx::database {
namespace {

constexpr std::size_t kHeaderBytes = 4096;

/// A label and the parts that it tells of.
struct Sample {
  PreparedLabel label;
  std::vector<Bytes> parts;

  Sample(std::uint32_t count, std::uint64_t part_bytes, std::mt19937_64& engine) {
    label = {{{}, 9}, "planes of rows", count, part_bytes};
    label.version.identity[3] = std::byte{7};
    for (std::uint32_t i = 0; i < count; ++i) parts.push_back(random_bytes(engine, part_bytes));
  }
  Result<void> write(const std::filesystem::path& file, int threads = 2) const {
    return write_prepared_file(file, label, std::vector<ByteSpan>(parts.begin(), parts.end()), threads);
  }
};

/// Flips bits of one byte of a file, in place.
void flip(const std::filesystem::path& file, std::size_t at, std::byte mask) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(at));
  const auto byte = static_cast<std::byte>(stream.get()) ^ mask;
  stream.seekp(static_cast<std::streamoff>(at));
  stream.put(static_cast<char>(byte));
  ASSERT_TRUE(stream.good());
}

/// Opens and reads all; what was read.
Result<std::vector<Bytes>> read_all(const std::filesystem::path& file, const PreparedLabel& label,
                                    int threads = 2) {
  PIRX_ASSIGN(const PreparedFile opened, PreparedFile::open(file, label));
  std::vector<Bytes> parts(label.parts, Bytes(label.part_bytes));
  PIRX_TRY(opened.read(std::vector<MutableByteSpan>(parts.begin(), parts.end()), threads));
  return parts;
}

TEST(PreparedFile, GivesBackWhatItTook) {
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  auto engine = pirx::testing::seeded_engine(1);
  const std::uint64_t mib = 1 << 20;
  for (const std::uint32_t count : {1u, 7u}) {
    for (const std::uint64_t bytes :
         {std::uint64_t{0}, std::uint64_t{128}, mib - 128, mib, mib + 128, 3 * mib + 256}) {
      for (const int threads : {1, 3}) {
        const Sample sample(count, bytes, engine);
        ASSERT_TRUE(good(sample.write(folder / "f", threads)));
        EXPECT_EQ(folder.files(), std::vector<std::string>{"f"});
        EXPECT_EQ(std::filesystem::file_size(folder / "f"), sample.label.file_bytes());
        const auto back = read_all(folder / "f", sample.label, threads);
        ASSERT_TRUE(good(back));
        EXPECT_TRUE(*back == sample.parts);
      }
    }
  }
}

TEST(PreparedFile, ALinkStaysOne) {
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  auto engine = pirx::testing::seeded_engine(3);
  ASSERT_TRUE(good(Sample(1, 256, engine).write(folder / "f")));
  std::filesystem::create_symlink("f", folder / "link");
  ASSERT_TRUE(good(Sample(1, 256, engine).write(folder / "link")));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
}

TEST(PreparedFile, OnlyItsOwnerMayReadIt) {
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  auto engine = pirx::testing::seeded_engine(2);
  ASSERT_TRUE(good(Sample(1, 256, engine).write(folder / "f")));
  struct stat status {};
  ASSERT_EQ(::stat((folder / "f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(PreparedFile, ATruncatedFileIsRefusedAtEveryLength) {
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  auto engine = pirx::testing::seeded_engine(3);
  const Sample sample(1, 1024, engine);
  ASSERT_TRUE(good(sample.write(folder / "f")));
  for (std::size_t length = sample.label.file_bytes(); length-- > 0;) {
    std::filesystem::resize_file(folder / "f", length);
    const auto read = read_all(folder / "f", sample.label);
    ASSERT_FALSE(read.has_value()) << length;
    ASSERT_EQ(read.error().code(), ErrorCode::kDataLoss) << length << ": " << read.error().message();
    ASSERT_NE(read.error().message().find("truncated"), std::string::npos)
        << length << ": " << read.error().message();
  }
}

TEST(PreparedFile, AFileThatIsTooLongIsRefused) {
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  auto engine = pirx::testing::seeded_engine(4);
  const Sample sample(1, 1024, engine);
  ASSERT_TRUE(good(sample.write(folder / "f")));
  Bytes grown = read_file(folder / "f");
  grown.push_back(std::byte{0});
  write_file(folder / "f", grown);
  expect_error(read_all(folder / "f", sample.label), ErrorCode::kDataLoss, "too long");
}

TEST(PreparedFile, EveryFlippedBitIsFound) {
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  auto engine = pirx::testing::seeded_engine(5);
  const Sample sample(2, 256, engine);
  ASSERT_TRUE(good(sample.write(folder / "f")));
  for (std::size_t bit = 0; bit < 8 * sample.label.file_bytes(); ++bit) {
    // Of the zeros of the header one bit in each byte is enough.
    if (bit / 8 > 256 && bit / 8 < kHeaderBytes - 32 && bit % 8 != bit / 8 % 8) continue;
    const auto mask = std::byte{1} << (bit % 8);
    flip(folder / "f", bit / 8, mask);
    // Two threads wake each other for longer than they read: once a byte is enough.
    const auto read = read_all(folder / "f", sample.label, bit % 8 == 0 ? 2 : 1);
    ASSERT_FALSE(read.has_value()) << "bit " << bit;
    ASSERT_EQ(read.error().code(), ErrorCode::kDataLoss) << "bit " << bit << ": " << read.error().message();
    flip(folder / "f", bit / 8, mask);
  }
  EXPECT_TRUE(good(read_all(folder / "f", sample.label)));
}

TEST(PreparedFile, DamageFarInsideIsFoundByEveryThread) {
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  auto engine = pirx::testing::seeded_engine(6);
  const Sample sample(2, (5 << 20) + 640, engine);
  ASSERT_TRUE(good(sample.write(folder / "f")));
  for (int i = 0; i < 20; ++i) {
    const std::size_t at = kHeaderBytes + engine() % (2 * sample.label.part_bytes);
    flip(folder / "f", at, std::byte{16});
    expect_error(read_all(folder / "f", sample.label, 1 + i % 3), ErrorCode::kDataLoss,
                 "a checksum does not match");
    flip(folder / "f", at, std::byte{16});
  }
}

/// The header's fields, made consistent again after a change: what a future or a hostile writer may have
/// left.
TEST(PreparedFile, WhatAnotherWriterWroteIsRefusedByName) {
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  auto engine = pirx::testing::seeded_engine(7);
  const Sample sample(1, 1024, engine);
  ASSERT_TRUE(good(sample.write(folder / "f")));
  const Bytes whole = read_file(folder / "f");
  struct Case {
    std::size_t offset;
    ErrorCode code;
    const char* message;
  };
  const Case cases[] = {
      {0, ErrorCode::kDataLoss, "no prepared database"},
      {8, ErrorCode::kDataLoss, "format version 3 is not known"},
      {12, ErrorCode::kDataLoss, "impossible"},                 // length of the header
      {16, ErrorCode::kInvalidArgument, "another database"},    // identity
      {48, ErrorCode::kInvalidArgument, "epoch 8"},             // epoch
      {56, ErrorCode::kDataLoss, "impossible"},                 // parts
      {60, ErrorCode::kInvalidArgument, "it holds planes of"},  // length of the text
      {63, ErrorCode::kDataLoss, "impossible"},                 // beyond any text
      {64, ErrorCode::kDataLoss, "impossible"},                 // bytes of a part
      {72, ErrorCode::kDataLoss, "impossible"},                 // length of the file
      {80, ErrorCode::kDataLoss, "checksums are not"},          // digest of the checksums
      {112, ErrorCode::kInvalidArgument, "it holds qlanes of rows; wanted are planes of rows"},
      {126, ErrorCode::kDataLoss, "impossible"},  // after the text
      {4063, ErrorCode::kDataLoss, "impossible"},
  };
  for (const Case& c : cases) {
    Bytes bytes = whole;
    bytes[c.offset] ^= std::byte{1};
    const Digest digest = sha256(ByteSpan(bytes).first(kHeaderBytes - 32));
    std::copy(digest.begin(), digest.end(), bytes.begin() + kHeaderBytes - 32);
    write_file(folder / "g", bytes);
    SCOPED_TRACE(c.offset);
    expect_error(read_all(folder / "g", sample.label), c.code, c.message);
    if (c.offset > 0) {
      expect_error(read_all(folder / "g", sample.label), c.code, "it has to be made anew");
    }
  }
  // Lengths of any size are refused before anything is allocated.
  PreparedLabel huge = sample.label;
  huge.part_bytes = ~std::uint64_t{0};
  expect_error(PreparedFile::open(folder / "f", huge), ErrorCode::kInvalidArgument, "fits no file");
}

TEST(PreparedFile, NamesOfOtherThingsAreNeitherReadNorReplaced) {
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  auto engine = pirx::testing::seeded_engine(8);
  const Sample sample(1, 1024, engine);
  expect_error(read_all(folder / "absent", sample.label), ErrorCode::kUnavailable, "No such file");

  std::filesystem::create_directory(folder / "folder");
  expect_error(read_all(folder / "folder", sample.label), ErrorCode::kUnavailable, "Is a directory");
  expect_error(sample.write(folder / "folder"), ErrorCode::kUnavailable, "Is a directory");

  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  expect_error(read_all(folder / "fifo", sample.label), ErrorCode::kUnavailable, "not a regular file");
  expect_error(sample.write(folder / "fifo"), ErrorCode::kUnavailable, "not a regular file");

  // Somebody's database, for instance.
  write_file(folder / "other", to_bytes("PIRXDB\r\n of ten years"));
  expect_error(read_all(folder / "other", sample.label), ErrorCode::kDataLoss,
               "other is no prepared database");
  expect_error(sample.write(folder / "other"), ErrorCode::kInvalidArgument, "and stays as it is");
  EXPECT_EQ(read_file(folder / "other"), to_bytes("PIRXDB\r\n of ten years"));

  expect_error(sample.write(folder / "no such folder/f"), ErrorCode::kUnavailable, "cannot create");
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"fifo", "folder", "other"}));
  // Nothing, and what is left of one, may be replaced.
  write_file(folder / "empty", {});
  EXPECT_TRUE(good(sample.write(folder / "empty")));
  write_file(folder / "empty", to_bytes("PIRXP"));
  EXPECT_TRUE(good(sample.write(folder / "empty")));
}

TEST(PreparedFile, RefusesWithoutPermission) {
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  auto engine = pirx::testing::seeded_engine(10);
  const Sample sample(1, 1024, engine);
  ASSERT_TRUE(good(sample.write(folder / "f")));
  ASSERT_EQ(::chmod((folder / "f").c_str(), 0), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  const auto denied = [](const auto& result) {
    return is_error(result, ErrorCode::kUnavailable, "Permission denied");
  };
  EXPECT_EQ(testing::status_of_child([&] {
              if (::geteuid() == 0 && ::setuid(65534) != 0) return false;  // nothing is forbidden to root
              return denied(read_all(folder / "f", sample.label, 1)) &&
                     denied(sample.write(folder / "f", 1)) && denied(sample.write(folder / "g", 1));
            }),
            0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
}

// A file size limit stands for a full disk: both end in the same call with an error that says what to do.
TEST(PreparedFile, ADiskTooSmallLeavesTheOldFile) {
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  auto engine = pirx::testing::seeded_engine(11);
  const Sample old(1, 1024, engine), large(1, 3 << 20, engine);
  ASSERT_TRUE(good(old.write(folder / "f")));
  const Bytes before = read_file(folder / "f");
  EXPECT_EQ(testing::status_of_child([&] {
              ::signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{1 << 20, 1 << 20};
              return ::setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
                     is_error(large.write(folder / "f", 1), ErrorCode::kResourceExhausted, "ulimit -f");
            }),
            0);
  EXPECT_EQ(folder.files(), std::vector<std::string>{"f"});
  EXPECT_TRUE(read_file(folder / "f") == before);
}

TEST(PreparedFile, AWriterThatIsKilledLeavesTheOldFileAndNothingForLong) {
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  auto engine = pirx::testing::seeded_engine(12);
  const Sample old(1, 1024, engine), large(1, 32 << 20, engine);
  ASSERT_TRUE(good(old.write(folder / "f")));
  for (int i = 0; i < 10; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) static_cast<void>(large.write(folder / "g", 1));
    }
    ::usleep(static_cast<useconds_t>(2000 + engine() % 30000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto read = read_all(folder / "g", large.label);
    EXPECT_TRUE(read ? *read == large.parts : read.error().code() == ErrorCode::kUnavailable)
        << (read ? "" : read.error().message());
  }
  ASSERT_TRUE(good(old.write(folder / "g")));
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"f", "g"}));
}

// A file that does not fit is remade; one that cannot be used costs a note.
TEST(PreparedFile, IsReadOrMadeAnew) {
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  auto engine = pirx::testing::seeded_engine(13);
  const Sample sample(2, 1024, engine);
  int made = 0;
  std::string noted;
  const auto prepare = [&](const std::filesystem::path& file, const PreparedLabel& label) {
    std::vector<Bytes> parts(label.parts, Bytes(label.part_bytes));
    std::vector<MutableByteSpan> spans(parts.begin(), parts.end());
    const auto fill = [&]() -> Result<void> {
      ++made;
      for (std::size_t i = 0; i < spans.size(); ++i) {
        std::copy(sample.parts[i].begin(), sample.parts[i].end(), spans[i].begin());
      }
      return {};
    };
    EXPECT_TRUE(
        good(read_or_prepare(file, label, spans, 1, fill, [&](const std::string& note) { noted = note; })));
    EXPECT_TRUE(parts == sample.parts);
  };
  prepare(folder / "f", sample.label);
  EXPECT_EQ(made, 1);
  EXPECT_NE(noted.find("kept for the next start"), std::string::npos) << noted;
  prepare(folder / "f", sample.label);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(noted, "the prepared database was read");
  PreparedLabel later = sample.label;
  later.version.epoch = 10;
  prepare(folder / "f", later);
  EXPECT_EQ(made, 2);
  EXPECT_NE(noted.find("another database"), std::string::npos) << noted;
  write_file(folder / "letter", to_bytes("Dear Sir"));
  prepare(folder / "letter", sample.label);
  EXPECT_EQ(made, 3);
  EXPECT_NE(noted.find("not kept"), std::string::npos) << noted;
  const auto refuse = []() -> Result<void> { return fail(ErrorCode::kResourceExhausted, "no"); };
  std::vector<MutableByteSpan> none;
  expect_error(read_or_prepare(folder / "g", {{}, "nothing", 0, 0}, none, 1, refuse, nullptr),
               ErrorCode::kResourceExhausted, "no");
}

}  // namespace
}  // namespace pirx::database
