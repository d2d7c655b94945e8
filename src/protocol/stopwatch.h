// SPDX-License-Identifier: Apache-2.0
// Clocks for the rates of this machine (Step::measure).
#pragma once

#include <functional>

namespace pirx {

/// The median seconds of f() by this thread's processor time. Runs f often enough to fill about `seconds`,
/// and at least once.
double cpu_seconds(const std::function<void()>& f, double seconds = 0.04);
/// The least seconds of f() by the wall clock, for work on several threads: other programs can only add to
/// it.
double wall_seconds(const std::function<void()>& f, double seconds = 0.04);

/// While an object lives, parallel loops that do not set a number of threads use one.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  [[maybe_unused]] int before_;
};

}  // namespace pirx
