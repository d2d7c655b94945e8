// Tuning files: round trip, and an error that names the cause for every kind of damage.
#include "tools/pirx/tuning_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <random>

#include "support/seed.h"

namespace pirx::cli {
namespace {

using strassen::Tuning;
using strassen::Way;

constexpr const char* kGood = R"({
  "pirx_tuning": 1, "cpu": "avx2+gfni",
  "thresholds": [
    {"field": "gf2_8", "kernel": "gfni512", "way": "fused", "queries": 48},
    {"field": "w160", "kernel": "ifma", "way": "toom", "queries": 0}
  ]
})";

std::string with(std::string_view what, std::string_view by) {
  std::string text = kGood;
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

TEST(TuningFile, RoundTrip) {
  const auto a = parse_tuning(kGood).value();
  ASSERT_EQ(a.thresholds().size(), 2u);
  EXPECT_EQ(a.queries(kTagGf2_8, "gfni512", Way::kFused), 48u);
  EXPECT_EQ(a.queries(kTagW160, "ifma", Way::kToom), 0u) << "never, not what is shipped";
  EXPECT_EQ(parse_tuning(format_tuning(a, "cpu")).value().thresholds(), a.thresholds());
  const Tuning& shipped = Tuning::shipped();
  EXPECT_EQ(parse_tuning(format_tuning(shipped, "")).value().thresholds(), shipped.thresholds());
}

TEST(TuningFile, EveryDamageHasItsError) {
  const struct {
    std::string text;
    ErrorCode code;
    const char* says;
  } cases[] = {
      {"", ErrorCode::kDataLoss, "not a JSON object"},
      {"[1]", ErrorCode::kDataLoss, "not a JSON object"},
      {with("\"pirx_tuning\": 1", "\"pirx_tuning\": 2"), ErrorCode::kDataLoss,
       "the version that this pirx reads"},
      {with("\"pirx_tuning\": 1, ", ""), ErrorCode::kDataLoss, "'pirx_tuning' is not 1"},
      {with("\"cpu\"", "\"gpu\""), ErrorCode::kDataLoss, "gpu is not known"},
      {with("\"thresholds\": [", "\"thresholds\": 1, \"cpu\": ["), ErrorCode::kDataLoss, "not a list"},
      {with("{\"field\": \"gf2_8\"", "7, {\"field\": \"gf2_8\""), ErrorCode::kDataLoss,
       "thresholds[0] is not an object"},
      {with("\"field\": \"w160\"", "\"field\": \"w161\""), ErrorCode::kInvalidArgument, "w161"},
      {with("\"field\": \"w160\"", "\"field\": 160"), ErrorCode::kDataLoss, "thresholds[1].field"},
      {with("\"kernel\": \"ifma\", ", ""), ErrorCode::kDataLoss, "thresholds[1].kernel"},
      {with("\"way\": \"toom\"", "\"way\": \"tom\\u001b\""), ErrorCode::kDataLoss, "'tom?'"},
      {with("\"queries\": 48", "\"queries\": -1"), ErrorCode::kDataLoss, "thresholds[0].queries"},
      {with("\"queries\": 48", "\"queries\": 1e3"), ErrorCode::kDataLoss, "thresholds[0].queries"},
      {with("\"queries\": 48", "\"queries\": 48, \"depth\": 1"), ErrorCode::kDataLoss, "depth is not known"},
      {with("\"queries\": 48", "\"queries\": 4000"), ErrorCode::kInvalidArgument, "at most 256"},
      {with("\"w160\", \"kernel\": \"ifma\", \"way\": \"toom\"",
            "\"gf2_8\", \"kernel\": \"gfni512\", \"way\": \"fused\""),
       ErrorCode::kInvalidArgument, "twice"},
  };
  for (const auto& c : cases) {
    const auto tuning = parse_tuning(c.text);
    ASSERT_FALSE(tuning) << c.text;
    EXPECT_EQ(tuning.error().code(), c.code) << tuning.error().to_string();
    EXPECT_NE(tuning.error().message().find(c.says), std::string::npos)
        << tuning.error().message() << "\nwants " << c.says;
  }
}

TEST(TuningFile, NoiseIsAnErrorOrATable) {
  auto engine = testing::seeded_engine();
  const std::string good = kGood;
  for (int round = 0; round < 2000; ++round) {
    std::string text = good;
    for (int change = 0; change < 3; ++change) text[engine() % text.size()] = static_cast<char>(engine());
    const auto tuning = parse_tuning(text);
    if (tuning) {
      EXPECT_LE(tuning->thresholds().size(), 2u);
    } else {
      EXPECT_FALSE(tuning.error().message().empty());
    }
  }
}

TEST(TuningFile, TheDefaultFileIsReadIfItIsThereAndMustBeGood) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / ("tuning-" + std::to_string(::getpid()));
  ASSERT_EQ(::setenv("XDG_CONFIG_HOME", folder.c_str(), 1), 0);
  const auto file = folder / "pirx" / "tuning.json";
  EXPECT_EQ(default_tuning_path(), file);
  EXPECT_EQ(use_tuning({}).value(), std::filesystem::path()) << "no file, no error";
  EXPECT_EQ(use_tuning(file).error().code(), ErrorCode::kUnavailable) << "but not when it was asked for";
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << kGood;
  EXPECT_EQ(use_tuning({}).value(), file);
  EXPECT_EQ(strassen::process_tuning()->queries(kTagGf2_8, "gfni512", Way::kFused), 48u);
  std::ofstream(file) << "{";
  EXPECT_EQ(use_tuning({}).error().code(), ErrorCode::kDataLoss);
  std::ofstream(file) << std::string(300 << 10, ' ');
  EXPECT_EQ(use_tuning({}).error().code(), ErrorCode::kDataLoss);
  strassen::set_process_tuning({});
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace pirx::cli
