// SPDX-License-Identifier: Apache-2.0
// PageBuffer: the bytes of a request, which grow without a copy from 64 KiB on. When the request is done,
// they go back to the system, but for a few of small requests.
#pragma once

#include "pirx/base/bytes.h"

namespace pirx::http {

/// Up to 4 KiB lie on the heap; more is one mapping of the process, of 64 KiB or more. 64 mappings of 64 KiB
/// stay for the next requests, zeroed: whenever a mapping changes, the kernel interrupts every processor that
/// this process runs on, and the engine with it.
class PageBuffer {
 public:
  PageBuffer() = default;
  PageBuffer(PageBuffer&& other) noexcept;
  PageBuffer& operator=(PageBuffer&& other) noexcept;
  ~PageBuffer();
  /// Makes it `size` bytes, those that it has included. False, and nothing changed, without memory for it.
  bool grow(std::size_t size) noexcept;
  /// What a buffer of `size` bytes may take of memory, in bytes: a mapping that was kept has all its pages.
  static std::size_t taken(std::size_t size) noexcept;

  std::byte* data() noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  operator ByteSpan() const noexcept { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace pirx::http
