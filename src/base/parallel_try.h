// SPDX-License-Identifier: Apache-2.0
// Parallel loops over work that can fail.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>

#include "src/base/guarded.h"
#include "src/base/threads.h"

namespace pirx {

/// As parallel_for, for an f that returns a Result<void>. The first error; after it, f is not called any
/// more. Memory that runs out in f does not leave its thread: ResourceExhausted. Unavailable: the thread's
/// TimeLimit is over.
template <class F>
Result<void> parallel_try(int threads, std::size_t count, const F& f) {
  std::atomic<bool> failed = false;
  std::mutex mutex;
  std::optional<Error> error;
  parallel_for(threads, count, [&](std::size_t i, std::size_t worker) {
    if (failed) return;
    try {
      Result<void> done = f(i, worker);
      if (done) return;
      const std::lock_guard lock(mutex);
      if (!error) error = std::move(done.error());
    } catch (const std::bad_alloc&) {  // without words, for which there may be no memory either
    } catch (const std::length_error&) {
    }
    failed = true;
  });
  if (error) return tl::unexpected(*std::move(error));
  if (failed) return fail(ErrorCode::kResourceExhausted, "out of memory");
  const TimeLimit* const limit = TimeLimit::current();
  if (limit != nullptr && limit->reached()) return fail(ErrorCode::kUnavailable, "stopped: it took too long");
  return {};
}

}  // namespace pirx
