// SPDX-License-Identifier: Apache-2.0
// CSV and TSV: what RFC 4180 allows, what it does not, and random text.
#include "importer_fixture.h"
#include "memory_limit.h"

namespace pirx::database {
namespace {

Result<Rows> csv(std::string_view text, const Columns& columns, bool header = true, char separator = ',') {
  return imported_text(text, [&](const std::filesystem::path& file, DatabaseBuilder& builder) {
    return import_delimited(file, separator, header, columns, builder);
  });
}

void expect_rows(const Result<Rows>& result, const Rows& expected) {
  ASSERT_TRUE(good(result));
  EXPECT_EQ(*result, expected);
}

TEST(ImportDelimited, PicksColumnsByNameAndNumber) {
  const std::string_view text = "id,name,size\n1,one,10\n2,two,20\n";
  expect_rows(csv(text, {"name", {"size"}}), {{"one", "10"}, {"two", "20"}});
  expect_rows(csv(text, {"2", {"3", "id"}}), {{"one", "10\t1"}, {"two", "20\t2"}});
  expect_rows(csv(text, {"id", {}}), {{"1", "1,one,10"}, {"2", "2,two,20"}});
  expect_rows(csv(text, {"", {"name"}}), {{"", "one"}, {"", "two"}});
  expect_rows(csv("1,one\n2,two", {"1", {"2"}}, false), {{"1", "one"}, {"2", "two"}});
  // A column that is called 2 is meant before the second one.
  expect_rows(csv("2,b\nx,y\n", {"", {"2"}}), {{"", "x"}});
}

TEST(ImportDelimited, QuotesNewlinesAndLineEnds) {
  expect_rows(csv("k,v\r\n\"a,b\",\"say \"\"hi\"\"\"\r\nc,\"two\r\nlines\n\"\r\n\"\",\"\"\"\"", {"k", {"v"}}),
              {{"a,b", "say \"hi\""}, {"c", "two\r\nlines\n"}, {"", "\""}});
  expect_rows(csv("k,v\n\"x\ny\",1\nz,2\n", {"", {}}), {{"", "\"x\ny\",1"}, {"", "z,2"}});
  expect_rows(csv("\xef\xbb\xbfk,v\n1,2\n", {"k", {"v"}}), {{"1", "2"}});
  expect_rows(csv("k,v\n,\n", {"k", {"v"}}), {{"", ""}});
  expect_rows(csv("k\nx\r\n\ny", {"k", {"k"}}), {{"x", "x"}, {"", ""}, {"y", "y"}});
  expect_rows(csv(std::string_view("k,v\na\0b,\xff\n", 10), {"k", {"v"}}),
              {{std::string("a\0b", 3), "\xff"}});
}

TEST(ImportDelimited, TabsHaveNoQuotes) {
  expect_rows(csv("k\tv\n\"a\t5\" pipe\nb\tx,y\n", {"k", {"v"}}, true, '\t'),
              {{"\"a", "5\" pipe"}, {"b", "x,y"}});
}

TEST(ImportDelimited, ErrorsNameFileLineAndCause) {
  const auto expect_refused = [](std::string_view text, const Columns& columns, std::string_view line,
                                 std::string_view cause, bool header = true, char separator = ',') {
    const auto result = csv(text, columns, header, separator);
    expect_error(result, ErrorCode::kInvalidArgument, cause);
    if (!result) {
      EXPECT_NE(result.error().message().find("input"), std::string::npos) << result.error().message();
      EXPECT_NE(result.error().message().find(line), std::string::npos) << result.error().message();
    }
  };
  expect_refused("", {"k", {}}, "input", "empty");
  expect_refused("k,v\n", {"k", {}}, "imported.db", "no records");
  expect_refused("k,v\n1,2\n", {"key", {"v"}}, "line 1", "no column \"key\" among the 2 columns: k, v");
  expect_refused("k,v\n1,2\n", {"k", {"value"}}, "line 1", "no column \"value\"");
  expect_refused("k,v\n1,2\n", {"k", {"3"}}, "line 1", "no column \"3\"");
  expect_refused("k,v\n1,2\n", {"k", {"0"}}, "line 1", "no column \"0\"");
  expect_refused("k,v\n1,2\n", {"k", {"1x"}}, "line 1", "no column \"1x\"");
  expect_refused("1,2\n", {"k", {"2"}}, "line 1", "no column \"k\" among the 2 columns: 1, 2", false);
  expect_refused("k,k\n1,2\n", {"k", {"2"}}, "line 1", "several columns \"k\"");
  expect_refused("k,v\n1,2\n3\n", {"k", {"v"}}, "line 3", "1 columns, the first line has 2");
  expect_refused("k,v\n\"a\nb\",2\n3,4,5\n", {"k", {"v"}}, "line 4",
                 "more columns than the first line, which has 2");
  expect_refused("k,v\n1,2\n\n", {"k", {"v"}}, "line 3", "1 columns");
  expect_refused("k,v\n1,\"open\nmore\n", {"k", {"v"}}, "line 2", "never closed");
  expect_refused("k,v\n1,\"", {"k", {"v"}}, "line 2", "never closed");
  expect_refused("k,v\n1,\"a\"b\n", {"k", {"v"}}, "line 2", "behind a closing quote");
  expect_refused("k,v\n1,a\"b\"\n", {"k", {"v"}}, "line 2", "inside of an unquoted field");
  expect_refused("k\tv\n1\n", {"k", {"v"}}, "line 2", "1 columns", true, '\t');
  expect_refused("k,v\n" + std::string(70000, 'x') + ",1\n", {"v", {"\x1b[2J"}}, "line 1", "\"?[2J\"");
}

TEST(ImportDelimited, LimitsOfTheBuilderNameTheLine) {
  BuildOptions options;
  options.max_record_bytes = 3;
  const auto result = imported_text(
      "k,v\n1,abc\n2,abcd\n",
      [](const std::filesystem::path& file, DatabaseBuilder& builder) {
        return import_delimited(file, ',', true, {"k", {"v"}}, builder);
      },
      options);
  expect_error(result, ErrorCode::kResourceExhausted, "line 3: a record of 4 bytes");
}

TEST(ImportDelimited, AnOpenQuoteDoesNotEatTheMemory) {
  // 130 MiB behind a quote that never closes: refused at the limit of a row.
  const TemporaryFolder folder;
  std::ofstream out(folder / "big", std::ios::binary);
  out << "k,v\n1,\"";
  const std::string block = std::string((1 << 20) - 1, 'x') + '\n';
  for (int i = 0; i < 130; ++i) out << block;
  out.close();
  BuildOptions options;
  options.max_record_bytes = 100;
  const auto result = imported(
      folder,
      [&](DatabaseBuilder& b) {
        return import_delimited(folder / "big", ',', true, {"k", {"v"}}, b);
      },
      options);
  expect_error(result, ErrorCode::kResourceExhausted, "longer than the limit");
}

TEST(ImportDelimited, ALineOfCommasDoesNotEatTheMemory) {
  const TemporaryFolder folder;
  const std::string commas(std::size_t{20} << 20, ',');
  write_file(folder / "header", as_bytes(commas));
  write_file(folder / "row", as_bytes("k,v\n" + commas));
  expect_true_within(std::uint64_t{200} << 20, [&] {
    auto builder = DatabaseBuilder::create(folder / "db", {});
    bool held = builder.has_value();
    for (const bool header : {false, true}) {
      held &= is_error(import_delimited(folder / "header", ',', header, {"1", {}}, *builder),
                       ErrorCode::kResourceExhausted, "line 1: the line has more than 4096 columns");
      held &= is_error(import_delimited(folder / "row", ',', header, {"1", {}}, *builder),
                       ErrorCode::kInvalidArgument,
                       "line 2: the row has more columns than the first line, which has 2");
    }
    return held;
  });
}

TEST(ImportDelimited, TheMostColumns) {
  const std::string most = std::string(4095, ',') + "x\n";
  expect_rows(csv(most, {"", {"4096"}}, false), {{"", "x"}});
  expect_error(csv("," + most, {"", {"1"}}, false), ErrorCode::kResourceExhausted, "4096 columns");
}

TEST(ImportDelimited, LongFieldsOfManyColumnsDoNotAddUp) {
  // 40 rows, each with 8 MiB in another column: one or two of them are held at a time.
  const TemporaryFolder folder;
  std::ofstream out(folder / "wide", std::ios::binary);
  const std::string field(std::size_t{8} << 20, 'x');
  for (int row = 0; row < 40; ++row) {
    out << "k" << std::string(static_cast<std::size_t>(row) + 1, ',') << field
        << std::string(static_cast<std::size_t>(39 - row), ',') << '\n';
  }
  out.close();
  expect_true_within(std::uint64_t{200} << 20, [&] {
    auto builder = DatabaseBuilder::create(folder / "db", {});
    return builder.has_value() &&
           import_delimited(folder / "wide", ',', false, {"", {"1"}}, *builder).has_value();
  });
}

TEST(ImportDelimited, RandomTablesRoundTrip) {
  auto engine = testing::seeded_engine(9);
  for (int round = 0; round < 50; ++round) {
    std::string text = "k,v,w\n";
    Rows expected;
    for (std::uint64_t i = 1 + engine() % 20; i > 0; --i) {
      std::string fields[3];
      for (int f = 0; f < 3; ++f) {
        fields[f] = random_text(engine, "ab,\"\n\r\t ", engine() % 6);
        const bool quoted = engine() % 3 == 0 || fields[f].find_first_of(",\"\n\r") != std::string::npos;
        if (f != 0) text += ',';
        if (quoted) text += '"';
        for (const char c : fields[f]) text += quoted && c == '"' ? "\"\"" : std::string(1, c);
        if (quoted) text += '"';
      }
      text += engine() % 2 == 0 ? "\n" : "\r\n";
      expected.emplace_back(fields[0], fields[2] + "\t" + fields[1]);
    }
    expect_rows(csv(text, {"k", {"w", "v"}}), expected);
  }
}

TEST(ImportDelimited, RandomTextNeverCrashes) {
  const TemporaryFolder folder;
  auto engine = testing::seeded_engine(10);
  int read = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto text =
        random_text(engine, i % 2 == 0 ? ",\"\n\rab" : ",,,aaaaaaaaaa\"\n\t\r\xff", engine() % 60);
    const bool header = engine() % 2 == 0;
    const char separator = engine() % 4 == 0 ? '\t' : ',';
    read += survives(folder, text, [&](const std::filesystem::path& file, DatabaseBuilder& builder) {
      return import_delimited(file, separator, header, {"1", {"1"}}, builder);
    });
  }
  EXPECT_GT(read, 50);
  EXPECT_LT(read, 4950);
}

TEST(ImportDelimited, BadRowsAreCountedAndLeftOut) {
  BadRows bad;
  const auto import = [&bad](std::string_view text) {
    bad = {};
    return imported_text(text,
                         [&](const std::filesystem::path& file, DatabaseBuilder& builder) {
                           return import_delimited(file, ',', true, {"k", {"v"}}, builder, &bad);
                         },
                         {.max_record_bytes = 5});
  };
  expect_rows(import("k,v\n1,2\n3\n4,5,6\n7,a\"b\n\"8\nx\",\"9\"z\n10,longer\n11,12\n"),
              {{"1", "2"}, {"11", "12"}});
  EXPECT_EQ(bad.count, 5u);
  ASSERT_EQ(bad.reasons.size(), 5u);
  const char* const causes[] = {"line 3: the row has 1 columns", "line 4: the row has more columns",
                                "line 5: broken quote", "line 7: broken quote",
                                "line 8: a record of 6 bytes"};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NE(bad.reasons[i].find(causes[i]), std::string::npos) << bad.reasons[i];
  }
  // What is wrong with the file is no matter of one row.
  expect_error(import("k,w\n1,2\n"), ErrorCode::kInvalidArgument, "no column \"v\"");
  expect_error(import("k,v\n1,2\n3,\"open\n"), ErrorCode::kInvalidArgument, "never closed");
  expect_error(import("\"k,v\n"), ErrorCode::kInvalidArgument, "never closed");
  expect_error(import("k,\"v\"x\n1,2\n"), ErrorCode::kInvalidArgument, "behind a closing quote");
  expect_error(import("k,v\n1\n"), ErrorCode::kInvalidArgument, "no records");
  EXPECT_EQ(bad.count, 1u);
}

