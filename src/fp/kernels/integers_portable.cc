// SPDX-License-Identifier: Apache-2.0
// Products modulo powers of two in plain C++.
#include "integers.h"
#include "integers_pack.h"

namespace pirx::fp {
namespace {

constexpr std::size_t kRows = IntegerKernels::kRows, kColumns = IntegerKernels::kColumns;

void pack(std::size_t bytes, const std::byte* from, std::size_t stride, std::size_t rows, std::byte* to,
          std::size_t panel_stride) noexcept {
  pack_any(bytes, from, stride, rows, to, panel_stride);
}

/// sums += a * D, of one block and one digit.
void multiply_block(const std::byte* a, const std::byte* D, std::uint32_t* sums) {
  std::uint32_t sum[kColumns];
  std::memcpy(sum, sums, sizeof sum);
  for (std::size_t k = 0; k < kRows; k += 4) {
    std::int32_t digit[4];
    for (std::size_t v = 0; v < 4; ++v) digit[v] = static_cast<std::int8_t>(a[k + v]);
    for (std::size_t c = 0; c < kColumns; ++c) {
      std::int32_t four = 0;  // at most 4 * 255 * 128 in size
      for (std::size_t v = 0; v < 4; ++v) {
        four += digit[v] * std::to_integer<std::int32_t>(D[k * kColumns + 4 * c + v]);
      }
      sum[c] += static_cast<std::uint32_t>(four);
    }
  }
  std::memcpy(sums, sum, sizeof sum);
}

void multiply(const IntegerKernels::Product& product) noexcept {
  const std::size_t group_bytes = product.digits * kRows;
  for (std::size_t panel = 0; panel < product.panels; ++panel) {
    for (std::size_t group = 0; group < product.groups; ++group) {
      std::uint32_t* const sums = product.sums + (panel * product.groups + group) * product.digits * kColumns;
      for (std::size_t block = 0; block < product.blocks; ++block) {
        const std::byte* const a = product.A + group * product.group_stride + block * group_bytes;
        const std::byte* const d =
            product.D + panel * product.panel_stride + block * product.planes * IntegerKernels::kBlockBytes;
        for (std::size_t i = 0; i < product.planes; ++i) {
          for (std::size_t j = 0; i + j < product.digits; ++j) {
            multiply_block(a + j * kRows, d + i * IntegerKernels::kBlockBytes, sums + (i + j) * kColumns);
          }
        }
      }
    }
  }
}

}  // namespace

constinit const IntegerKernels kIntegersPortable = {.name = "portable",
                                                    .run = 4,
                                                    // to[i][k][j] = byte i of from[k][j] + half its range.
                                                    .pack = pack,
                                                    // sums[i + j] += A[j] D[i], byte by byte.
                                                    .multiply = multiply};

}  // namespace pirx::fp
