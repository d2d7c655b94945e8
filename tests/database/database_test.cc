// SPDX-License-Identifier: Apache-2.0
// Opening and verifying: every bit, every length, every header that a hostile hand could write.
#include "pirx/database/database.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "database_fixture.h"
#include "pirx/database/update.h"
#include "src/database/key_index.h"
#include "src/database/layout.h"

namespace pirx::database {
namespace {

const std::vector<Bytes> kRecords = {to_bytes("one"), to_bytes("two, longer"), to_bytes(""), to_bytes("four"),
                                     to_bytes("5")};
const std::vector<std::string> kKeys = {"k1", "k0", "k3", "k0", "k2"};

/// A file under test, changed in place.
class Victim {
 public:
  explicit Victim(std::filesystem::path path) : path_(std::move(path)), original_(read_file(path_)) {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  }
  ~Victim() { ::close(fd_); }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  const Bytes& original() const { return original_; }
  std::size_t size() const { return original_.size(); }
  void set(std::size_t offset, ByteSpan bytes) {
    ASSERT_EQ(::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset)),
              static_cast<ssize_t>(bytes.size()));
  }
  void resize(std::size_t size) { ASSERT_EQ(::ftruncate(fd_, static_cast<off_t>(size)), 0); }
  void restore() {
    resize(size());
    set(0, original_);
  }
  /// What opening and checking everything says.
  Result<std::shared_ptr<const Database>> open() const { return pirx::testing::open_verified(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Bytes original_;
  int fd_ = -1;
};

void fix_header(Bytes& page) {
  const Digest digest = sha256(ByteSpan(page).first(kPageBytes - 32));
  std::copy(digest.begin(), digest.end(), page.begin() + kPageBytes - 32);
}

/// Makes all checksums of a changed file right again: what is left to find is nonsense, not damage.
void reseal(Bytes& file, const Layout& layout, std::uint64_t epoch) {
  for (std::uint64_t chunk = 0; chunk < layout.chunks(); ++chunk) {
    const auto begin = kPageBytes + chunk * kChunkBytes;
    const Digest digest =
        sha256(ByteSpan(file).subspan(begin, std::min(kChunkBytes, layout.checksums.offset - begin)));
    std::copy(digest.begin(), digest.end(),
              file.begin() + static_cast<std::ptrdiff_t>(layout.checksums.offset + chunk * 32));
  }
  const Digest identity =
      content_identity(layout, ByteSpan(file).subspan(layout.checksums.offset, layout.checksums.length));
  const Bytes header = encode_header(layout, {identity, epoch});
  std::copy(header.begin(), header.end(), file.begin());
}

TEST(Database, EveryBitOfASmallFileIsCovered) {
  const TemporaryFolder folder;
  ASSERT_TRUE(good(build(folder / "db", kRecords, kKeys)));
  Victim victim(folder / "db");
  ASSERT_TRUE(good(victim.open()));
  for (std::size_t bit = 0; bit < victim.size() * 8; ++bit) {
    // All bits of the header, the checksums and their surroundings; one random-looking bit of each other
    // byte.
    const std::size_t byte = bit / 8;
    if (byte >= kPageBytes && byte + 64 < victim.size() && bit % 8 != byte * 7 % 8) continue;
    const std::byte flipped = victim.original()[byte] ^ (std::byte{1} << (bit % 8));
    victim.set(byte, ByteSpan(&flipped, 1));
    const auto opened = victim.open();
    ASSERT_FALSE(opened.has_value()) << "bit " << bit;
    ASSERT_EQ(opened.error().code(), ErrorCode::kDataLoss) << opened.error().message();
    victim.set(byte, ByteSpan(&victim.original()[byte], 1));
  }
  EXPECT_TRUE(good(victim.open()));
}

TEST(Database, ChecksumsThatDoNotGiveTheIdentityAreRefusedAtOpen) {
  const TemporaryFolder folder;
  ASSERT_TRUE(good(build(folder / "db", kRecords, kKeys)));
  Victim victim(folder / "db");
  // The file ends with the checksums: of a small one there is one.
  for (const std::size_t byte : {victim.size() - sizeof(Digest), victim.size() - 1}) {
    const std::byte flipped = victim.original()[byte] ^ std::byte{1};
    victim.set(byte, ByteSpan(&flipped, 1));
    // Without reading the content.
    expect_error(Database::open(victim.path()), ErrorCode::kDataLoss, "do not give its identity");
    victim.restore();
  }
}

TEST(Database, EveryTruncationAndAnyExtensionIsRefusedAtOpen) {
  const TemporaryFolder folder;
  ASSERT_TRUE(good(build(folder / "db", kRecords, kKeys)));
  Victim victim(folder / "db");
  for (std::size_t size = victim.size(); size-- > 0;) {
    victim.resize(size);
    const auto opened = Database::open(victim.path());
    ASSERT_FALSE(opened.has_value()) << size;
    ASSERT_EQ(opened.error().code(), ErrorCode::kDataLoss);
    ASSERT_NE(opened.error().message().find(size == 0 ? "not a pirx database" : "truncated"),
              std::string::npos)
        << opened.error().message();
  }
  victim.restore();
  victim.resize(victim.size() + 1);
  expect_error(Database::open(victim.path()), ErrorCode::kDataLoss, "too long");
}

// PIRX_TEST_FLIPS: how many, if not a thousand.
TEST(Database, ThousandRandomBitFlipsAreAllCaught) {
  const char* flips = std::getenv("PIRX_TEST_FLIPS");
  const TemporaryFolder folder;
  auto engine = testing::seeded_engine(5);
  std::vector<Bytes> records;
  std::vector<std::string> keys;
  for (int i = 0; i < 700; ++i) {
    records.push_back(random_bytes(engine, engine() % 500));
    keys.push_back(std::to_string(engine() % 1000));
  }
  ASSERT_TRUE(good(build(folder / "db", records, keys)));
  Victim victim(folder / "db");
  for (int i = 0; i < (flips == nullptr ? 1000 : std::atoi(flips)); ++i) {
    const std::size_t byte = engine() % victim.size();
    const std::byte flipped = victim.original()[byte] ^ (std::byte{1} << (engine() % 8));
    victim.set(byte, ByteSpan(&flipped, 1));
    ASSERT_FALSE(victim.open().has_value()) << "byte " << byte;
    victim.set(byte, ByteSpan(&victim.original()[byte], 1));
  }
  ASSERT_TRUE(good(victim.open()));
}

TEST(Database, VerifySeesDamageThatCameAfterOpening) {
  const TemporaryFolder folder;
  ASSERT_TRUE(good(build(folder / "db", kRecords, kKeys)));
  Victim victim(folder / "db");
  const auto database = Database::open(victim.path());
  ASSERT_TRUE(good(database));
  std::vector<std::pair<std::uint64_t, std::uint64_t>> calls;
  ASSERT_TRUE(good((*database)->verify(
      [&](std::uint64_t done, std::uint64_t total) { calls.emplace_back(done, total); })));
  ASSERT_FALSE(calls.empty());
  EXPECT_EQ(calls.back(), (std::pair<std::uint64_t, std::uint64_t>{victim.size(), victim.size()}));
  for (const std::size_t byte : {std::size_t{138}, std::size_t{5000}, victim.size() - 1}) {
    const std::byte flipped = victim.original()[byte] ^ std::byte{8};
    victim.set(byte, ByteSpan(&flipped, 1));
    const auto verified = (*database)->verify();
    ASSERT_FALSE(verified.has_value()) << byte;
    EXPECT_NE(verified.error().message().find("db: "), std::string::npos) << verified.error().message();
    victim.restore();
  }
  // Another header, valid in itself.
  Bytes page(victim.original().begin(), victim.original().begin() + kPageBytes);
  page[136] = std::byte{9};
  fix_header(page);
  victim.set(0, page);
  expect_error((*database)->verify(), ErrorCode::kDataLoss, "changed since");
}

TEST(Database, RefusesForeignFiles) {
  const TemporaryFolder folder;
  const auto expect_refused = [&](ByteSpan content, ErrorCode code, std::string_view part) {
    write_file(folder / "f", content);
    expect_error(Database::open(folder / "f"), code, part);
  };
  expect_refused({}, ErrorCode::kDataLoss, "not a pirx database");
  expect_refused(to_bytes("hello"), ErrorCode::kDataLoss, "not a pirx database");
  expect_refused(to_bytes("PIRXDB\r\n"), ErrorCode::kDataLoss, "truncated");
  // A text-mode transfer turns the magic's CR LF into LF.
  expect_refused(to_bytes("PIRXDB\n" + std::string(5000, 'x')), ErrorCode::kDataLoss, "not a pirx database");
  expect_refused(Bytes(100000), ErrorCode::kDataLoss, "not a pirx database");
  expect_refused(to_bytes("SQLite format 3" + std::string(5000, '\0')), ErrorCode::kDataLoss,
                 "not a pirx database");
  expect_error(Database::open(folder / "absent"), ErrorCode::kUnavailable, "absent");
  expect_error(Database::open(folder.path()), ErrorCode::kUnavailable, "directory");
  expect_error(Database::open("/dev/null"), ErrorCode::kUnavailable, "not a regular file");
  // A pipe without a writer must not block.
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_error(Database::open(folder / "pipe"), ErrorCode::kUnavailable, "not a regular file");
}

TEST(Database, RefusesAnotherVersionWithARightChecksum) {
  const TemporaryFolder folder;
  ASSERT_TRUE(good(build(folder / "db", kRecords)));
  Bytes file = read_file(folder / "db");
  file[8] = std::byte{1};
  fix_header(file);
  write_file(folder / "db", file);
  expect_error(Database::open(folder / "db"), ErrorCode::kDataLoss, "version 1");
}

TEST(Database, TenThousandForgedHeadersNeverCrash) {
  const TemporaryFolder folder;
  ASSERT_TRUE(good(build(folder / "db", kRecords, kKeys)));
  Victim victim(folder / "db");
  auto engine = testing::seeded_engine(6);
  constexpr std::uint64_t kTempting[] = {
      0,          1,          2,          31,    4095,         4096,       1 << 20,    1ull << 32,
      1ull << 56, 1ull << 62, 1ull << 63, ~0ull, ~0ull - 4095, ~0ull / 24, ~0ull / 32, (1ull << 56) - 1};
  for (int i = 0; i < 10000; ++i) {
    Bytes page(victim.original().begin(), victim.original().begin() + kPageBytes);
    for (std::uint64_t n = 1 + engine() % 4; n > 0; --n) {
      std::byte* field = page.data() + 8 + 8 * (engine() % 25);
      switch (engine() % 4) {
        case 0:
          store_le(field, kTempting[engine() % std::size(kTempting)]);
          break;
        case 1:
          store_le(field, load_le<std::uint64_t>(field) + engine() % 129 - 64);
          break;
        case 2:
          store_le(field, load_le<std::uint64_t>(field) ^ (1ull << engine() % 64));
          break;
        default:
          store_le(field, engine() >> engine() % 64);
      }
    }
    fix_header(page);
    victim.set(0, page);
    const auto opened = victim.open();
    // Only the epoch may be another one.
    if (opened) {
      Bytes expected = victim.original();
      std::copy_n(page.begin() + 136, 8, expected.begin() + 136);
      EXPECT_TRUE(std::equal(page.begin(), page.begin() + 4064, expected.begin()));
    }
  }
}

// A list of keys that all lie at the same place would be as long as their number times their length.
TEST(Database, KeysThatOverlapAreNotUpdated) {
  const TemporaryFolder folder;
  ASSERT_TRUE(good(build(folder / "db", kRecords, kKeys)));
  Bytes file = read_file(folder / "db");
  const auto header = decode_header(ByteSpan(file).first(kPageBytes));
  ASSERT_TRUE(good(header));
  std::byte* const keys = file.data() + header->layout.keys.offset;
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    std::byte* const entry = keys + kKeyIndexHeaderBytes + i * kKeyEntryBytes;
    store_le(entry, std::uint64_t{0});
    store_le(entry + 8, load_le<std::uint32_t>(keys + 8));
  }
  reseal(file, header->layout, header->version.epoch);
  std::filesystem::remove(folder / "db");
  testing::write_file(folder / "db", file);
  auto update = DatabaseUpdate::begin(folder / "db");
  ASSERT_TRUE(good(update));
  ASSERT_TRUE(good(update->append("new", as_bytes("one"))));
  expect_error(update->commit(), ErrorCode::kDataLoss, "keys overlap");
}

TEST(Database, ResealedNonsenseIsFoundByVerifyAndHarmless) {
  const TemporaryFolder folder;
  ASSERT_TRUE(good(build(folder / "db", kRecords, kKeys)));
  const Bytes original = read_file(folder / "db");
  const auto header = decode_header(ByteSpan(original).first(kPageBytes));
  ASSERT_TRUE(good(header));
  const Layout& layout = header->layout;
  auto engine = testing::seeded_engine(7);
  Victim victim(folder / "db");
  for (int i = 0; i < 3000; ++i) {
    Bytes file = original;
    const bool in_rows = i % 2 == 0;
    const Section& section = in_rows ? layout.rows : layout.keys;
    for (std::uint64_t n = 1 + engine() % 3; n > 0; --n) {
      file[section.offset + engine() % section.length] ^= static_cast<std::byte>(1 + engine() % 255);
    }
    if (file == original) continue;
    reseal(file, layout, header->version.epoch);
    victim.set(0, file);
    const auto database = Database::open(victim.path());
    if (!database) {
      EXPECT_FALSE(in_rows) << database.error().message();
      continue;
    }
    // A key may have become another key in the same order; a record cannot.
    const auto verified = (*database)->verify();
    EXPECT_FALSE(in_rows && verified);
    for (std::uint64_t r = 0; r < kRecords.size(); ++r) {
      const auto record = (*database)->record(r);
      EXPECT_TRUE(!record || std::ranges::equal(*record, kRecords[r]));
    }
    static_cast<void>((*database)->find("k0"));
    static_cast<void>(
        (*database)->for_each_key([](std::string_view, std::uint64_t p) { return p < kRecords.size(); }));
  }
}

TEST(Database, ResealedPaddingIsNamed) {
  const TemporaryFolder folder;
  ASSERT_TRUE(good(build(folder / "db", kRecords, kKeys, {.records_per_row = 2})));
  const Bytes original = read_file(folder / "db");
  const auto header = decode_header(ByteSpan(original).first(kPageBytes));
  ASSERT_TRUE(good(header));
  const Layout& layout = header->layout;
  const auto expect_found = [&](std::uint64_t byte, std::string_view part) {
    Bytes file = original;
    ASSERT_EQ(file[byte], std::byte{0});
    file[byte] = std::byte{1};
    reseal(file, layout, 1);
    write_file(folder / "db", file);
    expect_error(pirx::testing::open_verified(folder / "db"), ErrorCode::kDataLoss, part);
  };
  expect_found(layout.rows.offset + layout.geometry.row_bytes(), "behind the records");
  expect_found(layout.rows.end() - 1, "behind the records");
  // The last row has one record: its second slot is empty.
  expect_found(layout.rows.end() - layout.geometry.row_stride() + layout.geometry.slot_bytes(),
               "behind the records");
  expect_found(layout.rows.end(), "between its sections");
  expect_found(layout.keys.end(), "between its sections");
  expect_found(layout.checksums.offset - 1, "between its sections");
}

TEST(Database, RecordsOutOfRangeAndErrorsWithoutIndices) {
  const TemporaryFolder folder;
  ASSERT_TRUE(good(build(folder / "db", kRecords)));
  const auto database = Database::open(folder / "db");
  ASSERT_TRUE(good(database));
  expect_error((*database)->record(5), ErrorCode::kOutOfRange, "5 records");
  const auto far = (*database)->record(987654321);
  ASSERT_FALSE(far.has_value());
  EXPECT_EQ(far.error().message().find("987654321"), std::string::npos);
  EXPECT_EQ(*(*database)->find("k0"), std::nullopt);
}

TEST(Database, RowsViewShowsTheWholeStride) {
  const TemporaryFolder folder;
  ASSERT_TRUE(good(build(folder / "db", kRecords, {}, {.records_per_row = 2})));
  const auto database = Database::open(folder / "db");
  ASSERT_TRUE(good(database));
  const auto rows = (*database)->rows();
  const Geometry& geometry = (*database)->geometry();
  EXPECT_EQ(rows.rows, 3u);
  EXPECT_EQ(rows.cols, geometry.row_stride());
  EXPECT_EQ(rows.stride, geometry.row_stride());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(rows.data) % 64, 0u);
  const auto record =
      geometry.read_slot(3, ByteSpan(rows.row(1) + geometry.slot_bytes(), geometry.slot_bytes()));
  ASSERT_TRUE(good(record));
  EXPECT_EQ(as_text(*record), "four");
}

