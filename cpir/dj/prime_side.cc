// SPDX-License-Identifier: Apache-2.0
// Teichmuller lifts and p-adic logarithms.
#include "prime_side.h"

#include <bit>

namespace pirx::cpir::dj {
namespace {

const mp_limb_t kOne = 1;
const LimbSpan kOneSpan(&kOne, 1);

}  // namespace

PrimeSide::PrimeSide(LimbSpan prime, LimbSpan cofactor, unsigned s_max) {
  powers_.push_back(trimmed(prime));
  const LimbSpan p = power(1);
  bits_ = p.size() * 64 - static_cast<std::size_t>(std::countl_zero(p.back()));
  powers_.reserve(s_max + 1);
  for (unsigned j = 1; j <= s_max; ++j) powers_.push_back(trimmed(multiply(power(j), power(1)).expose()));
  for (unsigned s = 1; s <= s_max; ++s) rings_.emplace_back(power(1), s);
  order_ = subtract_mod(power(1), kOneSpan, power(1));
  const LimbSpan top = power(s_max);
  for (mp_limb_t j = 1; j <= s_max; ++j) inverses_.push_back(invert_mod({&j, 1}, top));
  // log(1 + N) = N - N^2/2 + ...: the logarithm of w = N / p, the other prime.
  const auto log_n = logarithm(reduce(cofactor, top).expose(), s_max);
  scale_ = invert_mod(multiply_mod(log_n.expose(), order_.expose(), top).expose(), top);
}

Limbs PrimeSide::random_unit(Rng& rng) const {
  for (;;) {
    auto u = random_below(power(1), rng);
    if (zero_mask(u.expose()) == 0) return u;
  }
}

Limbs PrimeSide::lift(LimbSpan u, unsigned s) const {
  auto x = resized(u, power(1).size());
  for (unsigned j = 2; j <= s + 1; ++j) x = ring(j - 1).power(x.expose(), power(1), bits_);
  return x;
}

/// log(1 + p w) / p modulo p^s: w - p w^2/2 + p^2 w^3/3 - ..., by Horner's rule.
Limbs PrimeSide::logarithm(LimbSpan w, unsigned s) const {
  const auto modulus = power(s);
  const auto pw = multiply_mod(w, power(1), modulus);
  auto sum = reduce(inverses_[s - 1].expose(), modulus);
  for (unsigned j = s - 1; j >= 1; --j) {
    const auto tail = multiply_mod(pw.expose(), sum.expose(), modulus);
    sum = subtract_mod(inverses_[j - 1].expose(), tail.expose(), modulus);
  }
  return multiply_mod(w, sum.expose(), modulus);
}

Limbs PrimeSide::open(LimbSpan c, unsigned s, mp_limb_t& valid) const {
  const auto modulus = power(s + 1);
  auto u = reduce(c, modulus);
  valid &= ~zero_mask(reduce(u.expose(), power(1)).expose());
  u = ring(s).power(u.expose(), order_.expose(), bits_);
  const auto z = subtract_mod(u.expose(), kOneSpan, modulus);
  const auto w = divide(z.expose(), power(1));
  const auto log_c = logarithm(reduce(w.expose(), power(s)).expose(), s);
  return multiply_mod(log_c.expose(), scale_.expose(), power(s));
}

}  // namespace pirx::cpir::dj
