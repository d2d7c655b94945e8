// SPDX-License-Identifier: Apache-2.0
// The vector kernels, over an Ops class of one instruction set. The includer defines PIRX_RING_TARGET.
//
// Ops: V of kLanes 32-bit lanes; load, prefetch, store, set32, add32, sub32, min32 (unsigned), mullo32,
// xor_, any_negative32; sums of floats: add_floats, sub_floats. On 64-bit lanes: set64,
// add64, sub64, mul (of the low halves), high and up (by 32), srl64_by, and_, or_, negative_mask, odd_even
// (the high halves of even in even lanes, those of odd in odd lanes). step<t>: of two vectors in which blocks
// of 4t numbers are split into halves, one in each, to the same of blocks of 2t; back<t> is the inverse. Each
// goes from any order of blocks to one of its own, which spread<t>(w) gives to factors of such blocks, t
// times each. natural: from the order of step<1> to that of the numbers; unnatural is the inverse.
// narrow_store: the low halves. store_interleaved: even and odd 64-bit numbers. kTileQueries, kTileColumns:
// of the first dimension at once.
//
// Transforms are lazy. Forward, a butterfly adds less than 2q to a number, so numbers stay below 2^32 > 16 q
// for seven layers; Shoup's product takes any number below 2^32. Inverse, numbers stay below 2q.
#include "cpir/ring/kernels/kernels.h"

#define PIRX_RING_INLINE PIRX_RING_TARGET __attribute__((always_inline)) static inline

namespace pirx::cpir {
namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;

template <class O>
struct Vectors {
  using V = typename O::V;
  static constexpr std::size_t kLanes = O::kLanes;
  static constexpr std::size_t kWide = kLanes / 2;  // of 64 bits
  /// Layers of blocks of at most two vectors.
  static constexpr unsigned kTailLayers = kLanes == 16 ? 5 : 4;
  /// Butterflies wait for products: so many side by side keep the processor busy.
  static constexpr std::size_t kTogether = 2;

  PIRX_RING_INLINE V reduce_once(V x, V q) { return O::min32(x, O::sub32(x, q)); }

  struct Factor {
    V w, shoup, shoup_odd;
  };
  PIRX_RING_INLINE Factor factor(U32 w, U32 shoup) {
    const V s = O::set32(shoup);
    return {O::set32(w), s, s};
  }
  PIRX_RING_INLINE Factor factor(V w, V shoup) { return {w, shoup, O::high(shoup)}; }
  /// w x modulo q below 2 q, for any x.
  PIRX_RING_INLINE V multiply_lazy(V x, const Factor& f, V q) {
    const V even = O::mul(x, f.shoup), odd = O::mul(O::high(x), f.shoup_odd);
    const V quotient = O::odd_even(odd, even);
    return O::sub32(O::mullo32(x, f.w), O::mullo32(quotient, q));
  }

  // u, x -> u + w x, u - w x.
  PIRX_RING_INLINE void forward_butterfly(V& u, V& x, const Factor& f, V q, V two_q) {
    const V product = multiply_lazy(x, f, q);
    x = O::sub32(O::add32(u, two_q), product);
    u = O::add32(u, product);
  }
  // u, x -> u + x, v (u - x).
  PIRX_RING_INLINE void inverse_butterfly(V& u, V& x, const Factor& f, V q, V two_q) {
    const V sum = reduce_once(O::add32(u, x), two_q);
    x = multiply_lazy(O::sub32(O::add32(u, two_q), x), f, q);
    u = sum;
  }

