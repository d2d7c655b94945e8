// SPDX-License-Identifier: Apache-2.0
// Turns exceptions for lack of memory into errors, at the edge of the library.
#pragma once

#include <new>
#include <stdexcept>

#include "pirx/base/result.h"

namespace pirx {

/// What `work()` returns, a Result; ResourceExhausted with `message` when memory ran out in it, or a length
/// beyond what a container can hold was asked for. Every public function that allocates by the size of its
/// input runs in this. Other exceptions, which only a caller's callback can throw, pass.
template <class Work>
auto guarded(const Work& work,
             const char* message = "out of memory; give this process more, or use smaller records and limits")
    -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kResourceExhausted, message);
  } catch (const std::length_error&) {
    return fail(ErrorCode::kResourceExhausted, message);
  }
}

}  // namespace pirx
