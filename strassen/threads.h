// OpenMP's two questions, with an answer where there is no OpenMP.
#pragma once

#ifdef _OPENMP
#include <omp.h>
#endif

#include <cstddef>

namespace pirx::strassen {

inline int available_threads() noexcept {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

inline std::size_t this_thread() noexcept {
#ifdef _OPENMP
  return static_cast<std::size_t>(omp_get_thread_num());
#else
  return 0;
#endif
}

}  // namespace pirx::strassen