  /// Layers of blocks of 2t numbers, t > kLanes: the one of m blocks, and the next one, too, if kTwo. The
  /// numbers are below 2^32, signed ones if kSigned.
  template <bool kTwo, bool kSigned>
  PIRX_RING_INLINE void forward_long(const PrimeTable& p, U32* out, const U32* in, std::size_t m, V q,
                                     V two_q) {
    constexpr std::size_t kParts = kTwo ? 4 : 2;
    const std::size_t t = (std::size_t{1} << p.log_d) / (2 * m), step = kTwo ? t / 2 : t;
    for (std::size_t i = 0; i < m; ++i) {
      const Factor f = factor(p.w[m + i], p.w_shoup[m + i]);
      const std::size_t next = kTwo ? 2 * (m + i) : 0;
      const Factor g = factor(p.w[next], p.w_shoup[next]), h = factor(p.w[next + 1], p.w_shoup[next + 1]);
      for (std::size_t j = 2 * i * t; j < 2 * i * t + step; j += kTogether * kLanes) {
        V x[kParts][kTogether];
        for (std::size_t n = 0; n < kParts; ++n) {
          for (std::size_t k = 0; k < kTogether; ++k) {
            x[n][k] = O::load(in + j + n * step + k * kLanes);
            // A negative number is a large one, which q makes small.
            if constexpr (kSigned) x[n][k] = O::min32(x[n][k], O::add32(x[n][k], q));
          }
        }
        for (std::size_t n = 0; n < kParts / 2; ++n) {
          for (std::size_t k = 0; k < kTogether; ++k)
            forward_butterfly(x[n][k], x[n + kParts / 2][k], f, q, two_q);
        }
        for (std::size_t k = 0; kTwo && k < kTogether; ++k) {
          forward_butterfly(x[0][k], x[1][k], g, q, two_q);
          forward_butterfly(x[kParts - 2][k], x[kParts - 1][k], h, q, two_q);
        }
        for (std::size_t n = 0; n < kParts; ++n) {
          for (std::size_t k = 0; k < kTogether; ++k) O::store(out + j + n * step + k * kLanes, x[n][k]);
        }
      }
    }
  }
  /// All layers but those inside of two vectors.
  PIRX_RING_INLINE void forward_head(const PrimeTable& p, U32* out, const U32* in, V q, V two_q) {
    const std::size_t d = std::size_t{1} << p.log_d;
    std::size_t m = 1;  // blocks of the next layer
    if ((p.log_d - kTailLayers) % 2 == 1) {
      forward_long<false, true>(p, out, in, 1, q, two_q);
      m = 2;
    } else {
      forward_long<true, true>(p, out, in, 1, q, two_q);
      m = 4;
    }
    for (; 4 * m * kLanes <= d; m *= 4) forward_long<true, false>(p, out, out, m, q, two_q);
  }
  template <std::size_t kCount>
  PIRX_RING_INLINE void load_pairs(V (&a)[kCount], V (&b)[kCount], const U32* from, std::size_t stride) {
    for (std::size_t k = 0; k < kCount; ++k) {
      a[k] = O::load(from + k * stride);
      b[k] = O::load(from + k * stride + kLanes);
    }
  }
  template <std::size_t kCount>
  PIRX_RING_INLINE void store_pairs(U32* to, const V (&a)[kCount], const V (&b)[kCount]) {
    for (std::size_t k = 0; k < kCount; ++k) {
      O::store(to + 2 * k * kLanes, a[k]);
      O::store(to + (2 * k + 1) * kLanes, b[k]);
    }
  }
  /// The factor of the layer of blocks of 2t numbers in vectors 2 pair and 2 pair + 1.
  template <std::size_t t>
  PIRX_RING_INLINE Factor tail_factor(const PrimeTable& p, const U32* w, const U32* shoup, std::size_t pair) {
    const std::size_t at = (std::size_t{1} << p.log_d) / (2 * t) + pair * (kLanes / t);
    if constexpr (t == kLanes) return factor(w[at], shoup[at]);
    return factor(O::template spread<t>(w + at), O::template spread<t>(shoup + at));
  }
  /// The layers inside of pairs of vectors, (a[k], b[k]) being number `pair` + k kStep. Numbers below 15 q
  /// turn into numbers below 10 q, or residues if kFinish.
  template <std::size_t kStep, bool kFinish, std::size_t kCount, std::size_t t = kLanes>
  PIRX_RING_INLINE void forward_tail(const PrimeTable& p, std::size_t pair, V (&a)[kCount], V (&b)[kCount],
                                     V q, V two_q) {
    Factor f;
    for (std::size_t k = 0; k < kCount; ++k) {
      if (k == 0 || kStep > 0) f = tail_factor<t>(p, p.w, p.w_shoup, pair + k * kStep);
      if constexpr (t < kLanes) O::template step<t>(a[k], b[k]);
      const V four_q = O::add32(two_q, two_q);
      if constexpr (t == 8) a[k] = reduce_once(a[k], O::add32(four_q, four_q));
      if constexpr (t == 8 || (t == 1 && kFinish)) a[k] = reduce_once(reduce_once(a[k], four_q), two_q);
      forward_butterfly(a[k], b[k], f, q, two_q);
      if constexpr (t == 1) O::natural(a[k], b[k]);
      if constexpr (t == 1 && kFinish) {
        a[k] = reduce_once(reduce_once(a[k], two_q), q);
        b[k] = reduce_once(reduce_once(b[k], two_q), q);
      }
    }
    if constexpr (t > 1) forward_tail<kStep, kFinish, kCount, t / 2>(p, pair, a, b, q, two_q);
  }

