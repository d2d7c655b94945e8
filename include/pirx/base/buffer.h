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
constexpr std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}
/// The smallest multiple of `unit` (not zero) that is at least `value`. The caller keeps clear of overflow.
constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

/// Owns `size` zeroed bytes at a 64-byte boundary, left out of core dumps. Below 4 MiB they are wiped when
/// freed; from there on they are pages that go back to the kernel, which it is asked to make huge (madvise).
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  /// ResourceExhausted when the memory is not to be had.
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

/// One line for people when large buffers of this process do not lie in huge pages, which costs the engine
/// about a third of its speed: why, and what to do. Empty when they do, or when the system does not tell.
std::string huge_page_note();
/// The same from the texts of /sys/kernel/mm/transparent_hugepage/enabled and /proc/self/smaps_rollup.
std::string huge_page_note(std::string_view enabled, std::string_view usage);

}  // namespace pirx