TEST(Database, StaysReadableWhenTheFileIsReplacedOrRemoved) {
  const TemporaryFolder folder;
  ASSERT_TRUE(good(build(folder / "db", kRecords)));
  const auto database = Database::open(folder / "db");
  ASSERT_TRUE(good(database));
  ASSERT_TRUE(good(build(folder / "db", {to_bytes("new")}, {}, {.epoch = 2})));
  std::filesystem::remove(folder / "db");
  EXPECT_EQ(as_text(*(*database)->record(0)), "one");
  EXPECT_TRUE(good((*database)->verify()));
}

TEST(Database, NoMemoryIsAnError) {
  const TemporaryFolder folder;
  ASSERT_TRUE(good(build(folder / "db", {to_bytes("a"), to_bytes("b")}, {"x", "y"})));
  const auto database = Database::open(folder / "db");
  ASSERT_TRUE(good(database));
  expect_error((*database)->verify([](std::uint64_t, std::uint64_t) { throw std::length_error("too long"); }),
               ErrorCode::kResourceExhausted, "out of memory");
  expect_error(
      (*database)->for_each_key([](std::string_view, std::uint64_t) -> bool { throw std::bad_alloc(); }),
      ErrorCode::kResourceExhausted, "out of memory");
  // What else a callback throws is its own affair.
  EXPECT_THROW(static_cast<void>((*database)->for_each_key(
                   [](std::string_view, std::uint64_t) -> bool { throw std::runtime_error("mine"); })),
               std::runtime_error);
}

}  // namespace
}  // namespace pirx::database
