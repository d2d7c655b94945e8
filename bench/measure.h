// SPDX-License-Identifier: Apache-2.0
// What benchmarks use beside the loop of Google Benchmark: clocks, objects that they share, and a switch that
// spoils an answer, by which a test sees that benchmarks notice.
#pragma once

#include <time.h>

#include <chrono>
#include <memory>

#include "bench/gbench.h"
#include "pirx/base/bytes.h"

namespace pirx::bench {

inline void need(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

namespace detail {
inline std::string shared_name;
inline std::shared_ptr<void> shared_object;
}  // namespace detail

/// Seconds of wall-clock time.
inline double wall_clock() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
/// Seconds of processor time that this process has used, all threads together.
inline double processor_clock() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Seconds that run() takes, once.
template <class Run>
double seconds_of(const Run& run, double (*clock)() = wall_clock) {
  const double start = clock();
  run();
  return clock() - start;
}
/// The loop of a benchmark. Returns the seconds of one iteration, for counters.
template <class Run>
double loop(benchmark::State& state, const Run& run) {
  const auto all = [&] {
    for (auto _ : state) run();
  };
  return seconds_of(all) / static_cast<double>(state.iterations());
}
/// The loop of a benchmark with UseManualTime(). Counts the time of run() by `clock`, times `scale`: of the
/// processor, so that other programs on the machine do not count, if nothing else is asked for. Calls
/// before() ahead of each run, uncounted. Returns the seconds of one iteration.
template <class Before, class Run>
double processor_loop(benchmark::State& state, const Before& before, const Run& run, double scale = 1,
                      double (*clock)() = processor_clock) {
  double total = 0;
  for (auto _ : state) {
    before();
    const double seconds = seconds_of(run, clock) * scale;
    state.SetIterationTime(seconds);
    total += seconds;
  }
  return total / static_cast<double>(state.iterations());
}

/// What the benchmarks of one name share: made when it is first asked for, gone when another is, as large
/// ones do not fit into memory beside each other.
template <class T, class... Arguments>
T& shared(const std::string& name, const Arguments&... arguments) {
  if (detail::shared_name != name) {
    detail::shared_object.reset();
    detail::shared_object = std::make_shared<T>(arguments...);
    detail::shared_name = name;
  }
  return *static_cast<T*>(detail::shared_object.get());
}

/// Call this between the work and the check. With PIRX_BENCH_SPOIL in the environment it changes every byte
/// of the answer, so that a test sees the check fail.
inline void spoil(MutableByteSpan answer) {
  static const bool wanted = std::getenv("PIRX_BENCH_SPOIL") != nullptr;
  if (!wanted) return;
  for (auto& byte : answer) byte ^= std::byte{1};
}

}  // namespace pirx::bench
