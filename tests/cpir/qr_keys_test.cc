// SPDX-License-Identifier: Apache-2.0
// Keys: Blum primes, and every line that refuses one.
#include <gtest/gtest.h>

#include "pirx/cpir/qr/keys.h"
#include "qr_support.h"
#include "support/files.h"
#include "support/forks.h"

namespace pirx::cpir::qr {
namespace {

using testing::bytes;

void expect_refused(const Result<SecretKey>& key, const char* why) {
  pirx::testing::expect_error(key, ErrorCode::kInvalidArgument, why);
}

TEST(Keys, GeneratedOnesAreBlumIntegers) {
  for (const unsigned bits : {512u, 1024u}) {
    const auto policy = bits == 1024 ? KeyPolicy::kPaperReproduction : KeyPolicy::kToy;
    const auto key = SecretKey::generate(bits, policy).value();
    const mpz_class p = dj::number_from_bytes(key.expose_p()), q = dj::number_from_bytes(key.expose_q());
    const mpz_class n = dj::number_from_bytes(key.public_key().modulus());
    EXPECT_EQ(n, p * q);
    EXPECT_EQ(mpz_sizeinbase(n.get_mpz_t(), 2), bits);
    EXPECT_EQ(mpz_sizeinbase(p.get_mpz_t(), 2), bits / 2);
    EXPECT_EQ(mpz_fdiv_ui(p.get_mpz_t(), 4), 3u);
    EXPECT_EQ(mpz_fdiv_ui(q.get_mpz_t(), 4), 3u);
    EXPECT_NE(mpz_probab_prime_p(p.get_mpz_t(), 30), 0);
    EXPECT_NE(mpz_probab_prime_p(q.get_mpz_t(), 30), 0);
    const auto other = SecretKey::generate(bits, policy).value();
    EXPECT_NE(dj::number_from_bytes(other.public_key().modulus()), n);
    EXPECT_TRUE(make_public_key(key.public_key().modulus(), bits, policy));
  }
}

TEST(Keys, AForkedChildWithTheSameProcessIdMakesOthers) {
  const auto make = [] {
    const auto key = SecretKey::generate(512, KeyPolicy::kToy).value();
    const auto modulus = key.public_key().modulus();
    return Bytes(modulus.begin(), modulus.end());
  };
  const auto both = pirx::testing::with_equal_pids(make, make);
  if (!both) GTEST_SKIP() << "no namespaces for process ids here";
  ASSERT_EQ(both->size(), 128u);
  EXPECT_NE(Bytes(both->begin(), both->begin() + 64), Bytes(both->begin() + 64, both->end()));
}

TEST(Keys, LengthsAreRefused) {
  expect_refused(SecretKey::generate(1024, KeyPolicy::kSecure), "only for reproducing the paper");
  expect_refused(SecretKey::generate(1536, KeyPolicy::kSecure), "3072");
  expect_refused(SecretKey::generate(2048, KeyPolicy::kPaperReproduction), "1024");
  expect_refused(SecretKey::generate(256, KeyPolicy::kToy), "512");
  expect_refused(SecretKey::generate(513, KeyPolicy::kToy), "odd");
}

TEST(Keys, MakingThemCanBeStoppedAtAnyStep) {
  for (const std::size_t last : {std::size_t{1}, std::size_t{50}}) {
    std::size_t calls = 0;
    const auto key = SecretKey::generate(2048, KeyPolicy::kSecure, [&] { return ++calls >= last; });
    pirx::testing::expect_error(key, ErrorCode::kUnavailable, "while the client's keys were made");
    EXPECT_EQ(calls, last);
  }
}

TEST(Keys, PrimesAreRefused) {
  EXPECT_TRUE(SecretKey::from_primes(bytes(19), bytes(23), KeyPolicy::kToy));
  expect_refused(SecretKey::from_primes(bytes(17), bytes(23), KeyPolicy::kToy), "3 modulo 4");
  expect_refused(SecretKey::from_primes(bytes(19), bytes(29), KeyPolicy::kToy), "3 modulo 4");
  expect_refused(SecretKey::from_primes(bytes(19), bytes(27), KeyPolicy::kToy), "no odd prime");
  expect_refused(SecretKey::from_primes(bytes(19), bytes(19), KeyPolicy::kToy), "same");
  expect_refused(SecretKey::from_primes({}, bytes(19), KeyPolicy::kToy), "3 modulo 4");
}

TEST(Keys, ModuliAreRefused) {
  const auto refused = [](const mpz_class& n, unsigned bits, const char* why) {
    const auto key = make_public_key(bytes(n), bits, KeyPolicy::kToy);
    ASSERT_FALSE(key);
    EXPECT_NE(key.error().message().find(why), std::string::npos) << key.error().message();
  };
  EXPECT_TRUE(make_public_key(bytes(437), 9, KeyPolicy::kToy));
  refused(435, 9, "3 modulo 4");
  refused(436, 9, "even");
  refused(437, 10, "exactly 10 bits");
  refused(441, 9, "perfect power");
  mpz_class n = (mpz_class(1) << 2047) + 1;
  EXPECT_EQ(make_public_key(bytes(n), 2048, KeyPolicy::kSecure).error().message(),
            "the modulus has a small prime factor: make a new key");
}

}  // namespace
}  // namespace pirx::cpir::qr
