// SPDX-License-Identifier: Apache-2.0
// What keeps compilers from making branches of masks.
#pragma once

#include <cstdint>

namespace pirx {

/// The same number, but the compiler must forget what it knows of it. Of a mask that it knows to be all ones
/// or 0 it may make a branch.
inline std::uint64_t opaque(std::uint64_t number) noexcept {
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
  volatile std::uint64_t kept = number;  // assembly would end the marks of tests/constant_time
  return kept;
#endif
#endif
  __asm__("" : "+r"(number));
  return number;
}

}  // namespace pirx
