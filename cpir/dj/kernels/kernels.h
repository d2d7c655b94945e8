// SPDX-License-Identifier: Apache-2.0
// Row kernels: products modulo N^(s+1) of several rows at once. Numbers are written in base N with loosely
// reduced digits and in Montgomery's form, so that a product needs (s+1)(s+2)/2 + s+1 products of digits
// instead of 2 (s+1)^2:
//
//   for j = 0 .. s:  T = sum of a_i b_(j-i) - q_(j-1);  q_j = -T / N mod R;  digit j = (T + q_j N) / R >= 0
//
// q_j N / R is what T lacks, so q_j is owed to the next digit; what is owed behind digit s is a multiple of
// N^(s+1). T > -R, so no digit is ever negative, and none grows: below N (1 + (s+1) B^2 N/R) where all were
// below B N before.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pirx::cpir::dj {

/// What a kernel knows of N and s. Digits have `limbs` limbs of the kernel's limb_bits, least significant
/// first.
struct RingView {
  unsigned s = 0;
  std::size_t limbs = 0;
  std::size_t stride = 0;  ///< words of a number: (s + 1) limbs rounded up to a multiple of 8
  const std::uint64_t* modulus = nullptr;
  std::uint64_t inverse = 0;  ///< -1/N modulo 2^limb_bits
};

/// A number is `stride` words; a block is `lanes` numbers, word by word: [word][lane]. Blocks are aligned to
/// 64 bytes.
struct RowKernel {
  const char* name;
  std::uint32_t needs;  ///< CpuFeatures
  std::size_t lanes;
  unsigned limb_bits;
  std::size_t limb_multiple;  ///< limbs of a digit are a multiple of it
  unsigned slack_bits;        ///< and so many bits at least longer than N
  /// out = a * b / R in every lane. out overlaps neither a nor b.
  void (*multiply)(const RingView& ring, std::uint64_t* out, const std::uint64_t* a,
                   const std::uint64_t* b) noexcept;
  /// out = a * a / R, faster than multiply. out does not overlap a.
  void (*square)(const RingView& ring, std::uint64_t* out, const std::uint64_t* a) noexcept;
  /// A block from its numbers.
  void (*gather)(const RingView& ring, std::uint64_t* block, const std::uint64_t* const* numbers) noexcept;
};

/// One lane over GMP: any machine.
extern const RowKernel kGmpKernel;
#if defined(__x86_64__) && !defined(PIRX_PORTABLE_ONLY)
/// Eight lanes of AVX-512 IFMA.
extern const RowKernel kIfmaKernel;
#endif

/// Longest digit that any kernel takes, and largest s: with both, the sums of columns in ifma.cc are full.
inline constexpr std::size_t kMaxLimbs = 80;
inline constexpr unsigned kMaxS = 10;

}  // namespace pirx::cpir::dj
