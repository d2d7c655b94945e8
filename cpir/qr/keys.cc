// SPDX-License-Identifier: Apache-2.0
// Makes Blum primes with OpenSSL. The rest of a key is checked by the code for Damgard-Jurik's keys.
#include "pirx/cpir/qr/keys.h"

#include <openssl/bn.h>
#include <openssl/rand.h>

#include <memory>

#include "cpir/dj/primes.h"

namespace pirx::cpir::qr {
namespace {

using Number = std::unique_ptr<BIGNUM, decltype([](BIGNUM* number) { BN_clear_free(number); })>;
using Context = std::unique_ptr<BN_CTX, decltype([](BN_CTX* context) { BN_CTX_free(context); })>;

unsigned last_bits(ByteSpan big_endian) {
  return big_endian.empty() ? 0 : std::to_integer<unsigned>(big_endian.back()) & 3;
}

/// A uniform prime of so many bits, the two highest set, that is 3 modulo 4.
Result<SecretVector<std::byte>> blum_prime(unsigned bits, const Stop& stop) {
  const Context context(BN_CTX_secure_new());
  const Number prime(BN_new());
  if (!context || !prime) return fail(ErrorCode::kResourceExhausted, "no memory for a key");
  dj::PrimeStop asked(stop);
  for (;;) {
    const bool drawn =
        BN_priv_rand(prime.get(), static_cast<int>(bits), BN_RAND_TOP_TWO, BN_RAND_BOTTOM_ODD) == 1;
    if (!drawn || BN_set_bit(prime.get(), 1) != 1) {
      return fail(ErrorCode::kUnavailable, "OpenSSL makes no primes: is there randomness?");
    }
    const int is_prime = asked.go_on() == 1 ? asked.check_prime(prime.get(), context.get()) : -1;
    if (is_prime < 0) return asked.why(ErrorCode::kResourceExhausted, "no memory for a key");
    if (is_prime == 0) continue;
    SecretVector<std::byte> out((bits + 7) / 8);
    const auto size = static_cast<int>(out.size());
    PIRX_CHECK(BN_bn2binpad(prime.get(), reinterpret_cast<unsigned char*>(out.expose().data()), size) ==
               size);
    return out;
  }
}

}  // namespace

Result<PublicKey> make_public_key(ByteSpan modulus, unsigned bits, KeyPolicy policy) {
  PIRX_ASSIGN(auto key, PublicKey::create(modulus, bits, policy));
  if (last_bits(key.modulus()) != 1) return invalid("the modulus is 3 modulo 4: it is no Blum integer");
  return key;
}

Result<SecretKey> SecretKey::generate(unsigned bits, KeyPolicy policy, const Stop& stop) {
  PIRX_TRY(dj::check_modulus_bits(bits, policy));
  if (bits < 512 || bits % 2 != 0) {
    return invalid("keys below 512 bits or of an odd length are not generated: give their primes");
  }
  // As for Damgard-Jurik's keys: parent and child of a fork would get the same ones.
  if (RAND_poll() != 1) return fail(ErrorCode::kUnavailable, "OpenSSL makes no primes: is there randomness?");
  for (;;) {
    PIRX_ASSIGN(const auto p, blum_prime(bits / 2, stop));
    PIRX_ASSIGN(const auto q, blum_prime(bits / 2, stop));
    auto key = from_primes(p.expose(), q.expose(), policy, stop);
    // Primes that are too close, or one that divides the other less 1, do not happen; drawing again is right.
    if (key || key.error().code() != ErrorCode::kInvalidArgument) return key;
  }
}

Result<SecretKey> SecretKey::from_primes(ByteSpan p, ByteSpan q, KeyPolicy policy, const Stop& stop) {
  if (last_bits(p) != 3 || last_bits(q) != 3) return invalid("a prime of the key is not 3 modulo 4");
  PIRX_ASSIGN(auto key, dj::SecretKey::from_primes(p, q, policy, stop));
  return SecretKey(std::move(key));
}

}  // namespace pirx::cpir::qr
