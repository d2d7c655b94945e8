// SPDX-License-Identifier: Apache-2.0
// PageBuffer: the bytes of a request, on pages of their own. The pages go back to the system when the
// request is done, and grow without a copy.
#pragma once

#include "pirx/base/bytes.h"

namespace pirx::http {

/// Each is one mapping of the process, or less where the kernel joins neighbours.
class PageBuffer {
 public:
  PageBuffer() = default;
  PageBuffer(PageBuffer&& other) noexcept;
  PageBuffer& operator=(PageBuffer&& other) noexcept;
  ~PageBuffer();
  /// Makes it `size` bytes, those that it has included. False, and nothing changed, without memory for it.
  bool grow(std::size_t size) noexcept;
  /// What a buffer of `size` bytes takes: whole pages.
  static std::size_t taken(std::size_t size) noexcept;

  std::byte* data() noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  operator ByteSpan() const noexcept { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace pirx::http