  template <std::size_t kCount>
  PIRX_RING_INLINE void forward_pairs(const PrimeTable& p, U32* x, std::size_t pairs, V q, V two_q) {
    for (std::size_t pair = 0; pair < pairs; pair += kCount, x += kCount * 2 * kLanes) {
      V a[kCount], b[kCount];
      load_pairs(a, b, x, 2 * kLanes);
      forward_tail<1, true>(p, pair, a, b, q, two_q);
      store_pairs(x, a, b);
    }
  }

  PIRX_RING_TARGET static void forward(const PrimeTable& p, U32* out, const U32* in) noexcept {
    const V q = O::set32(p.q), two_q = O::set32(2 * p.q);
    forward_head(p, out, in, q, two_q);
    const std::size_t pairs = (std::size_t{1} << p.log_d) / (2 * kLanes);
    if (pairs % 4 == 0) {
      forward_pairs<4>(p, out, pairs, q, two_q);
    } else {
      forward_pairs<2>(p, out, pairs, q, two_q);
    }
  }

  /// As forward_long, the other way; the last layer of all, which scales, too, if kLast.
  template <bool kTwo, bool kLast>
  PIRX_RING_INLINE void inverse_long(const PrimeTable& p, U32* out, std::size_t m, V q, V two_q) {
    constexpr std::size_t kParts = kTwo ? 4 : 2;
    const std::size_t t = (std::size_t{1} << p.log_d) / (2 * m), step = kTwo ? t / 2 : t;
    const Factor scale = factor(p.inverse_d, p.inverse_d_shoup);
    for (std::size_t i = 0; i < m; ++i) {
      const Factor f = kLast ? factor(p.last, p.last_shoup) : factor(p.v[m + i], p.v_shoup[m + i]);
      const std::size_t next = kTwo ? 2 * (m + i) : 0;
      const Factor g = factor(p.v[next], p.v_shoup[next]), h = factor(p.v[next + 1], p.v_shoup[next + 1]);
      for (std::size_t j = 2 * i * t; j < 2 * i * t + step; j += kTogether * kLanes) {
        V x[kParts][kTogether];
        for (std::size_t n = 0; n < kParts; ++n) {
          for (std::size_t k = 0; k < kTogether; ++k) x[n][k] = O::load(out + j + n * step + k * kLanes);
        }
        for (std::size_t k = 0; kTwo && k < kTogether; ++k) {
          inverse_butterfly(x[0][k], x[1][k], g, q, two_q);
          inverse_butterfly(x[kParts - 2][k], x[kParts - 1][k], h, q, two_q);
        }
        for (std::size_t n = 0; n < kParts / 2; ++n) {
          for (std::size_t k = 0; k < kTogether; ++k) {
            V &u = x[n][k], &v = x[n + kParts / 2][k];
            if constexpr (kLast) {
              const V sum = O::add32(u, v), difference = O::sub32(O::add32(u, two_q), v);
              u = reduce_once(multiply_lazy(sum, scale, q), q);
              v = reduce_once(multiply_lazy(difference, f, q), q);
            } else {
              inverse_butterfly(u, v, f, q, two_q);
            }
          }
        }
        for (std::size_t n = 0; n < kParts; ++n) {
          for (std::size_t k = 0; k < kTogether; ++k) O::store(out + j + n * step + k * kLanes, x[n][k]);
        }
      }
    }
  }
  template <std::size_t kCount, std::size_t t = 1>
  PIRX_RING_INLINE void inverse_tail(const PrimeTable& p, std::size_t pair, V (&a)[kCount], V (&b)[kCount],
                                     V q, V two_q) {
    for (std::size_t k = 0; k < kCount; ++k) {
      if constexpr (t == 1) O::unnatural(a[k], b[k]);
      inverse_butterfly(a[k], b[k], tail_factor<t>(p, p.v, p.v_shoup, pair + k), q, two_q);
      if constexpr (t < kLanes) O::template back<t>(a[k], b[k]);
    }
    if constexpr (t < kLanes) inverse_tail<kCount, 2 * t>(p, pair, a, b, q, two_q);
  }

