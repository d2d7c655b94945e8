// SPDX-License-Identifier: Apache-2.0
// Ed25519: published answers, OpenSSL against our own code, and what no signature or key may look like.
#include "pirx/base/ed25519.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/base/ed25519_portable.h"
#include "support/files.h"
#include "support/seed.h"

namespace pirx::ed25519 {
namespace {

using pirx::testing::random_bytes;

template <class T>
T bytes_of(std::string_view hex) {
  const auto bytes = from_hex(hex).value();
  T array;
  PIRX_CHECK(bytes.size() == array.size());
  std::copy(bytes.begin(), bytes.end(), array.begin());
  return array;
}

/// What both providers say.
bool both(const PublicKey& key, ByteSpan message, const Signature& signature) {
  const bool says = verify(key, message, signature);
  const bool ours = is_key(key) && portable::verify_ed25519(key, message, signature);
  EXPECT_EQ(ours, says) << to_hex(key) << " " << to_hex(signature);
  return says;
}

Seed random_seed(std::mt19937_64& engine) {
  Seed seed;
  for (auto& byte : seed.expose()) byte = static_cast<std::byte>(engine());
  return seed;
}

TEST(Ed25519, AnswersAsTheStandardSays) {  // RFC 8032, section 7.1, tests 1 to 3
  const struct {
    std::string_view seed, key, message, signature;
  } cases[] = {
      {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
       "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
       "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25b"
       "f5f0595bbe24655141438e7a100b"},
      {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
       "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
       "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b"
       "2eaeb4302aeeb00d291612bb0c00"},
      {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
       "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
       "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c"
       "15e9716ed28dc027beceea1ec40a"}};
  for (const auto& one : cases) {
    const Seed seed(bytes_of<std::array<std::byte, 32>>(one.seed));
    const auto message = from_hex(one.message).value();
    EXPECT_EQ(to_hex(public_key(seed)), one.key);
    EXPECT_EQ(to_hex(sign(seed, message)), one.signature);
    EXPECT_TRUE(both(public_key(seed), message, bytes_of<Signature>(one.signature)));
  }
}

TEST(Ed25519, OurHashIsTheStandards) {
  portable::Sha512 hash;
  hash.update(as_bytes("abc"));
  EXPECT_EQ(to_hex(hash.finish()),
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd"
            "454d4423643ce80e2a9ac94fa54ca49f");
}

TEST(Ed25519, WhatOneSignsBothTake) {
  auto engine = testing::seeded_engine(1);
  for (std::size_t i = 0; i < 90; ++i) {  // lengths around the ends of a block of the hash, too
    const auto seed = random_seed(engine);
    const auto message = random_bytes(engine, i < 70 ? 2 * i : engine() % 3000);
    const auto key = public_key(seed);
    const auto signature = sign(seed, message);
    ASSERT_TRUE(both(key, message, signature));
    auto other = message;
    other.push_back(std::byte{0});
    if (i % 2 == 0) {
      EXPECT_FALSE(both(key, other, signature));
    }
  }
}

TEST(Ed25519, NoBitCanBeFlipped) {
  auto engine = testing::seeded_engine(2);
  const auto seed = random_seed(engine);
  const auto message = random_bytes(engine, 40);
  const auto key = public_key(seed);
  const auto signature = sign(seed, message);
  for (unsigned bit = 0; bit < 8 * signature.size(); bit += 1 + bit % 5) {
    auto changed = signature;
    changed[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(both(key, message, changed)) << bit;
  }
  for (unsigned bit = 0; bit < 8 * key.size(); bit += 1 + bit % 5) {
    auto changed = key;
    changed[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(both(changed, message, signature)) << bit;
  }
}

TEST(Ed25519, ASignatureHasOneForm) {
  auto engine = testing::seeded_engine(3);
  const auto seed = random_seed(engine);
  const auto message = random_bytes(engine, 40);
  auto signature = sign(seed, message);
  // S + order is the same number modulo the order.
  unsigned sum = 0;
  for (unsigned i = 0; i < 32; ++i) {
    sum += std::to_integer<unsigned>(signature[32 + i]) +
           static_cast<unsigned>((portable::kOrder25519[i / 8] >> (8 * (i % 8))) & 0xff);
    signature[32 + i] = static_cast<std::byte>(sum);
    sum >>= 8;
  }
  EXPECT_FALSE(both(public_key(seed), message, signature));
  EXPECT_TRUE(portable::below({}, portable::kOrder25519));
  EXPECT_FALSE(portable::below(portable::kOrder25519, portable::kOrder25519));
}

TEST(Ed25519, NobodySignsUnderAPointOfSmallOrder) {
  // Under the neutral point every message has the signature (R, S) = (S times the base, S): here with S = 0.
  const auto neutral = bytes_of<PublicKey>("01" + std::string(62, '0'));
  Signature forged{};
  forged[0] = std::byte{1};
  EXPECT_TRUE(portable::verify_ed25519(neutral, as_bytes("any"), forged));
  EXPECT_FALSE(both(neutral, as_bytes("any"), forged));
  const std::string_view small[] = {"0000000000000000000000000000000000000000000000000000000000000000",
                                    "0100000000000000000000000000000000000000000000000000000000000000",
                                    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
                                    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
                                    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"};
  for (const auto hex : small) {
    auto key = bytes_of<PublicKey>(hex);
    // Eight times the point is the neutral one.
    auto point = portable::Point25519::create(portable::Modulo25519(key), false);
    ASSERT_TRUE(point);
    for (int i = 0; i < 3; ++i) *point = *point + *point;
    EXPECT_EQ(point->bytes(), neutral);
    EXPECT_FALSE(is_key(key));
    key[31] |= std::byte{0x80};
    EXPECT_FALSE(is_key(key));
  }
  EXPECT_NE(portable::Point25519::base().bytes(), neutral);
  EXPECT_TRUE(is_key(portable::Point25519::base().bytes()));
}

TEST(Ed25519, AKeyHasOneForm) {
  // All numbers from the prime up: the same points as 0 to 18.
  for (unsigned low = 0xed; low <= 0xff; ++low) {
    PublicKey key;
    key.fill(std::byte{0xff});
    key[0] = static_cast<std::byte>(low);
    EXPECT_FALSE(is_key(key));
    key[31] = std::byte{0x7f};
    EXPECT_FALSE(is_key(key));
  }
  PublicKey below_it;
  below_it.fill(std::byte{0xff});
  below_it[0] = std::byte{0xeb};
  EXPECT_TRUE(is_key(below_it));
  // Half of all numbers are no y of a point, and so no signature fits.
  auto engine = testing::seeded_engine(4);
  unsigned points = 0;
  for (int i = 0; i < 100; ++i) {
    PublicKey key;
    for (auto& byte : key) byte = static_cast<std::byte>(engine());
    const auto point =
        portable::Point25519::create(portable::Modulo25519(key), (key[31] & std::byte{0x80}) != std::byte{0});
    if (point) {
      ++points;
      EXPECT_EQ(point->bytes(), key);
    }
    Signature signature{};
    EXPECT_FALSE(both(key, as_bytes("any"), signature));
  }
  EXPECT_GT(points, 20u);
  EXPECT_LT(points, 80u);
}

TEST(Ed25519, KeysAreKeptInPem) {
  const auto seed = new_seed().value();
  const auto pem = to_pem(seed);
  EXPECT_EQ(from_pem(as_text(pem))->expose(), seed.expose());
  EXPECT_NE(new_seed()->expose(), seed.expose());
  // Made by 'openssl genpkey -algorithm ed25519'.
  EXPECT_EQ(to_hex(public_key(*from_pem("-----BEGIN PRIVATE KEY-----\n"
                                        "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
                                        "-----END PRIVATE KEY-----\n"))),
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  for (std::size_t i = 0; i + 1 < pem.size(); ++i) (void)from_pem(as_text(pem).substr(0, i));
  EXPECT_EQ(from_pem("").error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(from_pem(std::string(100'000, 'x')).error().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace pirx::ed25519
