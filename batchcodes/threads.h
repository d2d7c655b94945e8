// How many threads a caller's options stand for.
#pragma once

#ifdef _OPENMP
#include <omp.h>
#endif

#include "pirx/strassen/engine.h"

namespace pirx::batchcodes::detail {

inline int threads([[maybe_unused]] const strassen::ExecOptions& exec) noexcept {
#ifdef _OPENMP
  return exec.threads > 0 ? exec.threads : omp_get_max_threads();
#else
  return 1;
#endif
}

}  // namespace pirx::batchcodes::detail