  template <std::size_t kCount>
  PIRX_RING_INLINE void inverse_pairs(const PrimeTable& p, U32* out, const U32* in, std::size_t pairs, V q,
                                      V two_q) {
    for (std::size_t pair = 0; pair < pairs; pair += kCount) {
      V a[kCount], b[kCount];
      load_pairs(a, b, in + pair * 2 * kLanes, 2 * kLanes);
      inverse_tail(p, pair, a, b, q, two_q);
      store_pairs(out + pair * 2 * kLanes, a, b);
    }
  }

  PIRX_RING_TARGET static void inverse(const PrimeTable& p, U32* out, const U32* in) noexcept {
    const std::size_t d = std::size_t{1} << p.log_d, pairs = d / (2 * kLanes);
    const V q = O::set32(p.q), two_q = O::set32(2 * p.q);
    if (pairs % 4 == 0) {
      inverse_pairs<4>(p, out, in, pairs, q, two_q);
    } else {
      inverse_pairs<2>(p, out, in, pairs, q, two_q);
    }
    std::size_t m = d / (4 * kLanes);  // blocks of the next layer
    for (; m > 2; m /= 4) inverse_long<true, false>(p, out, m / 2, q, two_q);
    if (m == 2) {
      inverse_long<true, true>(p, out, 1, q, two_q);
    } else {
      inverse_long<false, true>(p, out, 1, q, two_q);
    }
  }

  struct Reducer {
    V q, two_q, montgomery, ratio;
  };
  PIRX_RING_INLINE Reducer reducer(const PrimeTable& p) {
    return {O::set64(p.q), O::set64(2 * p.q), O::set64(p.montgomery), O::set64(p.ratio)};
  }
  /// sum / 2^32 modulo q, in 64-bit lanes.
  PIRX_RING_INLINE V montgomery(V sum, const Reducer& r) {
    const V taken = O::high(O::mul(O::mul(sum, r.montgomery), r.q));
    const V high = O::high(sum);
    const V quotient = O::high(O::mul(high, r.ratio));
    const V x = O::sub64(O::add64(O::sub64(high, O::mul(quotient, r.q)), r.q), taken);
    return reduce_once(reduce_once(x, r.two_q), r.q);
  }

  PIRX_RING_TARGET static void inner_product(const PrimeTable& p, U32* out, const U32* a,
                                             std::size_t a_stride, const U32* b, std::size_t b_stride,
                                             std::size_t count) noexcept {
    const std::size_t d = std::size_t{1} << p.log_d;
    const Reducer r = reducer(p);
    for (std::size_t i = 0; i < d; i += 2 * kLanes) {
      V even0 = O::set64(0), odd0 = even0, even1 = even0, odd1 = even0;
      for (std::size_t k = 0; k < count; ++k) {
        const V a0 = O::load(a + k * a_stride + i), a1 = O::load(a + k * a_stride + i + kLanes);
        const V b0 = O::load(b + k * b_stride + i), b1 = O::load(b + k * b_stride + i + kLanes);
        even0 = O::add64(even0, O::mul(a0, b0));
        odd0 = O::add64(odd0, O::mul(O::high(a0), O::high(b0)));
        even1 = O::add64(even1, O::mul(a1, b1));
        odd1 = O::add64(odd1, O::mul(O::high(a1), O::high(b1)));
      }
      O::store(out + i, O::or_(montgomery(even0, r), O::up(montgomery(odd0, r))));
      O::store(out + i + kLanes, O::or_(montgomery(even1, r), O::up(montgomery(odd1, r))));
    }
  }

