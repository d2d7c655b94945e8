// The sizes, all powers of two, at which rates that depend on a size are measured.
#pragma once

#include <span>

#include "pirx/planner/rates.h"

namespace pirx::planner {

inline std::span<const std::uint32_t> grid_of(Quantity quantity) noexcept {
  static constexpr std::uint32_t kBytes[] = {12, 16, 20, 22, 24, 26, 28};
  static constexpr std::uint32_t kLengths[] = {6, 9, 12, 14, 16, 18};
  switch (quantity) {
    case Quantity::kScan:
    case Quantity::kPrepare:
      return kBytes;
    case Quantity::kShare:
    case Quantity::kSeeds:
    case Quantity::kGather:
    case Quantity::kHash:
      return kLengths;
    default:
      return {};
  }
}

}  // namespace pirx::planner
