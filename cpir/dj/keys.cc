// SPDX-License-Identifier: Apache-2.0
// Checks N, and makes primes with OpenSSL.
#include "pirx/cpir/dj/keys.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>

#include <memory>

#include "number.h"
#include "primes.h"

namespace pirx::cpir::dj {
namespace {

/// The product of all primes below 2^16.
const mpz_class& small_primes() {
  static const mpz_class product = [] {
    mpz_class all;
    mpz_primorial_ui(all.get_mpz_t(), 1u << 16);
    return all;
  }();
  return product;
}

using Key = std::unique_ptr<EVP_PKEY, decltype([](EVP_PKEY* key) { EVP_PKEY_free(key); })>;
using KeyContext =
    std::unique_ptr<EVP_PKEY_CTX, decltype([](EVP_PKEY_CTX* context) { EVP_PKEY_CTX_free(context); })>;
using Number = std::unique_ptr<BIGNUM, decltype([](BIGNUM* number) { BN_clear_free(number); })>;
using Context = std::unique_ptr<BN_CTX, decltype([](BN_CTX* context) { BN_CTX_free(context); })>;

Number number_of(ByteSpan big_endian) {
  return Number(BN_bin2bn(reinterpret_cast<const unsigned char*>(big_endian.data()),
                          static_cast<int>(big_endian.size()), nullptr));
}

SecretVector<std::byte> bytes_of(const BIGNUM* number, unsigned bits) {
  SecretVector<std::byte> out((bits + 7) / 8);
  const auto size = static_cast<int>(out.size());
  PIRX_CHECK(BN_bn2binpad(number, reinterpret_cast<unsigned char*>(out.expose().data()), size) == size);
  return out;
}

/// As EVP_RSA_gen(). Null if OpenSSL fails or `stop` ended it.
Key rsa_key(unsigned bits, PrimeStop& stop) {
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr));
  if (!context || EVP_PKEY_keygen_init(context.get()) != 1 ||
      EVP_PKEY_CTX_set_rsa_keygen_bits(context.get(), static_cast<int>(bits)) != 1) {
    return nullptr;
  }
  EVP_PKEY_CTX_set_app_data(context.get(), &stop);
  EVP_PKEY_CTX_set_cb(context.get(), [](EVP_PKEY_CTX* self) {
    return static_cast<PrimeStop*>(EVP_PKEY_CTX_get_app_data(self))->go_on();
  });
  EVP_PKEY* key = nullptr;
  return Key(EVP_PKEY_generate(context.get(), &key) == 1 ? key : nullptr);
}

}  // namespace

Result<void> check_modulus_bits(unsigned bits, KeyPolicy policy) {
  switch (policy) {
    case KeyPolicy::kSecure:
      if (bits == 2048 || bits == 3072 || bits == 4096) return {};
      return invalid(
          "a modulus of " + std::to_string(bits) +
          " bits is refused: use 3072 (the default), 2048 or 4096; 1024 is only for reproducing the paper");
    case KeyPolicy::kPaperReproduction:
      if (bits == 1024) return {};
      return invalid("the paper's modulus has 1024 bits, not " + std::to_string(bits));
    case KeyPolicy::kToy:
      if (bits >= 4 && bits <= kMaxModulusBits) return {};
      return invalid("a toy modulus has 4 to 4096 bits, not " + std::to_string(bits));
  }
  return invalid("unknown key policy");
}

Result<PublicKey> PublicKey::create(ByteSpan modulus, unsigned bits, KeyPolicy policy) {
  PIRX_TRY(check_modulus_bits(bits, policy));
  if (modulus.size() != (bits + 7) / 8) {
    return invalid("a modulus of " + std::to_string(bits) + " bits takes " + std::to_string((bits + 7) / 8) +
                   " bytes, not " + std::to_string(modulus.size()));
  }
  const mpz_class n = number_from_bytes(modulus);
  if (sgn(n) == 0 || mpz_sizeinbase(n.get_mpz_t(), 2) != bits) {
    return invalid("the modulus does not have exactly " + std::to_string(bits) + " bits");
  }
  if (mpz_even_p(n.get_mpz_t()) != 0)
    return invalid("the modulus is even: it is no product of two odd primes");
  if (mpz_perfect_power_p(n.get_mpz_t()) != 0) return invalid("the modulus is a perfect power");
  if (policy != KeyPolicy::kToy && gcd(n, small_primes()) != 1) {
    return invalid("the modulus has a small prime factor: make a new key");
  }
  return PublicKey(Bytes(modulus.begin(), modulus.end()), bits, policy);
}

