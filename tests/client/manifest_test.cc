// SPDX-License-Identifier: Apache-2.0
// Manifests: round trip, every kind of damage, and what a deployment that pins a publisher refuses.
#include "pirx/client/manifest.h"

#include <gtest/gtest.h>

#include "pirx/client/fetch.h"
#include "support/files.h"

namespace pirx::client {
namespace {

using ed25519::Seed;

const Seed& seed_of(unsigned who) {
  static std::array<Seed, 2> seeds;
  seeds[who].expose()[0] = static_cast<std::byte>(who + 1);
  return seeds[who];
}

Manifest::Signer signer(unsigned who = 0) {
  return [who](ByteSpan message) { return ed25519::sign(seed_of(who), message); };
}

Digest digest_of(unsigned char fill) {
  Digest digest;
  digest.fill(static_cast<std::byte>(fill));
  return digest;
}

/// Of the database that kDeployment names.
Manifest::Spec spec_of(unsigned who = 0, std::uint64_t epoch = 7) {
  return {.geometry =
              database::Geometry::create({.records = 100, .record_bytes = 40, .records_per_row = 3}).value(),
          .version = {digest_of(0x11), epoch},
          .served = {{1, digest_of(2)}, {1, digest_of(3)}, {6, digest_of(1)}},
          .pin = {ed25519::public_key(seed_of(who)), "lists"}};
}

Manifest make(const Manifest::Spec& spec, unsigned who = 0) {
  return Manifest::create(spec, signer(who)).value();
}

TEST(Manifest, RoundTrip) {
  const auto a = make(spec_of());
  EXPECT_EQ(a.bytes().size(), 304u + 3 * 40);
  const auto b = Manifest::parse(a.bytes()).value();
  EXPECT_EQ(b.bytes(), a.bytes());
  EXPECT_EQ(b.spec().version, a.spec().version);
  EXPECT_EQ(b.spec().geometry, a.spec().geometry);
  EXPECT_EQ(b.spec().served, a.spec().served);
  EXPECT_EQ(b.spec().pin, a.spec().pin);
  EXPECT_EQ(make(spec_of()).bytes(), a.bytes());  // signing draws no coins
}

TEST(Manifest, NoOtherBytesAreOne) {
  const auto good = make(spec_of()).bytes();
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(Manifest::parse(ByteSpan(good).first(length))) << length;
  }
  auto longer = good;
  for (const std::size_t more : {1u, 40u, 4000u}) {
    longer.resize(good.size() + more);
    EXPECT_EQ(Manifest::parse(longer).error().code(), ErrorCode::kDataLoss) << more;
  }
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    auto changed = good;
    changed[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto parsed = Manifest::parse(changed);
    ASSERT_FALSE(parsed) << bit;
    const auto code = parsed.error().code();
    EXPECT_TRUE(code == ErrorCode::kDataLoss || code == ErrorCode::kUnauthenticated) << bit;
  }
}

TEST(Manifest, WhatCannotBeSigned) {
  const auto refused = [](const auto& change) {
    auto spec = spec_of();
    change(spec);
    const auto manifest = Manifest::create(spec, signer());
    pirx::testing::expect_error(manifest, ErrorCode::kInvalidArgument);
  };
  refused([](auto& spec) { spec.served.clear(); });
  refused([](auto& spec) { std::swap(spec.served[0], spec.served[1]); });
  refused([](auto& spec) { spec.served[0] = spec.served[1]; });
  refused([](auto& spec) {
    spec.served.clear();
    for (std::uint64_t i = 0; i <= Manifest::kMaxServed; ++i) spec.served.push_back({i, {}});
  });
  refused([](auto& spec) { spec.pin.publisher = ed25519::public_key(seed_of(1)); });
  refused([](auto& spec) { spec.pin.publisher = {}; });  // a point of small order
  for (const auto& name :
       {std::string(), std::string("a:b"), std::string("-a"), std::string(65, 'a'), std::string("a\0", 2)}) {
    refused([&](auto& spec) { spec.pin.database = name; });
  }
  auto most = spec_of();
  most.served.clear();
  for (std::uint64_t i = 0; i < Manifest::kMaxServed; ++i) most.served.push_back({i, {}});
  EXPECT_EQ(make(most).bytes().size(), Manifest::kMaxBytes);
}

TEST(Manifest, WhatIsSignedInAnotherFormIsRefused) {
  auto bytes = make(spec_of()).bytes();
  const auto resign = [&] {
    constexpr std::string_view kDomain = "pirx manifest v2";
    Bytes message(as_bytes(kDomain).begin(), as_bytes(kDomain).end());
    message.insert(message.end(), bytes.begin(), bytes.end() - 64);
    std::ranges::copy(ed25519::sign(seed_of(0), message), bytes.end() - 64);
  };
  resign();
  EXPECT_TRUE(Manifest::parse(bytes));
  // The name of the database: 64 bytes, zeros after its end.
  const auto name = bytes.begin() + 144 + 3 * 40;
  EXPECT_EQ(as_text(ByteSpan(bytes).subspan(144 + 3 * 40, 5)), "lists");
  for (const auto& [at, to] : {std::pair(5, ':'), std::pair(0, '\0'), std::pair(63, 'x')}) {
    const auto was = std::exchange(name[at], static_cast<std::byte>(to));
    resign();
    EXPECT_NE(Manifest::parse(bytes).error().message().find("names no database"), std::string::npos) << at;
    name[at] = was;
  }
  std::swap_ranges(bytes.begin() + 144, bytes.begin() + 184, bytes.begin() + 184);
  resign();
  EXPECT_NE(Manifest::parse(bytes).error().message().find("not in order"), std::string::npos);
}

TEST(Manifest, TheNextOne) {
  const auto now = make(spec_of());
  const auto code = [&](const Manifest::Spec& spec, unsigned who = 0) {
    const auto next = now.check_next(make(spec, who));
    return next ? std::optional<ErrorCode>() : next.error().code();
  };
  EXPECT_EQ(code(spec_of()), std::nullopt);
  EXPECT_EQ(code(spec_of(0, 8)), std::nullopt);
  EXPECT_EQ(code(spec_of(0, 6)), ErrorCode::kStaleEpoch);
  EXPECT_EQ(code(spec_of(1, 8), 1), ErrorCode::kUnauthenticated);
  auto other = spec_of();
  other.served.pop_back();  // what is served may change
  EXPECT_EQ(code(other), std::nullopt);
  other.version.identity[0] ^= std::byte{1};
  EXPECT_EQ(code(other), ErrorCode::kStaleEpoch);
  other.version.epoch = 8;
  EXPECT_EQ(code(other), std::nullopt);
  other.pin.database = "packages";  // another database of the publisher is no epoch of this one
  EXPECT_EQ(code(other), ErrorCode::kUnauthenticated);
  other = spec_of();
  other.geometry =
      database::Geometry::create({.records = 99, .record_bytes = 40, .records_per_row = 3}).value();
  EXPECT_EQ(code(other), ErrorCode::kStaleEpoch);
}

TEST(Manifest, APublishersKeyInWords) {
  const auto key = ed25519::public_key(seed_of(0));
  EXPECT_EQ(parse_publisher(to_hex(key)).value(), key);
  for (const auto& text : {std::string(), std::string(64, '0'), std::string(64, 'x'), to_hex(key) + "00"}) {
    EXPECT_EQ(parse_publisher(text).error().code(), ErrorCode::kInvalidArgument) << text;
  }
}

TEST(Manifest, APinInWords) {
  const Pin pin{ed25519::public_key(seed_of(0)), std::string(64, 'z')};
  EXPECT_EQ(parse_pin(pin.text()).value(), pin);
  const auto key = to_hex(pin.publisher);
  for (const auto* name : {"", ":", ":a:b", ":a/b", ":lists "}) {
    EXPECT_EQ(parse_pin(key + name).error().code(), ErrorCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(parse_pin("lists:" + key).error().code(), ErrorCode::kInvalidArgument);
}

constexpr const char* kDeployment = R"({
  "pirx_deployment": 1, "protocol": "goldberg", "field": "gf2_8", "threshold": 1,
  "database": {"identity": "1111111111111111111111111111111111111111111111111111111111111111", "epoch": 7,
               "records": 100, "record_bytes": 40, "records_per_row": 3, "variable_length": true, "digests": true},
  PINNED "servers": [{"url": "http://127.0.0.1:1", "coordinate": 1}, {"url": "http://127.0.0.1:2", "coordinate": 2}]
})";

Result<Deployment> pinned(const std::string& members) {
  std::string text = kDeployment;
  text.replace(text.find("PINNED"), 6, members);
  auto all = parse_deployments(text, "");
  if (!all) return tl::unexpected(all.error());
  return all->at(0);
}

std::string members_of(const Manifest& manifest, unsigned publisher = 0, const std::string& name = "lists") {
  return "\"publisher\": \"" + to_hex(ed25519::public_key(seed_of(publisher))) + ":" + name +
         "\", \"manifest\": \"" + to_hex(manifest.bytes()) + "\",";
}

TEST(PinnedDeployment, RoundTrip) {
  const auto deployment = pinned(members_of(make(spec_of()))).value();
  ASSERT_NE(deployment.manifest, nullptr);
  const auto again = parse_deployments(format_deployments({&deployment, 1}), "").value();
  EXPECT_EQ(again[0].manifest->bytes(), deployment.manifest->bytes());
  EXPECT_EQ(pinned("").value().manifest, nullptr);
}

void expect_refused(const std::string& members, ErrorCode code, std::string_view part) {
  const auto deployment = pinned(members);
  pirx::testing::expect_error(deployment, code, part);
}

TEST(PinnedDeployment, WhatIsRefused) {
  const auto good = make(spec_of());
  const auto key = "\"publisher\": \"" + good.spec().pin.text() + "\",";
  expect_refused(key, ErrorCode::kDataLoss, "is missing, but a publisher is pinned");
  expect_refused(key + "\"manifest\": \"xy\",", ErrorCode::kDataLoss, "hexadecimal");
  expect_refused(key + "\"manifest\": \"\",", ErrorCode::kDataLoss, "manifest");
  expect_refused("\"manifest\": \"" + to_hex(good.bytes()) + "\",", ErrorCode::kDataLoss,
                 "without a 'publisher'");
  expect_refused("\"publisher\": \"00:a\", \"manifest\": \"00\",", ErrorCode::kDataLoss, "64 hexadecimal");
  expect_refused(members_of(good, 0, "a/b"), ErrorCode::kDataLoss, "'a/b' is no name of a database");
  expect_refused(members_of(good, 1), ErrorCode::kUnauthenticated, "not by the publisher");
  expect_refused(members_of(good, 0, "packages"), ErrorCode::kUnauthenticated,
                 "for the database 'lists', not for 'packages'");
  auto text = members_of(good);
  auto& digit = text[text.size() - 100];
  digit = digit == '0' ? '1' : '0';
  expect_refused(text, ErrorCode::kUnauthenticated, "the signature of the manifest is wrong");
  expect_refused(members_of(make(spec_of(0, 8))), ErrorCode::kStaleEpoch, "for epoch 8, not for epoch 7");
  auto other = spec_of();
  other.version.identity[0] ^= std::byte{1};
  expect_refused(members_of(make(other)), ErrorCode::kStaleEpoch, "another content of epoch 7");
  other = spec_of();
  other.geometry =
      database::Geometry::create({.records = 101, .record_bytes = 40, .records_per_row = 3}).value();
  expect_refused(members_of(make(other)), ErrorCode::kStaleEpoch, "101 records");
}

TEST(PinnedDeployment, AllProtocolsHaveOnePublisher) {
  std::vector<Deployment> two{pinned(members_of(make(spec_of()))).value(), pinned("").value()};
  EXPECT_NE(check_one_database(two).error().message().find("one publisher"), std::string::npos);
  two[1] = pinned(members_of(make(spec_of(1), 1), 1)).value();
  EXPECT_NE(check_one_database(two).error().message().find("one publisher"), std::string::npos);
  auto other = spec_of();
  other.pin.database = "packages";
  two[1] = pinned(members_of(make(other), 0, "packages")).value();
  EXPECT_NE(check_one_database(two).error().message().find("one publisher"), std::string::npos);
}

TEST(PinnedDeployment, AFetcherTakesOnlyWhatIsSigned) {
  auto deployment = pinned(members_of(make(spec_of()))).value();
  EXPECT_TRUE(Fetcher::create(deployment));
  deployment.manifest = std::make_shared<const Manifest>(make(spec_of(0, 8)));
  EXPECT_EQ(Fetcher::create(deployment).error().code(), ErrorCode::kStaleEpoch);
}

TEST(PinnedDeployment, ARenewedOneKeepsThePublisher) {
  const auto deployment = pinned(members_of(make(spec_of()))).value();
  const std::uint64_t position = 3;
  const auto stale = [](const auto& requests, const auto&, const auto& on_settled) {
    std::vector<http::CallOutcome> outcomes;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      outcomes.push_back({tl::unexpected(Error(ErrorCode::kStaleEpoch, "another epoch"))});
      on_settled(i, outcomes.back());
    }
    return outcomes;
  };
  auto other = deployment;
  other.manifest = std::make_shared<const Manifest>(make(spec_of(0, 8)));
  auto packages = deployment;
  auto named = spec_of();
  named.pin.database = "packages";
  packages.manifest = std::make_shared<const Manifest>(make(named));
  const std::pair<Deployment, std::string_view> cases[] = {
      {packages, "for the database 'packages', not for 'lists'"},
      {deployment, "another epoch"},  // taken, and the servers are asked again
      {pinned("").value(), "there is no manifest of the publisher"},
      {other, "for epoch 8, not for epoch 7"}};
  for (const auto& [next, part] : cases) {
    auto fetcher = Fetcher::create(deployment, {}, stale).value();
    FetchOptions options;
    options.renew = [&renewed = next](const Deployment&) { return renewed; };
    const auto report = fetcher.fetch({&position, 1}, options);
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().message().find(part), std::string::npos) << report.error().message();
  }
}

}  // namespace
}  // namespace pirx::client
