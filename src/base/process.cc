// SPDX-License-Identifier: Apache-2.0
// Keeps the process's number on a page that the kernel empties in a child (MADV_WIPEONFORK), also after a
// raw clone(). On kernels before 4.14, which have no such pages, a fork handler empties it.
#include "process.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <new>

#include "pirx/base/result.h"

namespace pirx {
namespace {

using Token = std::atomic<std::uint64_t>;
static_assert(Token::is_always_lock_free);

Token& token() {
  static Token& one = *[] {
    void* page = mmap(nullptr, sizeof(Token), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    PIRX_CHECK(page != MAP_FAILED);
    if (madvise(page, sizeof(Token), MADV_WIPEONFORK) != 0) {
      PIRX_CHECK(pthread_atfork(nullptr, nullptr, [] { token().store(0); }) == 0);
    }
    return new (page) Token;
  }();
  return one;
}

}  // namespace

std::uint64_t process_token() noexcept {
  auto value = token().load();
  while (value == 0) {
    std::uint64_t fresh = 0;
    PIRX_CHECK(getentropy(&fresh, sizeof fresh) == 0);
    if (token().compare_exchange_strong(value, fresh)) value = fresh;
  }
  return value;
}

}  // namespace pirx
