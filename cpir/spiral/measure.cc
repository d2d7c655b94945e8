// SPDX-License-Identifier: Apache-2.0
// Measures the rates of Spiral with one profile of a database of some megabytes. The work of the server
// besides its pass is scaled by the protocol's own model, which counts it.
#include <algorithm>
#include <limits>

#include "cost.h"
#include "pirx/cpir/spiral/profile.h"

namespace pirx::cpir::spiral {

ModelSeconds model_seconds(const Params& params) {
  const CostModel model{.scan_bytes_per_second = std::numeric_limits<double>::infinity()};
  // As cpir/spiral/choose_params.cc has them: two products of digits, two transforms back.
  const double digit = 2 * model.transform + model.digit, back = 2 * model.transform;
  const double folds = static_cast<double>(params.polynomials()) *
                       (static_cast<double>(params.columns()) - 1) * static_cast<double>(params.d()) / 2048 *
                       (2 * params.fold().digits() * digit + 2 * back);
  return {server_seconds(params, model) - folds, folds};
}

Result<double> measure_steps(const RateId& id, RateTable& others) {
  constexpr std::uint64_t kRecords = 1 << 14, kRecordBytes = 256;
  PIRX_ASSIGN(const auto geometry, database::Geometry::create({.records = kRecords,
                                                               .record_bytes = kRecordBytes,
                                                               .records_per_row = 1,
                                                               .variable_length = false,
                                                               .digests = false}));
  PIRX_ASSIGN(const auto params, choose_params(geometry, {}));
  PIRX_ASSIGN(const auto found, profile(params, {.samples = 5, .measure_noise = false}));
  double transform = std::numeric_limits<double>::infinity();
  for (const auto& kernel : kernel_times()) transform = std::min(transform, kernel.inverse);
  const ModelSeconds model = model_seconds(params);
  const auto encoded = static_cast<double>(params.encoded_bytes()),
             polynomials = static_cast<double>(params.polynomials());
  // Both polynomials of a column's sum are transformed back, modulo two primes.
  const double column = 4 * transform, columns = static_cast<double>(params.columns()) * polynomials;
  const std::pair<const char*, double> rates[] = {
      {"spiral_expand", (found.expansion + found.conversion + found.packing) / model.expand},
      {"spiral_fold", found.folding / std::max(model.fold, 1e-9)},
      {"spiral_column", column},
      {"spiral_scan",
       std::max(found.first_dimension - columns * column, 0.1 * found.first_dimension) / encoded},
      {"spiral_encode", found.encode / encoded},
      {"spiral_query", found.query},
      {"spiral_decode", found.decode / polynomials}};
  for (const auto& [name, seconds] : rates) PIRX_TRY(others.set({name}, seconds));
  return others.seconds(id);
}

}  // namespace pirx::cpir::spiral
