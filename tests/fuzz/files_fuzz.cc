// SPDX-License-Identifier: Apache-2.0
// Files: databases, buckets, deltas, prepared files, indexes of keys. A script changes a valid file, and the
// harness seals it again, so that what lies behind the checksums is reached.
#include <map>

#include "pirx/base/sha256.h"
#include "pirx/database/serving.h"
#include "pirx/database/update.h"
#include "src/base/checksum.h"
#include "src/database/key_index.h"
#include "src/database/layout.h"
#include "src/database/prepared_file.h"
#include "world.h"

namespace pirx::fuzz {
namespace {

using database::kChunkBytes;
using database::kPageBytes;

/// Puts the SHA-256 of a page at its end.
void seal(MutableByteSpan page) {
  const Digest digest = sha256(page.first(kPageBytes - sizeof(Digest)));
  std::copy(digest.begin(), digest.end(), page.end() - sizeof digest);
}

/// Makes a changed database file whole again: its header, and with `content` checksums and identity.
void reseal(Bytes& file, bool content) {
  constexpr std::size_t kIdentityOffset = 16 + database::Geometry::kBytes;
  if (file.size() < kPageBytes) return;
  const auto page = MutableByteSpan(file).first(kPageBytes);
  seal(page);
  if (!content) return;
  const auto header = database::decode_header(page);
  if (!header || header->layout.file_bytes() != file.size()) return;
  const auto& layout = header->layout;
  for (std::uint64_t chunk = 0; chunk < layout.chunks(); ++chunk) {
    const auto begin = kPageBytes + chunk * kChunkBytes;
    const auto end = std::min<std::uint64_t>(begin + kChunkBytes, layout.checksums.offset);
    const Digest digest = sha256(ByteSpan(file).subspan(begin, end - begin));
    std::copy(digest.begin(), digest.end(), &file[layout.checksums.offset + chunk * sizeof digest]);
  }
  const auto identity = database::content_identity(
      layout, ByteSpan(file).subspan(layout.checksums.offset, layout.checksums.length));
  std::copy(identity.begin(), identity.end(), &file[kIdentityOffset]);
  seal(page);
}

/// Everything that a file can be asked.
void use(const database::Database& database) {
  const auto& geometry = database.geometry();
  const bool sound = database.verify().has_value();
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(geometry.records(), 100); ++i) {
    const auto found = database.record(i);
    expect_error(found, {kLoss, kInvalid, ErrorCode::kOutOfRange}, "record");
    if (found) expect(found->size() <= geometry.record_bytes(), "no record is longer than the longest");
    expect(found || !sound || database.bucket() != nullptr || geometry.keyed(),
           "a file that is verified has its records");
  }
  expect_error(database.record(geometry.records()), {kInvalid, ErrorCode::kOutOfRange},
               "record after the last");
  for (const std::string& name : {key(3), key(39), std::string(), std::string("zz")}) {
    const auto at = database.find(name);
    expect_error(at, {kLoss, kInvalid}, "find");
    if (at && *at) expect(**at < geometry.records(), "a key names a record");
    expect_error(database.lookup(name), {kLoss, kInvalid}, "lookup");
  }
  std::uint64_t keys = 0;
  expect_error(database.for_each_key([&](std::string_view, std::uint64_t) { return ++keys < 1000; }),
               {kLoss, kInvalid}, "for_each_key");
  for (std::uint64_t chunk = 0; chunk < database::chunks(database); ++chunk) {
    expect_error(database::check_chunk(database, chunk), {kLoss}, "check_chunk");
  }
  static_cast<void>(database.content_version());
  expect(database.rows().rows == 0 || database.rows().cols >= geometry.row_bytes(), "rows hold their slots");
}

void open_and_use(const std::filesystem::path& path) {
  const auto database = database::Database::open(path);
  expect_error(database, {kLoss, ErrorCode::kUnavailable}, "open");
  if (!database) return;
  use(**database);
  for (const char* name : {"goldberg", "chor", "dpf", "download"}) {
    const auto server = serve(*find_protocol(name).value(),
                              {.database = *database, .threads = 1, .loopback = true}, {{"coordinate", "1"}});
    if (!server) continue;
    const auto said = (*server)->parameters();
    expect(tell(said).has_value(), "what a server says of its database can be read");
  }
}

const Bytes& original(Kind kind) {
  static std::map<Kind, Bytes> files;
  auto& bytes = files[kind];
  if (bytes.empty()) bytes = read_all(database_file(kind));
  return bytes;
}

/// Changes of a file, as many as there are in the script.
void changed(Bytes& bytes, Script& script) {
  for (unsigned n = 0; n < 16 && !script.empty(); ++n) change(bytes, script);
}

void database_script(ByteSpan input, bool bucket) {
  Script script(input);
  const auto first = script.byte();
  const auto kind = bucket ? Kind::kBucket : static_cast<Kind>(first / 4 % 4);
  auto bytes = original(kind);
  changed(bytes, script);
  if (first & 1) reseal(bytes, (first & 2) != 0);
  open_and_use(write_scratch("hostile.db", bytes));
}

Seeds scripts() {
  using namespace std::string_view_literals;
  Seeds seeds;
  for (const char first : {3, 7, 11, 15, 1, 0}) {
    for (const auto rest :
         {""sv, "\x01\x10\x00\x08\x29\x00\x00\x00\x00\x00\x00\x00"sv,
          "\x01\x18\x00\x08\x10\x00\x00\x00\x00\x00\x00\x00"sv,
          "\x01\x90\x00\x10\x00\x10\x00\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00"sv,
          "\x01\x00\x10\x04\xff\xff\xff\xff"sv, "\x02\x00\x10"sv, "\x03\x00\x10\x01x"sv,
          "\x04\x00\x10\x01\x04\x20\x10\x02"sv}) {
      Bytes seed{static_cast<std::byte>(first)};
      seed.insert(seed.end(), as_bytes(rest).begin(), as_bytes(rest).end());
      seeds.push_back(std::move(seed));
    }
  }
  return seeds;
}

/// A database and the delta of an update.
struct WithDelta {
  std::filesystem::path path;
  Bytes delta;
  explicit WithDelta(Kind kind) : path(scratch() / "updated.db") {
    std::filesystem::remove(path.string() + ".delta");
    std::filesystem::copy_file(database_file(kind), path, std::filesystem::copy_options::overwrite_existing);
    auto update = database::DatabaseUpdate::begin(path).value();
    expect(update.set(3, record(1)).has_value(), "a record can be changed");
    const auto added =
        kind == Kind::kIndexed ? update.append(key(kRecords), record(2)) : update.append(record(2));
    expect(added.has_value(), "a record can be added");
    expect(update.commit().has_value(), "an update can be committed");
    delta = read_all(path.string() + ".delta");
  }
};

constexpr std::size_t kPart = 100;
database::PreparedLabel label() { return {{}, "words in a row", 2, kPart}; }

const Bytes& prepared() {
  static const Bytes bytes = [] {
    const Bytes part(kPart, std::byte{7});
    const ByteSpan parts[] = {part, part};
    const auto path = scratch() / "original.prepared";
    expect(database::write_prepared_file(path, label(), parts, 1).has_value(),
           "a prepared file can be written");
    return read_all(path);
  }();
  return bytes;
}

}  // namespace

