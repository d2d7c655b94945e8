// SPDX-License-Identifier: Apache-2.0
// The Damgard-Jurik cryptosystem against known answers and the textbook's version, and its errors.
#include <gtest/gtest.h>

#include "cpir/dj/digit_ring.h"
#include "cpir/dj/prime_side.h"
#include "dj_support.h"
#include "pirx/base/sha256.h"
#include "pirx/cpir/dj/cipher.h"
#include "support/seed.h"

namespace pirx::cpir::dj {
namespace {

using testing::bytes;
using testing::KnownKey;
using testing::number;

TEST(DamgardJurik, KnownEncryptions) {
  for (const auto& known : testing::known_answers().at("encryptions")) {
    const KnownKey key(known.at("key"));
    const auto secret = key.secret();
    const unsigned s = known.at("s");
    const auto c = bytes(number(known.at("c")), secret.public_key().ciphertext_bytes(s));
    EXPECT_EQ(testing::encrypt_ref(key.n, s, number(known.at("m")), number(known.at("r"))),
              number(known.at("c")));
    EXPECT_EQ(to_hex(sha256(bytes(number_from_bytes(c)))), known.at("sha256").get<std::string>());
    EXPECT_EQ(testing::decrypt_ref(key.p, key.q, s, number_from_bytes(c)), number(known.at("m")));
    for (unsigned s_max = s; s_max <= s + 1; ++s_max) {
      const auto m = Cipher::create(secret, s_max).value().decrypt(s, c).value();
      EXPECT_EQ(number_from_bytes(m.expose()), number(known.at("m"))) << known.at("key") << " s=" << s;
    }
  }
}

TEST(DamgardJurik, KnownLifts) {
  for (const auto& known : testing::known_answers().at("lifts")) {
    const auto limbs = [&](const char* name) { return limbs_from_bytes(bytes(number(known.at(name))), 1); };
    const PrimeSide side(limbs("prime").expose(), limbs("cofactor").expose(), known.at("s"));
    const auto lift = side.lift(limbs("u").expose(), known.at("s"));
    EXPECT_EQ(number_from_words(lift.expose()), number(known.at("lift")));
  }
}

TEST(DamgardJurik, EqualsTheTextbook) {
  auto engine = pirx::testing::seeded_engine();
  for (const std::string name : {"35", "128", "1024"}) {
    const KnownKey key(name);
    const auto secret = key.secret();
    const unsigned most = name == "35" ? 4 : name == "128" ? kMaxLevels : 3;
    const auto cipher = Cipher::create(secret, most).value();
    for (unsigned s = 1; s <= most; ++s) {
      for (int i = 0; i < (name == "1024" ? 1 : 10); ++i) {
        const mpz_class m = testing::random_below(power_of(key.n, s), engine);
        mpz_class r;
        do r = 1 + testing::random_below(key.n - 1, engine);
        while (gcd(r, key.n) != 1);
        const auto c = bytes(testing::encrypt_ref(key.n, s, m, r), secret.public_key().ciphertext_bytes(s));
        EXPECT_EQ(number_from_bytes(cipher.decrypt(s, c).value().expose()), m);
        EXPECT_EQ(testing::decrypt_ref(key.p, key.q, s, number_from_bytes(c)), m);
      }
    }
  }
}

TEST(DamgardJurik, BitsFromZeros) {
  auto rng = Rng::from_os().value();
  for (const std::string name : {"35", "128", "1024"}) {
    const KnownKey key(name);
    const auto cipher = Cipher::create(key.secret(), 3).value();
    for (unsigned s = 1; s <= 3; ++s) {
      for (unsigned bit = 0; bit < 2; ++bit) {
        auto zero = cipher.encrypt_zero(s, rng).value();
        EXPECT_EQ(testing::decrypt_ref(key.p, key.q, s, number_from_bytes(zero.expose())), 0);
        const mpz_class rho = number_from_bytes(zero.expose());
        const auto c = cipher.encrypt_bit(s, bit, std::move(zero)).value();
        EXPECT_EQ(number_from_bytes(c), rho * (1 + bit * key.n) % power_of(key.n, s + 1));
        EXPECT_EQ(number_from_bytes(cipher.decrypt(s, c).value().expose()), bit);
      }
    }
  }
}

TEST(DamgardJurik, ZerosOfAToyAreUniform) {
  // 24 units modulo 35: each E_1(0) as often as any other.
  auto rng = Rng::from_os().value();
  const auto cipher = Cipher::create(KnownKey("35").secret(), 1).value();
  std::map<unsigned long, int> seen;
  constexpr int kDraws = 24 * 200;
  for (int i = 0; i < kDraws; ++i) {
    ++seen[number_from_bytes(cipher.encrypt_zero(1, rng).value().expose()).get_ui()];
  }
  EXPECT_EQ(seen.size(), 24u);
  double chi = 0;
  for (const auto& [value, count] : seen) chi += (count - 200.0) * (count - 200.0) / 200.0;
  EXPECT_LT(chi, 80.0);  // 23 degrees of freedom: once in 10^7 runs
}

TEST(DamgardJurik, LayersOpenAtOnce) {
  auto engine = pirx::testing::seeded_engine(1);
  auto rng = Rng::from_os().value();
  for (const std::string name : {"128", "1024"}) {
    const KnownKey key(name);
    const auto secret = key.secret();
    const auto cipher = Cipher::create(secret, 4).value();
    for (unsigned layers = 1; layers <= 4; ++layers) {
      const mpz_class m = testing::random_below(key.n, engine);
      auto c = bytes(m);
      for (unsigned s = 1; s <= layers; ++s)
        c = testing::encrypt_ref(secret.public_key(), s, number_from_bytes(c), rng);
      const auto opened = cipher.decrypt_layers(layers, c).value();
      EXPECT_EQ(opened.size(), key.secret().public_key().modulus().size());
      EXPECT_EQ(number_from_bytes(opened.expose()), m);
    }
  }
}

TEST(DamgardJurik, WhatIsNoCiphertextIsRefused) {
  const KnownKey key("128");
  const auto cipher = Cipher::create(key.secret(), 2).value();
  const auto size = cipher.public_key().ciphertext_bytes(2);
  const mpz_class modulus = power_of(key.n, 3);
  for (const mpz_class& c :
       {mpz_class(0), modulus, mpz_class(key.p * 17), mpz_class(key.q * 17), mpz_class(key.n * 5),
        power_of(key.p, 3), mpz_class((mpz_class(1) << 384) - 1)}) {
    EXPECT_EQ(cipher.decrypt(2, bytes(c, size)).error().code(), ErrorCode::kUndecodable) << c.get_str();
    EXPECT_EQ(cipher.decrypt_layers(2, bytes(c, size)).error().code(), ErrorCode::kUndecodable)
        << c.get_str();
  }
  // An outer layer that holds no unit inside.
  const auto nested = bytes(testing::encrypt_ref(key.n, 2, key.p * 3, 7), size);
  EXPECT_TRUE(cipher.decrypt(2, nested).has_value());
  EXPECT_EQ(cipher.decrypt_layers(2, nested).error().code(), ErrorCode::kUndecodable);
}

TEST(DamgardJurik, ArgumentsAreChecked) {
  const KnownKey key("128");
  const auto secret = key.secret();
  const auto& pk = secret.public_key();
  const auto invalid = [](const auto& result) {
    return result.error().code() == ErrorCode::kInvalidArgument;
  };
  EXPECT_TRUE(invalid(Cipher::create(secret, 0)));
  EXPECT_TRUE(invalid(Cipher::create(secret, kMaxLevels + 1)));
  EXPECT_TRUE(invalid(Cipher::create(KnownKey("35").secret(), 5)));
  const auto cipher = Cipher::create(secret, 2).value();
  EXPECT_TRUE(invalid(cipher.decrypt(1, Bytes(pk.ciphertext_bytes(1) + 1))));
  EXPECT_TRUE(invalid(cipher.decrypt(3, Bytes(pk.ciphertext_bytes(3)))));
  auto rng = Rng::from_os().value();
  EXPECT_TRUE(invalid(cipher.encrypt_zero(3, rng)));
  EXPECT_TRUE(invalid(cipher.encrypt_bit(2, 1, cipher.encrypt_zero(1, rng).value())));
}

TEST(DigitRing, PowersAreGmps) {
  auto engine = pirx::testing::seeded_engine();
  for (const std::size_t bits : {2u, 3u, 63u, 64u, 65u, 128u, 200u, 512u}) {
    for (unsigned s = 1; s <= kMaxLevels; ++s) {
      // Odd is enough. The largest number of so many bits leaves least room.
      mpz_class p = (mpz_class(1) << bits) - 1;
      if (s % 2 == 0) p = testing::random_below(p, engine) | 1;
      if (p == 1) p = 3;
      const mpz_class modulus = power_of(p, s + 1);
      const auto limbs = [](const mpz_class& a, std::size_t least = 1) {
        const auto raw = testing::bytes(a);
        return limbs_from_bytes(raw, std::max(least, limbs_of_bits(8 * raw.size())));
      };
      const DigitRing ring(trimmed(limbs(p).expose()).expose(), s);
      for (const mpz_class& base : {mpz_class(0), mpz_class(1), mpz_class(modulus - 1),
                                    mpz_class(modulus / p), testing::random_below(modulus, engine)}) {
        const std::size_t exponent_bits = 1 + engine() % 200;
        for (const mpz_class& exponent : {mpz_class(0), mpz_class((mpz_class(1) << exponent_bits) - 1),
                                          testing::random_below(mpz_class(1) << exponent_bits, engine)}) {
          const auto power =
              ring.power(limbs(base, mpz_size(modulus.get_mpz_t())).expose(),
                         limbs(exponent, limbs_of_bits(exponent_bits)).expose(), exponent_bits);
          ASSERT_EQ(power.size(), mpz_size(modulus.get_mpz_t()));
          Bytes bytes(8 * power.size());
          limbs_to_bytes(power.expose(), bytes);
          ASSERT_EQ(number_from_bytes(bytes), testing::power_mod(base, exponent, modulus))
              << p << "^" << s + 1 << ": " << base << "^" << exponent;
        }
      }
    }
  }
}

}  // namespace
}  // namespace pirx::cpir::dj
