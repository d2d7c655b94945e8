// SPDX-License-Identifier: Apache-2.0
// A log in a folder and its databases: every proof of every database is right, growth is an update, a crash
// and damage are noticed.
#include "examples/ct/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "database/database_fixture.h"
#include "examples/ct/files.h"

namespace pirx::ct {
namespace {

using testing::expect_error;
using testing::good;

std::vector<Certificate> certificates(std::uint64_t from, std::uint64_t count) {
  const auto generator = CertificateGenerator::create();
  std::vector<Certificate> made;
  for (std::uint64_t i = 0; i < count; ++i)
    made.push_back(*parse_certificate(generator->make(1'000'000 + from + i)));
  return made;
}

Log new_log(const std::filesystem::path& folder) {
  if (!Log::create(folder)) std::abort();
  auto log = Log::open(folder);
  if (!log) std::abort();
  return std::move(*log);
}

/// The record that the database holds for a certificate, checked against the publication.
Result<Inclusion> look_up(const database::Database& db, const Publication& publication, ByteSpan der,
                          std::uint64_t index) {
  if (!db.geometry().keyed()) {
    PIRX_ASSIGN(const auto record, db.record(index));
    return check_proof_record(publication, der, record);
  }
  PIRX_ASSIGN(const auto record, db.lookup(certificate_key(sha256(der))));
  if (!record) return fail(ErrorCode::kOutOfRange, "absent");
  return check_proof_record(publication, der, *record);
}

TEST(Log, GrowsAndSigns) {
  const testing::TemporaryFolder folder;
  auto log = new_log(folder / "log");
  EXPECT_EQ(log.head().tree_size, 0u);
  expect_error(log.append({}, 0, 1000), ErrorCode::kInvalidArgument, "nothing to append");
  const auto some = certificates(0, 5);
  auto added = log.append(some, 0, 1000);
  ASSERT_TRUE(good(added));
  EXPECT_EQ(added->added, 5u);
  const auto first = log.head();
  // Twice the same, within a call and across calls.
  auto again = certificates(3, 4);
  again.push_back(again.back());
  added = log.append(again, 0, 2000);
  ASSERT_TRUE(good(added));
  EXPECT_EQ(added->added, 2u);
  EXPECT_EQ(added->known, 3u);
  ASSERT_TRUE(good(log.append({}, 40, 2000)));
  EXPECT_EQ(log.head().tree_size, 40u);
  expect_error(log.append(some, 0, 1999), ErrorCode::kInvalidArgument, "time does not go back");
  EXPECT_EQ(*log.find(sha256(some[4].der)), 4u);
  EXPECT_EQ(*log.find(sha256({})), std::nullopt);
  // The head is of this log's key, the tree is a part of later ones.
  const auto key = LogKey::load(folder / "log/public.pem");
  ASSERT_TRUE(good(key));
  EXPECT_TRUE(good(key->verify(log.head())));
  const auto tree = log.tree();
  ASSERT_TRUE(good(tree));
  EXPECT_EQ(tree->root(), log.head().root);
  EXPECT_TRUE(verify_consistency(5, first.root, 40, log.head().root, tree->consistency_proof(5)));
  const auto opened = Log::open(folder / "log");
  ASSERT_TRUE(good(opened));
  EXPECT_EQ(opened->head().root, log.head().root);
}

TEST(Log, FillIsTheSameWhereverItIsMade) {
  const testing::TemporaryFolder folder;
  auto whole = new_log(folder / "whole"), parts = new_log(folder / "parts");
  ASSERT_TRUE(good(whole.append({}, 5000, 7)));
  ASSERT_TRUE(good(parts.append({}, 4097, 7)));
  ASSERT_TRUE(good(parts.append({}, 5000, 7)));
  EXPECT_EQ(whole.head().root, parts.head().root);
  const auto again = parts.append({}, 100, 8);
  ASSERT_TRUE(good(again));
  EXPECT_EQ(again->added, 0u);
}

class Databases : public ::testing::TestWithParam<std::tuple<unsigned, bool>> {};

TEST_P(Databases, EveryProofIsRightAfterEveryGrowth) {
  const auto [levels, by_index] = GetParam();
  const testing::TemporaryFolder folder(testing::TemporaryFolder::kMemory);
  auto log = new_log(folder / "log");
  const auto all = certificates(0, 75);
  const auto target = folder / "proofs.pirx";
  std::uint64_t before = 0, epoch = 0;
  for (const std::uint64_t size : {1u, 2u, 7u, 8u, 9u, 32u, 33u, 33u, 75u}) {
    ASSERT_TRUE(good(log.append(std::span(all).first(size), 0, 5000 + size)));
    const auto report = log.build_database(target, {.levels = levels, .by_index = by_index});
    ASSERT_TRUE(good(report)) << size;
    const auto db = pirx::testing::open_verified(target);
    ASSERT_TRUE(good(db));
    EXPECT_EQ((*db)->geometry().records(), size);
    EXPECT_EQ((*db)->version(), report->publication.version);
    const std::uint64_t subtree = std::uint64_t{1} << levels;
    if (by_index && before > 0) {
      // What changes: the new leaves, and the old ones of the subtree that the old tree ended in.
      const std::uint64_t whole = before / subtree * subtree;
      EXPECT_EQ(report->changed, size == before ? 0 : size - whole) << size << " after " << before;
    } else {
      EXPECT_EQ(report->changed, size);
    }
    if (!by_index || size != before) {
      EXPECT_EQ((*db)->version().epoch, ++epoch);
    }
    EXPECT_EQ(report->publication.roots.size(), (size - 1) / subtree + 1);
    for (std::uint64_t i = 0; i < size; ++i) {
      const auto found = look_up(**db, report->publication, all[i].der, i);
      ASSERT_TRUE(good(found)) << i << " of " << size;
      EXPECT_EQ(found->index, i);
    }
    // Written down, read again, and made anew from the database alone.
    const auto text = format_publication(report->publication);
    ASSERT_TRUE(good(parse_publication(text)));
    const auto published = log.publish(target);
    if (by_index) {
      ASSERT_TRUE(good(published));
      EXPECT_EQ(format_publication(*published), text);
    } else {
      expect_error(published, ErrorCode::kInvalidArgument, "which tree");
    }
    before = size;
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Databases,
                         ::testing::Combine(::testing::Values(1u, 3u, 12u), ::testing::Bool()));

TEST(Log, ExpiredCertificatesCanBeLeftOut) {
  const testing::TemporaryFolder folder;
  auto log = new_log(folder / "log");
  auto some = certificates(0, 10);
  for (std::size_t i = 0; i < some.size(); i += 2) some[i].not_after = 500;
  ASSERT_TRUE(good(log.append(some, 0, 1'000'000)));
  const auto report = log.build_database(folder / "db", {.levels = 4, .unexpired_at = 1000});
  ASSERT_TRUE(good(report));
  EXPECT_EQ(report->records, 5u);
  EXPECT_EQ(report->left_out, 5u);
  const auto db = database::Database::open(folder / "db");
  ASSERT_TRUE(good(db));
  for (std::uint64_t i = 0; i < some.size(); ++i) {
    const auto found = look_up(**db, report->publication, some[i].der, i);
    EXPECT_EQ(found.has_value(), i % 2 == 1);
    if (!found) {
      EXPECT_EQ(found.error().code(), ErrorCode::kOutOfRange);
    }
  }
}

TEST(Log, ACertificateThatIsInTwiceHasOneProof) {
  const testing::TemporaryFolder folder;
  auto log = new_log(folder / "log");
  const auto generated = CertificateGenerator::create()->make(1);
  const auto certificate = parse_certificate(generated);
  ASSERT_TRUE(good(certificate));
  ASSERT_TRUE(good(log.append({&*certificate, 1}, 4, 1)));  // leaves 0 and 1 are the same
  const auto report = log.build_database(folder / "db", {.levels = 2});
  ASSERT_TRUE(good(report));
  EXPECT_EQ(report->records, 3u);
  const auto db = database::Database::open(folder / "db");
  ASSERT_TRUE(good(db));
  const auto found = look_up(**db, report->publication, generated, 0);
  ASSERT_TRUE(good(found));
  EXPECT_EQ(found->index, 0u);
}

TEST(Log, WrongTargetsAreRefusedAndKept) {
  const testing::TemporaryFolder folder;
  auto log = new_log(folder / "log"), other = new_log(folder / "other");
  expect_error(log.build_database(folder / "db", {}), ErrorCode::kInvalidArgument, "the log is empty");
  ASSERT_TRUE(good(log.append(certificates(0, 9), 0, 1)));
  ASSERT_TRUE(good(other.append(certificates(20, 12), 0, 1)));
  expect_error(log.build_database(folder / "db", {.levels = 0}), ErrorCode::kInvalidArgument, "levels");
  expect_error(log.build_database(folder / "db", {.levels = 41}), ErrorCode::kInvalidArgument, "levels");
  expect_error(log.build_database(folder / "db", {.by_index = true, .unexpired_at = 1}),
               ErrorCode::kInvalidArgument, "keeps its position");
  testing::write_file(folder / "mine", as_bytes("do not lose this"));
  expect_error(log.build_database(folder / "mine", {}), ErrorCode::kInvalidArgument, "cannot be replaced");
  // Whether one that cannot be opened is to be replaced is not known.
  std::filesystem::create_directory(folder / "a folder");
  expect_error(log.build_database(folder / "a folder", {}), ErrorCode::kUnavailable, "a folder");
  EXPECT_EQ(testing::read_file(folder / "mine"), testing::to_bytes("do not lose this"));
  ASSERT_TRUE(good(log.build_database(folder / "db", {.levels = 2, .by_index = true})));
  expect_error(log.build_database(folder / "db", {.levels = 2}), ErrorCode::kInvalidArgument, "by index");
  expect_error(log.build_database(folder / "db", {.levels = 3, .by_index = true}),
               ErrorCode::kInvalidArgument, "levels");
  expect_error(other.build_database(folder / "db", {.levels = 2, .by_index = true}),
               ErrorCode::kInvalidArgument, "another log");
  ASSERT_TRUE(good(log.publish(folder / "db")));
  auto as_long = new_log(folder / "as_long");
  ASSERT_TRUE(good(as_long.append(certificates(20, 9), 0, 1)));
  expect_error(as_long.publish(folder / "db"), ErrorCode::kInvalidArgument, "another log");
  // The proof of a subtree's first leaf holds the hashes of all its leaves but this one.
  auto others = certificates(0, 9);
  others[0] = certificates(50, 1)[0];
  auto one_differs = new_log(folder / "one_differs");
  ASSERT_TRUE(good(one_differs.append(others, 0, 1)));
  expect_error(one_differs.publish(folder / "db"), ErrorCode::kInvalidArgument, "another log");
  ASSERT_TRUE(good(log.append(certificates(9, 1), 0, 2)));
  expect_error(log.publish(folder / "db"), ErrorCode::kStaleEpoch, "latest tree head");
  expect_error(log.publish(folder / "none"), ErrorCode::kUnavailable, "none");
  ASSERT_TRUE(good(log.build_database(folder / "keyed", {})));
  expect_error(log.build_database(folder / "keyed", {.by_index = true}), ErrorCode::kInvalidArgument,
               "by key");
  ASSERT_TRUE(good(database::build(folder / "small", {testing::to_bytes("no proof")})));
  expect_error(log.publish(folder / "small"), ErrorCode::kInvalidArgument, "no database of proofs");
}

TEST(Log, NoneOfTwoAppendsIsLost) {
  const testing::TemporaryFolder folder;
  auto log = new_log(folder / "log");
  ASSERT_TRUE(good(log.append({}, 3, 1)));
  auto other = Log::open(folder / "log");
  ASSERT_TRUE(good(other));
  ASSERT_TRUE(good(log.append({}, 5, 2)));
  expect_error(other->append({}, 4, 3), ErrorCode::kUnavailable, "grown");
  {
    const int entries = ::open((folder / "log/entries").c_str(), O_RDONLY);
    ASSERT_EQ(::flock(entries, LOCK_EX | LOCK_NB), 0);
    expect_error(log.append({}, 6, 3), ErrorCode::kUnavailable, "another ct-log");
    ::close(entries);
  }
  other = Log::open(folder / "log");
  ASSERT_TRUE(good(other));
  EXPECT_EQ(other->head().tree_size, 5u);
  ASSERT_TRUE(good(other->append({}, 6, 3)));
}

TEST(Log, FoldersThatAreNoLog) {
  const testing::TemporaryFolder folder;
  expect_error(Log::open(folder / "none"), ErrorCode::kUnavailable, "holds no log");
  testing::write_file(folder / "file", as_bytes("x"));
  expect_error(Log::create(folder.path()), ErrorCode::kInvalidArgument, "not empty");
  expect_error(Log::create(folder / "file/log"), ErrorCode::kUnavailable, "cannot create");
}

TEST(Log, ACreateThatWasCutShortIsRunAgain) {
  const testing::TemporaryFolder folder;
  const auto log = folder / "log";
  std::filesystem::create_directory(log);
  // As it dies after each of its files; and an append that then lacked the key.
  for (const auto* left : {"entries", "public.pem.tmp-1-1", "public.pem", "appending", "key.pem"}) {
    testing::write_file(log / left, as_bytes(std::string_view(left).starts_with("public") ? "x" : ""));
    std::filesystem::copy(log, folder / left);
    ASSERT_TRUE(good(Log::create(folder / left))) << left;
    ASSERT_TRUE(good(Log::open(folder / left)->append({}, 3, 1))) << left;
    ASSERT_TRUE(good(Log::open(folder / left))) << left;
    expect_error(Log::create(folder / left), ErrorCode::kInvalidArgument, "not empty");
  }
  std::filesystem::create_directory(folder / "theirs");
  testing::write_file(folder / "theirs/public.pem", as_bytes("x"));  // of a log that somebody trusts
  expect_error(Log::create(folder / "theirs"), ErrorCode::kInvalidArgument, "not empty");
  for (const auto* mine : {"entries", "key.pem"}) {
    testing::write_file(log / mine, as_bytes("mine"));
    expect_error(Log::create(log), ErrorCode::kInvalidArgument, "not empty");
    testing::write_file(log / mine, {});
  }
}

TEST(Log, DamageIsNoticedAndRemainsAreNot) {
  const testing::TemporaryFolder folder;
  auto log = new_log(folder / "log");
  ASSERT_TRUE(good(log.append({}, 10, 1)));
  const auto entries = folder / "log/entries";
  const auto whole = testing::read_file(entries);
  ASSERT_EQ(whole.size(), 880u);
  // Fingerprint, leaf, time, expiry and checksum. The signed root covers the leaf alone.
  for (const std::size_t at : {0, 40, 64, 72, 80}) {
    auto damaged = whole;
    damaged[88 * 4 + at] ^= std::byte{1};
    testing::write_file(entries, damaged);
    expect_error(Log::open(folder / "log"), ErrorCode::kDataLoss, "entry 4 is damaged");
  }
  auto swapped = whole;
  std::swap_ranges(swapped.begin(), swapped.begin() + 88, swapped.begin() + 88);
  testing::write_file(entries, swapped);
  expect_error(Log::open(folder / "log"), ErrorCode::kDataLoss, "signed root");
  testing::write_file(entries, ByteSpan(whole).first(879));
  expect_error(Log::open(folder / "log"), ErrorCode::kDataLoss, "shorter");
  // An append that did not get as far as its head: what it wrote does not count, and the next one writes over
  // it.
  auto longer = whole;
  longer.insert(longer.end(), 123, std::byte{0xEE});
  testing::write_file(entries, longer);
  expect_error(log.append({}, 11, 2), ErrorCode::kDataLoss, "newest tree head");
  testing::write_file(folder / "log/appending", as_bytes("10"));
  auto again = Log::open(folder / "log");
  ASSERT_TRUE(good(again));
  ASSERT_TRUE(good(again->append({}, 11, 2)));
  EXPECT_EQ(std::filesystem::file_size(entries), 968u);
  ASSERT_TRUE(good(Log::open(folder / "log")));
  // Without its head, or with an older one, a log does not lose what it acknowledged.
  std::filesystem::rename(folder / "log/head.json", folder / "head");
  auto headless = Log::open(folder / "log");
  ASSERT_TRUE(good(headless));
  expect_error(headless->append({}, 12, 3), ErrorCode::kDataLoss, "newest tree head");
  EXPECT_EQ(std::filesystem::file_size(entries), 968u);
  // Another log's head.
  auto other = new_log(folder / "other");
  ASSERT_TRUE(good(other.append({}, 11, 2)));
  std::filesystem::copy_file(folder / "other/head.json", folder / "log/head.json",
                             std::filesystem::copy_options::overwrite_existing);
  expect_error(Log::open(folder / "log"), ErrorCode::kUnauthenticated, "not signed by this log's key");
  testing::write_file(folder / "log/head.json", as_bytes("{}"));
  expect_error(Log::open(folder / "log"), ErrorCode::kDataLoss, "tree head");
}

/// What was sound when the log was opened may be damaged when it is read again: nothing is signed over that.
TEST(Log, EntriesThatChangeMeanwhileAreNotSigned) {
  const testing::TemporaryFolder folder;
  auto log = new_log(folder / "log");
  ASSERT_TRUE(good(log.append({}, 10, 1)));
  const auto entries = folder / "log/entries", head = folder / "log/head.json";
  const auto sound = testing::read_file(entries), signed_head = testing::read_file(head);
  auto damaged = sound;
  damaged[88 * 4 + 64] ^= std::byte{1};
  testing::write_file(entries, damaged);
  expect_error(log.append({}, 11, 2), ErrorCode::kDataLoss, "entry 4");
  EXPECT_EQ(testing::read_file(head), signed_head);
  expect_error(log.tree(), ErrorCode::kDataLoss, "entry 4");
  expect_error(log.build_database(folder / "db", {.levels = 3}), ErrorCode::kDataLoss, "entry 4");
  EXPECT_FALSE(std::filesystem::exists(folder / "db"));
  testing::write_file(entries, sound);
  ASSERT_TRUE(good(log.append({}, 11, 2)));
  ASSERT_TRUE(good(Log::open(folder / "log")));
}

TEST(Log, ACrashBehindTheHeadLosesNothingOnceAnOlderHeadIsBack) {
  const testing::TemporaryFolder folder;
  const auto appending = folder / "log/appending", head = folder / "log/head.json";
  auto log = new_log(folder / "log");
  ASSERT_TRUE(good(log.append({}, 10, 1)));
  std::filesystem::copy_file(head, folder / "old");
  ASSERT_TRUE(good(log.append({}, 11, 2)));
  EXPECT_FALSE(std::filesystem::exists(appending));
  // As the crash leaves it.
  testing::write_file(appending, as_bytes("10"));
  ASSERT_TRUE(good(Log::open(folder / "log")));
  EXPECT_FALSE(std::filesystem::exists(appending));
  std::filesystem::rename(folder / "old", head);
  auto older = Log::open(folder / "log");
  ASSERT_TRUE(good(older));
  expect_error(older->append({}, 12, 3), ErrorCode::kDataLoss, "newest tree head");
  EXPECT_EQ(std::filesystem::file_size(folder / "log/entries"), 968u);
  // What belongs to the newest head stays for it.
  testing::write_file(appending, as_bytes("11"));
  ASSERT_TRUE(good(Log::open(folder / "log")));
  EXPECT_TRUE(std::filesystem::exists(appending));
}

}  // namespace
}  // namespace pirx::ct
