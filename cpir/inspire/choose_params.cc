// SPDX-License-Identifier: Apache-2.0
// The search for the number of rows. The specification (section 6.2) takes numbers in steps of a quarter bit;
// trying them all takes milliseconds (for records of a byte some tenths of a second), and makes messages up
// to 10 % shorter.
#include <algorithm>

#include "cpir/ring/bits.h"
#include "noise.h"
#include "pirx/cpir/inspire/common.h"

namespace pirx::cpir::inspire {
namespace {

/// For Goal::kTime the matrices H are at most a tenth of the data, whatever that costs in bytes.
constexpr double kMostPacking = 0.1, kDearly = 1e9;

/// What is chosen, and what follows from it.
struct Choice {
  Set set;
  Layout layout;
  std::uint64_t rows, columns;
  unsigned t, tr;
};

/// Bytes of a record's queries and replies without their headers, and what the goal adds.
double cost_of(const Choice& choice, Goal goal) {
  const auto& set = choice.set;
  const auto queries = static_cast<double>(choice.layout.rows_each);
  const double bytes =
      queries * static_cast<double>(run_bytes(set.l * set.d(), set.kappa) + run_bytes(choice.rows, choice.t) +
                                    run_bytes(choice.columns, choice.tr));
  if (goal == Goal::kBytes) return bytes;
  // Each query takes a pass over the data and over H.
  const double packing = static_cast<double>(set.l * set.d() * set.packing_bytes) /
                         (static_cast<double>(choice.rows) * set.word_bytes());
  return bytes + kDearly * queries * (1 + std::max(0.0, packing - kMostPacking));
}

}  // namespace

Result<Params> choose_params(const database::Geometry& geometry, const database::Version& version,
                             std::optional<Set> set, Goal goal) {
  const std::uint64_t units = geometry.keyed() ? geometry.rows() : geometry.records();
  const std::uint64_t bytes = geometry.keyed() ? geometry.row_bytes() : geometry.slot_bytes();
  std::optional<Choice> best;
  double least = 0;
  const auto consider = [&](const Set& with, const Layout& layout) {
    Choice choice{.set = with,
                  .layout = layout,
                  .rows = div_up(units, layout.per_row) * layout.rows_each,
                  .columns = div_up(div_up(layout.per_row * bytes, layout.rows_each), with.word_bytes()),
                  .t = 0,
                  .tr = 0};
    for (const unsigned tr : {with.w + 3, with.w + 4}) {
      const auto t = least_t(with, choice.rows, choice.columns, tr);
      if (!t) continue;
      choice.t = *t;
      choice.tr = tr;
      const double cost = cost_of(choice, goal);
      if (best && least <= cost) continue;
      best = choice;
      least = cost;
    }
  };
  for (const auto& with : {kS8, kS16}) {
    if (set && *set != with) continue;
    if (bytes > Params::kMostRowBytes) {
      // More rows for a record only add queries.
      const std::uint64_t each = div_up(bytes, Params::kMostRowBytes);
      if (units <= Params::kMostRows / each) consider(with, {.per_row = 1, .rows_each = each});
      continue;
    }
    for (std::uint64_t most = std::min(units, Params::kMostRowBytes / bytes); most > 0;) {
      const std::uint64_t rows = div_up(units, most);
      if (rows > Params::kMostRows) break;
      // Of all numbers of units a row that make so many rows, the least has the shortest replies.
      const std::uint64_t fewest = div_up(units, rows);
      // A word that is partly free may have room for more.
      const std::uint64_t row = round_up(fewest * bytes, with.word_bytes());
      consider(with, {.per_row = std::min(row / bytes, units), .rows_each = 1});
      most = fewest - 1;
    }
  }
  if (best) {
    auto params = Params::create({.geometry = geometry,
                                  .version = version,
                                  .set = best->set,
                                  .layout = best->layout,
                                  .t = best->t,
                                  .tr = best->tr});
    if (params) return params;
  }
  return invalid(
      "a database of this protocol has at most " + std::to_string(Params::kMostRows) + " rows of " +
      std::to_string(Params::kMostRowBytes) + " bytes, and this one has " + std::to_string(units) +
      (geometry.keyed() ? " rows of " : " records of ") + std::to_string(bytes) +
      " bytes: split it into several databases, or use another protocol (pirx plan compares them)");
}

}  // namespace pirx::cpir::inspire
