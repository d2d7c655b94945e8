// SPDX-License-Identifier: Apache-2.0
// Kernels for any machine, one number at a time. They are the reference for the others.
#include "cpir/ring/kernels/kernels.h"

namespace pirx::cpir {
namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;

/// x, or x - q where that is not negative.
U32 reduce_once(U32 x, U32 q) noexcept {
  const U32 less = x - q;
  return less + (q & (0 - (less >> 31)));
}

/// w x modulo q below 2 q, for any x.
U32 multiply_lazy(U32 x, U32 w, U32 w_shoup, U32 q) noexcept {
  const auto quotient = static_cast<U32>(U64{x} * w_shoup >> 32);
  return x * w - quotient * q;
}

/// sum / 2^32 modulo q.
U32 montgomery(const PrimeTable& p, U64 sum) noexcept {
  const U32 m = static_cast<U32>(sum) * p.montgomery;
  const auto high = static_cast<U32>(sum >> 32);
  const auto taken = static_cast<U32>(U64{m} * p.q >> 32);
  const auto quotient = static_cast<U32>(U64{high} * p.ratio >> 32);
  const U32 x = high - quotient * p.q + p.q - taken;  // below 3 q
  return reduce_once(reduce_once(x, p.q), p.q);
}

void forward(const PrimeTable& p, U32* out, const U32* in) noexcept {
  const std::size_t d = std::size_t{1} << p.log_d;
  for (std::size_t i = 0; i < d; ++i) out[i] = in[i] + (p.q & (0 - (in[i] >> 31)));
  for (std::size_t m = 1, t = d / 2; m < d; m *= 2, t /= 2) {
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 2 * i * t; j < (2 * i + 1) * t; ++j) {
        const U32 u = out[j];
        const U32 x = reduce_once(multiply_lazy(out[j + t], p.w[m + i], p.w_shoup[m + i], p.q), p.q);
        out[j] = reduce_once(u + x, p.q);
        out[j + t] = reduce_once(u + p.q - x, p.q);
      }
    }
  }
}

void inverse(const PrimeTable& p, U32* out, const U32* in) noexcept {
  const std::size_t d = std::size_t{1} << p.log_d;
  for (std::size_t i = 0; i < d; ++i) out[i] = in[i];
  for (std::size_t m = d / 2, t = 1; m > 0; m /= 2, t *= 2) {
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 2 * i * t; j < (2 * i + 1) * t; ++j) {
        const U32 u = out[j], x = out[j + t];
        out[j] = reduce_once(u + x, p.q);
        out[j + t] = reduce_once(multiply_lazy(u + p.q - x, p.v[m + i], p.v_shoup[m + i], p.q), p.q);
      }
    }
  }
  for (std::size_t i = 0; i < d; ++i) {
    out[i] = reduce_once(multiply_lazy(out[i], p.inverse_d, p.inverse_d_shoup, p.q), p.q);
  }
}

void inner_product(const PrimeTable& p, U32* out, const U32* a, std::size_t a_stride, const U32* b,
                   std::size_t b_stride, std::size_t count) noexcept {
  const std::size_t d = std::size_t{1} << p.log_d;
  for (std::size_t i = 0; i < d; ++i) {
    U64 sum = 0;
    for (std::size_t k = 0; k < count; ++k) sum += U64{a[k * a_stride + i]} * b[k * b_stride + i];
    out[i] = montgomery(p, sum);
  }
}

template <std::size_t kRows>
void transform_products(const PrimeTable& p, U32* out, U32* heads, const U32* digits, const U32* columns,
                        std::size_t stride, std::size_t count) noexcept {
  const std::size_t d = std::size_t{1} << p.log_d;
  for (std::size_t k = 0; k < count; ++k) forward(p, heads + k * stride, digits + k * stride);
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t i = 0; i < d; ++i) {
      U32 total = 0;
      for (std::size_t from = 0; from < count; from += kLazyProducts) {
        U64 sum = 0;
        for (std::size_t k = from; k < count && k < from + kLazyProducts; ++k) {
          sum += U64{heads[k * stride + i]} * columns[(kRows * k + row) * stride + i];
        }
        total = reduce_once(total + montgomery(p, sum), p.q);
      }
      out[row * stride + i] = total;
    }
  }
}

void add(const PrimeTable& p, U32* out, const U32* a, const U32* b) noexcept {
  const std::size_t d = std::size_t{1} << p.log_d;
  for (std::size_t i = 0; i < d; ++i) out[i] = reduce_once(a[i] + b[i], p.q);
}

