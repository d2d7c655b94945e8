// SPDX-License-Identifier: Apache-2.0
// The number of threads of a parallel loop, also in builds without OpenMP.
#pragma once

#include <cstddef>

#include "src/base/time_limit.h"

#ifdef _OPENMP
#include <omp.h>

#include "src/base/process.h"
#endif

namespace pirx {

/// What an option of threads stands for: 0 means as many as OpenMP gives the caller. One in a child of fork:
/// it has none of the threads that OpenMP made for its parent, and a loop would wait for them for ever.
inline int thread_count([[maybe_unused]] int asked = 0) noexcept {
#ifdef _OPENMP
  static const auto first_user = process_token();
  if (process_token() != first_user) return 1;
  return asked > 0 ? asked : omp_get_max_threads();
#else
  return 1;
#endif
}

/// Inside a parallel region: the number of this thread, below the number of threads.
inline std::size_t this_thread() noexcept {
#ifdef _OPENMP
  return static_cast<std::size_t>(omp_get_thread_num());
#else
  return 0;
#endif
}

/// Calls f(i, worker) for every i < count, in any order. worker is below `threads`; two calls at the same
/// time have different ones. One thread in a child of fork, as by thread_count(). When the thread's TimeLimit
/// is over, f is not called any more.
template <class F>
void parallel_for([[maybe_unused]] int threads, std::size_t count, const F& f) {
  TimeLimit* const limit = TimeLimit::current();
#pragma omp parallel for num_threads(thread_count(threads)) schedule(dynamic, 1) if (count > 1 && threads > 1)
  for (std::size_t i = 0; i < count; ++i) {
    if (!over(limit)) f(i, this_thread());
  }
}

}  // namespace pirx
