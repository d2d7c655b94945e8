// Measures Spiral stage by stage: times of the server and the client, and the error at every stage beside the
// model. For benchmarks and studies of parameters: it holds both halves' secrets.
#pragma once

#include <vector>

#include "pirx/cpir/spiral/common.h"

namespace pirx::cpir::spiral {

struct ProfileOptions {
  int threads = 1;
  bool wall = false;          ///< times by the clock on the wall for one thread, too
  unsigned samples = 3;       ///< of the server's stages; medians are given
  unsigned queries = 1;       ///< in one pass over the database
  bool two_products = false;  ///< fold as in the paper instead of as the plan does
  bool measure_noise = true;
  std::optional<unsigned> constant_data = {};  ///< every byte of the database; random ones without
};

struct Profile {
  // Seconds, of the CPU when there is one thread. The server's are for all queries together.
  double encode = 0, keys = 0, hold_keys = 0, query = 0, decode = 0;
  double expansion = 0, conversion = 0, first_dimension = 0, folding = 0, packing = 0, total = 0;
  /// Measured variances and the deviation of the decoded values; other fields are zero.
  Noise noise;
  double wrong = 0;  ///< share of the coefficients that were decoded wrongly
};

/// Runs whole queries on items that it makes up, in memory. ResourceExhausted, Unavailable.
Result<Profile> profile(const Params& params, const ProfileOptions& options);

/// Seconds of a transform of dimension 2048 modulo one prime, in cache: the best of many, for every kernel
/// that may be used.
struct KernelTime {
  const char* kernel;
  double forward, inverse;
};
std::vector<KernelTime> kernel_times();

}  // namespace pirx::cpir::spiral