TEST(ImportDelimited, LinesOfAFieldOfABadRowAreNoRows) {
  BadRows bad;
  const auto import = [&bad](std::string_view text) {
    bad = {};
    return imported_text(text, [&](const std::filesystem::path& file, DatabaseBuilder& builder) {
      return import_delimited(file, ',', true, {"k", {"v"}}, builder, &bad);
    });
  };
  // Too many columns, a quote in an unquoted field, text behind a closing quote; with or without more
  // columns.
  for (const char* row :
       {"2,hello,", "2,hello, world,", "2,5\" pipe,", "5\" pipe,", "\"2\" x,", "\"a\nb\"c,\"\"\"\","}) {
    for (const char* rest : {"\n", ",\"\"\"\"\n", " x,y\n"}) {
      expect_rows(import(std::string("k,v\n1,one\n") + row + "\"so:\nadmin,1234\n\"\"admin\"\",5\nbye\"" +
                         rest + "3,three\n"),
                  {{"1", "one"}, {"3", "three"}});
      EXPECT_EQ(bad.count, 1u) << row << rest;
    }
  }
  // Where the row ends is not known, so nothing behind it is taken.
  expect_error(import("k,v\n1,one\n2,hello,\"open\nadmin,1234\n"), ErrorCode::kInvalidArgument,
               "line 3: broken quote");
  EXPECT_EQ(bad.count, 1u);
}

