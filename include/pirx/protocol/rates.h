// SPDX-License-Identifier: Apache-2.0
// Rates: the time that one step of a protocol takes on a machine. Cost models depend on rates and shapes
// alone, so the same models serve a machine that is measured now, a machine that was measured before, and
// tests.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pirx/base/result.h"

namespace pirx {

/// Names one rate: a step of a protocol (Step::name), and the numbers that the step's description asks for.
/// A rate is in seconds of one core, unless the step says otherwise.
struct RateId {
  std::string_view step;  ///< lives as long as the program
  std::vector<std::uint32_t> of = {};
  /// The name in text: "dj_product/3072/2/7".
  std::string name() const;
  friend auto operator<=>(const RateId&, const RateId&) = default;
};

/// A source of rates. Not thread-safe.
class Rates {
 public:
  virtual ~Rates() = default;
  /// The seconds of one step, above zero. Unavailable: the rate is not known and cannot be measured here.
  virtual Result<double> seconds(const RateId& id) = 0;
};

/// Rates that are known.
class RateTable final : public Rates {
 public:
  /// Unavailable: `seconds` is not above 0 and below 10^6, so it is no measurement.
  Result<void> set(const RateId& id, double seconds);
  Result<double> seconds(const RateId& id) override;
  const std::map<RateId, double>& all() const noexcept { return rates_; }

 private:
  std::map<RateId, double> rates_;
};

/// A step that a protocol's cost model counts, and how to measure it. A row of Protocol::steps.
struct Step {
  std::string_view name;  ///< "dj_product"
  std::size_t numbers;    ///< how many RateId::of has
  /// Measures the step on this machine, in about a twentieth of a second. Steps that are measured together
  /// with it are put into `others`. InvalidArgument: no protocol has these numbers. ResourceExhausted: no
  /// memory.
  Result<double> (*measure)(const RateId& id, RateTable& others);
};

/// The seconds for a `size` that need not be a power of two. `id.of[at]` stands for the log2 of the size, and
/// `grid` has the values of it that are measured. Interpolates between them along straight lines in
/// logarithms; beyond the largest, seconds grow in proportion to size.
Result<double> seconds_at(Rates& rates, RateId id, std::size_t at, double size,
                          std::span<const std::uint32_t> grid);

}  // namespace pirx
