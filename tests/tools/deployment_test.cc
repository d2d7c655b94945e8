// Deployment files: round trip, and an error that names the cause for every kind of damage.
#include "tools/pirx/deployment.h"

#include <gtest/gtest.h>

#include <random>

#include "support/seed.h"

namespace pirx::cli {
namespace {

constexpr const char* kGood = R"({
  "pirx_deployment": 1, "protocol": "goldberg", "field": "gf2_8", "threshold": 2,
  "database": {"identity": "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", "epoch": 7,
               "records": 100, "record_bytes": 40, "records_per_row": 3, "variable_length": true, "digests": true},
  "servers": [{"url": "http://127.0.0.1:1", "coordinate": 1}, {"url": "https://b.example", "coordinate": 2, "ca_file": "ca.pem"},
              {"url": "http://c.example", "coordinate": 9, "allow_plaintext": true}]
})";

std::string with(std::string_view what, std::string_view by) {
  std::string text = kGood;
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

TEST(Deployment, RoundTrip) {
  const auto a = parse_deployment(kGood, "/folder").value();
  EXPECT_EQ(a.params.threshold(), 2u);
  EXPECT_EQ(a.params.field(), kTagGf2_8);
  EXPECT_EQ(a.params.version().epoch, 7u);
  EXPECT_EQ(a.params.coordinates(), (std::vector<std::uint64_t>{1, 2, 9}));
  EXPECT_EQ(a.params.geometry().spec().records_per_row, 3u);
  EXPECT_EQ(a.servers[1].ca_file, "/folder/ca.pem");
  EXPECT_TRUE(a.servers[2].allow_plaintext);
  EXPECT_FALSE(a.servers[0].allow_plaintext);
  const auto b = parse_deployment(format_deployment(a), "").value();
  EXPECT_EQ(b.params.version(), a.params.version());
  EXPECT_EQ(b.params.geometry(), a.params.geometry());
  EXPECT_EQ(b.servers[1].ca_file, a.servers[1].ca_file);
}

TEST(Deployment, OfBucketsRoundTrips) {
  const auto a = parse_deployment(with("\"threshold\": 2",
                                       "\"threshold\": 1, \"encoding\": {\"arity\": 2, "
                                       "\"independence\": 0, \"modulus\": 2}"),
                                  "");
  ASSERT_FALSE(a) << "coordinate 1 is a data coordinate";
  EXPECT_EQ(a.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(a.error().message().find("is also a data coordinate"), std::string::npos) << a.error().message();

  auto text = with(
      "\"threshold\": 2",
      "\"threshold\": 1, \"ramp\": 1, \"encoding\": {\"arity\": 1, \"independence\": 1, \"modulus\": 1}");
  const auto b = parse_deployment(text, "").value();
  EXPECT_EQ(b.params.encoding().degree(), 2u);
  const auto again = parse_deployment(format_deployment(b), "").value();
  EXPECT_EQ(again.params.spec().independence, 1u);
  EXPECT_EQ(again.params.spec().modulus, 1u);
  EXPECT_EQ(again.params.spec().arity, 1u);

  const auto c = parse_deployment(with("\"threshold\": 2", "\"threshold\": 1, \"ramp\": 2"), "").value();
  EXPECT_EQ(parse_deployment(format_deployment(c), "")->params.spec().ramp, 2u);
}

constexpr const char* kFilter =
    R"("digests": true, "key_filter": {"segment_length": 9, "segments": 3, "tweak": 2,
       "seed": "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100"}})";

TEST(Deployment, RoundTripOfAKeyedDatabase) {
  const auto a = parse_deployment(with("\"digests\": true}", kFilter), "").value();
  ASSERT_TRUE(a.params.geometry().keyed());
  const auto& filter = *a.params.geometry().spec().filter;
  EXPECT_EQ(filter.segment_length, 9u);
  EXPECT_EQ(filter.segments, 3u);
  EXPECT_EQ(filter.tweak, 2u);
  EXPECT_EQ(filter.seed[1], std::byte{0xEE});
  EXPECT_EQ(parse_deployment(format_deployment(a), "").value().params.geometry(), a.params.geometry());
}

struct Bad {
  const char *what, *by, *message;
  ErrorCode code = ErrorCode::kDataLoss;
};