TEST(ImportDelimited, RefusesImpossibleSeparatorsAndMissingFiles) {
  const TemporaryFolder folder;
  auto builder = DatabaseBuilder::create(folder / "db", {});
  ASSERT_TRUE(good(builder));
  expect_error(import_delimited(folder / "absent", ',', true, {}, *builder), ErrorCode::kUnavailable,
               "absent");
  expect_error(import_delimited(folder.path(), ',', true, {}, *builder), ErrorCode::kUnavailable,
               "directory");
  expect_error(import_delimited(folder / "x", '"', true, {}, *builder), ErrorCode::kInvalidArgument,
               "separator");
}

TEST(ReadDelimited, ShowsRowsUntilItIsStopped) {
  const TemporaryFolder folder;
  write_file(folder / "input", as_bytes("k,v\na,\"x\ny\"\nb,\"broken"));
  std::vector<std::vector<std::string>> rows;
  const auto read = [&](std::size_t most) {
    rows.clear();
    return read_delimited(folder / "input", ',', [&](std::span<const std::string> values) {
      rows.emplace_back(values.begin(), values.end());
      return rows.size() < most;
    });
  };
  EXPECT_TRUE(good(read(2)));
  EXPECT_EQ(rows, (std::vector<std::vector<std::string>>{{"k", "v"}, {"a", "x\ny"}}));
  expect_error(read(3), ErrorCode::kInvalidArgument, "line 4");
  expect_error(read_delimited(folder / "input", '"', [](auto) { return true; }), ErrorCode::kInvalidArgument,
               "separator");
  expect_error(read_delimited(folder / "absent", ',', [](auto) { return true; }), ErrorCode::kUnavailable,
               "absent");
}

}  // namespace
}  // namespace pirx::database
