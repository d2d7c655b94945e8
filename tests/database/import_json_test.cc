// SPDX-License-Identifier: Apache-2.0
// JSON lines: values of every kind, every error, random text, and the same rows as nlohmann-json would give.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "importer_fixture.h"
#include "memory_limit.h"

namespace pirx::database {
namespace {

Result<Rows> json(std::string_view text, const Columns& columns) {
  return imported_text(text, [&](const std::filesystem::path& file, DatabaseBuilder& builder) {
    return import_json_lines(file, columns, builder);
  });
}

TEST(ImportJson, ValuesOfEveryKind) {
  const auto rows = json(
      "{\"k\":\"a\",\"v\":\"text \\u00e9\\n\"}\n\n"
      "{\"v\" : [1, {\"x\" : null}], \"k\" : 7}\r\n"
      "   \n{\"k\":false,\"v\":true,\"other\":null}",
      {"k", {"v"}});
  ASSERT_TRUE(good(rows));
  EXPECT_EQ(*rows, (Rows{{"a", "text \xc3\xa9\n"}, {"7", "[1,{\"x\":null}]"}, {"false", "true"}}));
}

TEST(ImportJson, WholeLinesAndJoinedMembers) {
  auto rows = json("{\"k\": \"a\",  \"v\": 1}\r\n", {"k", {}});
  ASSERT_TRUE(good(rows));
  EXPECT_EQ(*rows, (Rows{{"a", "{\"k\": \"a\",  \"v\": 1}"}}));
  rows = json("\xef\xbb\xbf{\"a\":1,\"b\":\"x\"}\n", {"", {"b", "a"}});
  ASSERT_TRUE(good(rows));
  EXPECT_EQ(*rows, (Rows{{"", "x\t1"}}));
}

TEST(ImportJson, ErrorsNameLineAndCause) {
  const auto expect_refused = [](std::string_view text, std::string_view part) {
    expect_error(json(text, {"k", {"v"}}), ErrorCode::kInvalidArgument, part);
  };
  expect_refused("", "no records");
  expect_refused("{\"k\":1,\"v\":2}\n{\"k\":1,\"w\":2}\n",
                 "input, line 2: there is no member \"v\"; the object has: k, w");
  expect_refused("{\"k\":1,\"v\":2}\n{\"k\":null,\"v\":2}\n", "line 2: member \"k\" is null");
  expect_refused("{\"k\":1,\"v\":null}\n", "line 1: member \"v\" is null");
  expect_refused("{\"v\":2}\n", "line 1: there is no member \"k\"");
  expect_refused("{\"k\":1,\"v\":2\n", "line 1: not valid JSON");
  expect_refused("{\"k\":1,\"v\":2} x\n", "not valid JSON");
  expect_refused("{\"k\":1,\"v\":1e999}\n", "not valid JSON");
  using namespace std::string_view_literals;
  expect_refused("{\"k\":1,\"v\":2}\0{\"k\":3,\"v\":4}\0"sv, "line 1: not valid JSON: there is a zero byte");
  expect_refused("[{\"k\":1,\"v\":2}\0{\"k\":3,\"v\":4}]"sv, "zero byte");
  expect_refused("{\"k\":1,\"v\":\"\xff\"}\n", "not valid JSON");
  expect_refused("[{\"k\":1,\"v\":2},{\"k\":3,\"v\":4}]\n", "a line is one object");
  expect_refused("[1]\n", "not a JSON object but number");
  expect_refused("5\n", "not a JSON object but number");
  expect_refused("{\"k\":1,\"v\":2}\n[{\"k\":1,\"v\":2}]\n", "line 2: not a JSON object but array");
}

TEST(ImportJson, AnArrayWithAnObjectALine) {
  const Columns columns{"k", {"v"}};
  const Rows expected{{"a", "x]"}, {"b", "[1]"}};
  for (const std::string_view text : {"[{\"k\":\"a\",\"v\":\"x]\"},\n{\"k\":\"b\",\"v\":[1]}]\n",
                                      " [ {\"k\":\"a\",\"v\":\"x]\"} , \r\n\n{\"k\":\"b\",\"v\":[1]} ]"}) {
    const auto rows = json(text, columns);
    ASSERT_TRUE(good(rows));
    EXPECT_EQ(*rows, expected);
  }
  // What a program printed that failed on the way.
  expect_error(json("[{\"k\":1,\"v\":2},\n{\"k\":3,\"v\":4},\n", columns), ErrorCode::kDataLoss,
               "line 2: the array does not end");
  expect_error(json("[{\"k\":1,\"v\":2}\n", columns), ErrorCode::kInvalidArgument,
               "line 1: a line of an array");
  expect_error(json("[{\"k\":1,\"v\":2}]\n\n{\"k\":3,\"v\":4}]\n", columns), ErrorCode::kInvalidArgument,
               "line 3: text behind the end");
  for (const std::string_view text : {"[\n", "[]\n", "[,\n", "[]]\n"}) EXPECT_FALSE(json(text, columns));
}

TEST(ImportJson, NestingIsBounded) {
  const auto nested = [](std::size_t depth, std::string_view open, std::string_view close) {
    std::string text = "{\"k\":1,\"v\":";
    for (std::size_t i = 0; i < depth; ++i) text += open;
    text += "1";
    for (std::size_t i = 0; i < depth; ++i) text += close;
    return text + "}\n";
  };
  EXPECT_TRUE(good(json(nested(63, "[", "]"), {"k", {"v"}})));
  for (const std::size_t depth : {64u, 1000u, 1000000u}) {
    expect_error(json(nested(depth, "[", "]"), {"k", {"v"}}), ErrorCode::kInvalidArgument, "deeper than 64");
    expect_error(json(nested(depth, "{\"a\":", "}"), {"k", {"v"}}), ErrorCode::kInvalidArgument,
                 "deeper than 64");
  }
  // Brackets in strings are no nesting.
  EXPECT_TRUE(good(json("{\"k\":1,\"v\":\"\\\"" + std::string(1000, '[') + "\"}\n", {"k", {"v"}})));
}

TEST(ImportJson, ALineOfValuesDoesNotEatTheMemory) {
  const TemporaryFolder folder;
  std::string zeros = "{\"k\":[0", empties = "{\"k\":[[]", members = "{\"k\":{\"\":0";
  while (zeros.size() < std::size_t{21} << 20) {
    zeros += ",0";
    empties += ",[]";
    members += ",\"\":0";
  }
  write_file(folder / "zeros", as_bytes(zeros + "]}"));
  write_file(folder / "empties", as_bytes(empties + "]}"));
  write_file(folder / "members", as_bytes(members + "}}"));
  zeros = empties = members = {};
  zeros.shrink_to_fit(), empties.shrink_to_fit(), members.shrink_to_fit();
  expect_true_within(std::uint64_t{300} << 20, [&] {
    auto builder = DatabaseBuilder::create(folder / "db", {});
    bool held = builder.has_value();
    for (const std::string_view name : {"zeros", "empties", "members"}) {
      held &= is_error(import_json_lines(folder / name, {"k", {}}, *builder), ErrorCode::kResourceExhausted,
                       "line 1: the JSON has more than 65536 values");
    }
    return held;
  });
}

TEST(ImportJson, TheMostValues) {
  // The object, its member, the array and what is in it: commas in strings are no values.
  const auto array_of = [](std::size_t count) {
    std::string text = "{\"k\":[\"" + std::string(70000, ',') + "\"";
    for (std::size_t i = 1; i < count; ++i) text += ",0";
    return text + "]}\n";
  };
  EXPECT_TRUE(good(json(array_of(65534), {"", {}})));
  expect_error(json(array_of(65535), {"", {}}), ErrorCode::kResourceExhausted, "65536 values");
}

TEST(ImportJson, ANumberThatIsReadAsADoubleIsNoKey) {
  for (const std::string_view key : {"1.10", "1.0", "1e2", "123456789012345678901", "18446744073709551616",
                                     "-9223372036854775809", "100000000000000000000000"}) {
    expect_error(json("{\"k\":" + std::string(key) + ",\"v\":1}\n", {"k", {"v"}}),
                 ErrorCode::kInvalidArgument,
                 "line 1: the key, member \"k\", is a number that is not an integer of 64 bits: write it");
    for (const auto& inside :
         {"[7," + std::string(key) + "]", "{\"a\":[{\"b\":" + std::string(key) + "}]}"}) {
      expect_error(json("{\"k\":" + inside + ",\"v\":1}\n", {"k", {}}), ErrorCode::kInvalidArgument,
                   "member \"k\", has a number");
    }
  }
  const auto rows = json(
      "{\"k\":18446744073709551615,\"v\":1.10}\n{\"k\":-9223372036854775808,\"v\":18446744073709551616}\n"
      "{\"k\":\"123456789012345678901\",\"v\":1e2}\n{\"k\":[1,\"1.10\"],\"v\":0}\n{\"k\":1.5,\"k\":2,\"v\":3}"
      "\n",
      {"k", {"v"}});
  ASSERT_TRUE(good(rows));
  EXPECT_EQ(*rows, (Rows{{"18446744073709551615", "1.1"},
                         {"-9223372036854775808", "1.8446744073709552e+19"},
                         {"123456789012345678901", "100.0"},
                         {"[1,\"1.10\"]", "0"},
                         {"2", "3"}}));
}

bool has_double(const nlohmann::json& value) {
  return value.is_number_float() ||
         (value.is_structured() && std::any_of(value.begin(), value.end(), has_double));
}

/// Key and value of a line by nlohmann-json alone; nothing where the line must be refused.
std::optional<std::pair<std::string, std::string>> by_nlohmann(const std::string& line) {
  const auto object = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
  if (!object.is_object()) return std::nullopt;
  const auto text = [&](const char* name) -> std::optional<std::string> {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) return std::nullopt;
    return found->is_string() ? found->get<std::string>() : found->dump();
  };
  const auto key = text("k"), value = text("v");
  if (!key || !value || has_double(object["k"])) return std::nullopt;
  return std::pair(*key, *value);
}

/// Whether the importer makes of each line what nlohmann-json makes of it. A line is imported alone to see
/// whether it is refused, and what is taken is imported again, as one file.
void expect_like_nlohmann(const std::vector<std::string>& lines) {
  const TemporaryFolder folder;
  std::string taken;
  Rows expected;
  for (const auto& line : lines) {
    const auto row = by_nlohmann(line);
    const bool survived =
        survives(folder, line, [](const std::filesystem::path& file, DatabaseBuilder& builder) {
          return import_json_lines(file, {"k", {"v"}}, builder);
        });
    EXPECT_EQ(survived, row.has_value()) << line;
    if (!row || !survived) continue;
    taken += line + "\n";
    expected.push_back(*row);
  }
  ASSERT_FALSE(expected.empty());
  const auto rows = json(taken, {"k", {"v"}});
  ASSERT_TRUE(good(rows));
  ASSERT_EQ(rows->size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ((*rows)[i], expected[i]);
}

TEST(ImportJson, ValuesAreThoseOfNlohmannJson) {
  std::vector<std::string> lines;
  for (const std::string_view value : {"0",
                                       "-0",
                                       "-0.0",
                                       "7",
                                       "-1",
                                       "1e3",
                                       "1E+2",
                                       "0.1",
                                       "1.0",
                                       "1e-7",
                                       "123.456e7",
                                       "5e-324",
                                       "1e-400",
                                       "1e308",
                                       "1e309",
                                       "-1e309",
                                       "1e999999",
                                       "0e999999",
                                       "01",
                                       "-",
                                       "1.",
                                       ".5",
                                       "+1",
                                       "1e",
                                       "0x10",
                                       "NaN",
                                       "Infinity",
                                       "tru",
                                       "true",
                                       "false",
                                       "null",
                                       "nul",
                                       "\"\"",
                                       "\"\\u0041\"",
                                       "\"\\u00e9\"",
                                       "\"\\ud83d\\ude00\"",
                                       "\"\\ud800\"",
                                       "\"\\udc00\"",
                                       "\"\\ud800x\"",
                                       "\"\\u00\"",
                                       "\"\\x\"",
                                       "\"\\/\\b\\f\\n\\r\\t\\\\\\\"\"",
                                       "\"\t\"",
                                       "\"a",
                                       "\"\xc3\xa9\"",
                                       "\"\xc0\xaf\"",
                                       "\"\xed\xa0\x80\"",
                                       "\"\xf4\x90\x80\x80\"",
                                       "\"\xe2\x82\"",
                                       "9007199254740993",
                                       "9223372036854775807",
                                       "9223372036854775808",
                                       "-9223372036854775808",
                                       "-9223372036854775809",
                                       "18446744073709551615",
                                       "18446744073709551616",
                                       "123456789012345678901234567890",
                                       "0.1000000000000000055511151231257827",
                                       "2.2250738585072011e-308",
                                       "[]",
                                       "{}",
                                       "[ 1 , 2.50 , \"x\" ]",
                                       "{\"b\":1,\"a\":{\"d\":null,\"c\":[true]},\"b\":2}",
                                       "[1,]",
                                       "{,}",
                                       "{\"a\"}",
                                       "{\"a\":}",
                                       "[1 2]",
                                       "[123456789012345678901]",
                                       "[[[[1]]]]",
                                       "\"\x7f\"",
                                       "\"\\u0000\"",
                                       "{\"\":0}"}) {
    const std::string text(value);
    lines.push_back("{\"k\":\"x\",\"v\":" + text + "}");
    lines.push_back(" { \"v\" : " + text + " , \"other\":[{}],\"k\" : " + text + "\t}\r");
    lines.push_back("{\"k\":1,\"v\":null,\"v\":" + text + "}");
    lines.push_back("{\"k\":1,\"v\":" + text + ",\"v\":2,\"\\u006b\":3}");
    lines.push_back("{\"k\":1,\"v\":2,\"other\":" + text + "}");
  }
  for (const std::string_view line :
       {"", "{}", "[1]", "{\"k\":1,\"v\":2}}", "{\"k\":1,\"v\":2},", "{\"k\":1,\"v\":2",
        "\xef\xbb\xbf{\"k\":1,\"v\":2}", "{\"k\":1 \"v\":2}", "{k:1,\"v\":2}"}) {
    if (!line.empty() && line[0] != '[') lines.emplace_back(line);
  }
  // Around the length up to which simdjson reads a line.
  for (const std::size_t size : {65'500u, 65'515u, 65'536u, 65'600u, 200'000u}) {
    lines.push_back("{\"k\":" + std::to_string(size) + ",\"v\":\"" + std::string(size, 'x') + "\"}");
  }
  expect_like_nlohmann(lines);
}

TEST(ImportJson, RandomChangesAreReadAsByNlohmannJson) {
  constexpr std::string_view kLetters = "{}[]\",:\\ 019eE+-.nulltruefals\t";
  auto engine = testing::seeded_engine(13);
  std::vector<std::string> lines;
  for (int i = 0; i < 3000; ++i) {
    std::string text =
        "{\"k\":\"x\\u00e9\",\"v\":[1,{\"a\":\"\\u0041\",\"b\":-1.5e3},null],\"w\":18446744073709551615}";
    for (std::uint64_t n = 1 + engine() % 3; n > 0; --n) {
      char& c = text[1 + engine() % (text.size() - 1)];
      do {
        c = engine() % 4 == 0 ? static_cast<char>(engine()) : kLetters[engine() % kLetters.size()];
      } while (c == '\n' || c == '\0');  // nlohmann-json ends at a zero byte, which is refused here.
    }
    lines.push_back(text);
  }
  expect_like_nlohmann(lines);
}

TEST(ImportJson, BadRowsAreCountedAndLeftOut) {
  BadRows bad;
  const auto rows = imported_text(
      "{\"k\":1,\"v\":2}\nnonsense\n{\"k\":1}\n{\"k\":3,\"v\":null}\n{\"k\":4,\"v\":\"longer\"}\n[1]\n5\n{"
      "\"k\":7,\"v\":8}\n",
      [&](const std::filesystem::path& file, DatabaseBuilder& builder) {
        return import_json_lines(file, {"k", {"v"}}, builder, &bad);
      },
      {.max_record_bytes = 5});
  ASSERT_TRUE(good(rows));
  EXPECT_EQ(*rows, (Rows{{"1", "2"}, {"7", "8"}}));
  EXPECT_EQ(bad.count, 6u);
  ASSERT_EQ(bad.reasons.size(), BadRows::kMostReasons);
  EXPECT_NE(bad.reasons[0].find("input, line 2: not valid JSON"), std::string::npos) << bad.reasons[0];
  EXPECT_NE(bad.reasons[1].find("line 3: there is no member \"v\""), std::string::npos) << bad.reasons[1];
  EXPECT_NE(bad.reasons[2].find("line 4: member \"v\" is null"), std::string::npos) << bad.reasons[2];
  EXPECT_NE(bad.reasons[3].find("line 5: a record of 6 bytes"), std::string::npos) << bad.reasons[3];
}

TEST(ImportJson, RandomTextNeverCrashes) {
  const TemporaryFolder folder;
  auto engine = testing::seeded_engine(12);
  int read = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = "{\"k\":\"x\",\"v\":[1,{\"a\":\"\\u0041\"},null]}\n{\"k\":2,\"v\":-1.5e3}\n";
    for (std::uint64_t n = engine() % 4; n > 0; --n) {
      text[engine() % text.size()] =
          engine() % 2 == 0 ? static_cast<char>(engine()) : "{}[]\",:\\\n1e-"[engine() % 12];
    }
    read += survives(folder, text, [](const std::filesystem::path& file, DatabaseBuilder& builder) {
      return import_json_lines(file, {"k", {"v"}}, builder);
    });
  }
  EXPECT_GT(read, 100);
  EXPECT_LT(read, 2900);
}

TEST(ReadJsonLines, ShowsMembersUntilItIsStopped) {
  const TemporaryFolder folder;
  write_file(folder / "input",
             as_bytes("[{\"b\":\"x\",\"a\":1,\"n\":null,\"o\":{},\"l\":[1]},\n{\"a\":true},\n{\"a\":2}\n"));
  std::vector<JsonMembers> objects;
  const auto read = [&](std::size_t most) {
    objects.clear();
    return read_json_lines(folder / "input", [&](const JsonMembers& members) {
      objects.push_back(members);
      return objects.size() < most;
    });
  };
  EXPECT_TRUE(good(read(2)));
  EXPECT_EQ(objects, (std::vector<JsonMembers>{{{"b", "x"}, {"a", "1"}}, {{"a", "true"}}}));
  expect_error(read(3), ErrorCode::kInvalidArgument, "line 3: a line of an array");
  // What can be no key is not shown, since keys are looked for.
  write_file(folder / "input", as_bytes("{\"a\":1.5,\"b\":123456789012345678901,\"c\":7}\n"));
  EXPECT_TRUE(good(read(1)));
  EXPECT_EQ(objects, (std::vector<JsonMembers>{{{"c", "7"}}}));
}

}  // namespace
}  // namespace pirx::database
