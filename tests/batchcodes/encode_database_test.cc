// SPDX-License-Identifier: Apache-2.0
// Bucket files: any u + tau of them give back every row of the plain database, after encoding and after any
// sequence of updates; without noise an updated bucket is, byte for byte, an encoded one.
#include "pirx/batchcodes/encode_database.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "database/database_fixture.h"
#include "pirx/batchcodes/fields.h"
#include "pirx/batchcodes/lagrange.h"
#include "src/database/mapping.h"

namespace pirx::batchcodes {
namespace {

using database::Database;
using pirx::testing::expect_error;
using pirx::testing::good;
using pirx::testing::random_bytes;
using pirx::testing::read_file;
using pirx::testing::seeded_engine;
using pirx::testing::TemporaryFolder;
using pirx::testing::to_bytes;

void build(const std::filesystem::path& path, std::size_t records, std::mt19937_64& engine,
           std::uint64_t per_row = 3) {
  std::vector<Bytes> all{random_bytes(engine, 50)};
  while (all.size() < records) all.push_back(random_bytes(engine, engine() % 50));
  ASSERT_TRUE(good(database::build(path, all, {}, {.records_per_row = per_row})));
}

Encoding encoding(const FieldTag& field, unsigned u, unsigned tau, std::uint64_t modulus, unsigned servers) {
  return Encoding::create(
             {field, 1, 1, u, tau, modulus, Encoding::suggested_coordinates(field, servers).value()})
      .value();
}

std::vector<std::filesystem::path> paths(const std::filesystem::path& prefix, unsigned servers) {
  std::vector<std::filesystem::path> result;
  for (unsigned j = 1; j <= servers; ++j) result.emplace_back(prefix.native() + "." + std::to_string(j));
  return result;
}

/// Every row of `plain`, interpolated from u + tau random ones of the buckets.
void expect_decodes(const Database& plain, const std::vector<std::filesystem::path>& files,
                    std::mt19937_64& engine) {
  std::vector<std::shared_ptr<const Database>> buckets;
  for (const auto& file : files) {
    auto bucket = pirx::testing::open_verified(file);
    ASSERT_TRUE(good(bucket));
    ASSERT_NE((*bucket)->bucket(), nullptr);
    EXPECT_EQ((*bucket)->geometry(), plain.geometry());
    EXPECT_EQ((*bucket)->version().epoch, plain.version().epoch);
    buckets.push_back(std::move(*bucket));
  }
  std::shuffle(buckets.begin(), buckets.end(), engine);
  const auto info = *buckets[0]->bucket();
  for (const auto& bucket : buckets) EXPECT_EQ(bucket->version(), buckets[0]->version());
  EXPECT_EQ(buckets[0]->version() == plain.version(), info.independence == 0);
  const std::size_t k = info.arity + info.independence;
  const auto checked = with_field(info.field, [&](const auto& f) -> Result<void> {
    using F = std::remove_cvref_t<decltype(f)>;
    std::vector<typename F::Elem> x;
    for (std::size_t j = 0; j < k; ++j) x.push_back(f.from_label(buckets[j]->bucket()->coordinate));
    const std::size_t word = f.word_bytes();
    const auto words = static_cast<std::size_t>(plain.geometry().words_per_row(word));
    for (std::uint64_t block = 0; block < plain.rows().rows; ++block) {
      const typename F::Elem at[] = {f.from_label(block % info.modulus)};
      PIRX_ASSIGN(const auto W, lagrange_matrix<F>(f, x, at));
      for (std::size_t c = 0; c < words; ++c) {
        auto sum = f.load_word(plain.rows().row(block) + c * word);
        for (std::size_t j = 0; j < k; ++j) {
          const auto share = f.load_word(buckets[j]->rows().row(block / info.arity) + c * word);
          sum = f.sum_sub(sum, f.sum_scale(W.at(0, j), share));
        }
        if (!f.sum_equal(sum, f.load_word(Bytes(word).data()))) {
          return fail(ErrorCode::kInternal, "row " + std::to_string(block) + " does not come back");
        }
      }
    }
    return {};
  });
  EXPECT_TRUE(good(checked));
}

struct Case {
  FieldTag field;
  unsigned arity, independence;
  std::uint64_t modulus;
};
const Case kCases[] = {{kTagGf2_8, 2, 0, 0},  {kTagGf2_8, 4, 0, 24}, {kTagGf2_8, 1, 2, 1},
                       {kTagGf2_8, 3, 2, 30}, {kTagGf2_16, 2, 1, 2}, {kTagW160, 2, 1, 40},
                       {kTagW48, 3, 0, 3},    {kTagW160, 2, 2, 2}};

TEST(EncodeDatabase, AnyEnoughBucketsGiveEveryRowBack) {
  auto engine = seeded_engine(71);
  for (const Case& c : kCases) {
    const TemporaryFolder folder(TemporaryFolder::kMemory);
    ASSERT_NO_FATAL_FAILURE(build(folder / "db", 40 + engine() % 20, engine));
    const auto plain = Database::open(folder / "db");
    const unsigned servers = c.arity + c.independence + 2;
    const auto code = encoding(c.field, c.arity, c.independence, c.modulus, servers);
    const auto report = encode_database(**plain, code, folder / "b");
    ASSERT_TRUE(good(report));
    EXPECT_EQ(report->files, paths(folder / "b", servers));
    EXPECT_EQ(report->rows, ((*plain)->rows().rows + c.arity - 1) / c.arity);
    expect_decodes(**plain, report->files, engine);
    if (c.independence > 0) {
      // Another set of shares, another name.
      const auto again = encode_database(**plain, code, folder / "c");
      ASSERT_TRUE(good(again));
      EXPECT_NE(again->version.identity, report->version.identity);
      EXPECT_NE(read_file(folder / "c.1"), read_file(folder / "b.1"));
      continue;
    }
    // A server alone makes the same bucket, on one thread.
    const auto own = encode_database(**plain, code, folder / "own", {.only = {1}, .threads = 1});
    ASSERT_TRUE(good(own));
    EXPECT_EQ(read_file(folder / "own.2"), read_file(folder / "b.2"));
  }
}

/// The same record in every row, and more rows than are encoded at once: no two rows of a bucket are alike.
TEST(EncodeDatabase, NoiseIsNeverUsedTwice) {
  auto engine = seeded_engine(78);
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  constexpr std::size_t kRows = 800, kBytes = 16'384;
  ASSERT_TRUE(good(database::build(folder / "db", std::vector<Bytes>(kRows, random_bytes(engine, kBytes)), {},
                                   {.records_per_row = 1, .fixed_record_bytes = kBytes, .digests = false})));
  const auto plain = Database::open(folder / "db");
  ASSERT_TRUE(good(encode_database(**plain, encoding(kTagGf2_8, 1, 1, 1, 5), folder / "b")));
  for (const auto& file : paths(folder / "b", 5)) {
    const auto bucket = Database::open(file);
    ASSERT_TRUE(good(bucket));
    std::set<Bytes> seen;
    for (std::size_t row = 0; row < kRows; ++row) {
      const std::byte* bytes = (*bucket)->rows().row(row);
      seen.emplace(bytes, bytes + 32);
    }
    EXPECT_EQ(seen.size(), kRows);
  }
}

TEST(EncodeDatabase, RefusesWhatMakesNoSense) {
  auto engine = seeded_engine(72);
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  ASSERT_NO_FATAL_FAILURE(build(folder / "db", 20, engine));
  const auto plain = Database::open(folder / "db");
  const auto code = encoding(kTagGf2_8, 2, 0, 2, 4), noisy = encoding(kTagGf2_8, 2, 1, 2, 4);
  expect_error(encode_database(**plain, encoding(kTagGf2_8, 1, 0, 1, 3), folder / "b"),
               ErrorCode::kInvalidArgument, "would be the database itself");
  expect_error(encode_database(**plain, noisy, folder / "b", {.only = {1}}), ErrorCode::kInvalidArgument,
               "share noise");
  expect_error(encode_database(**plain, code, folder / "b", {.only = {4}}), ErrorCode::kInvalidArgument,
               "no position 4");
  // Shares over these are uniform only among those that fit their words.
  for (const char* field : {"prime8", "prime16", "w48", "prime120"}) {
    expect_error(encode_database(**plain, encoding(*field_by_name(field), 1, 1, 1, 4), folder / "b"),
                 ErrorCode::kInvalidArgument, std::string("the words of ") + field + " are too short");
  }
  for (const Bytes& precious : {to_bytes("no database"), read_file(folder / "db")}) {
    pirx::testing::write_file(folder / "b.2", precious);
    expect_error(encode_database(**plain, code, folder / "b"), ErrorCode::kInvalidArgument, "is no bucket");
    EXPECT_EQ(folder.files(), (std::vector<std::string>{"b.2", "db"}));
    EXPECT_EQ(read_file(folder / "b.2"), precious);
  }
  std::filesystem::remove(folder / "b.2");
  pirx::testing::write_file(folder / "b.5", to_bytes("of an encoding for five"));
  expect_error(encode_database(**plain, code, folder / "b"), ErrorCode::kInvalidArgument,
               "only 4 buckets are to be made");
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"b.5", "db"}));
  std::filesystem::remove(folder / "b.5");
  ASSERT_TRUE(good(encode_database(**plain, code, folder / "b")));
  const auto bucket = Database::open(folder / "b.1");
  ASSERT_TRUE(good(bucket));
  expect_error(encode_database(**bucket, code, folder / "c"), ErrorCode::kInvalidArgument, "bucket already");
  expect_error((*bucket)->record(0), ErrorCode::kInvalidArgument, "shares, not records");
  expect_error((*bucket)->find("k"), ErrorCode::kInvalidArgument, "no keys");
  expect_error(database::DatabaseUpdate::begin(folder / "b.1"), ErrorCode::kInvalidArgument, "--buckets");
  {
    const auto writer = database::DatabaseBuilder::create(folder / "b.2", {});
    ASSERT_TRUE(good(writer));
    for (const auto code_of : {encode_database(**plain, code, folder / "b").error().code(),
                               update_buckets(**plain, std::vector{folder / "b.2"}).error().code()}) {
      EXPECT_EQ(code_of, ErrorCode::kUnavailable);
    }
  }
  // Damage is found in a bucket too.
  Bytes file = read_file(folder / "b.1");
  file[file.size() / 2] ^= std::byte{1};
  pirx::testing::write_file(folder / "b.1", file);
  EXPECT_FALSE(pirx::testing::open_verified(folder / "b.1"));
}

