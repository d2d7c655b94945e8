// SPDX-License-Identifier: Apache-2.0
// The cost model, and the search for the cheapest secure plan.

#include "cpir/ring/ring.h"
#include "noise.h"
#include "pirx/cpir/spiral/common.h"

namespace pirx::cpir::spiral {

double server_seconds(const Params& params, const CostModel& model) {
  const auto& scheme = params.scheme();
  const double scale = static_cast<double>(params.d()) / 2048;
  // Digits are taken once for both primes, transformed for each.
  const double digit = scale * (2 * model.transform + model.digit), back = scale * 2 * model.transform;
  const double fold = params.fold().digits(), conversion = params.conversion().digits();
  const double bits = fold * scheme.log_columns, rows = static_cast<double>(params.rows());
  const double results = static_cast<double>(params.polynomials()),
               columns = static_cast<double>(params.columns());
  const double expansion =
      rows * (params.left().digits() * digit + back) + bits * (params.right().digits() * digit + back);
  const double convert = bits * (2 * conversion * digit + 2 * back);
  const double folds = results * (columns - 1) * (2 * fold * digit + 2 * back);
  const double packing = scheme.pack > 1 ? results * (conversion * digit + back) : 0;
  return expansion + convert + folds + packing +
         static_cast<double>(params.encoded_bytes()) / model.scan_bytes_per_second;
}

Result<Params> choose_params(const database::Geometry& geometry, const database::Version& version,
                             const Limits& limits, const CostModel& model) {
  using Specs = std::vector<Gadget::Spec>;
  const Specs folds = limits.fold ? Specs{*limits.fold}
                                  : Specs{{.z = 4096, .drop = 2, .bits = 8},
                                          {.z = 512, .drop = 3, .bits = 2},
                                          {.z = 256, .drop = 3},
                                          {.z = 128, .drop = 3},
                                          {.z = 256}};
  const Specs lefts =
      limits.expansion ? Specs{*limits.expansion} : Specs{{.z = 256}, {.z = 128}, {.z = 64}, {.z = 32},
                                                          {.z = 16},  {.z = 8},   {.z = 4},  {.z = 3}};
  const Specs rights =
      limits.expansion ? Specs{*limits.expansion} : Specs{{.z = 32}, {.z = 16}, {.z = 7}, {.z = 3}};
  std::optional<Params> best;
  double best_time = 0;
  for (unsigned log_p = 8; log_p <= 15; ++log_p) {
    for (unsigned pack = 1; pack <= 6; ++pack) {
      const double item_bits = 2048.0 * pack * pack * log_p;
      // Packing is for records that fill what is packed.
      if (pack > 1 &&
          8.0 * static_cast<double>((geometry.keyed() ? geometry.row_bytes() : geometry.slot_bytes())) * 2 <
              item_bits)
        break;
      for (unsigned log_columns = 0; log_columns <= 12; ++log_columns) {
        for (const auto& fold : folds) {
          for (const auto& left : lefts) {
            for (const auto& right : rights) {
              Scheme scheme{.log_p = log_p,
                            .pack = pack,
                            .log_q2 = 28,
                            .log_columns = log_columns,
                            .fold = fold,
                            .left = left,
                            .right = right};
              auto params = Params::create({geometry, version, scheme});
              if (!params) continue;
              const double time = server_seconds(*params, model);
              if (best && time >= best_time) continue;
              // As few bits in the reply as the failure bound leaves.
              while (scheme.log_q2 > 14) {
                --scheme.log_q2;
                auto shorter = Params::create({geometry, version, scheme});
                if (!shorter) break;
                params = std::move(shorter);
              }
              if (params->keys_bytes() > limits.keys_bytes ||
                  params->request_bytes() + params->reply_bytes() > limits.message_bytes) {
                continue;
              }
              best = std::move(*params);
              best_time = time;
            }
          }
        }
      }
    }
  }
  if (!best) {
    return invalid(
        "no plan keeps the failure bound and the limits for this database: it is too large, or the "
        "limits are too small");
  }
  return *best;
}

}  // namespace pirx::cpir::spiral
