// SPDX-License-Identifier: Apache-2.0
// Montgomery's product digit by digit, and powers by fixed windows.
//
//   for j = 0 .. s:  T = sum of a_i b_(j-i) - q_(j-1);  q_j = -T / p mod R;  digit j = (T + q_j p) / R
//
// T + q_j p is a multiple of R above -R, so digits are never negative. R is at least 2^64 p. Digits below p
// (1 + B) therefore give digits below p (1 + (s+1) (1 + B)^2 / 2^64): they stay very close to p without a
// comparison.
#include "digit_ring.h"

#include <algorithm>

#include "pirx/base/buffer.h"

namespace pirx::cpir::dj {
namespace {

constexpr unsigned kWindow = 5;

mp_size_t size_of(std::size_t limbs) { return static_cast<mp_size_t>(limbs); }

}  // namespace

struct DigitRing::Workspace {
  explicit Workspace(std::size_t limbs)
      : product(2 * limbs),
        sum(2 * limbs),
        debt(2 * limbs),
        scratch(static_cast<std::size_t>(std::max<mp_size_t>(
            1,
            std::max(mpn_sec_mul_itch(size_of(limbs), size_of(limbs)), mpn_sec_sqr_itch(size_of(limbs)))))) {}
  void clear() {
    std::fill(sum.expose().begin(), sum.expose().end(), mp_limb_t{0});
    std::fill(debt.expose().begin(), debt.expose().end(), mp_limb_t{0});
  }
  void add_product() {
    mpn_add_n(sum.expose().data(), sum.expose().data(), product.expose().data(), size_of(sum.size()));
  }
  Limbs product, sum;  // of two digits; sums are two's complement, and far from their end
  Limbs debt;          // q of the digit before, and zeros
  Limbs scratch;
};

DigitRing::DigitRing(LimbSpan p, unsigned s)
    : s_(s), limbs_(p.size() + 1), prime_(resized(p, p.size() + 1)), power_(trimmed(p)) {
  PIRX_CHECK(s >= 1 && (p[0] & 1) == 1);
  for (unsigned j = 0; j < s; ++j) power_ = trimmed(dj::multiply(power_.expose(), p).expose());
  mp_limb_t inverse = p[0];  // Newton: right modulo 2^3, then twice the bits each time
  for (int i = 0; i < 5; ++i) inverse *= 2 - p[0] * inverse;
  inverse_ = 0 - inverse;
  Limbs r(2 * limbs_ + 1);
  r.expose().back() = 1;
  square_of_r_ = to_digits(reduce(r.expose(), power_.expose()).expose());
}

/// The digit in `sum`; `debt` becomes its q.
void DigitRing::finish_digit(Workspace& work, mp_limb_t* out) const {
  mp_limb_t *sum = work.sum.expose().data(), *debt = work.debt.expose().data();
  const auto n = size_of(limbs_);
  mpn_sub_n(sum, sum, debt, 2 * n);
  for (mp_size_t i = 0; i < n; ++i) {
    debt[i] = sum[i] * inverse_;
    // The limb becomes zero: room for the carry.
    sum[i] = mpn_addmul_1(sum + i, prime_.expose().data(), n, debt[i]);
  }
  mpn_add_n(out, sum + n, sum, n);
  std::fill_n(sum, 2 * limbs_, mp_limb_t{0});
}

void DigitRing::multiply(Workspace& work, mp_limb_t* out, const mp_limb_t* a, const mp_limb_t* b) const {
  const auto n = size_of(limbs_);
  work.clear();
  for (unsigned j = 0; j <= s_; ++j) {
    for (unsigned i = 0; i <= j; ++i) {
      mpn_sec_mul(work.product.expose().data(), a + i * limbs_, n, b + (j - i) * limbs_, n,
                  work.scratch.expose().data());
      work.add_product();
    }
    finish_digit(work, out + j * limbs_);
  }
}

void DigitRing::square(Workspace& work, mp_limb_t* out, const mp_limb_t* a) const {
  const auto n = size_of(limbs_);
  work.clear();
  for (unsigned j = 0; j <= s_; ++j) {
    for (unsigned i = 0; 2 * i < j; ++i) {
      mpn_sec_mul(work.product.expose().data(), a + i * limbs_, n, a + (j - i) * limbs_, n,
                  work.scratch.expose().data());
      work.add_product();
      work.add_product();
    }
    if (j % 2 == 0) {
      mpn_sec_sqr(work.product.expose().data(), a + j / 2 * limbs_, n, work.scratch.expose().data());
      work.add_product();
    }
    finish_digit(work, out + j * limbs_);
  }
}

Limbs DigitRing::to_digits(LimbSpan x) const {
  Limbs digits(words());
  const auto p = prime_.expose().first(limbs_ - 1);
  auto rest = resized(x, x.size());
  for (unsigned j = 0; j <= s_; ++j) {
    const auto digit = reduce(rest.expose(), p);
    std::copy(digit.expose().begin(), digit.expose().end(),
              digits.expose().begin() + static_cast<std::ptrdiff_t>(j * limbs_));
    if (j < s_) rest = divide(rest.expose(), p);
  }
  return digits;
}

Limbs DigitRing::from_digits(LimbSpan digits) const {
  Limbs sum(power_.size() + 2);
  for (unsigned j = s_ + 1; j-- > 0;) {
    const auto shifted =
        dj::multiply(sum.expose().first(power_.size() + 1 - (limbs_ - 1)), prime_.expose().first(limbs_ - 1));
    sum = add(resized(shifted.expose(), power_.size() + 2).expose(), digits.subspan(j * limbs_, limbs_));
  }
  return reduce(sum.expose(), power_.expose());
}

Limbs DigitRing::power(LimbSpan base, LimbSpan exponent, std::size_t exponent_bits) const {
  PIRX_CHECK(exponent_bits >= 1 && limbs_of_bits(exponent_bits) <= exponent.size());
  Workspace work(limbs_);
  const std::size_t n = words();
  // base^0, base^1, ...: every look-up reads all of them.
  constexpr std::size_t kEntries = std::size_t{1} << kWindow;
  Limbs table(n * kEntries), x(n), y(n), operand(n);
  const auto entry = [&](std::size_t i) { return table.expose().data() + i * n; };
  Limbs one(n);
  one.expose()[0] = 1;
  multiply(work, entry(0), one.expose().data(), square_of_r_.expose().data());
  multiply(work, entry(1), to_digits(base).expose().data(), square_of_r_.expose().data());
  for (std::size_t i = 2; i < kEntries; ++i) {
    if (i % 2 == 0) {
      square(work, entry(i), entry(i / 2));
    } else {
      multiply(work, entry(i), entry(i - 1), entry(1));
    }
  }
  const std::size_t windows = div_up(exponent_bits, kWindow);
  for (std::size_t w = windows; w-- > 0;) {
    mp_limb_t digit = 0;
    for (unsigned bit = 0; bit < kWindow; ++bit) {
      const std::size_t at = w * kWindow + bit;
      if (at < exponent_bits) digit |= (exponent[at / 64] >> (at % 64) & 1) << bit;
    }
    mpn_sec_tabselect(operand.expose().data(), table.expose().data(), size_of(n), kEntries,
                      static_cast<mp_size_t>(digit));
    if (w + 1 == windows) {
      std::swap(x, operand);
      continue;
    }
    for (unsigned i = 0; i < kWindow; ++i) {
      square(work, y.expose().data(), x.expose().data());
      std::swap(x, y);
    }
    multiply(work, y.expose().data(), x.expose().data(), operand.expose().data());
    std::swap(x, y);
  }
  multiply(work, y.expose().data(), x.expose().data(), one.expose().data());
  return from_digits(y.expose());
}

}  // namespace pirx::cpir::dj