  /// Sums of products with one or both rows of columns: of the numbers in two vectors, even and odd ones.
  template <std::size_t kRows>
  struct Sums {
    V at[kRows][2][2];  // [row][vector][odd]
  };
  /// Adds kCount digits' part to sums: the end of their transforms, and the products.
  template <std::size_t kCount, std::size_t kRows>
  PIRX_RING_INLINE void add_digits(const PrimeTable& p, std::size_t pair, const U32* heads,
                                   std::size_t stride, const U32* columns, V q, V two_q, Sums<kRows>& sums) {
    V a[kCount], b[kCount];
    load_pairs(a, b, heads + pair * 2 * kLanes, stride);
    forward_tail<0, false>(p, pair, a, b, q, two_q);
    for (std::size_t k = 0; k < kCount; ++k) {
      const V x[2] = {a[k], b[k]}, odd[2] = {O::high(a[k]), O::high(b[k])};
      for (std::size_t row = 0; row < kRows; ++row) {
        for (std::size_t half = 0; half < 2; ++half) {
          const V y = O::load(columns + (kRows * k + row) * stride + (pair * 2 + half) * kLanes);
          V(&sum)[2] = sums.at[row][half];
          sum[0] = O::add64(sum[0], O::mul(x[half], y));
          sum[1] = O::add64(sum[1], O::mul(odd[half], O::high(y)));
        }
      }
    }
  }

  template <std::size_t kRows>
  PIRX_RING_TARGET static void transform_products(const PrimeTable& p, U32* out, U32* heads,
                                                  const U32* digits, const U32* columns, std::size_t stride,
                                                  std::size_t count) noexcept {
    constexpr std::size_t kLazy = 24;
    // Behind forward_tail numbers are below 10 q, and kLazyProducts q^2 are below 2^64.
    static_assert(10 * kLazy <= kLazyProducts);
    const V q = O::set32(p.q), two_q = O::set32(2 * p.q);
    const Reducer r = reducer(p);
    for (std::size_t k = 0; k < count; ++k)
      forward_head(p, heads + k * stride, digits + k * stride, q, two_q);
    for (std::size_t pair = 0; pair < (std::size_t{1} << p.log_d) / (2 * kLanes); ++pair) {
      for (std::size_t from = 0; from < count; from += kLazy) {
        const std::size_t to = count < from + kLazy ? count : from + kLazy;
        Sums<kRows> sums;
        for (auto& row : sums.at)
          for (auto& half : row) half[0] = half[1] = O::set64(0);
        std::size_t k = from;
        const auto* column = columns + kRows * k * stride;
        for (; k + 4 <= to; k += 4, column += 4 * kRows * stride)
          add_digits<4>(p, pair, heads + k * stride, stride, column, q, two_q, sums);
        for (; k + 2 <= to; k += 2, column += 2 * kRows * stride)
          add_digits<2>(p, pair, heads + k * stride, stride, column, q, two_q, sums);
        for (; k < to; ++k, column += kRows * stride)
          add_digits<1>(p, pair, heads + k * stride, stride, column, q, two_q, sums);
        for (std::size_t row = 0; row < kRows; ++row) {
          for (std::size_t half = 0; half < 2; ++half) {
            const V(&sum)[2] = sums.at[row][half];
            U32* at = out + row * stride + (pair * 2 + half) * kLanes;
            V x = O::or_(montgomery(sum[0], r), O::up(montgomery(sum[1], r)));
            if (from > 0) x = reduce_once(O::add32(x, O::load(at)), q);
            O::store(at, x);
          }
        }
      }
    }
  }

  PIRX_RING_TARGET static void add(const PrimeTable& p, U32* out, const U32* a, const U32* b) noexcept {
    const std::size_t d = std::size_t{1} << p.log_d;
    const V q = O::set32(p.q);
    for (std::size_t i = 0; i < d; i += kLanes) {
      O::store(out + i, reduce_once(O::add32(O::load(a + i), O::load(b + i)), q));
    }
  }
  PIRX_RING_TARGET static void subtract(const PrimeTable& p, U32* out, const U32* a, const U32* b) noexcept {
    const std::size_t d = std::size_t{1} << p.log_d;
    const V q = O::set32(p.q);
    for (std::size_t i = 0; i < d; i += kLanes) {
      const V x = O::sub32(O::load(a + i), O::load(b + i));
      O::store(out + i, O::min32(x, O::add32(x, q)));
    }
  }

