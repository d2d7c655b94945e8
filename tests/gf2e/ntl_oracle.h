// SPDX-License-Identifier: Apache-2.0
// GF(2^n) as NTL computes it.
#pragma once

#include <NTL/GF2E.h>
#include <NTL/GF2XFactoring.h>

#include "pirx/base/field.h"

namespace pirx::testing {

/// The polynomial whose coefficients are the bits of `value`.
inline NTL::GF2X ntl_polynomial(std::uint64_t value) {
  NTL::GF2X out;
  for (long i = 0; i < 64; ++i) NTL::SetCoeff(out, i, static_cast<long>((value >> i) & 1));
  return out;
}
inline std::uint64_t ntl_bits(const NTL::GF2X& polynomial) {
  std::uint64_t out = 0;
  for (long i = 0; i <= NTL::deg(polynomial); ++i) {
    if (NTL::IsOne(NTL::coeff(polynomial, i))) out |= std::uint64_t{1} << i;
  }
  return out;
}
/// The modulus that a tag names.
inline NTL::GF2X ntl_modulus(const FieldTag& tag) {
  return ntl_polynomial((std::uint64_t{1} << tag.bits) | tag.low);
}
/// Products and inverses modulo the current NTL::GF2E modulus.
inline std::uint64_t ntl_mul(std::uint64_t a, std::uint64_t b) {
  return ntl_bits(
      NTL::rep(NTL::conv<NTL::GF2E>(ntl_polynomial(a)) * NTL::conv<NTL::GF2E>(ntl_polynomial(b))));
}
inline std::uint64_t ntl_inv(std::uint64_t a) {
  return ntl_bits(NTL::rep(NTL::inv(NTL::conv<NTL::GF2E>(ntl_polynomial(a)))));
}

}  // namespace pirx::testing
