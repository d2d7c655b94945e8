// SPDX-License-Identifier: Apache-2.0
// Computes where a key's three slots lie, as docs/database_format.md defines it, for the builder and the
// client. It uses only additions and multiplications, so that its time depends on nothing but the length
// of the key.
#pragma once

#include "pirx/database/geometry.h"

namespace pirx::database {

struct KeyHash {
  std::uint64_t column = 0;  ///< decides the column
  std::uint64_t row = 0;     ///< decides the three rows, with the filter's tweak
};

inline KeyHash hash_key(const Digest& seed, std::string_view key) {
  const Digest digest = sha256_of({as_bytes("pirx key v1"), seed, as_bytes(key)});
  return {load_le<std::uint64_t>(digest.data()), load_le<std::uint64_t>(digest.data() + 8)};
}

__extension__ using Uint128 = unsigned __int128;

/// A uniform word below `bound`: the upper half of their product.
inline std::uint64_t scale_down(std::uint64_t word, std::uint64_t bound) noexcept {
  return static_cast<std::uint64_t>((static_cast<Uint128>(word) * bound) >> 64);
}

/// The finalizer of MurmurHash3: a bijection that makes words of one hash independent enough for a filter.
inline std::uint64_t stir(std::uint64_t word) noexcept {
  word = (word ^ (word >> 33)) * 0xFF51AFD7ED558CCDu;
  word = (word ^ (word >> 33)) * 0xC4CEB9FE1A85EC53u;
  return word ^ (word >> 33);
}

/// Three rows in segments that follow one another, hence distinct.
inline std::array<std::uint64_t, 3> rows_of(std::uint64_t row_hash, const FilterSpec& filter) noexcept {
  constexpr std::uint64_t kLow = 0xFFFFFFFFu;
  const std::uint64_t a = stir(row_hash + 2 * filter.tweak + 1), b = stir(row_hash + 2 * filter.tweak + 2);
  const std::uint64_t length = filter.segment_length;
  const std::uint64_t first = ((a & kLow) * filter.segments >> 32) * length;
  return {first + ((a >> 32) * length >> 32), first + length + ((b & kLow) * length >> 32),
          first + 2 * length + ((b >> 32) * length >> 32)};
}

}  // namespace pirx::database
