// SPDX-License-Identifier: Apache-2.0
// Repeats work until its time is known, and keeps parallel loops on one thread meanwhile.
#include "src/protocol/stopwatch.h"

#include <time.h>

#include <algorithm>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace pirx {
namespace {

constexpr std::size_t kMostRuns = 1001, kFewestRuns = 3;

double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::vector<double> all_seconds(const std::function<void()>& f, double seconds, clockid_t clock) {
  // Short ones are timed several at a time.
  constexpr double kShortest = 2e-5;
  f();
  std::size_t together = 1;
  std::vector<double> times;
  const double start = now(CLOCK_MONOTONIC);
  for (;;) {
    const double begin = now(clock);
    for (std::size_t i = 0; i < together; ++i) f();
    const double took = now(clock) - begin;
    if (times.empty() && took < kShortest && together < (std::size_t{1} << 24)) {
      together *= 2;
      continue;
    }
    times.push_back(std::max(took, 1e-9) / static_cast<double>(together));
    const double spent = now(CLOCK_MONOTONIC) - start;
    if (times.size() >= kMostRuns) break;
    if (spent > seconds && (times.size() >= kFewestRuns || spent > 5 * seconds)) break;
  }
  return times;
}

double median(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

double cpu_seconds(const std::function<void()>& f, double seconds) {
  return median(all_seconds(f, seconds, CLOCK_THREAD_CPUTIME_ID));
}
double wall_seconds(const std::function<void()>& f, double seconds) {
  const auto times = all_seconds(f, seconds, CLOCK_MONOTONIC);
  return *std::min_element(times.begin(), times.end());
}

#ifdef _OPENMP
OneThread::OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
OneThread::~OneThread() { omp_set_num_threads(before_); }
#else
OneThread::OneThread() : before_(1) {}
OneThread::~OneThread() = default;
#endif

}  // namespace pirx