TEST(Deployment, EveryMistakeIsNamed) {
  const Bad cases[] = {
      {"\"pirx_deployment\": 1", "\"pirx_deployment\": 2", "version 2"},
      {"\"pirx_deployment\": 1,", "", "pirx_deployment' is missing"},
      {"\"threshold\": 2,", "", "threshold' is missing"},
      {"\"threshold\": 2", "\"threshold\": -2", "not a whole number"},
      {"\"threshold\": 2", "\"threshold\": 3", "", ErrorCode::kInvalidArgument},
      {"\"threshold\": 2", "\"threshold\": 0", "", ErrorCode::kInvalidArgument},
      {"\"threshold\": 2", "\"threshold\": 2, \"treshold\": 1", "treshold' is not known"},
      {"\"threshold\": 2", "\"threshold\": 99999", "threshold' is too large"},
      {"\"threshold\": 2", "\"threshold\": 2, \"ramp\": 2", "4 servers are needed",
       ErrorCode::kInvalidArgument},
      {"\"threshold\": 2", "\"threshold\": 1, \"ramp\": 0", "q >= 1", ErrorCode::kInvalidArgument},
      {"\"threshold\": 2", "\"threshold\": 1, \"ramp\": 99999999999", "ramp' is too large"},
      {"\"threshold\": 2", "\"threshold\": 1, \"encoding\": 2", "'encoding' is not an object"},
      {"\"threshold\": 2", "\"threshold\": 1, \"encoding\": {}", "encoding.arity' is missing"},
      {"\"threshold\": 2",
       "\"threshold\": 1, \"encoding\": {\"arity\": 1, \"independence\": 1, \"modulus\": 1, \"u\": 1}",
       "encoding.u' is not known"},
      {"\"threshold\": 2",
       "\"threshold\": 1, \"encoding\": {\"arity\": 2, \"independence\": 0, \"modulus\": 3}",
       "is no multiple of the arity", ErrorCode::kInvalidArgument},
      {"goldberg", "silverberg", "protocol 'silverberg'"},
      {"gf2_8", "gf3", "gf3", ErrorCode::kInvalidArgument},
      {"gf2_8", "gf2", "", ErrorCode::kInvalidArgument},
      {"00112233", "001122", "64 hexadecimal"},
      {"00112233", "0011223g", "64 hexadecimal"},
      {"\"records\": 100", "\"records\": 0", "", ErrorCode::kInvalidArgument},
      {"\"records\": 100", "\"records\": 1e300", "not a whole number"},
      {"\"record_bytes\": 40", "\"record_bytes\": 18446744073709551615", "", ErrorCode::kInvalidArgument},
      {"\"digests\": true", "\"digests\": 1", "neither true nor false"},
      {"\"digests\": true", "\"digests\": true, \"key_filter\": 1", "key_filter' is not an object"},
      {"\"digests\": true", "\"digests\": true, \"key_filter\": {}", "segment_length' is missing"},
      {"\"digests\": true}",
       "\"digests\": true, \"key_filter\": {\"segment_length\": 9, \"segments\": 3, \"tweak\": 2, "
       "\"seed\": \"12\"}}",
       "seed' is not 64 hexadecimal"},
      {"\"coordinate\": 1", "\"coordinate\": 0", "", ErrorCode::kInvalidArgument},
      {"\"coordinate\": 1", "\"coordinate\": 2", "", ErrorCode::kInvalidArgument},
      {"\"coordinate\": 1", "\"coordinate\": 256", "", ErrorCode::kInvalidArgument},
      {"https://b.example", "http://127.0.0.1:1", "listed twice"},
      {"\"ca_file\": \"ca.pem\"", "\"ca_file\": 3", "ca_file' is not a string"},
      {"\"ca_file\"", "\"ca_fil\"", "ca_fil' is not known"},
      {"[{", "{\"a\": {", "not a JSON object"},
  };
  for (const auto& bad : cases) {
    const auto parsed = parse_deployment(with(bad.what, bad.by), "");
    ASSERT_FALSE(parsed) << bad.by;
    EXPECT_EQ(parsed.error().code(), bad.code) << bad.by << ": " << parsed.error().message();
    EXPECT_NE(parsed.error().message().find(bad.message), std::string::npos) << parsed.error().message();
  }
  EXPECT_EQ(load_deployment("/no/such/file").error().code(), ErrorCode::kUnavailable);
}

TEST(Deployment, EveryTruncationAndRandomDamageIsSurvived) {
  const std::string text = kGood;
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    EXPECT_FALSE(parse_deployment(std::string_view(text).substr(0, length), ""));
  }
  auto random = testing::seeded_engine();
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = text;
    for (int edits = 0; edits < 3; ++edits) damaged[random() % damaged.size()] = static_cast<char>(random());
    (void)parse_deployment(damaged, "");
  }
  EXPECT_FALSE(parse_deployment(std::string(100'000, '['), ""));
}

}  // namespace
}  // namespace pirx::cli
