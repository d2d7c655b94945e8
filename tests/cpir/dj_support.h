// SPDX-License-Identifier: Apache-2.0
// Fixed keys and numbers for the tests of Damgard-Jurik, and the textbook's cryptosystem as their reference:
// slow, variable-time, over GMP's integers.
#pragma once

#include <gmpxx.h>

#include <nlohmann/json.hpp>
#include <random>

#include "cpir/dj/number.h"
#include "cpir/dj/ring.h"
#include "pirx/base/rng.h"
#include "pirx/cpir/dj/keys.h"
#include "support/source_file.h"

namespace pirx::cpir::dj::testing {

inline const nlohmann::json& known_answers() {
  static const auto known = [] {
    auto file = pirx::testing::source_file("tests/vectors/damgard_jurik_kat.json");
    return nlohmann::json::parse(file);
  }();
  return known;
}

inline mpz_class number(const nlohmann::json& decimal) { return mpz_class(decimal.get<std::string>(), 10); }

/// Big-endian, without leading zeros or in so many bytes.
inline Bytes bytes(const mpz_class& a) {
  Bytes out((mpz_sizeinbase(a.get_mpz_t(), 2) + 7) / 8);
  number_to_bytes(a, out);
  return out;
}
inline Bytes bytes(const mpz_class& a, std::size_t size) {
  Bytes out(size);
  number_to_bytes(a, out);
  return out;
}

/// The keys of the known answers: "35", "128" (both toys) and "1024".
struct KnownKey {
  explicit KnownKey(const std::string& name)
      : p(number(known_answers().at("keys").at(name).at("p"))),
        q(number(known_answers().at("keys").at(name).at("q"))),
        n(p * q),
        policy(name == "1024" ? KeyPolicy::kPaperReproduction : KeyPolicy::kToy) {}
  SecretKey secret() const { return SecretKey::from_primes(bytes(p), bytes(q), policy).value(); }
  mpz_class p, q, n;
  KeyPolicy policy;
};

inline mpz_class random_below(const mpz_class& bound, std::mt19937_64& engine) {
  mpz_class out;
  const auto bits = mpz_sizeinbase(bound.get_mpz_t(), 2);
  for (std::size_t i = 0; i < bits + 64; i += 64)
    out = (out << 64) + mpz_class(static_cast<unsigned long>(engine()));
  return out % bound;
}

/// 2^(bits - 1) to 2^bits - 1.
inline mpz_class odd_number(unsigned bits, std::mt19937_64& engine) {
  mpz_class n = random_below(mpz_class(1) << (bits - 1), engine);
  mpz_setbit(n.get_mpz_t(), bits - 1);
  mpz_setbit(n.get_mpz_t(), 0);
  return n;
}

/// Those that this machine has.
inline std::vector<const RowKernel*> usable_kernels() {
  std::vector<const RowKernel*> kernels;
  for (const char* name : {"gmp", "ifma"}) {
    if (const auto kernel = choose_kernel(name)) kernels.push_back(*kernel);
  }
  return kernels;
}

inline mpz_class power_mod(const mpz_class& a, const mpz_class& e, const mpz_class& m) {
  mpz_class out;
  mpz_powm(out.get_mpz_t(), a.get_mpz_t(), e.get_mpz_t(), m.get_mpz_t());
  return out;
}
inline mpz_class inverse(const mpz_class& a, const mpz_class& m) {
  mpz_class out;
  mpz_invert(out.get_mpz_t(), a.get_mpz_t(), m.get_mpz_t());
  return out;
}

/// Damgard and Jurik, section 3: encryption by two powers.
inline mpz_class encrypt_ref(const mpz_class& n, unsigned s, const mpz_class& m, const mpz_class& r) {
  const mpz_class modulus = power_of(n, s + 1);
  return power_mod(n + 1, m, modulus) * power_mod(r, power_of(n, s), modulus) % modulus;
}

/// The same with a random r, in the bytes of a ciphertext.
inline Bytes encrypt_ref(const PublicKey& key, unsigned s, const mpz_class& m, Rng& rng) {
  const mpz_class n = number_from_bytes(key.modulus());
  mpz_class r;
  do {
    Bytes coin(key.modulus().size() + 8);
    rng.fill(coin);
    r = number_from_bytes(coin) % n;
  } while (gcd(r, n) != 1);
  return bytes(encrypt_ref(n, s, m, r), key.ciphertext_bytes(s));
}

/// Decryption by d = 1 modulo N^s, 0 modulo lambda, and their recursive extraction of m from (1 + N)^m.
inline mpz_class decrypt_ref(const mpz_class& p, const mpz_class& q, unsigned s, const mpz_class& c) {
  const mpz_class n = p * q, lambda = lcm(mpz_class(p - 1), mpz_class(q - 1)), ns = power_of(n, s);
  const mpz_class a = power_mod(c, lambda * inverse(lambda, ns), ns * n);
  const auto modulo = [](const mpz_class& x, const mpz_class& m) {
    mpz_class out;
    mpz_fdiv_r(out.get_mpz_t(), x.get_mpz_t(), m.get_mpz_t());
    return out;
  };
  mpz_class i = 0;
  for (unsigned j = 1; j <= s; ++j) {
    const mpz_class nj = power_of(n, j);
    mpz_class t1 = (modulo(a, nj * n) - 1) / n, t2 = i, ii = i, factorial = 1;
    for (unsigned k = 2; k <= j; ++k) {
      ii -= 1;
      factorial *= k;
      t2 = modulo(t2 * ii, nj);
      t1 = modulo(t1 - t2 * power_of(n, k - 1) * inverse(factorial, nj), nj);
    }
    i = modulo(t1, nj);
  }
  return i;
}

}  // namespace pirx::cpir::dj::testing
