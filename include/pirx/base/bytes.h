// SPDX-License-Identifier: Apache-2.0
// Byte strings: the type that owns them, the views that borrow them, and conversions to text and numbers.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pirx/base/result.h"
#include "pirx/base/secret_memory.h"

namespace pirx {

static_assert(std::endian::native == std::endian::little, "pirx stores and computes in little-endian order");

/// Bytes that are wiped when they are freed. Messages, records and keys of a client are secrets.
using Bytes = std::vector<std::byte, SecretAllocator<std::byte>>;
using ByteSpan = std::span<const std::byte>;
using MutableByteSpan = std::span<std::byte>;

inline ByteSpan as_bytes(std::string_view text) noexcept {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view as_text(ByteSpan bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Whether every byte is zero. Reads all of them, whatever they are.
bool all_zero(ByteSpan bytes) noexcept;

/// Lower-case hexadecimal.
std::string to_hex(ByteSpan bytes);
/// Reads hexadecimal digits of either case. InvalidArgument: the length is odd, or there is another
/// character.
Result<Bytes> from_hex(std::string_view text);
/// A digest or a key from 64 hexadecimal digits of either case. Nothing: the text is something else.
std::optional<std::array<std::byte, 32>> digest_from_hex(std::string_view text);

/// Little-endian loads and stores at any alignment.
template <class T>
T load_le(const void* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void store_le(void* to, T value) noexcept {
  std::memcpy(to, &value, sizeof value);
}

}  // namespace pirx
