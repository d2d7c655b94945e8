// SPDX-License-Identifier: Apache-2.0
// IntegerKernels::pack in plain C++. Each kernel file compiles it for its own instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "integers.h"

#if defined(__GNUC__)
#define PIRX_INLINE_PACK inline __attribute__((always_inline))
#else
#define PIRX_INLINE_PACK inline
#endif

namespace pirx::fp {

/// Words of kBytes bytes.
template <std::size_t kBytes>
PIRX_INLINE_PACK void pack_words(const std::byte* from, std::size_t stride, std::size_t rows, std::byte* to,
                                 std::size_t panel_stride) {
  constexpr std::size_t kColumns = IntegerKernels::kColumns, kGroups = kBytes * kColumns / 4;
  constexpr std::uint32_t kEven = 0x00ff00ff, kOdd = 0xff00ff00, kLow = 0x0000ffff, kHigh = 0xffff0000;
  for (std::size_t row = 0; row < IntegerKernels::kRows; row += 4) {
    for (std::size_t panel = 0; panel < 4; ++panel) {
      // Four bytes of a row in each number.
      std::uint32_t in[4][kGroups], out[kBytes][kColumns];
      for (std::size_t v = 0; v < 4; ++v) {
        if (row + v < rows) {
          std::memcpy(in[v], from + (row + v) * stride + panel * sizeof in[v], sizeof in[v]);
        } else {
          std::memset(in[v], 0, sizeof in[v]);
        }
      }
      for (std::size_t t = 0; t < kGroups; ++t) {
        const std::uint32_t even01 = (in[0][t] & kEven) | (in[1][t] & kEven) << 8;
        const std::uint32_t odd01 = (in[0][t] >> 8 & kEven) | (in[1][t] & kOdd);
        const std::uint32_t even23 = (in[2][t] & kEven) | (in[3][t] & kEven) << 8;
        const std::uint32_t odd23 = (in[2][t] >> 8 & kEven) | (in[3][t] & kOdd);
        const std::uint32_t byte[4] = {(even01 & kLow) | even23 << 16, (odd01 & kLow) | odd23 << 16,
                                       even01 >> 16 | (even23 & kHigh), odd01 >> 16 | (odd23 & kHigh)};
        for (std::size_t b = 0; b < 4; ++b) {
          const std::size_t at = 4 * t + b;
          out[at % kBytes][at / kBytes] = at % kBytes == kBytes - 1 ? byte[b] ^ 0x80808080 : byte[b];
        }
      }
      for (std::size_t i = 0; i < kBytes; ++i) {
        std::memcpy(to + panel * panel_stride + i * IntegerKernels::kBlockBytes + row * kColumns, out[i],
                    sizeof out[i]);
      }
    }
  }
}

PIRX_INLINE_PACK void pack_any(std::size_t bytes, const std::byte* from, std::size_t stride, std::size_t rows,
                               std::byte* to, std::size_t panel_stride) {
  switch (bytes) {
    case 1:
      return pack_words<1>(from, stride, rows, to, panel_stride);
    case 2:
      return pack_words<2>(from, stride, rows, to, panel_stride);
    case 3:
      return pack_words<3>(from, stride, rows, to, panel_stride);
    default:
      return pack_words<4>(from, stride, rows, to, panel_stride);
  }
}

}  // namespace pirx::fp
