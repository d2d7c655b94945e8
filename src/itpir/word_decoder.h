// One word of a Reed-Solomon code corrected within the unique radius, by Gao's half-extended Euclid (Gao
// 2003).
#pragma once

#include <optional>
#include <vector>

#include "vectors.h"

namespace pirx::itpir {

namespace polynomial {

/// Coefficients from the constant term up, without leading zeros; the zero polynomial is empty.
template <class F>
using Poly = std::vector<typename F::Elem>;

template <class F>
void trim(const F& f, Poly<F>& p) {
  while (!p.empty() && f.equal(p.back(), f.zero())) p.pop_back();
}

template <class F>
typename F::Elem evaluate(const F& f, const Poly<F>& p, typename F::Elem x) {
  auto value = f.zero();
  for (auto i = p.size(); i-- > 0;) value = f.add(f.mul(value, x), p[i]);
  return value;
}

/// Replaces `a` by its remainder modulo `b` (not zero) and returns the quotient.
template <class F>
Poly<F> divide(const F& f, Poly<F>& a, const Poly<F>& b) {
  if (a.size() < b.size()) return {};
  Poly<F> quotient(a.size() - b.size() + 1, f.zero());
  const auto lead = f.inv(b.back());
  for (auto i = quotient.size(); i-- > 0;) {
    const auto factor = f.mul(a[i + b.size() - 1], lead);
    quotient[i] = factor;
    for (std::size_t m = 0; m < b.size(); ++m) a[i + m] = f.sub(a[i + m], f.mul(factor, b[m]));
  }
  trim(f, a);
  return quotient;
}

/// a - q * b.
template <class F>
Poly<F> subtract_product(const F& f, Poly<F> a, const Poly<F>& q, const Poly<F>& b) {
  if (q.empty() || b.empty()) return a;
  if (a.size() < q.size() + b.size() - 1) a.resize(q.size() + b.size() - 1, f.zero());
  for (std::size_t i = 0; i < q.size(); ++i) {
    for (std::size_t m = 0; m < b.size(); ++m) a[i + m] = f.sub(a[i + m], f.mul(q[i], b[m]));
  }
  trim(f, a);
  return a;
}

/// prod (X - x[i]).
template <class F>
Poly<F> vanishing(const F& f, std::span<const typename F::Elem> x) {
  Poly<F> product{f.one()};
  for (const auto& root : x) {
    product.push_back(f.zero());
    for (auto i = product.size(); i-- > 0;) {
      const auto below = i > 0 ? product[i - 1] : f.zero();
      product[i] = f.sub(below, f.mul(root, product[i]));
    }
  }
  return product;
}

/// The polynomial of degree below x.size() with values y at x; `g` = vanishing(x).
template <class F>
Poly<F> interpolate(const F& f, const Poly<F>& g, std::span<const typename F::Elem> x,
                    std::span<const typename F::Elem> y) {
  const auto n = x.size();
  Poly<F> sum(n, f.zero()), quotient(n, f.zero());
  for (std::size_t i = 0; i < n; ++i) {
    // g / (X - x_i) by synthetic division; its value at x_i is prod_{m != i} (x_i - x_m).
    auto carry = f.zero();
    for (auto c = n; c-- > 0;) quotient[c] = carry = f.add(g[c + 1], f.mul(carry, x[i]));
    const auto factor = f.mul(y[i], f.inv(evaluate(f, quotient, x[i])));
    for (std::size_t c = 0; c < n; ++c) sum[c] = f.add(sum[c], f.mul(factor, quotient[c]));
  }
  trim(f, sum);
  return sum;
}

}  // namespace polynomial

/// Positions where y differs from the one polynomial of degree at most `degree` that agrees with all but
/// floor((n - degree - 1) / 2) of the n points; nothing when there is none. Quadratic in n, n > degree.
/// Public inputs: timing depends on them.
template <SharingField F>
std::optional<std::vector<std::size_t>> decode_word(const F& f, std::span<const typename F::Elem> x,
                                                    std::span<const typename F::Elem> y, std::size_t degree) {
  using polynomial::Poly;
  const auto n = x.size();
  PIRX_CHECK(n > degree && y.size() == n);
  Poly<F> r0 = polynomial::vanishing(f, x);
  Poly<F> r1 = polynomial::interpolate(f, r0, x, y);
  Poly<F> v0, v1{f.one()};
  // Until 2 deg(r1) < n + degree + 1, with deg = size - 1.
  while (2 * r1.size() >= n + degree + 3) {
    const Poly<F> quotient = polynomial::divide(f, r0, r1);
    std::swap(r0, r1);
    v0 = polynomial::subtract_product(f, std::move(v0), quotient, v1);
    std::swap(v0, v1);
  }
  const Poly<F> message = polynomial::divide(f, r1, v1);
  if (!r1.empty() || message.size() > degree + 1) return std::nullopt;
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < n; ++i) {
    if (!f.equal(polynomial::evaluate(f, message, x[i]), y[i])) wrong.push_back(i);
  }
  if (wrong.size() > (n - degree - 1) / 2) return std::nullopt;
  return wrong;
}

}  // namespace pirx::itpir
