// SPDX-License-Identifier: Apache-2.0
// A step: compose the residues of the coefficients, cut them into digits, transform these, multiply,
// transform back.
#include "chains.h"

#include <algorithm>

#include "cpir/inspire/ring_fft.h"

namespace pirx::cpir::inspire {
namespace {

/// 5^i modulo 2d.
std::size_t power_of_five(std::size_t i, std::size_t d) noexcept {
  std::size_t out = 1;
  for (; i > 0; --i) out = out * 5 % (2 * d);
  return out;
}

/// c = sum over j of 2^(delta + j beta) digit_j + residue, digits and residues balanced (3.3).
DigitPlan balanced_digits(const Set& set) noexcept {
  DigitPlan plan;
  plan.count = set.l;
  plan.shift = set.beta;
  plan.z = std::uint32_t{1} << set.beta;
  plan.delta = std::uint64_t{1} << set.delta;
  plan.half = static_cast<std::int32_t>(plan.z / 2);
  // More than any coefficient needs.
  const std::uint64_t last = (kModulus >> (set.delta + (set.l - 1) * set.beta)) + 1;
  plan.top = static_cast<std::int32_t>(last);
  plan.offset = plan.delta / 2 + (last << (set.delta + (set.l - 1) * set.beta));
  for (unsigned j = 0; j + 1 < set.l; ++j)
    plan.offset += std::uint64_t{plan.z / 2} << (set.delta + j * set.beta);
  return plan;
}

/// Adds tau_g(a) to sum, residues modulo both primes; h = 1 / g modulo 2d. Coefficient m of tau_g(a) is
/// coefficient m h, with the sign of X^(m h). `taken`: 2d words, `signs`: 4d.
void add_automorphism(const Ring& ring, std::size_t h, const std::array<const std::uint32_t*, 2>& a,
                      std::uint32_t* signs, std::uint32_t* taken, std::uint32_t* sum) noexcept {
  const std::size_t d = ring.d(), last = 2 * d - 1;
  for (std::size_t k = 0; k < 2; ++k) {
    std::uint32_t* both = signs + k * 2 * d;
    const std::uint32_t q = kPrimes[k];
    std::copy_n(a[k], d, both);
    for (std::size_t n = 0; n < d; ++n) both[d + n] = q - a[k][n];  // not canonical: q for 0
  }
  const std::uint32_t *first = signs, *second = signs + 2 * d;
  for (std::size_t m = 0, from = 0; m < d; ++m, from = (from + h) & last) {
    taken[m] = first[from];
    taken[d + m] = second[from];
  }
  ring.add(sum, sum, taken);
}

}  // namespace

Result<KeyMasks> KeyMasks::create(const Ring& ring, const Polynomials& w, unsigned l) {
  KeyMasks out;
  const std::size_t d = ring.d(), half = d / 2;
  const auto log_d = ring.prime(0).log_d;
  out.d_ = d;
  PIRX_ASSIGN(out.powers_, Polynomials::create(l, 3 * d));
  out.at_.resize(d);
  for (std::size_t i = 0, g = 1; i < half; ++i, g = g * 5 % (2 * d)) {
    const std::size_t plus = row_of(g, log_d), minus = row_of(2 * d - g, log_d);
    out.at_[plus] = static_cast<std::uint16_t>(i);
    out.at_[minus] = static_cast<std::uint16_t>(d + i);
    for (unsigned j = 0; j < l; ++j) {
      for (std::size_t k = 0; k < 2; ++k) {
        std::uint32_t* to = out.powers_[j] + k * 3 * d + i;
        const std::uint64_t q = kPrimes[k], one = ring.prime(k).one;
        const auto at_plus = static_cast<std::uint32_t>(w[j][k * d + plus] * one % q);
        const auto at_minus = static_cast<std::uint32_t>(w[j][k * d + minus] * one % q);
        to[0] = to[half] = to[2 * d] = to[2 * d + half] = at_plus;
        to[d] = to[d + half] = at_minus;
      }
    }
  }
  return out;
}

void KeyMasks::automorphism(std::size_t i, int sign, unsigned j, std::uint32_t* slots) const noexcept {
  const std::uint32_t* first = powers_[j] + i + (sign < 0 ? d_ : 0);
  const std::uint32_t* second = first + 3 * d_;
  for (std::size_t slot = 0; slot < d_; ++slot) {
    const std::size_t at = at_[slot];
    slots[slot] = first[at];
    slots[d_ + slot] = second[at];
  }
}

Result<ChainScratch> ChainScratch::create(std::size_t d, unsigned l) {
  ChainScratch out;
  PIRX_ASSIGN(out.polynomials_, Polynomials::create(polynomials(l), d));
  return out;
}

void chain(const Ring& ring, const Set& set, const KeyMasks& key_masks, const ChainRows& rows, int sign,
           ChainScratch& scratch, std::span<std::int64_t> mask) noexcept {
  const std::size_t d = ring.d(), stride = polynomial_stride(d), steps = d / 2 - 1;
  const auto log_d = ring.prime(0).log_d;
  auto& memory = scratch.polynomials_;
  std::uint32_t *acc = memory[0], *taken = memory[1], *signs = memory[2];  // two polynomials long
  auto* c = reinterpret_cast<std::int64_t*>(memory[4]);
  // Of each: one for every j.
  auto* digits = reinterpret_cast<std::int32_t*>(memory[5]);
  std::uint32_t *transforms = memory[5 + set.l], *factors = memory[5 + 2 * set.l];
  const DigitPlan plan = balanced_digits(set);
  const std::uint64_t half = plan.delta / 2, low = plan.delta - 1;
  // A residue has delta bits; what 32 bits do not hold is cut.
  const unsigned cut = set.delta > 32 ? set.delta - 32 : 0;
  const auto unit = static_cast<float>(std::uint64_t{1} << cut);
  const auto exponent = [&](std::size_t g) { return sign > 0 ? g : 2 * d - g; };

  // alpha_g = tau_g(F(1/g)), where F(h) = sum of a~_k X^(h k) / d is tau_(-1) of the row of -h.
  const auto add_slot_mask = [&](std::size_t inverse_of_five_power) {
    const std::size_t h = 2 * d - exponent(inverse_of_five_power);
    const std::size_t row = row_of(h, log_d);
    add_automorphism(ring, h, {rows.sums[0][row], rows.sums[1][row]}, signs, taken, acc);
  };
  std::fill_n(acc, 2 * d, 0);
  // g = 5^i and its inverse, 5^(d/2 - i).
  std::size_t g = power_of_five(steps, d), inverse = 5;
  const std::size_t fifth = power_of_five(d / 2 - 1, d);
  for (const auto& of_digit : rows.digits) std::fill_n(of_digit[row_of(exponent(g), log_d)], d, 0);
  add_slot_mask(inverse);
  for (std::size_t i = steps; i > 0; --i) {
    ring.compose(c, acc);
    ring.kernel().digits(plan, d, digits, stride, c);
    float* residues = rows.residues[row_of(exponent(g), log_d)];
    for (std::size_t n = 0; n < d; ++n) {
      const std::uint64_t above = (static_cast<std::uint64_t>(c[n]) + half) & low;
      const auto residue = static_cast<std::int32_t>((above >> cut) - (half >> cut));
      residues[n] = static_cast<float>(residue) * unit;
    }
    // Otherwise data that are symmetric about a column would make one chain the mirror image of the other.
    if (sign < 0 && i == steps) {
      digits[0] += 1;
      residues[0] -= static_cast<float>(plan.delta);
    }
    g = g * fifth % (2 * d);
    inverse = inverse * 5 % (2 * d);
    for (unsigned j = 0; j < set.l; ++j) {
      const std::int32_t* digit = digits + j * stride;
      std::copy_n(digit, d, rows.digits[j][row_of(exponent(g), log_d)]);
      ring.forward_small(transforms + j * stride, digit);
      key_masks.automorphism(i - 1, sign, j, factors + j * stride);
    }
    for (std::size_t k = 0; k < 2; ++k) {
      ring.kernel().inner_product(ring.prime(k), acc + k * d, transforms + k * d, stride, factors + k * d,
                                  stride, set.l);
    }
    ring.inverse(acc, acc);
    add_slot_mask(inverse);
  }
  ring.compose(mask.data(), acc);
}

}  // namespace pirx::cpir::inspire
