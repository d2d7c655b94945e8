// Rates that are known without measuring, for tests of models.
#pragma once

#include "pirx/planner/rates.h"

namespace pirx::testing {

/// Every rate: a power law in its sizes, so that larger things take longer. Counts what it was asked for.
class MadeUpRates final : public planner::Rates {
 public:
  Result<double> seconds(const planner::RateId& id) override {
    ++asked;
    using planner::Quantity;
    const double k = id.of[0], s = id.of[1] + 1.0;
    switch (id.quantity) {
      case Quantity::kScan:
        return 1e-6 + 1e-10 * static_cast<double>(std::uint64_t{1} << id.of[1]) / id.of[2];
      case Quantity::kPrepare:
        return 1e-6 + 4e-10 * static_cast<double>(std::uint64_t{1} << id.of[1]) / id.of[2];
      case Quantity::kShare:
      case Quantity::kSeeds:
      case Quantity::kGather:
        return 1e-6 + 1e-9 * id.of[1] * static_cast<double>(std::uint64_t{1} << id.of[3]);
      case Quantity::kHash:
        return 1e-9 * static_cast<double>(std::uint64_t{1} << id.of[0]);
      case Quantity::kDjZero:
      case Quantity::kDjOpen:
        return 1e-13 * k * k * k * s * s;
      case Quantity::kQrEntry:
      case Quantity::kQrProduct:
      case Quantity::kQrColumn:
        return 1e-13 * k * k;
      default:
        return 1e-13 * k * k * s * s;
    }
  }
  std::size_t asked = 0;
};

}  // namespace pirx::testing
