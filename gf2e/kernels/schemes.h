// SPDX-License-Identifier: Apache-2.0
// The schemes that the kernels multiply by, for each field in the order of SlicedKernels::schemes.
#pragma once

#include <tuple>

#include "gf2e/kernels/schemes_generated.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"

namespace pirx::gf2e {

/// The field's own product.
struct OneBit {
  static constexpr const char* kName = "bits";
  static constexpr BilinearScheme<1, 1> kScheme = {{{1}}, {{1}}};
  static constexpr StraightLine<1, 1, 1, 1> kSums = {{0, 0}, {{0, 0}}, {0}};
  static constexpr StraightLine<1, 1, 1, 1> kResults = kSums;
};

template <class F>
struct SchemesOf;
template <>
struct SchemesOf<Gf2> {
  using Type = std::tuple<OneBit>;
};
template <>
struct SchemesOf<Gf2_8> {
  using Type = std::tuple<Karatsuba8, Crt8>;
};
template <>
struct SchemesOf<Gf2_16> {
  using Type = std::tuple<Karatsuba16, Crt16>;
};

static_assert(proved<Gf2_8, Karatsuba8>() && proved<Gf2_8, Crt8>());
static_assert(proved<Gf2_16, Karatsuba16>() && proved<Gf2_16, Crt16>());

}  // namespace pirx::gf2e