TEST(EncodeDatabase, ASumThatIsNoWordIsNamedWithAWayOut) {
  const fp::W48 f;
  const auto code = encoding(kTagW48, 2, 0, 2, 3);
  // Blocks 0 and 1 at coordinates 0 and 1: at x their polynomial is a + (b - a) x. Wanted: 2^48 there.
  const auto x = f.from_label(code.spec().coordinates[1]);
  const auto wanted = f.from_label(std::uint64_t{1} << 48);
  Bytes first(6), second(6);
  for (std::uint64_t a = 0;; ++a) {
    ASSERT_LT(a, 1000u);
    const auto start = f.from_label(a);
    const auto b = f.add(start, f.mul(f.sub(wanted, start), f.inv(x)));
    if (f.store_word(start, first.data()) && f.store_word(b, second.data())) break;
  }
  const TemporaryFolder folder;
  ASSERT_TRUE(good(database::build(folder / "db", {first, second}, {},
                                   {.records_per_row = 1, .fixed_record_bytes = 6, .digests = false})));
  expect_error(
      encode_database(**Database::open(folder / "db"), code, folder / "b"), ErrorCode::kInvalidArgument,
      "coordinate " + std::to_string(code.spec().coordinates[1]) + " has a value that no word of w48");
  EXPECT_EQ(folder.files(), std::vector<std::string>{"db"});
}

