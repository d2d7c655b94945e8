// SPDX-License-Identifier: Apache-2.0
// Memory that ends at an inaccessible page: a byte read or written behind it ends the test.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include "pirx/base/buffer.h"

namespace pirx::testing {

/// Memory whose last byte lies before an inaccessible page.
class Guarded {
 public:
  explicit Guarded(std::size_t capacity) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    usable_ = round_up(capacity + 1, page);
    mapped_ = usable_ + page;
    void* at = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    PIRX_CHECK(at != MAP_FAILED);
    base_ = static_cast<std::byte*>(at);
    PIRX_CHECK(mprotect(base_ + usable_, page, PROT_NONE) == 0);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(base_, mapped_); }
  /// The last `size` bytes before the inaccessible page, `slack` bytes earlier.
  std::byte* tail(std::size_t size, std::size_t slack) {
    PIRX_CHECK(size + slack <= usable_);
    return base_ + usable_ - slack - size;
  }
  MutableByteSpan all() { return {base_, usable_}; }

 private:
  std::byte* base_;
  std::size_t usable_;
  std::size_t mapped_;
};

}  // namespace pirx::testing
