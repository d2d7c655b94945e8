// SPDX-License-Identifier: Apache-2.0
// Deployment files: round trip, and an error that names the cause for every kind of damage.
#include "pirx/client/deployment.h"

#include <gtest/gtest.h>

#include "pirx/cpir/dj/common.h"
#include "pirx/cpir/qr/common.h"
#include "pirx/itpir/common.h"
#include "support/files.h"
#include "support/seed.h"

namespace pirx::client {
namespace {

using testing::expect_error;

constexpr const char* kGood = R"({
  "pirx_deployment": 1, "protocol": "goldberg", "field": "gf2_8", "threshold": 2,
  "database": {"identity": "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", "epoch": 7,
               "records": 100, "record_bytes": 40, "records_per_row": 3, "variable_length": true, "digests": true},
  "servers": [{"url": "http://127.0.0.1:1", "coordinate": 1}, {"url": "https://b.example", "coordinate": 2, "ca_file": "ca.pem", "tls_1.2": true},
              {"url": "http://c.example", "coordinate": 9, "allow_plaintext": true}]
})";

std::string with(std::string_view what, std::string_view by) {
  std::string text = kGood;
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

Result<Deployment> only_one(Result<std::vector<Deployment>> all) {
  if (!all) return tl::unexpected(all.error());
  EXPECT_EQ(all->size(), 1u);
  return all->at(0);
}
std::string format_deployment(const Deployment& one) { return format_deployments({&one, 1}); }

Result<Deployment> parse(std::string_view text, const std::filesystem::path& folder = "") {
  return only_one(parse_deployments(text, folder));
}

std::string member(const Deployment& deployment, const std::string& name) {
  return deployment.plan->members().at(name);
}

TEST(Deployment, RoundTrip) {
  const auto a = parse(kGood, "/folder").value();
  EXPECT_EQ(a.plan->members(), (Texts{{"field", "gf2_8"}, {"threshold", "2"}}));
  EXPECT_EQ(a.plan->version().epoch, 7u);
  EXPECT_EQ(a.plan->coordinates(), (std::vector<std::uint64_t>{1, 2, 9}));
  EXPECT_EQ(a.plan->geometry().spec().records_per_row, 3u);
  EXPECT_EQ(a.plan->server_options(2), (Texts{{"coordinate", "9"}, {"field", "gf2_8"}}));
  EXPECT_EQ(a.servers[1].ca_file, "/folder/ca.pem");
  EXPECT_TRUE(a.servers[2].allow_plaintext);
  EXPECT_FALSE(a.servers[0].allow_plaintext);
  EXPECT_TRUE(a.servers[1].allow_tls_1_2);
  EXPECT_FALSE(a.servers[2].allow_tls_1_2);
  const auto b = parse(format_deployment(a), "").value();
  EXPECT_TRUE(b.servers[1].allow_tls_1_2);
  EXPECT_EQ(b.plan->version(), a.plan->version());
  EXPECT_EQ(b.plan->geometry(), a.plan->geometry());
  EXPECT_EQ(b.plan->members(), a.plan->members());
  EXPECT_EQ(format_deployment(b), format_deployment(a));
  EXPECT_EQ(b.servers[1].ca_file, a.servers[1].ca_file);
}

TEST(Deployment, OfBucketsRoundTrips) {
  const auto a = parse(with("\"threshold\": 2",
                            "\"threshold\": 1, \"encoding\": {\"arity\": 2, "
                            "\"independence\": 0, \"modulus\": 2}"),
                       "");
  ASSERT_FALSE(a) << "coordinate 1 is a data coordinate";
  expect_error(a, ErrorCode::kInvalidArgument, "is also a data coordinate");

  auto text = with(
      "\"threshold\": 2",
      "\"threshold\": 1, \"ramp\": 1, \"encoding\": {\"arity\": 1, \"independence\": 1, \"modulus\": 1}");
  const auto b = parse(text, "").value();
  EXPECT_NE(b.plan->summary().find("3 replies needed"), std::string::npos) << b.plan->summary();
  const auto again = parse(format_deployment(b), "").value();
  EXPECT_EQ(member(again, "encoding.independence"), "1");
  EXPECT_EQ(member(again, "encoding.modulus"), "1");
  EXPECT_EQ(member(again, "encoding.arity"), "1");

  const auto c = parse(with("\"threshold\": 2", "\"threshold\": 1, \"ramp\": 2"), "").value();
  EXPECT_EQ(member(*parse(format_deployment(c), ""), "ramp"), "2");
}

constexpr const char* kFilter =
    R"("digests": true, "filter": {"segment_length": 9, "segments": 3, "tweak": 2,
       "seed": "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100"}})";

