// SPDX-License-Identifier: Apache-2.0
// The kernels that this machine can run.
#pragma once

#include <ranges>
#include <span>

#include "pirx/base/cpu.h"

namespace pirx::testing {

/// Those of a table of kernels.
template <class Row>
auto runnable(std::span<Row> table) {
  return table | std::views::filter([](const auto& k) { return (k.needs & ~detected_cpu_features()) == 0; });
}

}  // namespace pirx::testing
