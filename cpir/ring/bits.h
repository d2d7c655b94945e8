// SPDX-License-Identifier: Apache-2.0
// Runs of small numbers in messages: n bits each, one after the other, the lowest bit first.
#pragma once

#include "pirx/base/bytes.h"

namespace pirx::cpir {

/// The most bits of a number.
inline constexpr unsigned kMostBits = 56;

/// The bytes of a run of `count` numbers.
constexpr std::uint64_t run_bytes(std::uint64_t count, unsigned bits) noexcept {
  return (count * bits + 7) / 8;
}

/// Writes numbers of at most kMostBits bits. On input a number is below 2^bits. What the span has no room
/// for is dropped. Addresses and branches depend on lengths only.
class BitWriter {
 public:
  explicit BitWriter(MutableByteSpan out) : out_(out) {}
  void put(std::uint64_t value, unsigned bits) noexcept {
    held_ |= value << count_;
    for (count_ += bits; count_ >= 8; count_ -= 8, held_ >>= 8) {
      if (at_ < out_.size()) out_[at_++] = static_cast<std::byte>(held_ & 0xff);
    }
  }
  /// Writes the last bits, and zeros.
  void finish() noexcept {
    while (at_ < out_.size()) {
      out_[at_++] = static_cast<std::byte>(held_ & 0xff);
      held_ >>= 8;
    }
  }

 private:
  MutableByteSpan out_;
  std::size_t at_ = 0;
  std::uint64_t held_ = 0;
  unsigned count_ = 0;
};

/// Reads them.
class BitReader {
 public:
  explicit BitReader(ByteSpan in) : in_(in) {}
  /// Reads the next number; zeros after the end.
  std::uint64_t get(unsigned bits) noexcept {
    for (; count_ < bits; count_ += 8) {
      const auto byte = at_ < in_.size() ? std::to_integer<std::uint64_t>(in_[at_]) : 0;
      ++at_;
      held_ |= byte << count_;
    }
    const std::uint64_t value = held_ & ((std::uint64_t{1} << bits) - 1);
    held_ >>= bits;
    count_ -= bits;
    return value;
  }

 private:
  ByteSpan in_;
  std::size_t at_ = 0;
  std::uint64_t held_ = 0;
  unsigned count_ = 0;
};

}  // namespace pirx::cpir
