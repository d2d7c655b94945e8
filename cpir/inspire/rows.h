// SPDX-License-Identifier: Apache-2.0
// d polynomials in one piece of memory, with one more place to write to: a transform over them writes a row
// into the free place and frees the row's own, so that nothing is copied back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace pirx::cpir::inspire {

/// What rows are in: words(d) words, and d + 1 numbers. Both outlive the rows.
struct RowMemory {
  std::byte* words;
  std::span<std::uint16_t> order;
};

/// d rows of d words of 32 bits, in any order in memory. Does not own the words.
template <class T>
class Rows {
  static_assert(sizeof(T) == 4);

 public:
  /// Words from one row to the next: the same place of many rows is not to fall into one set of the cache.
  static constexpr std::size_t stride(std::size_t d) noexcept { return d + 16; }
  static constexpr std::size_t words(std::size_t d) noexcept { return (d + 1) * stride(d); }

  Rows(const RowMemory& memory) noexcept  // NOLINT: memory is rows
      : words_(reinterpret_cast<T*>(memory.words)), order_(memory.order) {
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<std::uint16_t>(i);
  }
  std::size_t d() const noexcept { return order_.size() - 1; }
  T* operator[](std::size_t i) const noexcept { return words_ + order_[i] * stride(d()); }
  /// The free place.
  T* spare() const noexcept { return (*this)[d()]; }
  /// Row i is now where the free place was, which is where row i was.
  void take_spare(std::size_t i) const noexcept { std::swap(order_[i], order_[d()]); }

 private:
  T* words_;
  std::span<std::uint16_t> order_;
};

}  // namespace pirx::cpir::inspire
