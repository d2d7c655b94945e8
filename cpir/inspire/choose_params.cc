// SPDX-License-Identifier: Apache-2.0
// The search for the number of rows (specification, section 6.2).
#include <cmath>

#include "noise.h"
#include "pirx/cpir/inspire/common.h"

namespace pirx::cpir::inspire {
namespace {

/// For Goal::kTime the matrices H are at most a tenth of the data, whatever that costs in bytes.
constexpr double kMostPacking = 0.1, kDearly = 1e9;

/// Bytes of query and reply, and what the goal adds.
double cost_of(const Params& params, Goal goal) {
  const auto& set = params.set();
  const auto bytes = static_cast<double>(params.spec().layout.rows_each) *
                     static_cast<double>(params.request_bytes() + params.reply_bytes());
  if (goal == Goal::kBytes) return bytes;
  const double packing = static_cast<double>(set.l * set.d() * set.packing_bytes) /
                         (static_cast<double>(params.rows()) * set.word_bytes());
  return bytes + kDearly * std::max(0.0, packing - kMostPacking);
}

}  // namespace

Result<Params> choose_params(const database::Geometry& geometry, const database::Version& version,
                             std::optional<Set> set, Goal goal) {
  std::optional<Params> best;
  const auto consider = [&](const Set& with, const Layout& layout) {
    for (const unsigned tr : {with.w + 3, with.w + 4}) {
      Params::Spec spec{.geometry = geometry,
                        .version = version,
                        .set = with,
                        .layout = layout,
                        .t = with.most_t(),
                        .tr = tr};
      const auto widest = Params::create(spec);
      if (!widest) continue;
      spec.t = *least_t(with, widest->rows(), widest->columns(), tr);  // there is one: most_t() was enough
      auto params = Params::create(std::move(spec));
      if (params && (!best || cost_of(*params, goal) < cost_of(*best, goal))) best = std::move(*params);
    }
  };
  const std::uint64_t units = geometry.keyed() ? geometry.rows() : geometry.records();
  const std::uint64_t bytes = geometry.keyed() ? geometry.row_bytes() : geometry.slot_bytes();
  for (const auto& with : {kS8, kS16}) {
    if (set && *set != with) continue;
    if (bytes > Params::kMostRowBytes) {
      // More rows for a record only add queries.
      consider(with, {.per_row = 1, .rows_each = div_up(bytes, Params::kMostRowBytes)});
      continue;
    }
    for (int quarters = 0; quarters <= 4 * 17; ++quarters) {
      const double rows = std::round(std::exp2(quarters / 4.0));
      const double near = std::round(static_cast<double>(units) / rows);
      if (near * static_cast<double>(bytes) > static_cast<double>(Params::kMostRowBytes)) continue;
      const auto per_row = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(near));
      // A word that is partly free may have room for more.
      const std::uint64_t row = round_up(per_row * bytes, with.word_bytes());
      consider(with, {.per_row = std::min(row / bytes, units), .rows_each = 1});
    }
  }
  if (!best) {
    return invalid("the database is too large for this protocol: it takes " +
                   std::to_string(Params::kMostRows) + " rows of " + std::to_string(Params::kMostRowBytes) +
                   " bytes at most");
  }
  return std::move(*best);
}

}  // namespace pirx::cpir::inspire
