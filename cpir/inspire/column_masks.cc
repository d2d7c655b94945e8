// SPDX-License-Identifier: Apache-2.0
// Reads some columns of all rows, transposed, and then makes polynomials out of them one after another.
#include "column_masks.h"

#include <algorithm>

namespace pirx::cpir::inspire {
namespace {

/// Words of a row that are read at once: a line of the cache at least.
constexpr std::size_t kLeastBytes = 64, kMostBytes = 512;
/// Rows that are transposed together.
constexpr std::size_t kTile = 8;

std::size_t column_stride(std::uint64_t rows, unsigned word_bytes, std::size_t d) noexcept {
  return static_cast<std::size_t>(round_up(rows, d)) * word_bytes + 64;
}

/// One step of a transposition: of rows that are `distance` apart, the numbers under the mask change places
/// with those that are `shift` bits higher in the other row.
template <std::size_t kRows>
void exchange(std::uint64_t (&rows)[kRows], std::size_t distance, unsigned shift,
              std::uint64_t mask) noexcept {
  for (std::size_t i = 0; i < kRows; ++i) {
    if ((i & distance) != 0) continue;
    const std::uint64_t moved = (rows[i] >> shift ^ rows[i + distance]) & mask;
    rows[i] ^= moved << shift;
    rows[i + distance] ^= moved;
  }
}

/// Eight rows of eight bytes, at `from` + i stride, to eight columns of eight bytes, at `to` + i to_stride.
void transpose_bytes(const std::byte* from, std::size_t stride, std::byte* to,
                     std::size_t to_stride) noexcept {
  std::uint64_t x[8];
  for (std::size_t i = 0; i < 8; ++i) x[i] = load_le<std::uint64_t>(from + i * stride);
  exchange(x, 4, 32, 0x00000000ffffffff);
  exchange(x, 2, 16, 0x0000ffff0000ffff);
  exchange(x, 1, 8, 0x00ff00ff00ff00ff);
  for (std::size_t i = 0; i < 8; ++i) store_le(to + i * to_stride, x[i]);
}

/// Eight rows of four words of two bytes.
void transpose_words(const std::byte* from, std::size_t stride, std::byte* to,
                     std::size_t to_stride) noexcept {
  for (std::size_t half = 0; half < 2; ++half) {
    std::uint64_t x[4];
    for (std::size_t i = 0; i < 4; ++i) x[i] = load_le<std::uint64_t>(from + (4 * half + i) * stride);
    exchange(x, 2, 32, 0x00000000ffffffff);
    exchange(x, 1, 16, 0x0000ffff0000ffff);
    for (std::size_t i = 0; i < 4; ++i) store_le(to + i * to_stride + 8 * half, x[i]);
  }
}

/// Writes `count` columns from data.first + `from` on, a multiple of 8 bytes in each row, one after another.
void read_columns(const BlockData& data, std::size_t from, std::size_t count, std::size_t stride,
                  std::byte* columns) {
  const std::size_t row_bytes = count * data.word_bytes, padded = round_up(row_bytes, 8);
  std::array<std::byte, kTile * kMostBytes> tile{};
  for (std::size_t row = 0; row < data.rows; row += kTile) {
    const std::size_t rows = std::min(kTile, data.rows - row);
    for (std::size_t i = 0; i < rows; ++i)
      data.words(row + i, data.first + from, count, tile.data() + i * padded);
    std::fill(tile.begin() + static_cast<std::ptrdiff_t>(rows * padded), tile.end(), std::byte{0});
    std::byte* to = columns + row * data.word_bytes;
    for (std::size_t at = 0; at < padded; at += 8) {
      if (data.word_bytes == 1) {
        transpose_bytes(tile.data() + at, padded, to + at * stride, stride);
      } else {
        transpose_words(tile.data() + at, padded, to + at / 2 * stride, stride);
      }
    }
  }
  // What is missing of the last block of rows.
  const std::size_t end = round_up(data.rows, kTile) * data.word_bytes;
  for (std::size_t k = 0; k < count; ++k)
    std::fill(columns + k * stride + end, columns + (k + 1) * stride, std::byte{0});
}

void widen(const std::byte* words, unsigned word_bytes, std::span<std::int32_t> out) noexcept {
  if (word_bytes == 1) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int8_t>(words[i]);
  } else {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<std::int16_t>(load_le<std::uint16_t>(words + 2 * i));
  }
}

}  // namespace

std::uint64_t column_bytes(std::uint64_t rows, unsigned word_bytes, std::size_t d) noexcept {
  return kLeastBytes / word_bytes * column_stride(rows, word_bytes, d);
}

void column_masks(const Ring& ring, const Polynomials& factors, const BlockData& data, Polynomials& workspace,
                  MutableByteSpan columns, const std::array<Rows<std::uint32_t>, 2>& masks) {
  const std::size_t d = ring.d(), row_blocks = div_up(data.rows, d), polynomial = polynomial_stride(d);
  const std::size_t stride = column_stride(data.rows, data.word_bytes, d);
  const std::size_t least = kLeastBytes / data.word_bytes;
  const std::size_t group = std::min(columns.size() / stride / least * least, kMostBytes / data.word_bytes);
  PIRX_CHECK(group > 0);
  // The second halves of the workspace hold a column's words until they are overwritten.
  auto* small = reinterpret_cast<std::int32_t*>(workspace[0] + d);
  for (std::size_t from = 0; from < data.columns; from += group) {
    const std::size_t count = std::min(group, data.columns - from);
    read_columns(data, from, count, stride, columns.data());
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t v = 0; v < row_blocks; ++v) {
        widen(columns.data() + k * stride + v * d * data.word_bytes, data.word_bytes,
              {small + v * polynomial, d});
      }
      for (std::size_t i = 0; i < 2; ++i) {
        std::uint32_t* out = masks[i][from + k];
        ring.kernel().transform_sum(ring.prime(i), out, workspace[0] + i * d, workspace[0] + d,
                                    factors[0] + i * d, polynomial, row_blocks);
        ring.kernel().inverse(ring.prime(i), out, out);
      }
    }
  }
  for (std::size_t k = data.columns; k < d; ++k) {
    for (const auto& rows : masks) std::fill_n(rows[k], d, 0);
  }
}

}  // namespace pirx::cpir::inspire
