// The multi-modular way to multiply over GF(p) for many queries, as functions on memory: what a field offers
// and the engine calls.
//
// Scalars and words are integers. Modulo each of a set of coprime numbers of at most 8 bits they are bytes,
// and a product of matrices of bytes, with sums of 32 bits, is what CPUs do fastest. As long as the sum of
// products stays below the product of all moduli, the Chinese remainder theorem gives it back; it is reduced
// modulo p once per answer.
//
// A block is 64 rows. Of D it holds 16 columns: four rows after four, a byte of each row side by side, column
// after column. Of the queries it holds 16: query after query, 64 bytes each. Both have 1024 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pirx {

/// The moduli with what is needed to reduce little-endian integers of up to kMostBytes bytes.
struct ResidueBasis {
  static constexpr std::size_t kMostModuli = 48;
  static constexpr std::size_t kMostBytes = 24;
  static constexpr std::size_t kMostLimbs = 7;   ///< of 32 bits
  static constexpr unsigned kFractionBits = 24;  ///< of Modulus::fraction

  struct Modulus {
    std::int32_t modulus = 0;  ///< 2 to 256
    float inverse = 0;         ///< 1 / modulus
    /// 256^j modulo the modulus, the one closest to zero: in [-128, 127].
    std::array<std::int8_t, kMostBytes> weight = {};
    // The way back, with M the product of all moduli:
    float power = 0;                                  ///< 2^16 modulo the modulus, the one closest to zero
    float back = 0;                                   ///< the inverse of M / modulus, modulo the modulus
    std::uint32_t fraction = 0;                       ///< 2^kFractionBits / modulus, rounded up
    std::array<std::uint32_t, kMostLimbs> limb = {};  ///< M / modulus, modulo p
  };

  std::size_t count = 0;
  std::size_t limbs = 0;  ///< of an integer modulo p
  std::array<Modulus, kMostModuli> moduli = {};
};

struct ResidueKernels {
  static constexpr std::size_t kRows = 64;
  static constexpr std::size_t kColumns = 16;
  static constexpr std::size_t kQueries = 16;
  static constexpr std::size_t kBlockBytes = 1024;
  /// So many rows may be summed: 255 * 128 * kMostSummed < 2^31.
  static constexpr std::size_t kMostSummed = std::size_t{1} << 15;

  /// Signed residues, closest to zero, of `count` <= kRows integers of `bytes` bytes, `stride` bytes apart:
  /// of which whole groups of four bytes may be read: modulus m writes kRows bytes (zeros for those missing)
  /// at to + m * modulus_stride.
  void (*scalars)(const ResidueBasis& basis, const std::byte* from, std::size_t stride, std::size_t bytes,
                  std::size_t count, std::byte* to, std::size_t modulus_stride) noexcept;
  /// Residues in [0, modulus) of a block of `rows` <= kRows rows, `stride` bytes apart, of `columns` <=
  /// kColumns words of `bytes` bytes: modulus m writes a block (zeros for those missing) at to + m *
  /// modulus_stride.
  void (*words)(const ResidueBasis& basis, const std::byte* from, std::size_t stride, std::size_t bytes,
                std::size_t rows, std::size_t columns, std::byte* to, std::size_t modulus_stride) noexcept;
  /// sums += A * D modulo one modulus. A: `tiles` runs of `blocks` blocks of queries, tile_stride bytes
  /// apart; D: `panels` runs of `blocks` blocks, panel_stride bytes apart. The sums of tile t and panel p are
  /// a matrix of kQueries x kColumns at sums + (p * tiles + t) * 256.
  void (*multiply)(std::size_t tiles, std::size_t blocks, std::size_t panels, const std::byte* A,
                   std::size_t tile_stride, const std::byte* D, std::size_t panel_stride,
                   std::int32_t* sums) noexcept;
  /// Sixteen sums, whose remainders modulo modulus m (not reduced) lie at from + m * stride: the integer of
  /// lane j is sum over k of limbs[k * kColumns + j] 2^(32 k), less M times quotients[j] / 2^kFractionBits,
  /// rounded down.
  void (*combine)(const ResidueBasis& basis, const std::int32_t* from, std::size_t stride,
                  std::uint64_t* limbs, std::uint64_t* quotients) noexcept;
};

}  // namespace pirx
