// SPDX-License-Identifier: Apache-2.0
// Tables of rates, and interpolation between rates at powers of two.
#include "pirx/protocol/rates.h"

#include <cmath>

namespace pirx {

std::string RateId::name() const {
  std::string text(step);
  for (const auto number : of) text += "/" + std::to_string(number);
  return text;
}

Result<void> RateTable::set(const RateId& id, double seconds) {
  if (!(seconds > 0 && seconds < 1e6)) {
    return fail(ErrorCode::kUnavailable, "the rate " + id.name() + " is no time: " + std::to_string(seconds) +
                                             " seconds; measure it again");
  }
  rates_[id] = seconds;
  return {};
}

Result<double> RateTable::seconds(const RateId& id) {
  const auto found = rates_.find(id);
  if (found == rates_.end()) {
    return fail(ErrorCode::kUnavailable, "the rate " + id.name() + " is not known: measure it");
  }
  return found->second;
}

Result<double> seconds_at(Rates& rates, RateId id, std::size_t at, double size,
                          std::span<const std::uint32_t> grid) {
  PIRX_CHECK(grid.size() >= 2 && at < id.of.size() && size > 0);
  const double log_size = std::log2(size);
  std::size_t above = 1;
  while (above + 1 < grid.size() && grid[above] < log_size) ++above;
  id.of[at] = grid[above - 1];
  PIRX_ASSIGN(const double low, rates.seconds(id));
  id.of[at] = grid[above];
  PIRX_ASSIGN(const double high, rates.seconds(id));
  const double width = grid[above] - grid[above - 1];
  const double part = (log_size - grid[above - 1]) / width;
  if (part >= 1) return high * std::exp2(log_size - grid[above]);
  if (part <= 0) return low;  // what is so small costs what a call costs
  return std::exp2(std::log2(low) * (1 - part) + std::log2(high) * part);
}

}  // namespace pirx
