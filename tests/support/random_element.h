// SPDX-License-Identifier: Apache-2.0
// A random element of a field.
#pragma once

#include <span>

namespace pirx::testing {

/// A uniform element.
template <class F, class R>
typename F::Elem random_element(const F& f, R& rng) {
  typename F::Elem a{};
  f.random_fill(rng, std::span(&a, 1));
  return a;
}

}  // namespace pirx::testing
