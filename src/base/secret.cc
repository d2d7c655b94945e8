// SPDX-License-Identifier: Apache-2.0
// Allocates secrets on pages of their own, which core dumps leave out. Small blocks share pages. Some
// larger blocks are kept for reuse, because fresh pages cost ten times as much as wiping used ones.
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory_resource>
#include <mutex>
#include <vector>

#include "pirx/base/secret_memory.h"

namespace pirx {
namespace {

constexpr std::size_t kAlignment = 64;
// Larger blocks have pages of their own.
constexpr std::size_t kLargestShared = std::size_t{32} << 10;
// Freed pages of blocks up to this size are kept for reuse, at most kMostKept bytes of them. Larger blocks
// have huge pages, which are cheap to get again.
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
class Pages : public std::pmr::memory_resource {
  void* do_allocate(std::size_t size, std::size_t) override {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    // Advice: an old kernel may know neither.
    madvise(memory, size, MADV_DONTDUMP);
    if (size > kLargestKept) madvise(memory, size, MADV_HUGEPAGE);
    return memory;
  }
  void do_deallocate(void* memory, std::size_t size, std::size_t) override { munmap(memory, size); }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

/// All but the largest blocks, under the lock. Sizes are those of block_size.
struct Shared {
  std::mutex mutex;
  Pages pages;
  std::pmr::unsynchronized_pool_resource pool{{0, kLargestShared}, &pages};
  std::array<std::vector<void*>, 64> kept;  ///< by the exponent of their size
  std::size_t kept_bytes = 0;

  void* allocate(std::size_t size) {
    if (size <= kLargestShared) return pool.allocate(size, kAlignment);
    auto& same = kept[static_cast<std::size_t>(std::countr_zero(size))];
    if (same.empty()) {
      same.reserve(kMostKept / size);  // deallocate must not fail
      return pages.allocate(size);
    }
    void* memory = same.back();
    same.pop_back();
    kept_bytes -= size;
    return memory;
  }
  void deallocate(void* memory, std::size_t size) {
    if (size <= kLargestShared) return pool.deallocate(memory, size, kAlignment);
    if (kept_bytes + size > kMostKept) return pages.deallocate(memory, size);
    kept[static_cast<std::size_t>(std::countr_zero(size))].push_back(memory);
    kept_bytes += size;
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
  if (size > kLargestKept) return shared().pages.allocate(size);
  const std::lock_guard lock(shared().mutex);
  return shared().allocate(block_size(size));
}

void secret_free(void* memory, std::size_t size) noexcept {
  secure_wipe(memory, size);
  if constexpr (kFromHeap) return ::operator delete(memory, std::align_val_t(kAlignment));
  if (size > kLargestKept) return shared().pages.deallocate(memory, size);
  const std::lock_guard lock(shared().mutex);
  shared().deallocate(memory, block_size(size));
}

}  // namespace pirx
