// SPDX-License-Identifier: Apache-2.0
// The loop that all kernels of this folder share: R += Q * D over byte rows. It takes a register tile of
// queries x rows of D at a time and streams along the columns. The includer defines PIRX_GF2E_TARGET, the
// target attribute of its instruction set, and passes an Ops class:
//
//   Elem, Vec, Coef           a scalar, a piece of a row in registers, a scalar made ready for multiplying
//   kVecBytes                 bytes of a row in a Vec
//   kQ, kR, kR1               register tile: kQ queries x kR rows, and 1 query x kR1 rows (powers of two)
//   load, store               a Vec at any address
//   load_part, store_part     its first `bytes` < kVecBytes bytes; nothing beyond them is read or written
//   coef(Elem), muladd(a, c, d)   a + c * d
//
// As safe on secrets as Ops is: loops and addresses depend on the shape only, and zero scalars are not
// skipped.
#include <cstddef>
#include <cstdint>

#include "gf2e/kernels/kernels.h"

#define PIRX_GF2E_INLINE PIRX_GF2E_TARGET __attribute__((always_inline)) static inline

namespace pirx::gf2e {
namespace {

/// The operands of R += Q * D as bytes. `bytes` is the length of a row of D and of R.
struct Shape {
  std::size_t bytes;
  std::size_t q_stride;
  std::size_t d_stride;
  std::size_t r_stride;
};

/// One column step of a register tile, at byte `at` of the rows. If `part` is not zero, the step has only
/// `part` bytes.
template <class Ops, int kQ, int kR>
PIRX_GF2E_INLINE void muladd_step(const Shape& shape, const typename Ops::Coef (&coef)[kQ][kR],
                                  const std::byte* D, std::byte* R, std::size_t at, std::size_t part) {
  typename Ops::Vec acc[kQ];
  for (int i = 0; i < kQ; ++i) {
    const std::byte* from = R + static_cast<std::size_t>(i) * shape.r_stride + at;
    acc[i] = part == 0 ? Ops::load(from) : Ops::load_part(from, part);
  }
  for (int j = 0; j < kR; ++j) {
    const std::byte* from = D + static_cast<std::size_t>(j) * shape.d_stride + at;
    const typename Ops::Vec d = part == 0 ? Ops::load(from) : Ops::load_part(from, part);
    for (int i = 0; i < kQ; ++i) acc[i] = Ops::muladd(acc[i], coef[i][j], d);
  }
  for (int i = 0; i < kQ; ++i) {
    std::byte* to = R + static_cast<std::size_t>(i) * shape.r_stride + at;
    if (part == 0) {
      Ops::store(to, acc[i]);
    } else {
      Ops::store_part(to, acc[i], part);
    }
  }
}

/// kQ queries times kR rows of D.
template <class Ops, int kQ, int kR>
PIRX_GF2E_TARGET void muladd_tile(const Shape& shape, const std::byte* Q, const std::byte* D,
                                  std::byte* R) noexcept {
  using Elem = typename Ops::Elem;
  typename Ops::Coef coef[kQ][kR];
  for (std::size_t i = 0; i < kQ; ++i) {
    for (std::size_t j = 0; j < kR; ++j)
      coef[i][j] = Ops::coef(load_le<Elem>(Q + i * shape.q_stride + j * sizeof(Elem)));
  }
  const std::size_t part = shape.bytes % Ops::kVecBytes;
  const std::size_t whole = shape.bytes - part;
  for (std::size_t at = 0; at < whole; at += Ops::kVecBytes)
    muladd_step<Ops, kQ, kR>(shape, coef, D, R, at, 0);
  if (part != 0) muladd_step<Ops, kQ, kR>(shape, coef, D, R, whole, part);
}

/// kQ queries times all r rows of D, in blocks of kR, then of half as many, and so on.
template <class Ops, int kQ, int kR>
void muladd_rows(const Shape& shape, std::size_t r, const std::byte* Q, const std::byte* D,
                 std::byte* R) noexcept {
  for (; r >= kR; r -= kR) {
    muladd_tile<Ops, kQ, kR>(shape, Q, D, R);
    Q += kR * sizeof(typename Ops::Elem);
    D += kR * shape.d_stride;
  }
  if constexpr (kR > 1) muladd_rows<Ops, kQ, kR / 2>(shape, r, Q, D, R);
}

/// All q queries, in strips of kQ, then of half as many, and so on.
template <class Ops, int kQ>
void muladd_queries(const Shape& shape, std::size_t q, std::size_t r, const std::byte* Q, const std::byte* D,
                    std::byte* R) noexcept {
  for (; q >= kQ; q -= kQ) {
    muladd_rows<Ops, kQ, (kQ == 1 ? Ops::kR1 : Ops::kR)>(shape, r, Q, D, R);
    Q += kQ * shape.q_stride;
    R += kQ * shape.r_stride;
  }
  if constexpr (kQ > 1) muladd_queries<Ops, kQ / 2>(shape, q, r, Q, D, R);
}

/// Kernels<F>::muladd_words and muladd_sums: a database word and a sum are the same bytes in GF(2^n).
template <class F, class Ops, class Word>
void muladd(const F&, std::size_t q, std::size_t r, std::size_t s, const typename F::Elem* Q,
            std::size_t q_stride, const Word* D, std::size_t d_stride, typename F::Sum* R,
            std::size_t r_stride) noexcept {
  const Shape shape{s * sizeof(typename F::Sum), q_stride, d_stride, r_stride};
  muladd_queries<Ops, Ops::kQ>(shape, q, r, reinterpret_cast<const std::byte*>(Q),
                               reinterpret_cast<const std::byte*>(D), reinterpret_cast<std::byte*>(R));
}

/// out = a ^ b: both add and sub. Plain loads and stores of XorOps::Vec.
template <class F, class XorOps>
PIRX_GF2E_TARGET void add(const F&, std::size_t n, const typename F::Sum* a, const typename F::Sum* b,
                          typename F::Sum* out) noexcept {
  const auto* from_a = reinterpret_cast<const std::byte*>(a);
  const auto* from_b = reinterpret_cast<const std::byte*>(b);
  auto* to = reinterpret_cast<std::byte*>(out);
  const std::size_t bytes = n * sizeof(typename F::Sum);
  const std::size_t part = bytes % XorOps::kVecBytes;
  const std::size_t whole = bytes - part;
  for (std::size_t at = 0; at < whole; at += XorOps::kVecBytes) {
    XorOps::store(to + at, XorOps::load(from_a + at) ^ XorOps::load(from_b + at));
  }
  if (part != 0) {
    XorOps::store_part(
        to + whole, XorOps::load_part(from_a + whole, part) ^ XorOps::load_part(from_b + whole, part), part);
  }
}

template <class F, class Ops, class XorOps>
constexpr Kernels<F> make_kernels(const char* name, CpuFeatures needs, std::size_t tile_rows,
                                  std::size_t tile_bytes, const Crossovers& crossovers = {}) {
  return {.name = name,
          .needs = needs,
          // R[i][j] += Q[i][0] D[0][j] + ... + Q[i][r - 1] D[r - 1][j] in GF(2^n), D of words.
          .muladd_words = muladd<F, Ops, std::byte>,
          // The same, D of sums, which are words.
          .muladd_sums = muladd<F, Ops, typename F::Sum>,
          // out[j] = a[j] ^ b[j], which is both a sum and a difference.
          .add = add<F, XorOps>,
          .sub = add<F, XorOps>,
          .tile_rows = tile_rows,
          .tile_bytes = tile_bytes,
          .crossovers = crossovers};
}

}  // namespace
}  // namespace pirx::gf2e
