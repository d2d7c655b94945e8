// SPDX-License-Identifier: Apache-2.0
// Hexadecimal digits, and the search for a byte that is not zero.
#include "pirx/base/bytes.h"

#include <algorithm>

namespace pirx {
namespace {

int digit_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

bool all_zero(ByteSpan bytes) noexcept {
  // Word by word; the compiler turns this into vector code.
  std::uint64_t any = 0;
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) any |= load_le<std::uint64_t>(bytes.data() + i);
  for (; i < bytes.size(); ++i) any |= std::to_integer<std::uint64_t>(bytes[i]);
  return any == 0;
}

std::string to_hex(ByteSpan bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte b : bytes) {
    text.push_back(kDigits[std::to_integer<unsigned>(b) >> 4]);
    text.push_back(kDigits[std::to_integer<unsigned>(b) & 15]);
  }
  return text;
}

Result<Bytes> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return invalid("a hexadecimal string has an odd length");
  Bytes bytes(text.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = digit_value(text[2 * i]);
    const int low = digit_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return invalid("a hexadecimal string has another character");
    bytes[i] = static_cast<std::byte>(high * 16 + low);
  }
  return bytes;
}

std::optional<std::array<std::byte, 32>> digest_from_hex(std::string_view text) {
  const auto bytes = from_hex(text);
  std::array<std::byte, 32> digest;
  if (!bytes || bytes->size() != digest.size()) return std::nullopt;
  std::copy(bytes->begin(), bytes->end(), digest.begin());
  return digest;
}

}  // namespace pirx