  PIRX_RING_TARGET static void compose(const PrimeTable& p1, const PrimeTable& p2, std::int64_t* out,
                                       const U32* r1, const U32* r2) noexcept {
    const std::size_t d = std::size_t{1} << p1.log_d;
    const U64 q = U64{p1.q} * p2.q;
    const Factor f = factor(p2.inverse_of_other, p2.inverse_of_other_shoup);
    const V q2 = O::set32(p2.q), two_q2 = O::set32(2 * p2.q), q1 = O::set64(p1.q), all = O::set64(q),
            middle = O::set64(q / 2), low = O::set64(0xffffffff);
    for (std::size_t i = 0; i < d; i += kLanes) {
      const V a = O::load(r1 + i), b = O::load(r2 + i);
      const V v = reduce_once(multiply_lazy(O::sub32(O::add32(b, two_q2), a), f, q2), q2);
      V even = O::add64(O::and_(a, low), O::mul(v, q1));
      V odd = O::add64(O::high(a), O::mul(O::high(v), q1));
      even = O::sub64(even, O::and_(all, O::negative_mask(O::sub64(middle, even))));
      odd = O::sub64(odd, O::and_(all, O::negative_mask(O::sub64(middle, odd))));
      O::store_interleaved(out + i, even, odd);
    }
  }

  /// floor(u / divisor) for u < 2^58: an estimate from below that is short by less than 2^28, then the rest.
  /// magic = floor(2^k / divisor), 2^31 <= magic < 2^32.
  struct Divisor {
    V value, magic;
    int first, second;  // shifts: estimate = ((u >> 26) magic) >> first; rest: (r magic) >> second
  };
  PIRX_RING_INLINE Divisor divisor(U32 value) {
    int k = 31;
    while (((U64{1} << k) / value) >> 31 == 0) ++k;
    const U64 magic = (U64{1} << k) / value;
    return {O::set64(value), O::set64(magic), k - 26, k};
  }
  /// For u < 2^31 and a divisor below 2^28: one product may be short by one.
  PIRX_RING_INLINE void divide_small(V u, const Divisor& by, V& quotient, V& rest) {
    quotient = O::srl64_by(O::mul(u, by.magic), by.second);
    rest = O::sub64(u, O::mul(quotient, by.value));
    // rest < 2 divisor
    const V too_large = O::negative_mask(O::sub64(O::sub64(by.value, O::set64(1)), rest));
    quotient = O::sub64(quotient, too_large);
    rest = O::sub64(rest, O::and_(too_large, by.value));
  }
  PIRX_RING_INLINE void divide(V u, const Divisor& by, V& quotient, V& rest) {
    const V estimate = O::srl64_by(O::mul(O::srl64_by(u, 26), by.magic), by.first);
    const V product = O::add64(O::mul(estimate, by.value), O::up(O::mul(O::high(estimate), by.value)));
    V more, left;
    divide_small(O::sub64(u, product), by, more, left);
    quotient = O::add64(estimate, more);
    rest = left;
  }

