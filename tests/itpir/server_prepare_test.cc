// SPDX-License-Identifier: Apache-2.0
// A server half that keeps its prepared database in a file, and what it says that answering takes.
#include <gtest/gtest.h>

#include "database/database_fixture.h"
#include "pirx/fp/w160.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"
#include "pirx/itpir/goldberg/server.h"
#include "pirx/strassen/engine.h"
#include "support/serve.h"

namespace pirx::itpir::goldberg {
namespace {

using database::good;
using database::read_file;
using database::TemporaryFolder;
using database::write_file;

/// A folder with a database of so many records, and servers on it.
class KeptRows {
 public:
  KeptRows(std::size_t records, std::size_t record_bytes, std::uint64_t stream)
      : folder_(TemporaryFolder::kMemory), random_(pirx::testing::seeded_engine(stream)) {
    build(records, record_bytes);
  }
  void build(std::size_t records, std::size_t record_bytes) {
    std::vector<Bytes> all;
    for (std::size_t i = 0; i < records; ++i) all.push_back(database::random_bytes(random_, record_bytes));
    EXPECT_TRUE(good(database::build(folder_ / "db", all)));
  }
  std::filesystem::path kept() const { return folder_ / "kept"; }
  const TemporaryFolder& folder() const { return folder_; }
  std::shared_ptr<const database::Database> open() const {
    return database::Database::open(folder_ / "db").value();
  }
  /// Starts a server that keeps its rows in `file`.
  std::unique_ptr<AnyServer> start(const std::filesystem::path& file, FieldTag field = kTagGf2_8) {
    note.clear();
    ServerOptions options{.field = field, .prepared_file = file, .note = [this](const std::string& text) {
                            EXPECT_TRUE(note.empty()) << note;
                            note = text;
                          }};
    auto server = make_server(open(), options);
    EXPECT_TRUE(good(server));
    return std::move(*server);
  }
  std::string note;