void subtract(const PrimeTable& p, U32* out, const U32* a, const U32* b) noexcept {
  const std::size_t d = std::size_t{1} << p.log_d;
  for (std::size_t i = 0; i < d; ++i) out[i] = reduce_once(a[i] + p.q - b[i], p.q);
}

void compose(const PrimeTable& p1, const PrimeTable& p2, std::int64_t* out, const U32* r1,
             const U32* r2) noexcept {
  const std::size_t d = std::size_t{1} << p1.log_d;
  const U64 q = U64{p1.q} * p2.q;
  // r1 + q1 ((r2 - r1) / q1 mod q2), Garner.
  for (std::size_t i = 0; i < d; ++i) {
    const U32 difference = r2[i] + 2 * p2.q - r1[i];  // q1 < 2 q2
    const U32 v = multiply_lazy(difference, p2.inverse_of_other, p2.inverse_of_other_shoup, p2.q);
    const U64 value = r1[i] + U64{p1.q} * reduce_once(v, p2.q);
    const U64 above = (q / 2 - value) >> 63;
    out[i] = static_cast<std::int64_t>(value - (q & (0 - above)));
  }
}

void digits(const DigitPlan& plan, std::size_t d, std::int32_t* out, std::size_t stride,
            const std::int64_t* c) noexcept {
  for (std::size_t i = 0; i < d; ++i) {
    U64 u = (static_cast<U64>(c[i]) + plan.offset) / plan.delta;
    for (unsigned k = 0; k + 1 < plan.count; ++k) {
      out[k * stride + i] = static_cast<std::int32_t>(u % plan.z) - plan.half;
      u /= plan.z;
    }
    out[(plan.count - 1) * stride + i] = static_cast<std::int32_t>(u) - plan.top;
  }
}

void first_dimension(const PrimeTable& p1, const PrimeTable& p2, const U64* database, std::size_t rows,
                     std::size_t columns, const U64* const* queries, std::size_t query_count,
                     U64* const* out) noexcept {
  for (std::size_t column = 0; column < columns; ++column) {
    const U64* words = database + column * rows * kBlockSlots;
    for (std::size_t n = 0; n < query_count; ++n) {
      for (std::size_t at = 0; at < 2 * kBlockSlots; ++at) {
        const std::size_t slot = at % kBlockSlots;
        U32 low = 0, high = 0;
        for (std::size_t from = 0; from < rows; from += kLazyProducts) {
          U64 sum1 = 0, sum2 = 0;
          for (std::size_t i = from; i < rows && i < from + kLazyProducts; ++i) {
            const U64 word = words[i * kBlockSlots + slot], factor = queries[n][i * 2 * kBlockSlots + at];
            sum1 += (word & 0xffffffff) * (factor & 0xffffffff);
            sum2 += (word >> 32) * (factor >> 32);
          }
          low = reduce_once(low + montgomery(p1, sum1), p1.q);
          high = reduce_once(high + montgomery(p2, sum2), p2.q);
        }
        out[n][column * 2 * kBlockSlots + at] = low | U64{high} << 32;
      }
    }
  }
}

void butterfly(U32 q, U32* sum, U32* difference, const U32* a, const U32* b, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const U32 x = a[i], y = b[i];
    sum[i] = reduce_once(x + y, q);
    difference[i] = reduce_once(x + q - y, q);
  }
}

bool butterfly_integers(std::int32_t* sum, std::int32_t* difference, const std::int32_t* a,
                        const std::int32_t* b, std::size_t count) noexcept {
  bool cut = false;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t x = a[i], y = b[i];
    cut |= __builtin_add_overflow(x, y, &sum[i]);
    cut |= __builtin_sub_overflow(x, y, &difference[i]);
  }
  return !cut;
}

void butterfly_floats(float* sum, float* difference, const float* a, const float* b,
                      std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const float x = a[i], y = b[i];
    sum[i] = x + y;
    difference[i] = x - y;
  }
}

}  // namespace

const RingKernel kPortableKernel = {"portable",
                                    0,
                                    forward,
                                    inverse,
                                    inner_product,
                                    transform_products<2>,
                                    transform_products<1>,
                                    add,
                                    subtract,
                                    compose,
                                    digits,
                                    first_dimension,
                                    butterfly,
                                    butterfly_integers,
                                    butterfly_floats};

}  // namespace pirx::cpir
