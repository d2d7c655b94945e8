// SPDX-License-Identifier: Apache-2.0
// Implements PageBuffer with mmap, mremap and munmap.
#include "page_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "pirx/base/buffer.h"

namespace pirx::http {

PageBuffer::PageBuffer(PageBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

PageBuffer& PageBuffer::operator=(PageBuffer&& other) noexcept {
  PageBuffer old(std::move(other));
  std::swap(data_, old.data_);
  std::swap(size_, old.size_);
  return *this;
}

PageBuffer::~PageBuffer() {
  if (data_ != nullptr) munmap(data_, taken(size_));
}

bool PageBuffer::grow(std::size_t size) noexcept {
  if (taken(size) > taken(size_)) {
    void* const memory = data_ == nullptr ? mmap(nullptr, taken(size), PROT_READ | PROT_WRITE,
                                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                          : mremap(data_, taken(size_), taken(size), MREMAP_MAYMOVE);
    if (memory == MAP_FAILED) return false;
    data_ = static_cast<std::byte*>(memory);
  }
  size_ = size;
  return true;
}

std::size_t PageBuffer::taken(std::size_t size) noexcept {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return round_up(size, page);
}

}  // namespace pirx::http
