// SPDX-License-Identifier: Apache-2.0
// The form of polynomials and small numbers in messages.
#pragma once

#include "pirx/base/bytes.h"
#include "ring.h"

namespace pirx::cpir::spiral {

/// Writes 7 bytes for each slot, little-endian: the residue modulo q1 in bits 0 to 27, the residue modulo q2
/// from bit 28 on.
inline void put_slots(const Ring& ring, const std::uint32_t* slots, std::byte* out) noexcept {
  for (std::size_t i = 0; i < ring.d(); ++i) {
    const std::uint64_t word = slots[i] | std::uint64_t{slots[ring.d() + i]} << 28;
    std::memcpy(out + 7 * i, &word, 7);
  }
}
/// Reads them. False if a residue is not below its prime.
inline bool get_slots(const Ring& ring, const std::byte* in, std::uint32_t* slots) noexcept {
  bool good = true;
  for (std::size_t i = 0; i < ring.d(); ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, in + 7 * i, 7);
    slots[i] = static_cast<std::uint32_t>(word & 0xfffffff);
    slots[ring.d() + i] = static_cast<std::uint32_t>(word >> 28);
    good &= slots[i] < kPrimes[0] && slots[ring.d() + i] < kPrimes[1];
  }
  return good;
}

/// Writes numbers of `bits` <= 32 bits one after the other, the lowest bit first. What does not fit is
/// dropped. Addresses and branches depend on lengths only.
class BitWriter {
 public:
  explicit BitWriter(MutableByteSpan out) : out_(out) {}
  void put(std::uint32_t value, unsigned bits) noexcept {
    held_ |= std::uint64_t{value} << count_;
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
class BitReader {
 public:
  explicit BitReader(ByteSpan in) : in_(in) {}
  /// Reads the next number; zeros after the end.
  std::uint32_t get(unsigned bits) noexcept {
    for (; count_ < bits; count_ += 8) {
      const auto byte = at_ < in_.size() ? std::to_integer<std::uint64_t>(in_[at_]) : 0;
      ++at_;
      held_ |= byte << count_;
    }
    const auto value = static_cast<std::uint32_t>(held_ & ((std::uint64_t{1} << bits) - 1));
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

}  // namespace pirx::cpir::spiral