  PIRX_RING_TARGET static void digits(const DigitPlan& plan, std::size_t d, std::int32_t* out,
                                      std::size_t stride, const std::int64_t* c) noexcept {
    const V offset = O::set64(plan.offset), half = O::set64(static_cast<U64>(plan.half)),
            top = O::set64(static_cast<U64>(plan.top));
    if (plan.shift != 0) {
      const V mask = O::set64(plan.z - 1);
      const int drop = __builtin_ctzll(plan.delta), step = static_cast<int>(plan.shift);
      for (std::size_t i = 0; i < d; i += kWide) {
        V u = O::srl64_by(O::add64(O::load(c + i), offset), drop);
        for (unsigned k = 0; k + 1 < plan.count; ++k) {
          O::narrow_store(out + k * stride + i, O::sub64(O::and_(u, mask), half));
          u = O::srl64_by(u, step);
        }
        O::narrow_store(out + (plan.count - 1) * stride + i, O::sub64(u, top));
      }
      return;
    }
    // delta = chunk_base^whole z^(drop - whole chunk): divided off in steps, too.
    U64 delta = plan.delta;
    const Divisor chunk = divisor(plan.chunk_base), z = divisor(plan.z);
    unsigned by_chunk = 0, by_z = 0;
    for (; delta % plan.chunk_base == 0 && delta > 1; delta /= plan.chunk_base) ++by_chunk;
    for (; delta > 1; delta /= plan.z) ++by_z;
    const unsigned regular = plan.count - 1;
    const unsigned tail = regular % plan.chunk;
    U32 tail_base = 1;
    for (unsigned k = 0; k < tail; ++k) tail_base *= plan.z;
    const Divisor last = divisor(tail_base);
    // Several at a time: each digit waits for the one before.
    constexpr std::size_t kMany = 4;
    for (std::size_t i = 0; i < d; i += kMany * kWide) {
      V u[kMany], rest[kMany];
      for (std::size_t n = 0; n < kMany; ++n) {
        u[n] = O::add64(O::load(c + i + n * kWide), offset);
        for (unsigned k = 0; k < by_chunk; ++k) divide(u[n], chunk, u[n], rest[n]);
        for (unsigned k = 0; k < by_z; ++k) divide(u[n], z, u[n], rest[n]);
      }
      for (unsigned k = 0; k < regular;) {
        const unsigned now = regular - k < plan.chunk ? tail : plan.chunk;
        const Divisor& base = now == plan.chunk ? chunk : last;
        for (std::size_t n = 0; n < kMany; ++n) divide(u[n], base, u[n], rest[n]);
        for (unsigned j = 0; j < now; ++j, ++k) {
          for (std::size_t n = 0; n < kMany; ++n) {
            V quotient = rest[n], digit = rest[n];
            if (j + 1 < now) divide_small(rest[n], z, quotient, digit);
            O::narrow_store(out + k * stride + i + n * kWide, O::sub64(digit, half));
            rest[n] = quotient;
          }
        }
      }
      for (std::size_t n = 0; n < kMany; ++n) {
        O::narrow_store(out + regular * stride + i + n * kWide, O::sub64(u[n], top));
      }
    }
  }

  /// kColumns columns from `words` on and kQueries queries: what is loaded serves several products.
  template <std::size_t kQueries, std::size_t kColumns>
  PIRX_RING_TARGET static void first_dimension_tile(const PrimeTable& p1, const PrimeTable& p2,
                                                    const U64* words, std::size_t rows,
                                                    const U64* const* queries, U64* const* out,
                                                    std::size_t at) {
    constexpr std::size_t kParts = kBlockSlots / kWide;
    const Reducer r1 = reducer(p1), r2 = reducer(p2);
    const V modulus = O::set64(p1.q | U64{p2.q} << 32);
    for (std::size_t part = 0; part < kParts; ++part) {
      V total[kQueries][kColumns][2];
      for (auto& query : total)
        for (auto& column : query) column[0] = column[1] = O::set64(0);
      for (std::size_t from = 0; from < rows; from += kLazyProducts) {
        const std::size_t to = rows < from + kLazyProducts ? rows : from + kLazyProducts;
        V sum[kQueries][kColumns][2][2];
        for (auto& query : sum)
          for (auto& column : query)
            for (auto& row : column) row[0] = row[1] = O::set64(0);
        for (std::size_t i = from; i < to; ++i) {
          V low[kColumns], high[kColumns];
          for (std::size_t c = 0; c < kColumns; ++c) {
            const U64* word = words + (c * rows + i) * kBlockSlots + part * kWide;
            O::prefetch(word + kColumns * rows * kBlockSlots);  // the same of the next columns
            low[c] = O::load(word);
            high[c] = O::high(low[c]);
          }
          for (std::size_t n = 0; n < kQueries; ++n) {
            for (std::size_t row = 0; row < 2; ++row) {
              const U64* factors = queries[n] + (i * 2 + row) * kBlockSlots + part * kWide;
              const V f1 = O::load(factors), f2 = O::load(reinterpret_cast<const U32*>(factors) + 1);
              for (std::size_t c = 0; c < kColumns; ++c) {
                sum[n][c][row][0] = O::add64(sum[n][c][row][0], O::mul(low[c], f1));
                sum[n][c][row][1] = O::add64(sum[n][c][row][1], O::mul(high[c], f2));
              }
            }
          }
        }
        for (std::size_t n = 0; n < kQueries; ++n) {
          for (std::size_t c = 0; c < kColumns; ++c) {
            for (std::size_t row = 0; row < 2; ++row) {
              const auto& s = sum[n][c][row];
              V& t = total[n][c][row];
              t = reduce_once(O::add32(t, O::or_(montgomery(s[0], r1), O::up(montgomery(s[1], r2)))),
                              modulus);
            }
          }
        }
      }
      for (std::size_t n = 0; n < kQueries; ++n) {
        for (std::size_t c = 0; c < kColumns; ++c) {
          for (std::size_t row = 0; row < 2; ++row) {
            O::store(out[n] + at + (c * 2 + row) * kBlockSlots + part * kWide, total[n][c][row]);
          }
        }
      }
    }
  }

