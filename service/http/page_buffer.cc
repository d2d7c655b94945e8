// SPDX-License-Identifier: Apache-2.0
// Implements PageBuffer with calloc, mmap and mremap.
#include "page_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "pirx/base/buffer.h"

namespace pirx::http {
namespace {

constexpr std::size_t kOnHeap = 4 * 1024, kSmall = 64 * 1024, kMostKept = 64;

/// Mappings of kSmall bytes, all zero.
class Kept {
 public:
  Kept() { free_.reserve(kMostKept); }
  std::byte* take() noexcept {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return nullptr;
    std::byte* const one = free_.back();
    free_.pop_back();
    return one;
  }
  bool give(std::byte* one) noexcept {
    const std::lock_guard lock(mutex_);
    if (free_.size() == kMostKept) return false;
    free_.push_back(one);
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<std::byte*> free_;
};

Kept& kept() {
  static Kept all;
  return all;
}

}  // namespace

PageBuffer::PageBuffer(PageBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

PageBuffer& PageBuffer::operator=(PageBuffer&& other) noexcept {
  PageBuffer old(std::move(other));
  std::swap(data_, old.data_);
  std::swap(size_, old.size_);
  return *this;
}

PageBuffer::~PageBuffer() {
  const std::size_t bytes = taken(size_);
  if (bytes <= kOnHeap) {
    std::free(data_);
    return;
  }
  if (bytes == kSmall) {
    std::fill_n(data_, size_, std::byte{0});
    if (kept().give(data_)) return;
  }
  munmap(data_, bytes);
}

bool PageBuffer::grow(std::size_t size) noexcept {
  const std::size_t now = taken(size_), then = taken(size);
  if (then > now) {
    void* memory = nullptr;
    if (now > kOnHeap) {
      memory = mremap(data_, now, then, MREMAP_MAYMOVE);
    } else if (then <= kOnHeap) {
      memory = std::calloc(1, then);
    } else {
      if (then == kSmall) memory = kept().take();
      if (memory == nullptr) {
        memory = mmap(nullptr, then, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      }
    }
    if (memory == nullptr || memory == MAP_FAILED) return false;
    if (now > 0 && now <= kOnHeap) {
      std::copy_n(data_, size_, static_cast<std::byte*>(memory));
      std::free(data_);
    }
    data_ = static_cast<std::byte*>(memory);
  }
  size_ = size;
  return true;
}

std::size_t PageBuffer::taken(std::size_t size) noexcept {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (size <= kOnHeap) return size == 0 ? 0 : kOnHeap;
  return std::max(kSmall, round_up(size, page));
}

}  // namespace pirx::http
