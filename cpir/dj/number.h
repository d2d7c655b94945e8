// SPDX-License-Identifier: Apache-2.0
// Public numbers: conversions between GMP's integers and big-endian bytes or words. Do not use it for
// secrets: GMP neither wipes its integers nor computes with them in constant time.
#pragma once

#include <gmpxx.h>

#include <algorithm>

#include "pirx/base/bytes.h"

namespace pirx::cpir::dj {

inline mpz_class number_from_bytes(ByteSpan big_endian) {
  mpz_class out;
  mpz_import(out.get_mpz_t(), big_endian.size(), 1, 1, 1, 0, big_endian.data());
  return out;
}

/// On input `a` fits.
inline void number_to_bytes(const mpz_class& a, MutableByteSpan big_endian) {
  std::fill(big_endian.begin(), big_endian.end(), std::byte{0});
  const auto used = (mpz_sizeinbase(a.get_mpz_t(), 2) + 7) / 8;
  if (sgn(a) == 0) return;
  PIRX_CHECK(sgn(a) > 0 && used <= big_endian.size());
  mpz_export(big_endian.data() + (big_endian.size() - used), nullptr, 1, 1, 1, 0, a.get_mpz_t());
}

inline mpz_class number_from_words(std::span<const std::uint64_t> little_endian) {
  mpz_class out;
  mpz_import(out.get_mpz_t(), little_endian.size(), -1, 8, 0, 0, little_endian.data());
  return out;
}

/// On input `a` fits.
inline void number_to_words(const mpz_class& a, std::span<std::uint64_t> little_endian) {
  const auto used = mpz_size(a.get_mpz_t());
  PIRX_CHECK(sgn(a) >= 0 && used <= little_endian.size());
  for (std::size_t i = 0; i < little_endian.size(); ++i) {
    little_endian[i] = i < used ? mpz_getlimbn(a.get_mpz_t(), static_cast<mp_size_t>(i)) : 0;
  }
}

inline mpz_class power_of(const mpz_class& base, unsigned long exponent) {
  mpz_class out;
  mpz_pow_ui(out.get_mpz_t(), base.get_mpz_t(), exponent);
  return out;
}

}  // namespace pirx::cpir::dj