  template <std::size_t kColumns>
  PIRX_RING_TARGET static void first_dimension_columns(const PrimeTable& p1, const PrimeTable& p2,
                                                       const U64* database, std::size_t rows,
                                                       std::size_t column, const U64* const* queries,
                                                       std::size_t query_count, U64* const* out) {
    const U64* words = database + column * rows * kBlockSlots;
    const std::size_t at = column * 2 * kBlockSlots;
    std::size_t n = 0;
    if constexpr (O::kTileQueries > 1) {
      for (; n + O::kTileQueries <= query_count; n += O::kTileQueries) {
        first_dimension_tile<O::kTileQueries, kColumns>(p1, p2, words, rows, queries + n, out + n, at);
      }
    }
    for (; n < query_count; ++n) {
      first_dimension_tile<1, kColumns>(p1, p2, words, rows, queries + n, out + n, at);
    }
  }

  PIRX_RING_TARGET static void first_dimension(const PrimeTable& p1, const PrimeTable& p2,
                                               const U64* database, std::size_t rows, std::size_t columns,
                                               const U64* const* queries, std::size_t query_count,
                                               U64* const* out) noexcept {
    std::size_t column = 0;
    for (; column + O::kTileColumns <= columns; column += O::kTileColumns) {
      first_dimension_columns<O::kTileColumns>(p1, p2, database, rows, column, queries, query_count, out);
    }
    for (; column < columns; ++column) {
      first_dimension_columns<1>(p1, p2, database, rows, column, queries, query_count, out);
    }
  }

  PIRX_RING_TARGET static void butterfly(U32 modulus, U32* sum, U32* difference, const U32* a, const U32* b,
                                         std::size_t count) noexcept {
    const V q = O::set32(modulus);
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      const V x = O::load(a + i), y = O::load(b + i), less = O::sub32(x, y);
      O::store(sum + i, reduce_once(O::add32(x, y), q));
      O::store(difference + i, O::min32(less, O::add32(less, q)));
    }
    for (; i < count; ++i) {
      const U32 more = a[i] + b[i], less = a[i] - b[i];
      sum[i] = more < modulus ? more : more - modulus;
      difference[i] = less + (modulus & (0 - (less >> 31)));
    }
  }

  PIRX_RING_TARGET static bool butterfly_integers(std::int32_t* sum, std::int32_t* difference,
                                                  const std::int32_t* a, const std::int32_t* b,
                                                  std::size_t count) noexcept {
    V cut = O::set32(0);  // in the signs
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      const V x = O::load(a + i), y = O::load(b + i), more = O::add32(x, y), less = O::sub32(x, y);
      cut = O::or_(cut, O::and_(O::xor_(x, more), O::xor_(y, more)));
      cut = O::or_(cut, O::and_(O::xor_(x, y), O::xor_(x, less)));
      O::store(sum + i, more);
      O::store(difference + i, less);
    }
    bool any = O::any_negative32(cut);
    for (; i < count; ++i) {
      const std::int32_t x = a[i], y = b[i];
      any |= __builtin_add_overflow(x, y, &sum[i]);
      any |= __builtin_sub_overflow(x, y, &difference[i]);
    }
    return !any;
  }

  PIRX_RING_TARGET static void butterfly_floats(float* sum, float* difference, const float* a, const float* b,
                                                std::size_t count) noexcept {
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      const V x = O::load(a + i), y = O::load(b + i);
      O::store(sum + i, O::add_floats(x, y));
      O::store(difference + i, O::sub_floats(x, y));
    }
    for (; i < count; ++i) {
      const float x = a[i], y = b[i];
      sum[i] = x + y;
      difference[i] = x - y;
    }
  }

  static constexpr RingKernel table(const char* name, std::uint32_t needs) {
    return {name,
            needs,
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
  }
};

}  // namespace
}  // namespace pirx::cpir
