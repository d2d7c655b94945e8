// SPDX-License-Identifier: Apache-2.0
// Lagrange interpolation as a matrix W: the values of a polynomial at some points, times W, are its values at
// other points (Shamir 1979).
#pragma once

#include <span>
#include <vector>

#include "pirx/base/field.h"
#include "pirx/base/matrix.h"
#include "pirx/base/secret_memory.h"

namespace pirx::batchcodes {

/// Replaces every value by its inverse. No value may be zero. Costs one inversion, and three products a value
/// (Montgomery 1987).
template <Field F>
void invert_all(const F& f, std::span<typename F::Elem> values) {
  using Elem = typename F::Elem;
  std::vector<Elem, SecretAllocator<Elem>> before(values.size());
  auto product = f.one();
  for (std::size_t i = 0; i < values.size(); ++i) {
    before[i] = product;
    product = f.mul(product, values[i]);
  }
  auto inverse = f.inv(product);
  for (std::size_t i = values.size(); i-- > 0;) {
    const auto value = values[i];
    values[i] = f.mul(inverse, before[i]);
    inverse = f.mul(inverse, value);
  }
}

/// W with W[z][i] = prod_{m != i} (targets[z] - x[m]) / (x[i] - x[m]). A polynomial of degree below x.size()
/// with the values y at x has the values W * y at `targets`. The x must be distinct; a target may be one of
/// them. Costs one inversion and time quadratic in x.size(). No branch and no address depends on a value, if
/// f's operations have none that do.
template <Field F>
Result<matrix::Matrix<typename F::Elem>> lagrange_matrix(const F& f, std::span<const typename F::Elem> x,
                                                         std::span<const typename F::Elem> targets) {
  using Elem = typename F::Elem;
  const std::size_t n = x.size();
  PIRX_ASSIGN(auto W, matrix::Matrix<Elem>::create(targets.size(), n));
  std::vector<Elem, SecretAllocator<Elem>> weights(n, f.one());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t m = 0; m < n; ++m) {
      if (m != i) weights[i] = f.mul(weights[i], f.sub(x[i], x[m]));
    }
  }
  invert_all(f, std::span<Elem>(weights));
  // Multiplies prod_{m < i} from the left and prod_{m > i} from the right. There is no division, so a target
  // may be one of the x.
  for (std::size_t z = 0; z < targets.size(); ++z) {
    Elem* row = W.row(z);
    Elem product = f.one();
    for (std::size_t i = 0; i < n; ++i) {
      row[i] = f.mul(weights[i], product);
      product = f.mul(product, f.sub(targets[z], x[i]));
    }
    product = f.one();
    for (std::size_t i = n; i-- > 0;) {
      row[i] = f.mul(row[i], product);
      product = f.mul(product, f.sub(targets[z], x[i]));
    }
  }
  return W;
}

}  // namespace pirx::batchcodes