TEST(Deployment, RoundTripOfAKeyedDatabase) {
  const auto a = parse(with("\"digests\": true}", kFilter), "").value();
  ASSERT_TRUE(a.plan->geometry().keyed());
  const auto& filter = *a.plan->geometry().spec().filter;
  EXPECT_EQ(filter.segment_length, 9u);
  EXPECT_EQ(filter.segments, 3u);
  EXPECT_EQ(filter.tweak, 2u);
  EXPECT_EQ(filter.seed[1], std::byte{0xEE});
  EXPECT_EQ(parse(format_deployment(a), "").value().plan->geometry(), a.plan->geometry());
}

/// Of what servers are not told, a wrong bit would make a key that is there "proven" missing.
TEST(Deployment, AWrongBitIsNoticed) {
  const auto sound = format_deployment(parse(with("\"digests\": true}", kFilter), "").value());
  const auto flip = [&](std::string_view member, std::size_t behind) {
    auto text = sound;
    text[text.find("\"" + std::string(member) + "\"") + member.size() + 2 + behind] ^= 1;
    return parse(text);
  };
  EXPECT_TRUE(parse(sound));
  for (const std::size_t digit : {5u, 37u, 66u}) {
    expect_error(flip("seed", digit), ErrorCode::kDataLoss, "'checksum' is not that of");
    expect_error(flip("checksum", digit), ErrorCode::kDataLoss, "'checksum' is not that of");
  }
  for (const auto* number : {"tweak", "epoch", "record_bytes"}) {
    expect_error(flip(number, 2), ErrorCode::kDataLoss, "'checksum' is not that of");
  }
  // What people edit by hand.
  auto text = sound;
  text.replace(text.find("c.example"), 9, "d.example");
  EXPECT_TRUE(parse(text));
}

/// Else a client that goes to another folder trusts another file there.
TEST(Deployment, CertificateAuthoritiesStayTheSameFile) {
  const testing::TemporaryFolder folder;
  testing::write_file(folder / "d.json", as_bytes(kGood));
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const auto loaded = load_deployment("d.json");
  const auto parsed = parse(kGood);
  const auto saved = save_deployments("again.json", {{*loaded}});
  std::filesystem::current_path(before);
  ASSERT_TRUE(loaded && parsed && saved);
  EXPECT_EQ(loaded->servers[1].ca_file, folder / "ca.pem");
  EXPECT_EQ(parsed->servers[1].ca_file, folder / "ca.pem");
  EXPECT_NE(as_text(testing::read_file(folder / "again.json")).find("\"ca_file\": \"ca.pem\""),
            std::string::npos);
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
      {"\"threshold\": 2", "\"threshold\": 99999", "threshold': '99999' is no whole number"},
      {"\"threshold\": 2", "\"threshold\": 2, \"ramp\": 2", "4 servers are needed",
       ErrorCode::kInvalidArgument},
      {"\"threshold\": 2", "\"threshold\": 1, \"ramp\": 0", "q >= 1", ErrorCode::kInvalidArgument},
      {"\"threshold\": 2", "\"threshold\": 1, \"ramp\": 99999999999",
       "ramp': '99999999999' is no whole number"},
      {"\"threshold\": 2", "\"threshold\": 1, \"encoding\": 2", "'encoding' is not an object"},
      {"\"threshold\": 2", "\"threshold\": 1, \"encoding\": {}", "'encoding' is not an object"},
      {"\"threshold\": 2", "\"threshold\": 1, \"encoding\": {\"modulus\": 1}", "encoding.arity' is missing"},
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
      {"\"digests\": true", "\"digests\": true, \"filter\": 1", "filter' is not an object"},
      {"\"digests\": true", "\"digests\": true, \"filter\": {}", "segment_length' is missing"},
      {"\"digests\": true}",
       "\"digests\": true, \"filter\": {\"segment_length\": 9, \"segments\": 3, \"tweak\": 2, "
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
    const auto parsed = parse(with(bad.what, bad.by), "");
    expect_error(parsed, bad.code, bad.message);
  }
  EXPECT_EQ(load_deployment("/no/such/file").error().code(), ErrorCode::kUnavailable);
}