Result<SecretKey> SecretKey::generate(unsigned bits, KeyPolicy policy, const Stop& stop) {
  PIRX_TRY(check_modulus_bits(bits, policy));
  if (bits < 512) return invalid("keys below 512 bits are not generated: give their primes");
  // OpenSSL takes a child of fork with its parent's process id for its parent, and would give both this key.
  PrimeStop asked(stop);
  const Key key = RAND_poll() == 1 ? rsa_key(bits, asked) : nullptr;
  if (!key) return asked.why(ErrorCode::kUnavailable, "OpenSSL makes no primes: is there randomness?");
  BIGNUM *p = nullptr, *q = nullptr;
  const bool got = EVP_PKEY_get_bn_param(key.get(), OSSL_PKEY_PARAM_RSA_FACTOR1, &p) == 1 &&
                   EVP_PKEY_get_bn_param(key.get(), OSSL_PKEY_PARAM_RSA_FACTOR2, &q) == 1;
  const Number owner_p(p), owner_q(q);
  if (!got) return fail(ErrorCode::kInternal, "OpenSSL does not hand out the primes that it made");
  return from_primes(bytes_of(p, bits / 2).expose(), bytes_of(q, bits / 2).expose(), policy, stop);
}

Result<SecretKey> SecretKey::from_primes(ByteSpan p, ByteSpan q, KeyPolicy policy, const Stop& stop) {
  if (p.size() > kMaxModulusBits / 8 || q.size() > kMaxModulusBits / 8)
    return invalid("a prime of the key is too long");
  // OpenSSL's integers: they are wiped, temporary ones included.
  const Context context(BN_CTX_secure_new());
  const Number a = number_of(p), b = number_of(q), n(BN_new()), x(BN_new()), y(BN_new());
  if (!context || !a || !b || !n || !x || !y)
    return fail(ErrorCode::kResourceExhausted, "no memory for a key");
  PrimeStop asked(stop);
  for (const auto* prime : {&a, &b}) {
    const int is_prime = BN_is_odd(prime->get()) == 0 ? 0 : asked.check_prime(prime->get(), context.get());
    if (is_prime < 0) return asked.why(ErrorCode::kResourceExhausted, "no memory for a key");
    if (is_prime == 0) return invalid("a factor of the key is no odd prime");
  }
  if (BN_cmp(a.get(), b.get()) == 0) return invalid("the primes of the key are the same");
  const int half = BN_num_bits(a.get());
  if (BN_num_bits(b.get()) != half) return invalid("the primes of the key differ in length");
  bool computed = BN_sub(x.get(), a.get(), b.get()) == 1;
  // FIPS 186-5, A.1.3: a difference above 2^(k/2 - 100).
  if (computed && policy != KeyPolicy::kToy && BN_num_bits(x.get()) <= half - 100) {
    return invalid("the primes of the key are too close to each other");
  }
  computed = computed && BN_mul(n.get(), a.get(), b.get(), context.get()) == 1 &&
             BN_copy(x.get(), a.get()) != nullptr && BN_copy(y.get(), b.get()) != nullptr &&
             BN_sub_word(x.get(), 1) == 1 && BN_sub_word(y.get(), 1) == 1 &&
             BN_mul(x.get(), x.get(), y.get(), context.get()) == 1 &&
             BN_gcd(y.get(), x.get(), n.get(), context.get()) == 1;
  if (!computed) return fail(ErrorCode::kResourceExhausted, "no memory for a key");
  if (BN_is_one(y.get()) == 0) return invalid("the modulus is not prime to (p-1)(q-1)");
  const auto bits = static_cast<unsigned>(BN_num_bits(n.get()));
  const auto modulus = bytes_of(n.get(), bits);
  PIRX_ASSIGN(auto public_key, PublicKey::create(modulus.expose(), bits, policy));
  const auto half_bits = static_cast<unsigned>(half);
  return SecretKey(std::move(public_key), bytes_of(a.get(), half_bits), bytes_of(b.get(), half_bits));
}

}  // namespace pirx::cpir::dj
