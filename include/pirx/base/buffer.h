// SPDX-License-Identifier: Apache-2.0
// Aligned memory for matrices: 64-byte aligned, zeroed, from huge pages when large and the system allows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "pirx/base/bytes.h"

namespace pirx {

/// a * b, or nothing when it overflows 64 bits.
constexpr std::optional<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}
/// a + b, or nothing when it overflows 64 bits.
constexpr std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}
/// a * b and a + b, or the largest number of 64 bits when they overflow.
constexpr std::uint64_t saturated_mul(std::uint64_t a, std::uint64_t b) noexcept {
  return checked_mul(a, b).value_or(~std::uint64_t{0});
}
constexpr std::uint64_t saturated_add(std::uint64_t a, std::uint64_t b) noexcept {
  return checked_add(a, b).value_or(~std::uint64_t{0});
}
/// a / b, rounded up. On input b is not zero.
constexpr std::uint64_t div_up(std::uint64_t a, std::uint64_t b) noexcept { return a / b + (a % b != 0); }
/// The smallest multiple of `unit` that is at least `value`. On input `unit` is not zero, and the result fits
/// 64 bits.
constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

/// Owns `size` bytes at a 64-byte boundary, zero at first, which core dumps leave out. A buffer below 4 MiB
/// is wiped when it is freed. A larger one has pages of its own, which go back to the kernel; the kernel is
/// asked to make them huge (madvise).
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  /// ResourceExhausted: there is no such memory.
  static Result<AlignedBuffer> create(std::uint64_t size);
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  ~AlignedBuffer();
  std::byte* data() noexcept { return data_; }
  const std::byte* data() const noexcept { return data_; }
  std::uint64_t size() const noexcept { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
};

/// Why the large buffers of this process do not lie in huge pages, and what to do, as one line for people.
/// Without huge pages the engine loses about a third of its speed. Empty if they do, or if the system does
/// not tell.
std::string huge_page_note();
/// The same, from the texts of /sys/kernel/mm/transparent_hugepage/enabled and /proc/self/smaps_rollup.
std::string huge_page_note(std::string_view enabled, std::string_view usage);

}  // namespace pirx
