// The row kernel over GMP: one lane, digits of 64-bit limbs, kept below N by subtractions since N fills its
// limbs.
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

void add_product(Sum& t, const Word* product, mp_size_t n, unsigned times) {
  for (unsigned i = 0; i < times; ++i) t.limbs[2 * n] += mpn_add_n(t.limbs, t.limbs, product, 2 * n);
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
  Word q[kMaxLimbs], product[2 * kMaxLimbs], owed = 0;
  for (unsigned j = 0; j <= ring.s; ++j) {
    Sum t;
    std::fill_n(t.limbs, 2 * n + 1, Word{0});
    for (unsigned i = 0; i <= j; ++i) {
      mpn_mul_n(product, a + i * ring.limbs, b + (j - i) * ring.limbs, n);
      add_product(t, product, n, 1);
    }
    owed = finish_digit(ring, t, q, j == 0, owed, out + j * ring.limbs);
  }
}

void square(const RingView& ring, std::uint64_t* out, const std::uint64_t* a) noexcept {
  const auto n = static_cast<mp_size_t>(ring.limbs);
  Word q[kMaxLimbs], product[2 * kMaxLimbs], owed = 0;
  for (unsigned j = 0; j <= ring.s; ++j) {
    Sum t;
    std::fill_n(t.limbs, 2 * n + 1, Word{0});
    for (unsigned i = 0; 2 * i < j; ++i) {
      mpn_mul_n(product, a + i * ring.limbs, a + (j - i) * ring.limbs, n);
      add_product(t, product, n, 2);
    }
    if (j % 2 == 0) {
      mpn_sqr(product, a + j / 2 * ring.limbs, n);
      add_product(t, product, n, 1);
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
