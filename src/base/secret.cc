// SPDX-License-Identifier: Apache-2.0
// Allocates secrets on pages of their own, which core dumps leave out. Small blocks share pages. Some
// larger blocks are kept for reuse, because fresh pages cost ten times as much as wiping used ones.
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <mutex>
#include <utility>

#include "pirx/base/secret_memory.h"

namespace pirx {
namespace {

constexpr std::size_t kAlignment = 64;
// Blocks up to this size are cut from pages that they share, of which so many bytes are got at a time.
constexpr std::size_t kLargestShared = std::size_t{32} << 10;
constexpr std::size_t kAtATime = std::size_t{128} << 10;
// Freed blocks up to this size are kept for reuse: all that share pages, and at most kMostKept bytes of
// larger ones. Still larger ones have huge pages, which are cheap to get again.
constexpr std::size_t kLargestKept = std::size_t{4} << 20;
constexpr std::size_t kMostKept = std::size_t{16} << 20;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kFromHeap = true;  // so that the sanitizer sees accesses beyond a block
#elif defined(__has_feature)
constexpr bool kFromHeap = __has_feature(address_sanitizer);
#else
constexpr bool kFromHeap = false;
#endif

/// Blocks of a power of two lie at multiples of it, or of a page.
std::size_t block_size(std::size_t size) { return std::bit_ceil(std::max(size, kAlignment)); }

/// Pages from the kernel that are not dumped.
std::byte* get_pages(std::size_t size) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  // Advice: an old kernel may know neither.
  madvise(memory, size, MADV_DONTDUMP);
  if (size > kLargestKept) madvise(memory, size, MADV_HUGEPAGE);
  return static_cast<std::byte*>(memory);
}

/// All but the largest blocks, under the lock. Sizes are those of block_size. A pool of the standard library
/// would do, but that of gcc 12 crashes where pages are not to be had.
struct Shared {
  struct Free {
    Free* next;
  };
  std::mutex mutex;
  std::array<Free*, 64> free{};  ///< by the exponent of their size
  std::size_t kept_bytes = 0;    ///< of those that have pages of their own

  void* allocate(std::size_t size) {
    Free*& same = free[static_cast<std::size_t>(std::countr_zero(size))];
    if (same == nullptr) {
      if (size > kLargestShared) return get_pages(size);
      std::byte* const pages = get_pages(kAtATime);
      for (std::size_t at = 0; at < kAtATime; at += size) same = new (pages + at) Free{same};
    } else if (size > kLargestShared) {
      kept_bytes -= size;
    }
    return std::exchange(same, same->next);
  }
  void deallocate(void* memory, std::size_t size) noexcept {
    if (size > kLargestShared) {
      if (kept_bytes + size > kMostKept) {
        munmap(memory, size);
        return;
      }
      kept_bytes += size;
    }
    Free*& same = free[static_cast<std::size_t>(std::countr_zero(size))];
    same = new (memory) Free{same};
  }
};

/// Never destroyed: static objects may give memory back at the very end.
Shared& shared() {
  static Shared& all = *[] {
    // A child of fork has one thread only: no other may hold the lock then.
    pthread_atfork([] { shared().mutex.lock(); }, [] { shared().mutex.unlock(); },
                   [] { shared().mutex.unlock(); });
    return new Shared;
  }();
  return all;
}

}  // namespace

void secure_wipe(void* data, std::size_t size) noexcept {
  if (size != 0) explicit_bzero(data, size);  // nothing may be at address zero
}

void* secret_allocate(std::size_t size) {
  if constexpr (kFromHeap) return ::operator new(size, std::align_val_t(kAlignment));
  if (size > kLargestKept) return get_pages(size);
  const std::lock_guard lock(shared().mutex);
  return shared().allocate(block_size(size));
}

void secret_free(void* memory, std::size_t size) noexcept {
  secure_wipe(memory, size);
  if constexpr (kFromHeap) return ::operator delete(memory, std::align_val_t(kAlignment));
  if (size > kLargestKept) {
    munmap(memory, size);
    return;
  }
  const std::lock_guard lock(shared().mutex);
  shared().deallocate(memory, block_size(size));
}

}  // namespace pirx
