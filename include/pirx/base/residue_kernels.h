// SPDX-License-Identifier: Apache-2.0
// Products over GF(p) modulo many small moduli, for many queries, as functions on memory: a field offers
// them, the engine calls them.
//
// Scalars and words are integers. The moduli are coprime numbers of at most 8 bits, so a remainder is a byte,
// and a product of matrices of bytes with sums of 32 bits is what CPUs do fastest. As long as a sum of
// products is below the product of all moduli, the Chinese remainder theorem recovers it. It is reduced
// modulo p once per answer.
//
// A block is 64 rows and has 1024 bytes. A block of D holds 16 columns: for every four rows, the bytes of
// these four rows side by side, column after column. A block of queries holds 16 queries: query after query,
// 64 bytes each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pirx {

/// The moduli, and the constants that reduce little-endian integers of up to kMostBytes bytes.
struct ResidueBasis {
  static constexpr std::size_t kMostModuli = 48;
  static constexpr std::size_t kMostBytes = 24;
  static constexpr std::size_t kMostLimbs = 7;   ///< limbs of 32 bits
  static constexpr unsigned kFractionBits = 24;  ///< the bits of Modulus::fraction

  struct Modulus {
    std::int32_t modulus = 0;  ///< 2 to 256
    float inverse = 0;         ///< 1 / modulus
    /// 256^j modulo the modulus, as the remainder closest to zero: in [-128, 127].
    std::array<std::int8_t, kMostBytes> weight = {};
    // For the way back, where M is the product of all moduli:
    float power = 0;             ///< 2^16 modulo the modulus, as the remainder closest to zero
    float back = 0;              ///< the inverse of M / modulus, modulo the modulus
    std::uint32_t fraction = 0;  ///< 2^kFractionBits / modulus, rounded up
    std::array<std::uint32_t, kMostLimbs> limb = {};  ///< M / modulus, modulo p
  };

  std::size_t count = 0;
  std::size_t limbs = 0;  ///< limbs of an integer modulo p
  std::array<Modulus, kMostModuli> moduli = {};
};

struct ResidueKernels {
  static constexpr std::size_t kRows = 64;
  static constexpr std::size_t kColumns = 16;
  static constexpr std::size_t kQueries = 16;
  static constexpr std::size_t kBlockBytes = 1024;
  /// The number of rows that may be added up: 255 * 128 * kMostSummed < 2^31.
  static constexpr std::size_t kMostSummed = std::size_t{1} << 15;

  /// Signed remainders, the ones closest to zero, of `count` <= kRows integers of `bytes` bytes that lie
  /// `stride` bytes apart. Whole groups of four bytes may be read of each integer. For modulus m, kRows bytes
  /// are written at to + m * modulus_stride, with zeros for missing integers.
  void (*scalars)(const ResidueBasis& basis, const std::byte* from, std::size_t stride, std::size_t bytes,
                  std::size_t count, std::byte* to, std::size_t modulus_stride) noexcept;
  /// Remainders in [0, modulus) of a block: `rows` <= kRows rows, `stride` bytes apart, of `columns` <=
  /// kColumns words of `bytes` bytes. For modulus m a block is written at to + m * modulus_stride, with zeros
  /// for missing words.
  void (*words)(const ResidueBasis& basis, const std::byte* from, std::size_t stride, std::size_t bytes,
                std::size_t rows, std::size_t columns, std::byte* to, std::size_t modulus_stride) noexcept;
  /// sums += A * D modulo one modulus. A: `tiles` runs of `blocks` blocks of queries; the runs lie
  /// tile_stride bytes apart. D: `panels` runs of `blocks` blocks, panel_stride bytes apart. The sums of tile
  /// t and panel p are a kQueries x kColumns matrix at sums + (p * tiles + t) * 256.
  void (*multiply)(std::size_t tiles, std::size_t blocks, std::size_t panels, const std::byte* A,
                   std::size_t tile_stride, const std::byte* D, std::size_t panel_stride,
                   std::int32_t* sums) noexcept;
  /// Recovers sixteen integers. Their remainders modulo modulus m, not reduced, are at from + m * stride. The
  /// integer of lane j is the sum over k of limbs[k * kColumns + j] 2^(32 k), minus M times quotients[j] /
  /// 2^kFractionBits, rounded down.
  void (*combine)(const ResidueBasis& basis, const std::int32_t* from, std::size_t stride,
                  std::uint64_t* limbs, std::uint64_t* quotients) noexcept;
};

}  // namespace pirx
