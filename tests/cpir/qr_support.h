// SPDX-License-Identifier: Apache-2.0
// Keys, databases and the textbook's server for the tests of quadratic-residuosity PIR: one multiplication
// for every bit, over GMP's integers.
#pragma once

#include <gmpxx.h>

#include <random>

#include "cpir/dj/number.h"
#include "pirx/cpir/qr/keys.h"
#include "tests/cpir/test_database.h"

namespace pirx::cpir::qr::testing {

inline mpz_class random_below(const mpz_class& bound, std::mt19937_64& engine) {
  mpz_class out;
  const auto bits = mpz_sizeinbase(bound.get_mpz_t(), 2);
  for (std::size_t i = 0; i < bits + 64; i += 64)
    out = (out << 64) + mpz_class(static_cast<unsigned long>(engine()));
  return out % bound;
}

inline Bytes bytes(const mpz_class& a) {
  Bytes out((mpz_sizeinbase(a.get_mpz_t(), 2) + 7) / 8);
  dj::number_to_bytes(a, out);
  return out;
}

inline SecretKey toy_key(unsigned p, unsigned q) {
  return SecretKey::from_primes(bytes(p), bytes(q), KeyPolicy::kToy).value();
}

/// Made once: 1024 bits.
inline const SecretKey& paper_key() {
  static const SecretKey key = SecretKey::generate(1024, KeyPolicy::kPaperReproduction).value();
  return key;
}

using cpir::testing::TestDatabase;

/// z_j = prod y_i^(D_ij): rows of bits as bytes, bit j of a byte first.
inline std::vector<mpz_class> column_products_ref(const mpz_class& n, const std::vector<mpz_class>& y,
                                                  const std::vector<Bytes>& rows) {
  std::vector<mpz_class> z(8 * rows.at(0).size(), mpz_class(1));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < z.size(); ++j) {
      if ((std::to_integer<unsigned>(rows[i][j / 8]) >> (j % 8) & 1) != 0) z[j] = z[j] * y[i] % n;
    }
  }
  return z;
}

}  // namespace pirx::cpir::qr::testing
