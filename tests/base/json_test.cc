// SPDX-License-Identifier: Apache-2.0
// Typed members of JSON documents, and an error that names the place for everything that is wrong.
#include "pirx/base/json.h"

#include <gtest/gtest.h>

#include "database/memory_limit.h"
#include "pirx/base/printable.h"
#include "support/seed.h"

namespace pirx {
namespace {

Result<Json> parse(std::string_view text) {
  return Json::parse(text, {.name = "file", .advice = " (see the page)"});
}

template <class T>
void expect_error(const Result<T>& result, std::string_view message) {
  ASSERT_FALSE(result) << message;
  EXPECT_EQ(result.error().code(), ErrorCode::kDataLoss);
  EXPECT_EQ(result.error().message(), "file: " + std::string(message) + " (see the page)");
}

TEST(Json, TypedMembers) {
  const auto json = parse(R"({"n": 18446744073709551615, "x": -1.5, "yes": true, "s": "\u00e9\u0000",
                              "list": [1, {"a": [2]}], "empty": {}})")
                        .value();
  EXPECT_EQ(*json["n"].number(), ~std::uint64_t{0});
  EXPECT_EQ(*json["x"].real(), -1.5);
  EXPECT_EQ(*json["n"].real(), 18446744073709551616.0);
  EXPECT_TRUE(*json["yes"].boolean());
  EXPECT_EQ(*json["s"].string(), std::string("\xc3\xa9\0", 3));
  const auto list = json["list"].list().value();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(*list[0].number(1, 1), 1u);
  EXPECT_EQ(*list[1]["a"].list().value()[0].number(), 2u);
  EXPECT_TRUE(json["empty"].exists());
  EXPECT_TRUE(json["empty"].members()->empty());
  EXPECT_FALSE(json["none"].exists());
  EXPECT_FALSE(json["none"]["deeper"].exists());
  EXPECT_TRUE(*json["none"].boolean(true));
  EXPECT_TRUE(*json["yes"].boolean(false));
  EXPECT_EQ(*json["none"].string("otherwise"), "otherwise");
  const auto members = json.members().value();
  ASSERT_EQ(members.size(), 6u);
  for (const auto& [name, value] : members) EXPECT_TRUE(value.exists()) << name;
  EXPECT_TRUE(json["empty"].only({}));
  EXPECT_TRUE(json.only({"n", "x", "yes", "s", "list", "empty", "another"}));
}

TEST(Json, AValueOutlivesTheDocument) {
  const auto value = parse(R"({"a": {"b": "text"}})").value()["a"]["b"];
  EXPECT_EQ(*value.string(), "text");
  expect_error(value.number(), "'a.b' is not a whole number");
}

TEST(Json, ErrorsNameThePlace) {
  const auto good = parse(R"({"n": 7, "s": "7", "l": [1, {"u": null}], "x": 1.0, "m": -1,
                              "b": 18446744073709551616})")
                        .value();
  expect_error(good["n"].number(8, 9), "'n' is below 8");
  expect_error(good["n"].number(0, 6), "'n' is above 6");
  for (const char* name : {"s", "l", "x", "m", "b"}) {
    expect_error(good[name].number(), "'" + std::string(name) + "' is not a whole number");
  }
  expect_error(good["none"].number(), "'none' is missing");
  expect_error(good["none"]["deeper"].string(), "'none.deeper' is missing");
  expect_error(good["n"]["deeper"].string(), "'n.deeper' is missing");
  expect_error(good["s"].boolean(), "'s' is neither true nor false");
  expect_error(good["none"].boolean(), "'none' is missing");
  expect_error(good["s"].boolean(true), "'s' is neither true nor false");
  expect_error(good["n"].string(""), "'n' is not a string");
  expect_error(good["s"].real(), "'s' is not a number");
  expect_error(good["n"].string(), "'n' is not a string");
  expect_error(good["n"].members(), "'n' is not an object");
  expect_error(good["n"].list(), "'n' is not a list");
  expect_error(good["l"].list().value()[1]["u"].string(), "'l[1].u' is not a string");
  expect_error(good["l"].list().value()[1].only({"v"}), "'l[1].u' is not known");
  expect_error(Result<void>(good["n"].error("is odd")), "'n' is odd");
  expect_error(Result<void>(good.error("it is odd")), "it is odd");
  const auto other = Json::parse("[]", {.code = ErrorCode::kInvalidArgument});
  EXPECT_EQ(other.error().to_string(), "InvalidArgument: it is not a JSON object");
}

