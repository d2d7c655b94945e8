// SPDX-License-Identifier: Apache-2.0
// The row kernel on GMP: one lane, and digits of 64-bit limbs. Digits are kept below N by subtractions, since
// N fills its limbs.
#include <gmp.h>

#include <algorithm>

#include "cpir/dj/kernels/kernels.h"

namespace pirx::cpir::dj {
namespace {

using Word = mp_limb_t;
static_assert(sizeof(Word) == sizeof(std::uint64_t));

/// T, two digits and a limb for what exceeds them; negative values are two's complement.
struct Sum {
  Word limbs[2 * kMaxLimbs + 1];
};

/// Adds the product of two digits, or puts it there.
void add_product(Sum& t, const Word* a, const Word* b, mp_size_t n, bool first) {
  if (first) {
    mpn_mul_n(t.limbs, a, b, n);
    t.limbs[2 * n] = 0;
    return;
  }
  Word product[2 * kMaxLimbs];
  mpn_mul_n(product, a, b, n);
  t.limbs[2 * n] += mpn_add_n(t.limbs, t.limbs, product, 2 * n);
}

/// One digit from its sum; q holds the digit before's debt and gets this one's. Returns how many R the next
/// digit is owed for the N subtracted from this one.
Word finish_digit(const RingView& ring, Sum& t, Word* q, bool first, Word owed, Word* out) {
  const auto n = static_cast<mp_size_t>(ring.limbs);
  const Word* modulus = ring.modulus;
  mpn_add_1(t.limbs + n, t.limbs + n, n + 1, owed);
  if (!first) mpn_sub(t.limbs, t.limbs, 2 * n + 1, q, n);
  for (mp_size_t i = 0; i < n; ++i) {
    q[i] = t.limbs[i] * ring.inverse;
    // The limb becomes zero: room for the carry.
    t.limbs[i] = mpn_addmul_1(t.limbs + i, modulus, n, q[i]);
  }
  Word* high = t.limbs + n;
  high[n] += mpn_add_n(high, high, t.limbs, n);
  owed = 0;
  while (high[n] != 0 || mpn_cmp(high, modulus, n) >= 0) {
    high[n] -= mpn_sub_n(high, high, modulus, n);
    ++owed;
  }
  std::copy_n(high, n, out);
  return owed;
}

void multiply(const RingView& ring, std::uint64_t* out, const std::uint64_t* a,
              const std::uint64_t* b) noexcept {
  const auto n = static_cast<mp_size_t>(ring.limbs);
  Word q[kMaxLimbs], owed = 0;
  Sum t;
  for (unsigned j = 0; j <= ring.s; ++j) {
    for (unsigned i = 0; i <= j; ++i) {
      add_product(t, a + i * ring.limbs, b + (j - i) * ring.limbs, n, i == 0);
    }
    owed = finish_digit(ring, t, q, j == 0, owed, out + j * ring.limbs);
  }
}

void square(const RingView& ring, std::uint64_t* out, const std::uint64_t* a) noexcept {
  const auto n = static_cast<mp_size_t>(ring.limbs);
  Word q[kMaxLimbs], owed = 0;
  Sum t;
  for (unsigned j = 0; j <= ring.s; ++j) {
    // Pairs of different digits count twice.
    for (unsigned i = 0; 2 * i < j; ++i) {
      add_product(t, a + i * ring.limbs, a + (j - i) * ring.limbs, n, i == 0);
    }
    if (j > 0) mpn_lshift(t.limbs, t.limbs, 2 * n + 1, 1);
    if (j % 2 == 0) {
      Word product[2 * kMaxLimbs];
      mpn_sqr(j == 0 ? t.limbs : product, a + j / 2 * ring.limbs, n);
      t.limbs[2 * n] = j == 0 ? 0 : t.limbs[2 * n] + mpn_add_n(t.limbs, t.limbs, product, 2 * n);
    }
    owed = finish_digit(ring, t, q, j == 0, owed, out + j * ring.limbs);
  }
}

void gather(const RingView& ring, std::uint64_t* block, const std::uint64_t* const* numbers) noexcept {
  std::copy_n(numbers[0], ring.stride, block);
}

}  // namespace

constinit const RowKernel kGmpKernel{"gmp", 0, 1, 64, 1, 0, &multiply, &square, &gather};

}  // namespace pirx::cpir::dj
