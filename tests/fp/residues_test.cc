// SPDX-License-Identifier: Apache-2.0
// Every kernel of residues that this machine has, function by function, against arithmetic by hand: shapes,
// strides, guard bytes, and sums of products at their largest.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "pirx/base/residue_kernels.h"
#include "pirx/fp/w160.h"
#include "support/kernels.h"
#include "support/seed.h"

namespace pirx::fp {
namespace {

using pirx::testing::seeded_engine;
constexpr std::byte kGuard{0xA5};

/// The kernels that this machine has, once each.
std::vector<const ResidueKernels*> kernels_here() {
  std::vector<const ResidueKernels*> out;
  for (const auto& kernels : pirx::testing::runnable(kernel_table(W160()))) {
    if (kernels.residues != nullptr) out.push_back(kernels.residues);
  }
  return out;
}

ResidueBasis make_basis(std::size_t count) {
  ResidueBasis basis;
  std::vector<int> moduli;
  for (int m = 256; moduli.size() < count; --m) {
    if (std::all_of(moduli.begin(), moduli.end(), [m](int other) { return std::gcd(m, other) == 1; })) {
      moduli.push_back(m);
    }
  }
  for (const int m : moduli) {
    auto& modulus = basis.moduli[basis.count++];
    modulus.modulus = m;
    modulus.inverse = 1.0F / static_cast<float>(m);
    int power = 1;
    for (auto& weight : modulus.weight) {
      weight = static_cast<std::int8_t>(2 * power >= m ? power - m : power);
      power = power * 256 % m;
    }
  }
  return basis;
}

int remainder_of(const std::byte* from, std::size_t bytes, int modulus) {
  int out = 0;
  while (bytes-- > 0) out = (out * 256 + static_cast<int>(from[bytes])) % modulus;
  return out;
}

/// Random bytes, and now and then the extreme ones.
void fill(std::vector<std::byte>& out, std::mt19937_64& engine) {
  const auto kind = engine() % 4;
  for (auto& byte : out) byte = kind == 0 ? std::byte{0xff} : kind == 1 ? std::byte{0} : std::byte(engine());
}

TEST(Residues, OfScalarsAreClosestToZero) {
  auto engine = seeded_engine();
  const ResidueBasis basis = make_basis(ResidueBasis::kMostModuli);
  for (const ResidueKernels* kernels : kernels_here()) {
    for (int round = 0; round < 60; ++round) {
      const std::size_t bytes = 1 + engine() % ResidueBasis::kMostBytes;
      // Whole groups of four bytes may be read.
      const std::size_t stride = (bytes + 3) / 4 * 4 + engine() % 9;
      const std::size_t count =
          engine() % 3 == 0 ? ResidueKernels::kRows : 1 + engine() % ResidueKernels::kRows;
      std::vector<std::byte> from(count * stride);
      fill(from, engine);
      const std::size_t modulus_stride = ResidueKernels::kRows + engine() % 70;
      std::vector<std::byte> to(basis.count * modulus_stride, kGuard);
      kernels->scalars(basis, from.data(), stride, bytes, count, to.data(), modulus_stride);
      for (std::size_t m = 0; m < basis.count; ++m) {
        const int modulus = basis.moduli[m].modulus;
        for (std::size_t i = 0; i < modulus_stride; ++i) {
          const std::byte got = to[m * modulus_stride + i];
          if (i >= ResidueKernels::kRows) {
            ASSERT_EQ(got, kGuard);
          } else if (i >= count) {
            ASSERT_EQ(got, std::byte{0});
          } else {
            const int value = static_cast<std::int8_t>(got);
            ASSERT_EQ((value - remainder_of(&from[i * stride], bytes, modulus)) % modulus, 0)
                << "modulus " << modulus << " integer " << i << " of " << bytes << " bytes";
            ASSERT_LE(2 * std::abs(value), modulus);
          }
        }
      }
    }
  }
}

TEST(Residues, OfWordsAreBelowTheModulus) {
  auto engine = seeded_engine(1);
  const ResidueBasis basis = make_basis(ResidueBasis::kMostModuli);
  for (const ResidueKernels* kernels : kernels_here()) {
    for (int round = 0; round < 40; ++round) {
      const std::size_t bytes = 1 + engine() % ResidueBasis::kMostBytes;
      const std::size_t rows =
          engine() % 3 == 0 ? ResidueKernels::kRows : 1 + engine() % ResidueKernels::kRows;
      const std::size_t columns =
          engine() % 3 == 0 ? ResidueKernels::kColumns : 1 + engine() % ResidueKernels::kColumns;
      const std::size_t stride = columns * bytes + engine() % 9;
      // Not a byte behind the last word.
      std::vector<std::byte> from((rows - 1) * stride + columns * bytes);
      fill(from, engine);
      const std::size_t modulus_stride = ResidueKernels::kBlockBytes + engine() % 70;
      std::vector<std::byte> to(basis.count * modulus_stride, kGuard);
      kernels->words(basis, from.data(), stride, bytes, rows, columns, to.data(), modulus_stride);
      for (std::size_t m = 0; m < basis.count; ++m) {
        const std::byte* block = &to[m * modulus_stride];
        for (std::size_t i = 0; i < ResidueKernels::kRows; ++i) {
          for (std::size_t j = 0; j < ResidueKernels::kColumns; ++j) {
            const int got = static_cast<int>(block[i / 4 * 64 + j * 4 + i % 4]);
            const int want = i < rows && j < columns
                                 ? remainder_of(&from[i * stride + j * bytes], bytes, basis.moduli[m].modulus)
                                 : 0;
            ASSERT_EQ(got, want) << "modulus " << basis.moduli[m].modulus << " at " << i << ", " << j;
          }
        }
        for (std::size_t i = ResidueKernels::kBlockBytes; i < modulus_stride; ++i)
          ASSERT_EQ(block[i], kGuard);
      }
    }
  }
}

TEST(Residues, ProductsAddUp) {
  auto engine = seeded_engine(2);
  constexpr std::size_t kRows = ResidueKernels::kRows, kColumns = ResidueKernels::kColumns;
  constexpr std::size_t kQueries = ResidueKernels::kQueries, kBlock = ResidueKernels::kBlockBytes;
  for (const ResidueKernels* kernels : kernels_here()) {
    for (int round = 0; round < 12; ++round) {
      const std::size_t tiles = 1 + engine() % 5, blocks = 1 + engine() % 20, panels = 1 + engine() % 5;
      const std::size_t tile_stride = blocks * kBlock + 64 * (engine() % 3);
      const std::size_t panel_stride = blocks * kBlock + 64 * (engine() % 3);
      std::vector<std::byte> a(tiles * tile_stride), d(panels * panel_stride);
      fill(a, engine);
      fill(d, engine);
      std::vector<std::int32_t> sums(panels * tiles * kQueries * kColumns + 1);
      for (auto& sum : sums) sum = static_cast<std::int32_t>(engine() % 1000) - 500;
      std::vector<std::int32_t> want = sums;
      for (std::size_t p = 0; p < panels; ++p) {
        for (std::size_t i = 0; i < tiles * kQueries; ++i) {
          for (std::size_t j = 0; j < kColumns; ++j) {
            std::int32_t& sum =
                want[(p * tiles + i / kQueries) * kQueries * kColumns + i % kQueries * kColumns + j];
            for (std::size_t k = 0; k < blocks * kRows; ++k) {
              const auto left = static_cast<std::int8_t>(
                  a[i / kQueries * tile_stride + k / kRows * kBlock + i % kQueries * kRows + k % kRows]);
              const auto right = static_cast<std::uint8_t>(
                  d[p * panel_stride + k / kRows * kBlock + k % kRows / 4 * 64 + j * 4 + k % 4]);
              sum += left * right;
            }
          }
        }
      }
      kernels->multiply(tiles, blocks, panels, a.data(), tile_stride, d.data(), panel_stride, sums.data());
      ASSERT_EQ(sums, want) << tiles << " tiles, " << blocks << " blocks, " << panels << " panels";
    }
  }
}

TEST(Residues, SumsOfTheMostRowsDoNotOverflow) {
  constexpr std::size_t kBlocks = ResidueKernels::kMostSummed / ResidueKernels::kRows;
  const std::vector<std::byte> a(kBlocks * ResidueKernels::kBlockBytes, std::byte{0x80});
  const std::vector<std::byte> d(kBlocks * ResidueKernels::kBlockBytes, std::byte{0xff});
  for (const ResidueKernels* kernels : kernels_here()) {
    std::vector<std::int32_t> sums(ResidueKernels::kQueries * ResidueKernels::kColumns);
    kernels->multiply(1, kBlocks, 1, a.data(), a.size(), d.data(), d.size(), sums.data());
    for (const std::int32_t sum : sums) {
      ASSERT_EQ(sum, -128 * 255 * static_cast<std::int32_t>(ResidueKernels::kMostSummed));
    }
  }
}

TEST(Residues, CombineToTheSumsTheyCameFrom) {
  // Numbers below 2^62 from eight moduli, whose product is 2^63.6, modulo a prime above that product: every
  // limb is then the one of M / m itself.
  auto engine = seeded_engine(3);
  ResidueBasis basis = make_basis(8);
  basis.limbs = 2;
  __extension__ typedef unsigned __int128 uint128;
  std::uint64_t product = 1;
  for (std::size_t m = 0; m < basis.count; ++m)
    product *= static_cast<std::uint64_t>(basis.moduli[m].modulus);
  for (std::size_t m = 0; m < basis.count; ++m) {
    auto& modulus = basis.moduli[m];
    const auto n = static_cast<std::uint64_t>(modulus.modulus);
    const std::uint64_t others = product / n;
    std::uint64_t back = 1;
    while (others % n * back % n != 1) ++back;
    modulus.back = static_cast<float>(back);
    modulus.power = static_cast<float>(65536 % modulus.modulus);
    modulus.fraction = static_cast<std::uint32_t>((1u << ResidueBasis::kFractionBits) / n + 1);
    modulus.limb[0] = static_cast<std::uint32_t>(others);
    modulus.limb[1] = static_cast<std::uint32_t>(others >> 32);
  }
  constexpr std::size_t kLanes = ResidueKernels::kColumns;
  for (const ResidueKernels* kernels : kernels_here()) {
    for (int round = 0; round < 200; ++round) {
      std::uint64_t numbers[kLanes];
      std::vector<std::int32_t> remainders(basis.count * (kLanes + 1));
      for (std::size_t j = 0; j < kLanes; ++j) {
        numbers[j] = round == 0   ? 0
                     : round == 1 ? (std::uint64_t{1} << 62) - 1
                                  : engine() >> (2 + engine() % 60);
        for (std::size_t m = 0; m < basis.count; ++m) {
          // Some number that is congruent, of 32 bits with a sign.
          const std::int64_t n = basis.moduli[m].modulus,
                             rest = static_cast<std::int64_t>(numbers[j] % static_cast<std::uint64_t>(n));
          const std::int64_t most = ((std::int64_t{1} << 31) - 1 - rest) / n;
          const std::int64_t times =
              static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(2 * most)) - most;
          remainders[m * (kLanes + 1) + j] = static_cast<std::int32_t>(rest + times * n);
        }
      }
      std::uint64_t limbs[2 * kLanes], quotients[kLanes];
      kernels->combine(basis, remainders.data(), kLanes + 1, limbs, quotients);
      for (std::size_t j = 0; j < kLanes; ++j) {
        const uint128 whole = limbs[j] + (uint128{limbs[kLanes + j]} << 32);
        const uint128 got = whole - uint128{product} * (quotients[j] >> ResidueBasis::kFractionBits);
        ASSERT_EQ(static_cast<std::uint64_t>(got >> 64), 0u);
        ASSERT_EQ(static_cast<std::uint64_t>(got), numbers[j]);
      }
    }
  }
}

}  // namespace
}  // namespace pirx::fp