TEST(Deployment, EveryTruncationAndRandomDamageIsSurvived) {
  const std::string text = kGood;
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    EXPECT_FALSE(parse(std::string_view(text).substr(0, length), ""));
  }
  auto random = testing::seeded_engine();
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = text;
    for (int edits = 0; edits < 3; ++edits) damaged[random() % damaged.size()] = static_cast<char>(random());
    (void)parse_deployments(damaged, "");
  }
  EXPECT_FALSE(parse(std::string(100'000, '['), ""));
}

/// Of the protocols with one server.
constexpr const char* kTree = R"({
  "pirx_deployment": 1, "protocol": "dj-tree", "modulus_bits": 3072, "arities": [8, 5],
  "database": {"identity": "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", "epoch": 7,
               "records": 100, "record_bytes": 40, "records_per_row": 3, "variable_length": true, "digests": true},
  "servers": [{"url": "https://a.example", "ca_file": "ca.pem"}]
})";

std::string tree_with(std::string_view what, std::string_view by) {
  std::string text = kTree;
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

Result<Deployment> parse_single(const std::string& text) { return parse(text, "/folder"); }

Result<std::string> check_keys(const Deployment& deployment, bool paper_reproduction) {
  ClientSpec spec{.loopback = all_on_this_machine(deployment)};
  if (paper_reproduction) {
    spec.options =
        *Options::create(deployment.plan->protocol().client_options, {{"paper_reproduction", "on"}}, "");
  }
  return deployment.plan->check(spec);
}

TEST(Deployment, OfOneServerRoundTrips) {
  const auto tree = parse_single(kTree).value();
  EXPECT_EQ(tree.plan->members(), (Texts{{"arities", "8,5"}, {"modulus_bits", "3072"}}));
  EXPECT_EQ(tree.plan->version().epoch, 7u);
  EXPECT_EQ(tree.servers[0].ca_file, "/folder/ca.pem");
  EXPECT_EQ(check_keys(tree, false), "");
  const auto again = parse_single(format_deployment(tree)).value();
  EXPECT_EQ(again.plan->digest(), tree.plan->digest());
  EXPECT_EQ(again.servers[0].url, tree.servers[0].url);

  const auto paper = parse_single(tree_with("[8, 5]", "[8, 8], \"selectors\": \"polynomial\"")).value();
  const auto same = parse_single(format_deployment(paper)).value();
  EXPECT_EQ(same.plan->digest(), paper.plan->digest());
  EXPECT_NE(same.plan->digest(), tree.plan->digest());

  const auto deep = parse_single(tree_with("[8, 5]", "[8, 5], \"leaf_layer\": 3")).value();
  EXPECT_EQ(deep.plan->members().at("leaf_layer"), "3");
  EXPECT_EQ(parse_single(format_deployment(deep)).value().plan->digest(), deep.plan->digest());
  EXPECT_NE(deep.plan->digest(), tree.plan->digest());

  auto text = tree_with("\"arities\": [8, 5]", "\"slots\": 4");
  text.replace(text.find("dj-tree"), 7, "qr");
  const auto residues = parse_single(text).value();
  EXPECT_EQ(member(residues, "slots"), "4");
  const auto other = parse_single(format_deployment(residues)).value();
  EXPECT_EQ(other.plan->digest(), residues.plan->digest());
}

TEST(Deployment, WeakKeysAreForReproductionOnThisMachine) {
  const auto text = tree_with("3072", "1024, \"key_policy\": \"paper-reproduction\"");
  auto weak = parse_single(text).value();
  EXPECT_EQ(parse_single(format_deployment(weak)).value().servers[0].url, weak.servers[0].url);
  EXPECT_NE(check_keys(weak, false).error().message().find("--paper-reproduction"), std::string::npos);
  EXPECT_NE(check_keys(weak, true).error().message().find("other machines"), std::string::npos);
  for (const char* url : {"http://127.0.0.1:8100", "http://[::1]:8100", "https://localhost"}) {
    weak.servers[0].url = url;
    EXPECT_TRUE(check_keys(weak, true)) << url;
    EXPECT_FALSE(check_keys(weak, false)) << url;
  }
  for (const char* url :
       {"http://127.0.0.1.example", "http://localhost@a.example", "http://128.0.0.1", "x"}) {
    weak.servers[0].url = url;
    EXPECT_FALSE(check_keys(weak, true)) << url;
  }
}

TEST(Deployment, ToyKeysAreRefusedWhateverTheFlags) {
  const auto geometry = database::Geometry::create({.records = 9, .record_bytes = 4}).value();
  const auto params =
      cpir::dj::Params::create({geometry, {}, {3, 3}, 128, cpir::dj::KeyPolicy::kToy}).value();
  const auto told = tell(params.encode());
  expect_error(told, ErrorCode::kInvalidArgument, "toy keys");
  EXPECT_FALSE(tell({}));
  const auto message = params.encode();
  EXPECT_FALSE(tell(ByteSpan(message).first(8)));
}

TEST(Deployment, EveryMistakeWithOneServerIsNamed) {
  const Bad cases[] = {
      {"\"modulus_bits\": 3072,", "", "modulus_bits' is missing"},
      {"3072", "1024", "refused", ErrorCode::kInvalidArgument},
      {"3072", "18446744073709551615", "modulus_bits': '18446744073709551615' is no whole number"},
      {"3072", "3072, \"key_policy\": \"toy\"", "key policy 'toy'"},
      {"3072", "3072, \"key_policy\": \"paper-reproduction\"", "1024 bits", ErrorCode::kInvalidArgument},
      {"\"arities\": [8, 5],", "", "arities' is missing"},
      {"[8, 5]", "[]", "arities' is an empty list"},
      {"[8, 5]", "[8, \"5\"]", "arities[1]' is not a whole number"},
      {"[8, 5]", "8", "arities' is not a list"},
      {"[8, 5]", "[8, 4294967301]", "arities': '4294967301' is no whole number"},
      {"[8, 5]", "[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]", "", ErrorCode::kInvalidArgument},
      {"[8, 5]", "[8, 4]", "fewer leaves", ErrorCode::kInvalidArgument},
      {"[8, 5]", "[8, 5], \"slots\": 3", "slots' is not known"},
      {"dj-tree", "qr", "arities' is not known"},
      {"[8, 5]", "[8, 5], \"selectors\": \"octal\"", "selectors 'octal'"},
      {"[8, 5]", "[8, 5], \"selectors\": \"polynomial\"", "2, 4 or 8", ErrorCode::kInvalidArgument},
      {"3072", "3072, \"threshold\": 1", "threshold' is not known"},
      {"\"ca.pem\"}", "\"ca.pem\"}, {\"url\": \"https://b.example\"}", "exactly one server"},
      {"\"ca.pem\"}", "\"ca.pem\", \"coordinate\": 1}", "coordinate' is not known"},
  };
  for (const auto& bad : cases) {
    const auto parsed = parse(tree_with(bad.what, bad.by), "");
    expect_error(parsed, bad.code, bad.message);
  }
  auto random = testing::seeded_engine();
  const std::string text = kTree;
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = text;
    for (int edits = 0; edits < 3; ++edits) damaged[random() % damaged.size()] = static_cast<char>(random());
    (void)parse_deployments(damaged, "");
  }
}

TEST(Deployment, WhatMayFollowAnother) {
  const auto before = *parse(kGood);
  const auto expect_refused = [&](const Deployment& next, std::string_view part) {
    const auto follows = check_follows(*before.plan, *next.plan);
    expect_error(follows, ErrorCode::kStaleEpoch, part);
  };
  EXPECT_TRUE(check_follows(*before.plan, *before.plan));
  EXPECT_TRUE(check_follows(*before.plan, *parse(with("\"epoch\": 7", "\"epoch\": 8"), "")->plan));
  EXPECT_TRUE(check_follows(*before.plan, *parse(with("\"threshold\": 2", "\"threshold\": 1"), "")->plan));
  expect_refused(parse(with("\"epoch\": 7", "\"epoch\": 6"), "").value(), "older");
  expect_refused(
      parse(with("\"epoch\": 7,\n               \"records\": 100", "\"epoch\": 8, \"records\": 99"), "")
          .value(),
      "fewer");
  expect_refused(parse(with("0011", "1100"), "").value(), "other content");
}

TEST(Deployment, OfOneServerIsBoundToItsPlan) {
  const auto geometry = *database::Geometry::create({.records = 100, .record_bytes = 40});
  const auto plan = [&](std::uint64_t slots, std::uint64_t epoch) {
    const database::Version version{{}, epoch};
    const auto params = *cpir::qr::Params::create({.geometry = geometry, .version = version, .slots = slots});
    const auto told = *tell(params.encode());
    EXPECT_EQ(told.digest, params.digest());
    const auto& protocol = **find_protocol("qr");
    return *protocol.plan(
        {*Options::create(protocol.members, told.members, ""), told.geometry, told.version});
  };
  EXPECT_TRUE(check_follows(*plan(2, 5), *plan(2, 5)));
  EXPECT_TRUE(check_follows(*plan(2, 5), *plan(3, 6)));
  const auto fork = check_follows(*plan(2, 5), *plan(3, 5));
  expect_error(fork, ErrorCode::kStaleEpoch);
}

TEST(Deployment, OneDigestForAllServers) {
  const auto geometry = *database::Geometry::create({.records = 100, .record_bytes = 40});
  const auto digest = [&](std::uint64_t coordinate, std::uint64_t epoch) {
    const itpir::ServerParameters parameters{kTagGf2_8, geometry, {{}, epoch}, coordinate};
    return tell(parameters.encode())->digest;
  };
  EXPECT_EQ(digest(1, 5), digest(2, 5));
  EXPECT_NE(digest(1, 5), digest(1, 6));
  EXPECT_FALSE(tell(Bytes(150)));
}

}  // namespace
}  // namespace pirx::client