TEST(Json, HostileDocuments) {
  for (const char* text : {"",
                           "{",
                           "}",
                           "[]",
                           "null",
                           "7",
                           "\"a\"",
                           "{} {}",
                           "{},",
                           "{}x",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{'a':1}",
                           "{\"a\":01}",
                           "{\"a\":NaN}",
                           "{\"a\":1e400000}",
                           "{\"a\":\"\xff\"}",
                           "{\"a\":\"\n\"}",
                           "{\"a\":1 // b\n}",
                           "\xff\xfe",
                           "{\"a\":\"\\ud800\"}"}) {
    expect_error(parse(text), "it is not a JSON object");
  }
  // The time is linear: it was the square of a list's length, more than ten minutes here.
  std::string many = "{\"a\":[0";
  for (int i = 0; i < 250'000; ++i) many += ",{}";
  EXPECT_EQ(parse(many + "]}").value()["a"].list()->size(), 250'001U);
  expect_error(parse(std::string_view("{}\0", 3)), "it is not a JSON object");
  expect_error(parse(std::string_view("{}\0{}", 5)), "it is not a JSON object");
  expect_error(parse(R"({"a": 1, "b": 2, "a": 1})"), "'a' is there twice");
  expect_error(parse(R"({"b": [{"c": {}}, {"c": 1, "\u0063": 2}]})"), "'c' is there twice");
  EXPECT_TRUE(parse(R"({"a": {"a": {}}, "b": [{"a": 1}, {"a": 1}]})"));
  expect_error(parse(R"({"\u001b[31m": 1})").value()["\x1b[31m"].string(), "'?[31m' is not a string");
  const auto message = parse("{\"" + std::string(100'000, 'x') + "\": 1}")->only({}).error().message();
  EXPECT_LT(message.size(), 300u);
}

TEST(Json, PrintableIsShortAndPlain) {
  EXPECT_EQ(printable_ascii("abc", 2), "ab");
  EXPECT_EQ(printable_ascii(std::string("a\x1b[31m\x7f\x00\n\xc3\xa9~", 11), 100),
            "a?[31m????"
            "?");
  EXPECT_EQ(printable_ascii("", 5), "");
}

TEST(Json, DepthAndSizeAreLimited) {
  const auto nested = [](int depth) {
    std::string text = "{\"a\":";
    for (int i = 1; i < depth; ++i) text += "[";
    for (int i = 1; i < depth; ++i) text += "]";
    return text + "}";
  };
  EXPECT_FALSE(parse(nested(1)));
  EXPECT_TRUE(parse(nested(Json::kMaxDepth)));
  expect_error(parse(nested(Json::kMaxDepth + 1)), "it is nested too deeply");
  expect_error(parse(nested(100'000)), "it is nested too deeply");
  EXPECT_FALSE(parse(std::string(1'000'000, '[')));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_FALSE(parse(objects));
  // Lines are noted by path: of all depths they would be gigabytes.
  database::expect_true_within(std::uint64_t{1} << 30, [&] {
    const auto result = Json::parse(objects + "1" + std::string(100'000, '}'), {.lines = true});
    return !result && result.error().message() == "it is nested too deeply";
  });
  expect_error(parse(std::string((1 << 20) + 1, ' ')),
               "it is longer than the 1048576 bytes that it may have");
  EXPECT_TRUE(parse("{}" + std::string((1 << 20) - 2, ' ')));
  EXPECT_FALSE(Json::parse("{}", {.max_bytes = 1}));
}

TEST(Json, ManyNamesTakeLittleTime) {
  std::string text = "{\"-\":0";
  for (int i = 0; i < 80'000; ++i) text += ",\"" + std::to_string(i) + "\":0";
  EXPECT_EQ(parse(text + "}")->members()->size(), 80'001u);
}

TEST(Json, EveryTruncationAndRandomDamageIsSurvived) {
  const std::string text = R"({"a": [1, 2.5, {"b": "c\u00e9"}], "d": {"e": true, "f": null}, "g": -1e3})";
  ASSERT_TRUE(parse(text));
  for (std::size_t length = 0; length < text.size(); ++length) EXPECT_FALSE(parse(text.substr(0, length)));
  auto random = testing::seeded_engine();
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = text;
    for (int edits = 0; edits < 3; ++edits) damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto json = parse(damaged);
    if (!json) continue;
    const auto members = json->members().value();
    for (const auto& [name, value] : members) {
      (void)value.number();
      (void)value.list();
      (void)value["e"].boolean();
    }
  }
}

TEST(OutJson, WritesWhatItIsGivenInOrder) {
  OutJson json = {
      {"z", 1}, {"a", {{"x", 1.5}, {"y", nullptr}}}, {"list", std::vector<std::uint64_t>{~0ull, 2}}};
  json["z"] = -3;
  json["deep"]["er"] = true;
  json["empty"] = OutJson::list();
  json["none"] = OutJson::object();
  json["map"] = std::map<std::string, std::string>{{"k", "v"}};
  json["more"].push_back("one");
  json["more"].push_back({{"two", 2u}});
  EXPECT_EQ(json.dump(),
            R"({"z":-3,"a":{"x":1.5,"y":null},"list":[18446744073709551615,2],"deep":{"er":true},)"
            R"("empty":[],"none":{},"map":{"k":"v"},"more":["one",{"two":2}]})");
  EXPECT_EQ(OutJson({{"a", {{"b", 1}}}}).dump(1), "{\n \"a\": {\n  \"b\": 1\n }\n}");
}

// Names of peers are in logs and reports.
TEST(OutJson, EscapesHostileText) {
  using namespace std::string_literals;
  const OutJson json = {{"t", "\"\\\n\0\x1f\x7f\xc3\xa9\xc2\x9b\xc2\xa0\xff"s}, {"\"k", "x"}};
  EXPECT_EQ(
      json.dump(),
      "{\"t\":\"\\\"\\\\\\n\\u0000\\u001f\\u007f\xc3\xa9\\u009b\xc2\xa0\xef\xbf\xbd\",\"\\\"k\":\"x\"}");
  EXPECT_TRUE(is_utf8("\xc3\xa9"));
  EXPECT_FALSE(is_utf8("\xc3"));
}

TEST(OutJson, TheFirstMemberOfANameCounts) {
  EXPECT_EQ(OutJson(OutJson::Members{{"time", 1}, {"time", 2}}).dump(), R"({"time":1})");
}

}  // namespace
}  // namespace pirx