PIRX_FUZZ(database_file, scripts) { database_script(input, false); }
PIRX_FUZZ(bucket_file, scripts) { database_script(input, true); }

PIRX_FUZZ(delta_file, scripts) {
  Script script(input);
  const auto first = script.byte();
  static const Bytes plain = WithDelta(Kind::kPlain).delta, indexed = WithDelta(Kind::kIndexed).delta;
  const auto kind = first & 4 ? Kind::kIndexed : Kind::kPlain;
  auto bytes = kind == Kind::kIndexed ? indexed : plain;
  changed(bytes, script);
  if (first & 2 && bytes.size() >= 2 * kPageBytes)
    seal(MutableByteSpan(bytes).subspan(kPageBytes, kPageBytes));
  if (first & 1 && bytes.size() >= sizeof(Digest)) {
    const auto digest = sha256(ByteSpan(bytes).first(bytes.size() - sizeof(Digest)));
    std::copy(digest.begin(), digest.end(), bytes.end() - sizeof digest);
  }
  const auto path = scratch() / "updated.db";
  std::filesystem::copy_file(database_file(kind), path, std::filesystem::copy_options::overwrite_existing);
  write_scratch("updated.db.delta", bytes);
  open_and_use(path);
}

PIRX_FUZZ(prepared_file, scripts) {
  Script script(input);
  const auto first = script.byte();
  auto bytes = prepared();
  changed(bytes, script);
  constexpr std::size_t kSums = 2 * sizeof(Checksum), kSumsAt = kPageBytes + 2 * kPart;
  if (first & 2 && bytes.size() >= kSumsAt + kSums) {
    for (std::size_t part = 0; part < 2; ++part) {
      const auto sum = checksum(ByteSpan(bytes).subspan(kPageBytes + part * kPart, kPart)).value();
      std::copy(sum.begin(), sum.end(), &bytes[kSumsAt + part * sizeof sum]);
    }
    const auto digest = sha256(ByteSpan(bytes).subspan(kSumsAt, kSums));
    std::copy(digest.begin(), digest.end(), &bytes[80]);  // behind the sizes in the header
  }
  if (first & 1 && bytes.size() >= kPageBytes) seal(MutableByteSpan(bytes).first(kPageBytes));
  const auto path = write_scratch("hostile.prepared", bytes);
  const auto opened = database::PreparedFile::open(path, label());
  expect_error(opened, {kLoss, kInvalid}, "open");
  if (!opened) return;
  Bytes a(kPart), b(kPart);
  const MutableByteSpan parts[] = {a, b};
  expect_error(opened->read(parts, 1), {kLoss}, "read");
}

PIRX_FUZZ(key_index, [] {
  const auto& file = original(Kind::kIndexed);
  const auto header = database::decode_header(ByteSpan(file).first(kPageBytes)).value();
  const auto section = ByteSpan(file).subspan(header.layout.keys.offset, header.layout.keys.length);
  Bytes seed{std::byte{kRecords}};
  seed.insert(seed.end(), section.begin(), section.end());
  return Seeds{seed};
}) {
  Script script(input);
  const std::uint64_t records = script.byte();
  const auto rest = script.rest();
  const Bytes section(rest.begin(), rest.end());
  if (section.size() < database::key_index_size(records, 0)) return;
  const auto index = database::KeyIndex::create(section, records);
  expect_error(index, {kLoss}, "create");
  if (!index) return;
  const bool sound = index->verify().has_value();
  std::uint64_t keys = 0;
  const auto visited = index->for_each([&](std::string_view name, std::uint64_t position) {
    ++keys;
    expect(position < records, "a key names a record");
    const auto found = index->find(name);
    expect_error(found, {kLoss}, "find");
    expect(!sound || (found && *found), "a key of a sound index is found");
    return true;
  });
  expect_error(visited, {kLoss}, "for_each");
  expect(!sound || (visited && keys == records), "a sound index has a key for each record");
  expect_error(index->find(as_text(ByteSpan(section).first(std::min<std::size_t>(section.size(), 4)))),
               {kLoss}, "find");
}

}  // namespace pirx::fuzz
