// Parallel loops over independent items of microseconds and more.
#pragma once

#include <cstddef>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace pirx::cpir::qr {

/// How many threads an option stands for: 0 means all.
inline int thread_count([[maybe_unused]] int asked) noexcept {
#ifdef _OPENMP
  return asked > 0 ? asked : omp_get_max_threads();
#else
  return 1;
#endif
}

/// f(0) .. f(count - 1) in any order.
template <class F>
void parallel_for([[maybe_unused]] int threads, std::size_t count, const F& f) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (std::size_t i = 0; i < count; ++i) f(i);
}

}  // namespace pirx::cpir::qr
