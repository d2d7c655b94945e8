// SPDX-License-Identifier: Apache-2.0
// PageBuffer: the bytes of a request, on pages of their own, which grow without a copy. When the request is
// done, the pages go back to the system, but for a few of small requests.
#pragma once

#include "pirx/base/bytes.h"

namespace pirx::http {

/// Each is one mapping of the process, or less where the kernel joins neighbours. Up to 64 KiB the first one
/// fits. 64 of these stay for the next requests, zeroed: whenever a mapping changes, the kernel interrupts
/// every processor that this process runs on, and the engine with it.
class PageBuffer {
 public:
  PageBuffer() = default;
  PageBuffer(PageBuffer&& other) noexcept;
  PageBuffer& operator=(PageBuffer&& other) noexcept;
  ~PageBuffer();
  /// Makes it `size` bytes, those that it has included. False, and nothing changed, without memory for it.
  bool grow(std::size_t size) noexcept;
  /// The pages that `size` bytes touch, in bytes.
  static std::size_t taken(std::size_t size) noexcept;

  std::byte* data() noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  operator ByteSpan() const noexcept { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace pirx::http
