// SPDX-License-Identifier: Apache-2.0
// The product of bits with vgf2p8affineqb, for any vector width. A matrix is its qword. Include after
// sliced_impl.h.

namespace pirx::gf2e {
namespace {

/// Base has the vectors, and affine(x, matrices).
template <class Base>
struct Gfni : Base {
  using Vec = typename Base::Vec;
  using Data = Vec;
  using Matrix = Vec;
  static constexpr std::size_t kMatrixBytes = 8;

  PIRX_GF2E_INLINE Vec transpose_bits(Vec v) { return Base::affine(Base::set64(0x8040201008040201), v); }
  PIRX_GF2E_INLINE Vec ready(Vec matrices) { return matrices; }
  PIRX_GF2E_INLINE void store_matrix(std::uint64_t matrix, std::uint64_t* to) { *to = matrix; }
  PIRX_GF2E_INLINE Matrix matrix(const std::uint64_t* from) {
    Matrix m = Base::set64(*from);
#if defined(__clang__)
    // Keeps m in a register: LLVM before version 20 encodes the offset of a broadcast operand of
    // vgf2p8affineqb eight times too large (llvm-project pull request 120340), and then reads other matrices
    // or other memory.
    asm("" : "+v"(m));
#endif
    return m;
  }
  PIRX_GF2E_INLINE Data data(Vec v) { return v; }
  PIRX_GF2E_INLINE Vec add_product(Vec sum, Data x, Matrix a) { return sum ^ Base::affine(x, a); }
  PIRX_GF2E_INLINE Vec add_products(Vec sum, Data x, Matrix a, Data y, Matrix b) {
    return Base::xor3(sum, Base::affine(x, a), Base::affine(y, b));
  }
};

}  // namespace
}  // namespace pirx::gf2e
