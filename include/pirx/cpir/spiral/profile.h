// SPDX-License-Identifier: Apache-2.0
// Measures Spiral stage by stage: the times of server and client, and the error after every stage, to compare
// with the model. For the planner's rates, benchmarks and studies of parameters: one program holds the
// secrets of both halves.
#pragma once

#include <vector>

#include "pirx/cpir/spiral/common.h"

namespace pirx::cpir::spiral {

struct ProfileOptions {
  int threads = 1;
  bool wall = false;          ///< measure by the wall clock even with one thread
  unsigned samples = 3;       ///< runs of each stage of the server; medians are reported
  unsigned queries = 1;       ///< in one pass over the database
  bool two_products = false;  ///< fold as in the paper, whatever the plan does
  bool measure_noise = true;
  /// the value of every byte of the database; random bytes if not set
  std::optional<unsigned> constant_data = {};
};

struct Profile {
  // Seconds, of CPU time if there is one thread. The server's times are for all queries together.
  double encode = 0, keys = 0, hold_keys = 0, query = 0, decode = 0;
  double expansion = 0, conversion = 0, first_dimension = 0, folding = 0, packing = 0, total = 0;
  /// Measured variances, and the deviation of the decoded values. Other fields are zero.
  Noise noise;
  double wrong = 0;  ///< the share of coefficients that were decoded wrongly
};

/// Runs whole queries in memory, on items that it makes up. ResourceExhausted: no memory. Unavailable: the
/// operating system gives no randomness.
Result<Profile> profile(const Params& params, const ProfileOptions& options);

/// The seconds of a transform of dimension 2048 modulo one prime, in the cache: the best of many runs, for
/// every kernel that may be used.
struct KernelTime {
  const char* kernel;
  double forward, inverse;
};
std::vector<KernelTime> kernel_times();

}  // namespace pirx::cpir::spiral
