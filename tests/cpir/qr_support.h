// SPDX-License-Identifier: Apache-2.0
// Keys, databases and the textbook's server for the tests of quadratic-residuosity PIR: one multiplication
// for every bit, over GMP's integers.
#pragma once

#include "dj_support.h"
#include "pirx/cpir/qr/keys.h"
#include "tests/cpir/test_database.h"

namespace pirx::cpir::qr::testing {

using cpir::testing::TestDatabase;
using dj::testing::bytes;
using dj::testing::random_below;

inline SecretKey toy_key(unsigned p, unsigned q) {
  return SecretKey::from_primes(bytes(p), bytes(q), KeyPolicy::kToy).value();
}

/// Made once: 1024 bits.
inline const SecretKey& paper_key() {
  static const SecretKey key = SecretKey::generate(1024, KeyPolicy::kPaperReproduction).value();
  return key;
}

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
