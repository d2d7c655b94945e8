// SPDX-License-Identifier: Apache-2.0
// Computes J(a|b) along a binary GCD of a and b, where b is always odd:
//
//   if a is odd: if a < b, swap them, and J changes if both are 3 modulo 4; a -= b
//   a /= 2; J changes if b is 3 or 5 modulo 8
//
// Every step shortens a and b together by at least one bit, so 2 bits(p) steps end with a = 0, b = 1. Steps
// are decided on the lowest 31 bits of a and b, which are exact, and on the highest 33 bits of the longer
// one, which may misjudge a < b. Then one of them becomes negative, never both. b counts with its absolute
// value. A negative a is corrected after the steps by J(-1|b); the law of reciprocity holds unchanged if only
// one of two numbers is negative.
#include "legendre.h"

#include <bit>

#include "src/base/constant_time.h"

namespace pirx::cpir::qr {
namespace {

using Word = mp_limb_t;
__extension__ typedef __int128 Wide;

constexpr unsigned kSteps = 29;  // the last one still needs three exact bits of b: 31 - 28
constexpr unsigned kExactBits = 31;

/// All ones if `bit` is 1.
Word mask_of(Word bit) { return 0 - opaque(bit); }
Word is_zero(Word x) { return ((x | (0 - x)) >> 63) ^ 1; }
Word is_less(Word x, Word y) { return ((~x & y) | ((~x | y) & (x - y))) >> 63; }
void swap_if(Word mask, Word& x, Word& y) {
  const Word both = (x ^ y) & mask;
  x ^= both;
  y ^= both;
}

/// What `count` steps do to a and b: a * 2^count = f0 a + g0 b, and f1, g1 for b.
struct Factors {
  Word f0 = 1, g0 = 0, f1 = 0, g1 = 1;
};

struct Approximation {
  Word a, b;
};

/// Both numbers where they have one limb; else the low 31 bits and the high 33 where the longer one ends.
Approximation approximate(std::span<const Word> a, std::span<const Word> b) {
  Word a_high = 0, a_low = 0, b_high = 0, b_low = 0, want_high = ~Word{0}, want_low = ~Word{0};
  for (std::size_t i = a.size(); i-- > 0;) {
    a_high ^= (a_high ^ a[i]) & want_high;
    b_high ^= (b_high ^ b[i]) & want_high;
    a_low ^= (a_low ^ a[i]) & want_low;
    b_low ^= (b_low ^ b[i]) & want_low;
    want_low = want_high;
    want_high &= mask_of(is_zero(a[i] | b[i]));
  }
  const int shift = std::countl_zero(a_high | b_high | 1);
  const auto top = [shift](Word high, Word low) { return (high << shift) | (low >> 1 >> (63 - shift)); };
  constexpr Word kExact = (Word{1} << kExactBits) - 1;
  const auto mix = [&](Word all, Word high, Word low) {
    const Word approximate = (all & kExact) | (top(high, low) & ~kExact);
    return approximate ^ ((approximate ^ all) & want_low);  // want_low is still set for one limb
  };
  return {mix(a[0], a_high, a_low), mix(b[0], b_high, b_low)};
}

/// out = |f a + g b| >> kSteps, where the quotient is exact and fits. Returns all ones if it was negative.
Word combine(std::span<const Word> a, Word f, std::span<const Word> b, Word g, std::span<Word> out) {
  const auto f_signed = static_cast<std::int64_t>(f), g_signed = static_cast<std::int64_t>(g);
  Wide carry = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    carry += static_cast<Wide>(a[i]) * f_signed + static_cast<Wide>(b[i]) * g_signed;
    out[i] = static_cast<Word>(carry);
    carry >>= 64;
  }
  const auto top = static_cast<Word>(carry);
  const Word negative = mask_of(top >> 63);
  Word borrow = negative & 1;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Word above = i + 1 < out.size() ? out[i + 1] : top;
    const Word shifted = ((out[i] >> kSteps) | (above << (64 - kSteps))) ^ negative;
    out[i] = shifted + borrow;
    borrow &= is_zero(out[i]);
  }
  return negative;
}

}  // namespace

unsigned legendre_nonresidue(dj::LimbSpan a_in, dj::LimbSpan p) {
  PIRX_CHECK(a_in.size() == p.size() && !p.empty() && p.back() != 0);
  dj::Limbs a(a_in), b(p), next_a(p.size()), next_b(p.size());
  const std::size_t bits = p.size() * 64 - static_cast<std::size_t>(std::countl_zero(p.back()));
  Word changes = 0;  // bit 0
  for (std::size_t step = 0; step < 2 * bits; step += kSteps) {
    auto [x, y] = approximate(a.expose(), b.expose());
    Factors t;
    for (unsigned i = 0; i < kSteps; ++i) {
      const Word odd = mask_of(x & 1);
      const Word swap = odd & mask_of(is_less(x, y));
      changes ^= (swap & x & y) >> 1;
      swap_if(swap, x, y);
      swap_if(swap, t.f0, t.f1);
      swap_if(swap, t.g0, t.g1);
      x = (x - (y & odd)) >> 1;
      t.f0 -= t.f1 & odd;
      t.g0 -= t.g1 & odd;
      t.f1 <<= 1;
      t.g1 <<= 1;
      changes ^= (y + 2) >> 2;
    }
    const Word negative = combine(a.expose(), t.f0, b.expose(), t.g0, next_a.expose());
    combine(a.expose(), t.f1, b.expose(), t.g1, next_b.expose());
    changes ^= negative & (next_b.expose()[0] >> 1);
    std::swap(a, next_a);
    std::swap(b, next_b);
  }
  return static_cast<unsigned>(changes & 1);
}

}  // namespace pirx::cpir::qr
