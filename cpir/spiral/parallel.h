// Parallel loops whose items use memory of their thread.
#pragma once

#include "cpir/qr/parallel.h"

namespace pirx::cpir::spiral {

using qr::thread_count;

/// f(i, worker) for i < count in any order; two calls at once never have the same worker < threads.
template <class F>
void parallel_for([[maybe_unused]] int threads, std::size_t count, const F& f) {
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) if (count > 1 && threads > 1)
  for (std::size_t i = 0; i < count; ++i) f(i, static_cast<std::size_t>(omp_get_thread_num()));
#else
  for (std::size_t i = 0; i < count; ++i) f(i, std::size_t{0});
#endif
}

}  // namespace pirx::cpir::spiral