/// Some random changes; the first record stays.
Result<database::UpdateReport> change(const std::filesystem::path& path, std::mt19937_64& engine) {
  PIRX_ASSIGN(auto update, database::DatabaseUpdate::begin(path));
  for (std::uint64_t n = 1 + engine() % 4; n > 0; --n) {
    switch (engine() % 4) {
      case 0:
        PIRX_TRY(update.truncate(update.records() - std::min(update.records() - 3, engine() % 12)));
        break;
      case 1:
        for (std::uint64_t more = engine() % 12; more > 0; --more) {
          PIRX_TRY(update.append(random_bytes(engine, engine() % 50)));
        }
        break;
      default:
        PIRX_TRY(update.set(engine() % update.records(), random_bytes(engine, engine() % 50)));
    }
  }
  return update.commit();
}

TEST(UpdateBuckets, RandomSequencesDecodeAndEqualEncodingAnew) {
  auto engine = seeded_engine(73);
  for (const Case& c : kCases) {
    const TemporaryFolder folder(TemporaryFolder::kMemory);
    ASSERT_NO_FATAL_FAILURE(build(folder / "db", 30 + engine() % 20, engine));
    const unsigned servers = c.arity + c.independence + 1;
    const auto code = encoding(c.field, c.arity, c.independence, c.modulus, servers);
    ASSERT_TRUE(good(encode_database(**Database::open(folder / "db"), code, folder / "b")));
    const auto files = paths(folder / "b", servers);
    for (int round = 0; round < 6 && !::testing::Test::HasFailure(); ++round) {
      auto last = change(folder / "db", engine);
      ASSERT_TRUE(good(last));
      // Sometimes buckets lag by two epochs.
      const bool twice = engine() % 3 == 0;
      if (twice) last = change(folder / "db", engine);
      ASSERT_TRUE(good(last));
      const auto plain = Database::open(folder / "db");
      const auto done = update_buckets(**plain, files, engine() % 3 == 0 ? nullptr : &*last);
      ASSERT_TRUE(good(done));
      expect_decodes(**plain, files, engine);
      EXPECT_EQ(update_buckets(**plain, files)->rows, 0u);
      if (c.independence == 0) {
        ASSERT_TRUE(good(encode_database(**plain, code, folder / "anew")));
        for (unsigned j = 1; j <= servers; ++j) {
          const auto bucket = Database::open(folder / ("b." + std::to_string(j)));
          EXPECT_TRUE(std::ranges::equal((*bucket)->mapping().file,
                                         read_file(folder / ("anew." + std::to_string(j)))));
        }
      }
      if (engine() % 3 == 0) {
        for (const auto& file : files) ASSERT_TRUE(good(database::compact_database(file)));
        expect_decodes(**plain, files, engine);
      }
    }
  }
}

