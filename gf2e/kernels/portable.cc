// SPDX-License-Identifier: Apache-2.0
// Portable kernels, on the 16-byte vectors that gcc and clang compile for every machine. A product adds up d,
// d * x, d * x^2, ... under masks made from the bits of the scalar. There is no table, so no secret becomes
// an address.
#include <array>
#include <bit>
#include <cstring>

#define PIRX_GF2E_TARGET
#include "gf2e/kernels/muladd_impl.h"

namespace pirx::gf2e {
namespace {

/// Loads and stores of vectors of T.
template <class T>
struct Rows {
  using Vec __attribute__((vector_size(16))) = T;
  static constexpr std::size_t kVecBytes = sizeof(Vec);

  PIRX_GF2E_INLINE Vec load(const std::byte* from) { return load_le<Vec>(from); }
  PIRX_GF2E_INLINE void store(std::byte* to, Vec v) { store_le(to, v); }
  PIRX_GF2E_INLINE Vec load_part(const std::byte* from, std::size_t bytes) {
    Vec v{};
    std::memcpy(&v, from, bytes);
    return v;
  }
  PIRX_GF2E_INLINE void store_part(std::byte* to, Vec v, std::size_t bytes) { std::memcpy(to, &v, bytes); }
};

struct Gf2Ops : Rows<std::uint64_t> {
  using Elem = Gf2::Elem;
  using Coef = Vec;
  static constexpr int kQ = 4, kR = 2, kR1 = 8;

  PIRX_GF2E_INLINE Coef coef(Elem c) { return Vec{} - c; }
  PIRX_GF2E_INLINE Vec muladd(Vec a, const Coef& c, Vec d) { return a ^ (c & d); }
};

/// T: the signed integer of the element's width, whose sign is the bit that x carries out.
template <class F, class T>
struct BinaryOps : Rows<T> {
  using Elem = typename F::Elem;
  using typename Rows<T>::Vec;
  struct Coef {
    Vec mask[F::kBits];
  };
  static constexpr int kQ = 4, kR = 1, kR1 = 4;

  PIRX_GF2E_INLINE Coef coef(Elem c) {
    Coef out;
    for (unsigned i = 0; i < F::kBits; ++i) {
      // In two words: gcc's UBSan refuses operations on a scalar and a vector of narrow lanes here.
      const std::uint64_t mask = std::uint64_t{0} - ((c >> i) & 1);
      out.mask[i] = std::bit_cast<Vec>(std::array{mask, mask});
    }
    return out;
  }
  PIRX_GF2E_INLINE Vec muladd(Vec a, const Coef& c, Vec d) {
    for (unsigned i = 0; i < F::kBits; ++i) {
      a ^= d & c.mask[i];
      d = (d << 1) ^ ((d < 0) & kLow);
    }
    return a;
  }

 private:
  static constexpr T kLow = static_cast<T>(F::tag().low);
};

}  // namespace

constinit const Kernels<Gf2> kGf2Portable =
    make_kernels<Gf2, Gf2Ops, Rows<std::uint64_t>>("portable", 0, 64, 4096);
constinit const Kernels<Gf2_8> kGf2_8Portable =
    make_kernels<Gf2_8, BinaryOps<Gf2_8, std::int8_t>, Rows<std::uint64_t>>("portable", 0, 64, 4096,
                                                                            {.level_in_rows = 16});
constinit const Kernels<Gf2_16> kGf2_16Portable =
    make_kernels<Gf2_16, BinaryOps<Gf2_16, std::int16_t>, Rows<std::uint64_t>>("portable", 0, 64, 4096,
                                                                               {.level_in_rows = 16});

}  // namespace pirx::gf2e
