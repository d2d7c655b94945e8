// SPDX-License-Identifier: Apache-2.0
// Kernels of the ring: transforms, sums of products and digits on arrays of residues, one set per instruction
// set. Safe on secrets unless said otherwise: no branch and no address depends on a value.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__) && !defined(PIRX_PORTABLE_ONLY)
#define PIRX_RING_X86 1
#endif

namespace pirx::cpir {

/// One prime q below 2^28, 2d | q - 1, and the powers of a root of order 2d that transforms need. Slot i of a
/// transform is the value at psi^(2 rev(i) + 1), rev: the bits of i reversed.
struct PrimeTable {
  std::uint32_t q = 0;
  std::uint32_t montgomery = 0;  ///< 1/q modulo 2^32
  std::uint32_t ratio = 0;       ///< floor(2^32 / q)
  std::uint32_t one = 0;         ///< 2^32 modulo q
  unsigned log_d = 0;
  /// psi^rev(i) and floor(2^32 psi^rev(i) / q); the same of the inverse.
  const std::uint32_t *w = nullptr, *w_shoup = nullptr, *v = nullptr, *v_shoup = nullptr;
  std::uint32_t inverse_d = 0, inverse_d_shoup = 0;
  /// v[1] / d: the inverse's last layer.
  std::uint32_t last = 0, last_shoup = 0;
  /// 1 / the other prime.
  std::uint32_t inverse_of_other = 0, inverse_of_other_shoup = 0;
};

/// How digits come out of a number c of at most 56 bits and a sign (gadget.h): u = c + offset is not
/// negative, floor(u / delta) is written in base z, and `half` is taken off every digit but the last, `top`
/// off that.
struct DigitPlan {
  std::uint32_t z = 2;
  unsigned count = 1;       ///< digits
  unsigned shift = 0;       ///< log2 z when z is a power of two, else 0
  std::uint64_t delta = 1;  ///< z^drop
  std::uint64_t offset = 0;
  std::int32_t half = 0, top = 0;
  unsigned chunk = 1;            ///< digits that are cut out of one number below 2^28
  std::uint32_t chunk_base = 2;  ///< z^chunk
};

/// u64 words of residues: modulo q1 in the low half, modulo q2 in the high half.
inline constexpr std::size_t kBlockSlots = 8;
/// Products of residues that one 64-bit sum holds: 256 q1^2 < 2^64.
inline constexpr std::size_t kLazyProducts = 256;

/// All arrays have d = 2^log_d entries, at any alignment; d >= 64. Residues are canonical (below q) unless
/// said otherwise. `out` may be an input itself, but overlaps in no other way.
struct RingKernel {
  const char* name;
  std::uint32_t needs;  ///< CpuFeatures
  /// out = transform of `in`, whose entries are residues or signed numbers of less than q/2.
  void (*forward)(const PrimeTable& p, std::uint32_t* out, const std::uint32_t* in) noexcept;
  void (*inverse)(const PrimeTable& p, std::uint32_t* out, const std::uint32_t* in) noexcept;
  /// out = sum over k < count of a_k b_k / 2^32, slot by slot; count <= kLazyProducts.
  void (*inner_product)(const PrimeTable& p, std::uint32_t* out, const std::uint32_t* a, std::size_t a_stride,
                        const std::uint32_t* b, std::size_t b_stride, std::size_t count) noexcept;
  /// Rows 0 and 1 of a ciphertext, out + row stride: the sum over k < count of the transform of the signed
  /// numbers at digits + k stride, as forward() takes them, times those of column k, columns + (2k + row)
  /// stride, / 2^32. What is half done is kept at heads + k stride; `heads` may be `digits`.
  void (*transform_products)(const PrimeTable& p, std::uint32_t* out, std::uint32_t* heads,
                             const std::uint32_t* digits, const std::uint32_t* columns, std::size_t stride,
                             std::size_t count) noexcept;
  /// The same for a single row: out is the sum over k < count of the transform of digits + k stride times
  /// factors + k stride, / 2^32.
  void (*transform_sum)(const PrimeTable& p, std::uint32_t* out, std::uint32_t* heads,
                        const std::uint32_t* digits, const std::uint32_t* factors, std::size_t stride,
                        std::size_t count) noexcept;
  void (*add)(const PrimeTable& p, std::uint32_t* out, const std::uint32_t* a,
              const std::uint32_t* b) noexcept;
  void (*subtract)(const PrimeTable& p, std::uint32_t* out, const std::uint32_t* a,
                   const std::uint32_t* b) noexcept;
  /// The number in (-q/2, q/2), q = q1 q2, whose residues are r1 and r2.
  void (*compose)(const PrimeTable& p1, const PrimeTable& p2, std::int64_t* out, const std::uint32_t* r1,
                  const std::uint32_t* r2) noexcept;
  /// digits[k stride + i], i < d: digit k of c[i], as a signed number. For public c.
  void (*digits)(const DigitPlan& plan, std::size_t d, std::int32_t* digits, std::size_t stride,
                 const std::int64_t* c) noexcept;
  /// For eight slots: out[column][row of a ciphertext][slot] = sum over i < rows of
  /// database[column][i][slot] query[i][row of a ciphertext][slot] / 2^32, for every query and both primes;
  /// words of kBlockSlots slots. For any number of rows. The word
  /// behind a query is read, too.
  void (*first_dimension)(const PrimeTable& p1, const PrimeTable& p2, const std::uint64_t* database,
                          std::size_t rows, std::size_t columns, const std::uint64_t* const* queries,
                          std::size_t query_count, std::uint64_t* const* out) noexcept;
  /// sum = a + b and difference = a - b modulo q, for any number of residues, at any alignment. Either may be
  /// a or b.
  void (*butterfly)(std::uint32_t q, std::uint32_t* sum, std::uint32_t* difference, const std::uint32_t* a,
                    const std::uint32_t* b, std::size_t count) noexcept;
  /// The same of integers. False if one of the results did not fit and was cut to 32 bits.
  bool (*butterfly_integers)(std::int32_t* sum, std::int32_t* difference, const std::int32_t* a,
                             const std::int32_t* b, std::size_t count) noexcept;
  /// The same of floating-point numbers.
  void (*butterfly_floats)(float* sum, float* difference, const float* a, const float* b,
                           std::size_t count) noexcept;
};

extern const RingKernel kPortableKernel;
#if defined(PIRX_RING_X86)
extern const RingKernel kAvx2Kernel, kAvx512Kernel;
#endif

}  // namespace pirx::cpir
