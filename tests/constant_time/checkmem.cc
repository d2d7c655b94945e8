// SPDX-License-Identifier: Apache-2.0
// The marks as requests to valgrind, or as calls of MemorySanitizer's runtime.
#include "checkmem.h"

#include <vector>

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define PIRX_MSAN 1
#endif
#endif

#ifdef PIRX_MSAN
#include <sanitizer/msan_interface.h>

namespace pirx::checkmem {

const char* tool() noexcept { return "MemorySanitizer"; }
void hide(const void* data, std::size_t size) noexcept { __msan_poison(data, size); }
void show(const void* data, std::size_t size) noexcept { __msan_unpoison(data, size); }
bool hidden(const void* data, std::size_t size) noexcept { return __msan_test_shadow(data, size) >= 0; }
bool reported(const std::function<void()>& run) {
  __msan_set_expect_umr(1);
  run();
  __msan_set_expect_umr(0);
  return true;
}

}  // namespace pirx::checkmem

#else
#include <valgrind/memcheck.h>

namespace pirx::checkmem {

const char* tool() noexcept { return RUNNING_ON_VALGRIND != 0 ? "memcheck" : ""; }
void hide(const void* data, std::size_t size) noexcept {
  static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(data, size));
}
void show(const void* data, std::size_t size) noexcept {
  static_cast<void>(VALGRIND_MAKE_MEM_DEFINED(data, size));
}
bool hidden(const void* data, std::size_t size) noexcept {
  std::vector<unsigned char> marks(size);
  static_cast<void>(VALGRIND_GET_VBITS(data, marks.data(), size));
  for (const auto mark : marks) {
    if (mark != 0) return true;
  }
  return false;
}
bool reported(const std::function<void()>& run) {
  const auto before = VALGRIND_COUNT_ERRORS;
  run();
  return VALGRIND_COUNT_ERRORS != before;
}

}  // namespace pirx::checkmem
#endif