 private:
  TemporaryFolder folder_;
  std::mt19937_64 random_;
};

/// The reply to a query over GF(2^8) that is the same for every server.
Bytes answer_of(const AnyServer& server, const database::Database& database) {
  const std::uint64_t rows = database.geometry().rows();
  Writer writer;
  MessageHeader{MessageType::kQuery, kTagGf2_8, database.version(), 1, 2, rows}.encode(writer);
  for (std::uint64_t i = 0; i < 2 * rows; ++i) writer.put(static_cast<std::uint8_t>(i * i + 3 * i + i / 7));
  const Bytes request = std::move(writer).take();
  const ByteSpan span = request;
  auto replies = server.answer({&span, 1});
  EXPECT_TRUE(good(replies[0]));
  return replies[0] ? *replies[0] : Bytes();
}

bool in_planes() { return strassen::Engine<gf2e::Gf2_8>(gf2e::Gf2_8()).kernels().sliced != nullptr; }

TEST(ServerPrepare, TheSecondStartReadsWhatTheFirstOneKept) {
  if (!in_planes()) GTEST_SKIP() << "no kernel that is allowed computes in planes";
  KeptRows rows(300, 1000, 1);
  const auto plain = make_server(rows.open(), {});
  ASSERT_TRUE(good(plain));
  const Bytes expected = answer_of(**plain, *rows.open());

  EXPECT_EQ(answer_of(*rows.start(rows.kept()), *rows.open()), expected);
  EXPECT_NE(rows.note.find("No such file"), std::string::npos) << rows.note;
  EXPECT_NE(rows.note.find("kept for the next start"), std::string::npos) << rows.note;
  EXPECT_EQ(answer_of(*rows.start(rows.kept()), *rows.open()), expected);
  EXPECT_EQ(rows.note, "the prepared database was read");
}

// Memory for speed: the same replies, and a word about what it takes.
TEST(ServerPrepare, EveryLayoutAnswersAlike) {
  KeptRows rows(300, 6000, 9);
  const auto start = [&](FieldTag field, const strassen::PrepareOptions& layout) {
    rows.note.clear();
    auto server = make_server(
        rows.open(),
        {.field = field, .layout = layout, .note = [&](const std::string& text) { rows.note = text; }});
    EXPECT_TRUE(good(server));
    return std::move(*server);
  };
  const auto query = [&](FieldTag field, std::size_t elem_bytes) {
    const auto database = rows.open();
    const std::uint64_t length = database->geometry().rows();
    Writer writer;
    MessageHeader{MessageType::kQuery, field, database->version(), 1, 40, length}.encode(writer);
    for (std::uint64_t i = 0; i < 40 * length * elem_bytes; ++i) {
      // Small numbers in the highest byte: elements of every field.
      writer.put(
          static_cast<std::uint8_t>(elem_bytes > 1 && i % elem_bytes == elem_bytes - 1 ? 0 : i * i + i / 7));
    }
    return std::move(writer).take();
  };
  const auto reply = [](const AnyServer& server, const Bytes& request) {
    const ByteSpan span = request;
    auto replies = server.answer({&span, 1});
    EXPECT_TRUE(good(replies[0]));
    return replies[0] ? *replies[0] : Bytes();
  };
  using strassen::Layout;
  for (const auto& [field, elem_bytes] :
       {std::pair{kTagGf2_8, 1u}, {kTagGf2_16, 2u}, {kTagW160, 21u}, {kTagW48, 7u}}) {
    SCOPED_TRACE(field.name());
    const Bytes request = query(field, elem_bytes);
    const Bytes expected = reply(*start(field, {}), request);
    EXPECT_EQ(rows.note, "");
    for (const strassen::PrepareOptions layout : {strassen::PrepareOptions{Layout::kRows, 0, 0},
                                                  {Layout::kResidues, 0, 0},
                                                  {Layout::kAuto, 0, 1},
                                                  {Layout::kAuto, 0, 2}}) {
      EXPECT_EQ(reply(*start(field, layout), request), expected);
      EXPECT_EQ(rows.note.empty(), layout.layout == Layout::kRows) << rows.note;
    }
  }
}

TEST(ServerPrepare, ADamagedFileIsMadeAnew) {
  if (!in_planes()) GTEST_SKIP() << "no kernel that is allowed computes in planes";
  KeptRows rows(300, 1000, 2);
  const Bytes expected = answer_of(*rows.start(rows.kept()), *rows.open());
  const Bytes whole = read_file(rows.kept());
  Bytes damaged = whole;
  damaged[damaged.size() / 2] ^= std::byte{1};
  for (const ByteSpan bytes : {ByteSpan(damaged), ByteSpan(whole).first(5000), ByteSpan()}) {
    write_file(rows.kept(), bytes);
    EXPECT_EQ(answer_of(*rows.start(rows.kept()), *rows.open()), expected);
    EXPECT_NE(rows.note.find("it has to be made anew) and kept"), std::string::npos) << rows.note;
    EXPECT_TRUE(read_file(rows.kept()) == whole);
  }
}

TEST(ServerPrepare, AnotherDatabaseOrFieldMakesAnotherFile) {
  if (!in_planes()) GTEST_SKIP() << "no kernel that is allowed computes in planes";
  KeptRows rows(300, 1000, 3);
  rows.start(rows.kept());
  rows.build(300, 1000);
  const auto plain = make_server(rows.open(), {});
  EXPECT_EQ(answer_of(*rows.start(rows.kept()), *rows.open()), answer_of(**plain, *rows.open()));
  EXPECT_NE(rows.note.find("made from another database (epoch 1,"), std::string::npos) << rows.note;
  rows.start(rows.kept(), kTagGf2_16);
  EXPECT_NE(rows.note.find("wanted are planes of gf2_16"), std::string::npos) << rows.note;
  rows.start(rows.kept(), kTagGf2_16);
  EXPECT_EQ(rows.note, "the prepared database was read");
}

// A pass has room for as many queries as stored levels of Strassen want, where the kernel has use for them.
TEST(ServerPrepare, StoredLevelsPreferLargePasses) {
  KeptRows rows(600, 1000, 8);
  const strassen::Engine<gf2e::Gf2_8> engine(gf2e::Gf2_8{});
  const auto preferred = [&](int depth) {
    const auto server = make_server(rows.open(), {.field = kTagGf2_8, .layout = {.depth = depth}});
    EXPECT_TRUE(good(server));
    return (*server)->preferred_queries();
  };
  const std::size_t least = in_planes() ? engine.kernels().crossovers.stored_level : 0;
  EXPECT_EQ(preferred(0), 0u);
  EXPECT_EQ(preferred(1), 4 * least);
  EXPECT_EQ(preferred(2), 8 * least);
}

TEST(ServerPrepare, WhatCannotBeKeptIsServedAllTheSame) {
  if (!in_planes()) GTEST_SKIP() << "no kernel that is allowed computes in planes";
  KeptRows rows(300, 1000, 4);
  const auto plain = make_server(rows.open(), {});
  const Bytes expected = answer_of(**plain, *rows.open());
  const Bytes database = read_file(rows.folder() / "db");
  for (const auto& file : {rows.folder() / "db", rows.folder() / "no folder/kept", rows.folder().path()}) {
    EXPECT_EQ(answer_of(*rows.start(file), *rows.open()), expected);
    EXPECT_NE(rows.note.find(") and not kept: "), std::string::npos) << rows.note;
  }
  EXPECT_TRUE(read_file(rows.folder() / "db") == database);
  EXPECT_EQ(rows.folder().files(), std::vector<std::string>{"db"});
}

TEST(ServerPrepare, RowsThatAreServedAsTheyLieAreNotKept) {
  KeptRows small(3, 10, 5), large(300, 1000, 6);
  small.start(small.kept());
  EXPECT_NE(small.note.find("nothing to keep"), std::string::npos) << small.note;
  large.start(large.kept(), kTagW160);
  EXPECT_NE(large.note.find("nothing to keep"), std::string::npos) << large.note;
  EXPECT_FALSE(std::filesystem::exists(small.kept()) || std::filesystem::exists(large.kept()));
}

TEST(ServerPrepare, TheOptionHasAName) {
  KeptRows rows(300, 1000, 7);
  std::vector<std::string> notes;
  ServerSpec spec;
  spec.note = [&](const std::string& text) { notes.push_back(text); };
  ASSERT_TRUE(good(pirx::testing::serve_file(
      "goldberg", rows.folder() / "db", {{"coordinate", "1"}, {"prepared", rows.kept().string()}}, spec)));
  EXPECT_EQ(notes.size(), 1u);
  EXPECT_EQ(std::filesystem::exists(rows.kept()), in_planes());
}

// Made from damaged rows, it would fit the database when that is mended, and be wrong for ever.
TEST(ServerPrepare, OfADamagedDatabaseNothingIsKept) {
  if (!in_planes()) GTEST_SKIP() << "no kernel that is allowed computes in planes";
  KeptRows rows(300, 1000, 8);
  Bytes file = read_file(rows.folder() / "db");
  file[4096 + 5000] ^= std::byte{1};
  pirx::testing::write_file(rows.folder() / "db", file);
  pirx::testing::expect_error(
      pirx::testing::serve_file("goldberg", rows.folder() / "db",
                                {{"coordinate", "1"}, {"prepared", rows.kept().string()}}, {}),
      ErrorCode::kDataLoss, "damaged");
  EXPECT_FALSE(std::filesystem::exists(rows.kept()));
}

// Requests that are answered together share one product, whose workspace is charged once.
template <class F>
void expect_workspace_is_counted(FieldTag field, KeptRows& rows, std::uint64_t& most) {
  const auto server = make_server(rows.open(), {.field = field, .max_queries_per_request = 4096});
  ASSERT_TRUE(good(server));
  const F f;
  const strassen::Engine<F> engine(f);
  const auto database = rows.open();
  const auto& geometry = database->geometry();
  const std::uint64_t words = geometry.words_per_row(f.word_bytes());
  most = 0;
  for (std::size_t q = 1; q <= 4096; ++q) {
    most = std::max(most, engine.plan({q, geometry.rows(), words}).workspace_bytes);
  }
  for (const std::size_t total : {1u, 2u, 7u, 8u, 31u, 64u, 256u, 1000u, 4096u}) {
    const std::uint64_t workspace = engine.plan({total, geometry.rows(), words}).workspace_bytes;
    const std::uint64_t data = total * (words * (f.sum_bytes() + sizeof(typename F::Sum)) +
                                        geometry.rows() * sizeof(typename F::Elem));
    for (const std::size_t each : {1u, 3u, 64u, 4096u}) {
      if (each > total) continue;
      const std::uint64_t charged = total / each * (*server)->working_bytes(each) +
                                    (*server)->working_bytes(total % each) + (*server)->pass_bytes();
      EXPECT_GE(charged, data + workspace) << total << " queries in requests of " << each;
    }
    EXPECT_LE((*server)->working_bytes(total), data + MessageHeader::kBytes) << total;
    EXPECT_LE((*server)->pass_bytes(), most) << total;
  }
}

TEST(ServerPrepare, TheWorkspaceOfTheEngineIsCounted) {
  KeptRows rows(2000, 1000, 8);
  std::uint64_t most = 0;
  // Products on rows as they lie, all that is left without kernels for planes, need none.
  expect_workspace_is_counted<gf2e::Gf2_8>(kTagGf2_8, rows, most);
  EXPECT_EQ(most > 0, in_planes());
  expect_workspace_is_counted<gf2e::Gf2_16>(kTagGf2_16, rows, most);
  EXPECT_EQ(most > 0, in_planes());
  expect_workspace_is_counted<fp::W160>(kTagW160, rows, most);
}

}  // namespace
}  // namespace pirx::itpir::goldberg
