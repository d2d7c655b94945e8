// SPDX-License-Identifier: Apache-2.0
// Keys: what is made, and every reason to refuse one.
#include <gtest/gtest.h>

#include "dj_support.h"
#include "pirx/cpir/dj/cipher.h"
#include "pirx/cpir/dj/keys.h"
#include "pirx/protocol.h"
#include "support/files.h"

namespace pirx::cpir::dj {
namespace {

using testing::bytes;
using testing::KnownKey;

std::string refusal(const mpz_class& n, unsigned bits, KeyPolicy policy) {
  const auto key = PublicKey::create(bytes(n, (bits + 7) / 8), bits, policy);
  if (key) return "";
  EXPECT_EQ(key.error().code(), ErrorCode::kInvalidArgument);
  return key.error().message();
}
std::string prime_refusal(const mpz_class& p, const mpz_class& q, KeyPolicy policy) {
  const auto key = SecretKey::from_primes(bytes(p), bytes(q), policy);
  if (key) return "";
  EXPECT_EQ(key.error().code(), ErrorCode::kInvalidArgument);
  return key.error().message();
}
bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

mpz_class next_prime(const mpz_class& from) {
  mpz_class out;
  mpz_nextprime(out.get_mpz_t(), from.get_mpz_t());
  return out;
}

TEST(Keys, GeneratesTheDefaultLength) {
  const auto key = SecretKey::generate(kDefaultModulusBits, KeyPolicy::kSecure).value();
  const mpz_class p = number_from_bytes(key.expose_p()), q = number_from_bytes(key.expose_q());
  EXPECT_EQ(number_from_bytes(key.public_key().modulus()), p * q);
  EXPECT_EQ(mpz_sizeinbase(mpz_class(p * q).get_mpz_t(), 2), 3072u);
  for (const auto& prime : {p, q}) {
    EXPECT_EQ(mpz_sizeinbase(prime.get_mpz_t(), 2), 1536u);
    EXPECT_NE(mpz_probab_prime_p(prime.get_mpz_t(), 10), 0);
  }
  EXPECT_NE(p, q);
  EXPECT_EQ(key.public_key().ciphertext_bytes(3), 1536u);
  auto rng = Rng::from_os().value();
  const auto cipher = Cipher::create(key, 1).value();
  const auto c = testing::encrypt_ref(key.public_key(), 1, 123456789, rng);
  EXPECT_EQ(number_from_bytes(cipher.decrypt(1, c).value().expose()), 123456789);
}

TEST(Keys, GenerationObeysThePolicy) {
  for (const auto& [bits, policy] : {std::pair{1024u, KeyPolicy::kSecure},
                                     {2047u, KeyPolicy::kSecure},
                                     {8192u, KeyPolicy::kSecure},
                                     {2048u, KeyPolicy::kPaperReproduction},
                                     {256u, KeyPolicy::kToy},
                                     {8192u, KeyPolicy::kToy}}) {
    EXPECT_EQ(SecretKey::generate(bits, policy).error().code(), ErrorCode::kInvalidArgument) << bits;
  }
  EXPECT_TRUE(SecretKey::generate(1024, KeyPolicy::kPaperReproduction).has_value());
  for (const unsigned bits : {2048u, 3072u, 4096u}) EXPECT_TRUE(check_modulus_bits(bits, KeyPolicy::kSecure));
  EXPECT_FALSE(check_modulus_bits(1024, static_cast<KeyPolicy>(9)));
}

// A test of a prime of 2048 bits has 64 rounds or more: what is asked between candidates alone is asked less.
TEST(Keys, MakingThemCanBeStoppedAtAnyStep) {
  std::size_t calls = 0;
  const auto made = SecretKey::generate(2048, KeyPolicy::kSecure, [&] { return ++calls, false; });
  ASSERT_TRUE(made.has_value());
  EXPECT_GT(calls, 300u);
  // At once, among the candidates, and while the primes are tested once more.
  for (const std::size_t last : {std::size_t{1}, std::size_t{20}}) {
    calls = 0;
    const auto key = SecretKey::generate(2048, KeyPolicy::kSecure, [&] { return ++calls >= last; });
    pirx::testing::expect_error(key, ErrorCode::kUnavailable, "while the client's keys were made");
    EXPECT_EQ(calls, last);
  }
  calls = 0;
  pirx::testing::expect_error(SecretKey::from_primes(made->expose_p(), made->expose_q(), KeyPolicy::kSecure,
                                                     [&] { return ++calls >= 100; }),
                              ErrorCode::kUnavailable, "while the client's keys were made");
  EXPECT_EQ(calls, 100u);
}

// What the caller of a look-up says reaches the keys that it waits for.
TEST(Keys, ClientsAreToldWhenToStop) {
  const auto geometry = database::Geometry::create({64, 10, 1, false, false}).value();
  for (const auto& [name, members] :
       {std::pair<std::string, Texts>{"dj-tree", {{"arities", "8,8"}, {"modulus_bits", "4096"}}},
        {"qr", {{"slots", "8"}, {"modulus_bits", "4096"}}}}) {
    const auto* protocol = find_protocol(name).value();
    const auto plan = protocol->plan(
        {.members = Options::create(protocol->members, members, "").value(), .geometry = geometry});
    ASSERT_TRUE(pirx::testing::good(plan));
    std::size_t calls = 0;
    pirx::testing::expect_error(join(**plan, {.stop = [&] { return ++calls >= 10; }}, {}),
                                ErrorCode::kUnavailable, "while the client's keys were made");
    EXPECT_EQ(calls, 10u) << name;
  }
}

TEST(Keys, HostileModuli) {
  const mpz_class top = mpz_class(1) << 2047;
  const mpz_class good = KnownKey("1024").n;
  const auto secure = KeyPolicy::kSecure;
  EXPECT_EQ(refusal(good, 1024, KeyPolicy::kPaperReproduction), "");
  EXPECT_TRUE(holds(refusal(good, 1024, secure), "1024 bits is refused"));
  EXPECT_TRUE(holds(refusal(good, 2048, secure), "exactly 2048 bits"));
  EXPECT_TRUE(holds(refusal(0, 2048, secure), "exactly 2048 bits"));
  EXPECT_TRUE(holds(refusal(top - 1, 2048, secure), "exactly 2048 bits"));
  EXPECT_TRUE(holds(refusal(top + 2, 2048, secure), "even"));
  const mpz_class root = next_prime((mpz_class(1) << 1023) + (mpz_class(1) << 1022));
  EXPECT_TRUE(holds(refusal(root * root, 2048, secure), "perfect power"));
  mpz_class small = top / 65521 + 1;  // the largest prime below 2^16
  if (small % 2 == 0) ++small;
  EXPECT_TRUE(holds(refusal(small * 65521, 2048, secure), "small prime factor"));
  const auto truncated = PublicKey::create(bytes(good), 2048, secure);
  EXPECT_TRUE(holds(truncated.error().message(), "takes 256 bytes, not 128"));
}

TEST(Keys, HostilePrimes) {
  const auto toy = KeyPolicy::kToy, paper = KeyPolicy::kPaperReproduction;
  const KnownKey key("1024");
  EXPECT_EQ(prime_refusal(key.p, key.q, paper), "");
  EXPECT_TRUE(holds(prime_refusal(key.p, key.p, paper), "the same"));
  EXPECT_TRUE(holds(prime_refusal(key.p, key.q + 2, paper), "no odd prime"));
  EXPECT_TRUE(holds(prime_refusal(2, 3, toy), "no odd prime"));
  EXPECT_TRUE(holds(prime_refusal(0, 3, toy), "no odd prime"));
  EXPECT_TRUE(holds(prime_refusal(5, 11, toy), "differ in length"));
  EXPECT_TRUE(holds(prime_refusal(3, 7, toy), "differ in length"));
  EXPECT_TRUE(holds(prime_refusal(key.p, next_prime(key.p), paper), "too close"));
  EXPECT_TRUE(holds(prime_refusal(key.p, key.q, KeyPolicy::kSecure), "1024 bits is refused"));
  EXPECT_TRUE(holds(prime_refusal((mpz_class(1) << 5000) + 1, 3, toy), "too long"));
}

}  // namespace
}  // namespace pirx::cpir::dj
