// The clock of the benchmarks of paper 002, and what they do when something goes wrong.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>

#include "pirx/base/result.h"

namespace pirx::bench {

template <class T>
T need(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "error: %s\n", result.error().to_string().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}
inline void need(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "error: %s\n", what);
  std::exit(1);
}

/// Milliseconds that this process has computed: other programs on the machine do not count.
inline double cpu_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace pirx::bench
