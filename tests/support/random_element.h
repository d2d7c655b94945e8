// SPDX-License-Identifier: Apache-2.0
// Random elements of a field, from a seed.
#pragma once

#include <random>
#include <span>

#include "pirx/base/bytes.h"

namespace pirx::testing {

/// The coins of an engine as a RandomSource.
struct EngineSource {
  std::mt19937_64& engine;
  void fill(MutableByteSpan out) {
    for (auto& byte : out) byte = static_cast<std::byte>(engine());
  }
};

/// A uniform element.
template <class F, class R>
typename F::Elem random_element(const F& f, R& rng) {
  typename F::Elem a{};
  f.random_fill(rng, std::span(&a, 1));
  return a;
}

}  // namespace pirx::testing
