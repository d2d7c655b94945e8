// SPDX-License-Identifier: Apache-2.0
// Rates that are known without measuring, for tests of models.
#pragma once

#include "pirx/protocol/rates.h"

namespace pirx::testing {

/// Every rate: a power law in its sizes, so that larger things take longer. Counts what it was asked for.
class MadeUpRates final : public Rates {
 public:
  Result<double> seconds(const RateId& id) override {
    ++asked;
    const auto power = [](std::uint32_t log) { return static_cast<double>(std::uint64_t{1} << log); };
    const std::string_view step = id.step;
    if (step == "scan") return 1e-6 + 1e-10 * power(id.of[1]) / id.of[2];
    if (step == "prepare") return 1e-6 + 4e-10 * power(id.of[1]) / id.of[2];
    if (step == "share" || step == "seeds" || step == "gather")
      return 1e-6 + 1e-9 * id.of[1] * power(id.of[3]);
    if (step.starts_with("chor_")) return 1e-6 + 1e-9 * id.of[0] * power(id.of[1]);
    if (step == "hash") return 1e-9 * power(id.of[0]);
    const double k = id.of.empty() ? 0 : id.of[0], s = id.of.size() > 1 ? id.of[1] + 1.0 : 1;
    if (step.starts_with("qr_")) return 1e-13 * k * k;
    if (step == "dj_zero" || step == "dj_open") return 1e-13 * k * k * k * s * s;
    if (step.starts_with("dj_")) return 1e-13 * k * k * s * s;
    return 1e-10;
  }
  std::size_t asked = 0;
};

}  // namespace pirx::testing