TEST(EncodeDatabase, BucketsAreAsPrivateAsTheDatabase) {
  auto engine = seeded_engine(79);
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  ASSERT_NO_FATAL_FAILURE(build(folder / "db", 20, engine));
  ASSERT_EQ(::chmod((folder / "db").c_str(), 0600), 0);
  ASSERT_TRUE(
      good(encode_database(**Database::open(folder / "db"), encoding(kTagGf2_8, 2, 0, 2, 4), folder / "b")));
  EXPECT_EQ(std::filesystem::status(folder / "b.4").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give files to any group";
  ASSERT_EQ(::chown((folder / "db").c_str(), 4321, 1234), 0);
  ASSERT_EQ(::chmod((folder / "db").c_str(), 0640), 0);
  ASSERT_TRUE(
      good(encode_database(**Database::open(folder / "db"), encoding(kTagGf2_8, 2, 0, 2, 4), folder / "c")));
  struct stat status {};
  ASSERT_EQ(::stat((folder / "c.1").c_str(), &status), 0);
  EXPECT_EQ(status.st_gid, 1234u);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST(EncodeDatabase, DamageGetsNoRightChecksum) {
  auto engine = seeded_engine(78);
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  ASSERT_NO_FATAL_FAILURE(build(folder / "db", 300, engine));
  const auto code = encoding(kTagGf2_8, 2, 0, 2, 4);
  ASSERT_TRUE(good(encode_database(**Database::open(folder / "db"), code, folder / "b")));
  auto update = database::DatabaseUpdate::begin(folder / "db");
  ASSERT_TRUE(good(update));
  ASSERT_TRUE(good(update->set(100, to_bytes("new"))));
  ASSERT_TRUE(good(update->commit()));
  Bytes file = read_file(folder / "db");
  file[4096 + 100] ^= std::byte{1};
  pirx::testing::write_file(folder / "db", file);
  const auto plain = Database::open(folder / "db");
  ASSERT_TRUE(good(plain));
  const auto files = folder.files();
  expect_error(update_buckets(**plain, paths(folder / "b", 4)), ErrorCode::kDataLoss, "damaged");
  expect_error(encode_database(**plain, code, folder / "c"), ErrorCode::kDataLoss, "damaged");
  EXPECT_EQ(folder.files(), files);
}

/// Somebody writes the next epoch over the file while it is encoded.
TEST(EncodeDatabase, WhatChangesMeanwhileIsNoBucket) {
  auto engine = seeded_engine(81);
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  ASSERT_NO_FATAL_FAILURE(build(folder / "db", 300, engine));
  const auto plain = Database::open(folder / "db");
  ASSERT_TRUE(good(plain));
  const auto overwrite = [&](std::uint64_t, std::uint64_t) {
    std::fstream file(folder / "db", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096 + 100).put('\x5a').put('\xa5');
  };
  expect_error(
      encode_database(**plain, encoding(kTagGf2_8, 2, 0, 2, 4), folder / "b", {.progress = overwrite}),
      ErrorCode::kDataLoss, "damaged");
  EXPECT_EQ(folder.files(), std::vector<std::string>{"db"});
}

TEST(UpdateBuckets, CostsWhatChangesAndServersMayBeAlone) {
  auto engine = seeded_engine(74);
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  ASSERT_NO_FATAL_FAILURE(build(folder / "db", 3000, engine));
  const auto code = encoding(kTagGf2_8, 4, 0, 4, 6);
  ASSERT_TRUE(good(encode_database(**Database::open(folder / "db"), code, folder / "b")));
  auto update = database::DatabaseUpdate::begin(folder / "db");
  ASSERT_TRUE(good(update));
  ASSERT_TRUE(good(update->set(1000, to_bytes("new"))));
  const auto last = update->commit();
  ASSERT_TRUE(good(last));
  const std::filesystem::path own[] = {folder / "b.3"};
  const auto plain = Database::open(folder / "db");
  const auto done = update_buckets(**plain, own, &*last);
  ASSERT_TRUE(good(done));
  EXPECT_EQ(done->rows, 2u);  // the one that changed, and the last
  EXPECT_LT(done->delta_bytes[0], 16'000u);
  EXPECT_EQ(done->version, (*plain)->version());
  const auto others = paths(folder / "b", 6);
  ASSERT_TRUE(good(update_buckets(**plain, others)));
  expect_decodes(**plain, others, engine);
}

/// The changes of each file, nothing where it has none: what a crash between two files leaves is made of.
std::vector<std::optional<Bytes>> deltas_of(const std::vector<std::filesystem::path>& files) {
  std::vector<std::optional<Bytes>> result;
  for (const auto& file : files) {
    const auto delta = file.native() + ".delta";
    result.push_back(std::filesystem::exists(delta) ? std::optional(read_file(delta)) : std::nullopt);
  }
  return result;
}

/// Each file is replaced as a whole, so a crash leaves the first ones new and the others old. The next call
/// makes one set of them, also if that is interrupted in turn, and after further changes.
TEST(UpdateBuckets, AnInterruptedCallIsFinishedByTheNext) {
  auto engine = seeded_engine(76);
  for (const Case& c : kCases) {
    const TemporaryFolder folder(TemporaryFolder::kMemory);
    ASSERT_NO_FATAL_FAILURE(build(folder / "db", 30 + engine() % 20, engine));
    const unsigned servers = c.arity + c.independence + 1;
    const auto code = encoding(c.field, c.arity, c.independence, c.modulus, servers);
    ASSERT_TRUE(good(encode_database(**Database::open(folder / "db"), code, folder / "b")));
    const auto files = paths(folder / "b", servers);
    for (int round = 0; round < 4; ++round) {
      auto before = deltas_of(files);
      std::optional<database::UpdateReport> last;
      for (std::uint64_t crashes = 1 + engine() % 3; crashes > 0; --crashes) {
        if (!last || engine() % 2 == 0) {
          const auto changed = change(folder / "db", engine);
          ASSERT_TRUE(good(changed));
          last = *changed;
        }
        ASSERT_TRUE(good(update_buckets(**Database::open(folder / "db"), files, &*last)));
        // The crash: from one of the files on, all are as they were.
        for (std::size_t j = 1 + engine() % (servers - 1); j < servers; ++j) {
          const std::filesystem::path delta = files[j].native() + ".delta";
          if (before[j]) {
            pirx::testing::write_file(delta, *before[j]);
          } else {
            std::filesystem::remove(delta);
          }
        }
        before = deltas_of(files);
      }
      const auto plain = Database::open(folder / "db");
      ASSERT_TRUE(good(update_buckets(**plain, files, engine() % 2 ? &*last : nullptr)));
      expect_decodes(**plain, files, engine);
      EXPECT_EQ(update_buckets(**plain, files)->rows, 0u);
    }
  }
}

/// The last row is shared anew by every update. That of the interrupted one is no longer the last: nothing in
/// the plain database's changes tells that the buckets differ there.
TEST(UpdateBuckets, AnInterruptedCallIsFinishedWhereOnlyBucketsHaveChanged) {
  auto engine = seeded_engine(79);
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  ASSERT_NO_FATAL_FAILURE(build(folder / "db", 20, engine, 1));
  ASSERT_TRUE(
      good(encode_database(**Database::open(folder / "db"), encoding(kTagGf2_8, 2, 1, 2, 4), folder / "b")));
  const auto files = paths(folder / "b", 4);
  const auto commit = [&](const auto& work) {
    auto update = database::DatabaseUpdate::begin(folder / "db");
    ASSERT_TRUE(good(update));
    ASSERT_TRUE(good(work(*update)));
    ASSERT_TRUE(good(update->commit()));
    ASSERT_TRUE(good(update_buckets(**Database::open(folder / "db"), files)));
  };
  commit([](auto& update) { return update.set(0, to_bytes("changed")); });
  for (std::size_t j = 1; j < 4; ++j) std::filesystem::remove(files[j].native() + ".delta");
  commit([](auto& update) -> Result<void> {
    PIRX_TRY(update.append(to_bytes("new")));
    return update.append(to_bytes("newer"));
  });
  expect_decodes(**Database::open(folder / "db"), files, engine);
}

/// The same record written once more: without noise the buckets stay what they are; with it every bucket's
/// row is shared anew, and no other row.
TEST(UpdateBuckets, NoiseIsDrawnAfreshForWhatChanges) {
  auto engine = seeded_engine(77);
  for (const unsigned tau : {0u, 1u, 2u}) {
    const TemporaryFolder folder(TemporaryFolder::kMemory);
    ASSERT_NO_FATAL_FAILURE(build(folder / "db", 60, engine, 1));
    const auto code = encoding(kTagGf2_8, 2, tau, 2, 5);
    ASSERT_TRUE(good(encode_database(**Database::open(folder / "db"), code, folder / "b")));
    const auto files = paths(folder / "b", 5);
    std::vector<std::shared_ptr<const Database>> before;
    for (const auto& file : files) before.push_back(Database::open(file).value());
    auto update = database::DatabaseUpdate::begin(folder / "db");
    ASSERT_TRUE(good(update));
    const auto same = update->before().record(21);
    ASSERT_TRUE(good(same));
    ASSERT_TRUE(good(update->set(21, *same)));
    const auto last = update->commit();
    ASSERT_TRUE(good(last));
    ASSERT_TRUE(good(update_buckets(**Database::open(folder / "db"), files, &*last)));
    std::set<Bytes> changes;
    for (std::size_t j = 0; j < files.size(); ++j) {
      const auto after = Database::open(files[j]);
      for (std::size_t row = 0; row < 30; ++row) {
        const auto bytes = static_cast<std::size_t>((*after)->geometry().row_bytes());
        const ByteSpan old(before[j]->rows().row(row), bytes), now((*after)->rows().row(row), bytes);
        const bool fresh = tau > 0 && (row == 10 || row == 29);  // the last row is always written
        EXPECT_EQ(std::ranges::equal(old, now), !fresh) << "row " << row << " of bucket " << j;
        if (row != 10) continue;
        Bytes change(bytes);
        for (std::size_t i = 0; i < bytes; ++i) change[i] = old[i] ^ now[i];
        changes.insert(change);
      }
    }
    if (tau == 0) {
      EXPECT_EQ(changes, std::set{Bytes(changes.begin()->size())});
    } else {
      EXPECT_GE(changes.size(), 3u) << "every server the same change: no sharing of it";
    }
  }
}

/// A database "db", and its buckets for four servers.
std::vector<std::filesystem::path> four_buckets(const TemporaryFolder& folder, std::size_t records,
                                                unsigned independence, std::mt19937_64& engine) {
  build(folder / "db", records, engine);
  EXPECT_TRUE(good(encode_database(**Database::open(folder / "db"),
                                   encoding(kTagGf2_8, 2, independence, 2, 4), folder / "b")));
  return paths(folder / "b", 4);
}

/// One file of an interrupted update was compacted: its next delta would be of an epoch that the file has.
TEST(UpdateBuckets, RefusesWhatWasCompactedWhileTorn) {
  auto engine = seeded_engine(80);
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  const auto files = four_buckets(folder, 20, 1, engine);
  ASSERT_TRUE(good(change(folder / "db", engine)));
  ASSERT_TRUE(good(update_buckets(**Database::open(folder / "db"), files)));
  for (std::size_t j = 2; j < 4; ++j) std::filesystem::remove(files[j].native() + ".delta");
  ASSERT_TRUE(good(database::compact_database(files[1])));
  expect_error(update_buckets(**Database::open(folder / "db"), files), ErrorCode::kInvalidArgument,
               "was compacted after an update");
}

/// After a backup is put back, an epoch of the buckets may be one that the database never had.
TEST(UpdateBuckets, BucketsOfAHistoryThatWasLeftAreMadeRight) {
  auto engine = seeded_engine(77);
  for (const unsigned independence : {0u, 1u}) {
    const TemporaryFolder folder(TemporaryFolder::kMemory);
    const auto files = four_buckets(folder, 30, independence, engine);
    const auto backup = read_file(folder / "db");
    const auto set = [&](std::uint64_t record) {
      auto update = database::DatabaseUpdate::begin(folder / "db");
      return update ? update->set(record, to_bytes("new")).and_then([&] { return update->commit(); })
                    : tl::unexpected(update.error());
    };
    const auto left = set(0);
    ASSERT_TRUE(good(left));
    ASSERT_TRUE(good(update_buckets(**Database::open(folder / "db"), files, &*left)));
    std::filesystem::remove(folder / "db.delta");
    pirx::testing::write_file(folder / "db", backup);
    ASSERT_TRUE(good(set(10)));
    expect_error(update_buckets(**Database::open(folder / "db"), files), ErrorCode::kInvalidArgument,
                 "another database");
    ASSERT_TRUE(good(set(12)));
    const auto plain = Database::open(folder / "db");
    ASSERT_TRUE(good(update_buckets(**plain, files)));
    expect_decodes(**plain, files, engine);
  }
}

/// The lines of DATABASE.buckets without their last word, but the first.
Bytes without_numbers(const Bytes& list) {
  std::istringstream lines{std::string(as_text(list))};
  std::string line, text;
  for (std::getline(lines, text); std::getline(lines, line);) text += "\n" + line.substr(0, line.rfind(' '));
  return to_bytes(text + "\n");
}

TEST(UpdateBuckets, WithNoiseTheirHistoryIsKeptBesideTheDatabase) {
  auto engine = seeded_engine(78);
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  const auto files = four_buckets(folder, 30, 1, engine);
  const auto update = [&] { return update_buckets(**Database::open(folder / "db"), files); };
  ASSERT_TRUE(good(change(folder / "db", engine)));
  ASSERT_TRUE(good(update()));
  const auto plain = *Database::open(folder / "db");
  EXPECT_EQ(plain_version(*plain, **Database::open(files[0])), plain->version());
  // A link leads to the same list.
  std::filesystem::create_symlink("db", folder / "link");
  EXPECT_EQ(update_buckets(**Database::open(folder / "link"), files)->rows, 0u);
  for (const bool changed : {false, true}) {
    if (changed) {
      ASSERT_TRUE(good(change(folder / "db", engine)));
    }
    const auto list = read_file(folder / "db.buckets");
    // Of a version before the number of buckets was listed; no list at all.
    pirx::testing::write_file(folder / "db.buckets", without_numbers(list));
    expect_error(update(), ErrorCode::kInvalidArgument, "does not know");
    std::filesystem::remove(folder / "db.buckets");
    expect_error(update(), ErrorCode::kInvalidArgument, "does not know");
    expect_error(plain_version(*plain, **Database::open(files[0])), ErrorCode::kInvalidArgument,
                 "does not know");
    pirx::testing::write_file(folder / "db.buckets", list);
  }
  ASSERT_TRUE(good(update()));
}

/// Clients that have seen buckets of an epoch refuse others of it.
TEST(UpdateBuckets, SayThatThereWereOthersOfTheEpoch) {
  auto engine = seeded_engine(83);
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  const auto files = four_buckets(folder, 30, 1, engine);
  const auto plain = [&] { return *Database::open(folder / "db"); };
  const auto encode = [&](unsigned independence) {
    return encode_database(*plain(), encoding(kTagGf2_8, 2, independence, 2, 4), folder / "c")->again;
  };
  EXPECT_TRUE(encode(1));
  EXPECT_FALSE(encode(0));
  ASSERT_TRUE(good(change(folder / "db", engine)));
  EXPECT_FALSE(update_buckets(*plain(), files)->again);
  // Killed before its last file.
  std::filesystem::remove(files[3].native() + ".delta");
  EXPECT_TRUE(update_buckets(*plain(), files)->again);
  EXPECT_TRUE(encode(1));
  // There is another file of that name.
  pirx::testing::write_file(folder / "db.buckets", to_bytes("of somebody else"));
  expect_error(update_buckets(*plain(), files), ErrorCode::kInvalidArgument, "does not know");
  EXPECT_FALSE(encode(1));
  EXPECT_TRUE(encode_database(*plain(), encoding(kTagGf2_8, 2, 1, 2, 4), folder / "c")->unlisted);
  std::filesystem::remove(folder / "db.buckets");
  ::mkfifo((folder / "db.buckets").c_str(), 0600);
  expect_error(update_buckets(*plain(), files), ErrorCode::kInvalidArgument,
               "if it can be read, does not know");
}

TEST(UpdateBuckets, RefusesWhatIsNotTheirs) {
  auto engine = seeded_engine(75);
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  ASSERT_NO_FATAL_FAILURE(build(folder / "db", 30, engine));
  ASSERT_NO_FATAL_FAILURE(build(folder / "other", 30, engine));
  const auto noisy = encoding(kTagGf2_8, 2, 1, 2, 4), code = encoding(kTagGf2_8, 2, 0, 2, 4);
  ASSERT_TRUE(good(encode_database(**Database::open(folder / "db"), noisy, folder / "b")));
  ASSERT_TRUE(good(encode_database(**Database::open(folder / "db"), noisy, folder / "c")));
  ASSERT_TRUE(good(encode_database(**Database::open(folder / "other"), code, folder / "o")));
  ASSERT_TRUE(good(change(folder / "db", engine)));
  const auto plain = Database::open(folder / "db");
  const auto refused = [&](const std::vector<std::filesystem::path>& files, std::string_view part) {
    expect_error(update_buckets(**plain, files), ErrorCode::kInvalidArgument, part);
  };
  refused({}, "no buckets");
  refused({folder / "other"}, "is no bucket");
  refused(paths(folder / "o", 4), "another database");
  refused({folder / "b.1", folder / "b.2", folder / "c.3", folder / "b.4"}, "share its noise");
  refused({folder / "b.1", folder / "b.2"}, "there are 4 buckets");
  // Sets with noise of a database that has the same shape, at any epoch.
  ASSERT_TRUE(good(encode_database(**Database::open(folder / "other"), noisy, folder / "n")));
  refused(paths(folder / "n", 4), "another database");
  ASSERT_TRUE(good(change(folder / "db", engine)));
  expect_error(check_buckets(**Database::open(folder / "db"), paths(folder / "n", 4)),
               ErrorCode::kInvalidArgument, "another database");
  EXPECT_TRUE(good(check_buckets(**Database::open(folder / "db"), paths(folder / "b", 4))));
  const auto bucket = Database::open(folder / "b.1");
  expect_error(update_buckets(**bucket, paths(folder / "b", 4)), ErrorCode::kInvalidArgument,
               "name the plain");
  // Of a copy that has gone its own way since, at the same epochs.
  ASSERT_NO_FATAL_FAILURE(build(folder / "left", 30, engine));
  std::filesystem::copy(folder / "left", folder / "right");
  ASSERT_TRUE(good(change(folder / "right", engine)));
  ASSERT_TRUE(good(change(folder / "left", engine)));
  auto level = database::DatabaseUpdate::begin(folder / "left");
  ASSERT_TRUE(good(encode_database(**Database::open(folder / "right"), code, folder / "r")));
  ASSERT_TRUE(good(level->set(0, to_bytes("left"))));
  const auto last = level->commit();
  ASSERT_TRUE(good(last));
  expect_error(update_buckets(**Database::open(folder / "left"), paths(folder / "r", 4), &*last),
               ErrorCode::kInvalidArgument, "another database");
  // With noise over a field for which none is made any more.
  ASSERT_TRUE(good(encode_database(**Database::open(folder / "db"), encoding(kTagW48, 2, 0, 2, 4),
                                   folder / "w", {.only = {0}})));
  auto header = (*Database::open(folder / "w.1"))->mapping().header;
  header.layout.bucket->independence = 1;
  Bytes old = read_file(folder / "w.1");
  header.content = content_identity(
      header.layout, ByteSpan(old).subspan(header.layout.checksums.offset, header.layout.checksums.length));
  std::ranges::copy(encode_header(header), old.begin());
  pirx::testing::write_file(folder / "w.1", old);
  expect_error(check_buckets(**Database::open(folder / "db"), std::vector{folder / "w.1"}),
               ErrorCode::kInvalidArgument, "the words of w48 are too short");
  // Changes that are folded in are not known any more.
  ASSERT_TRUE(good(database::compact_database(folder / "db")));
  expect_error(update_buckets(**Database::open(folder / "db"), paths(folder / "b", 4)),
               ErrorCode::kInvalidArgument, "older than the changes");
}

}  // namespace
}  // namespace pirx::batchcodes
