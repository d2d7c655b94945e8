// SPDX-License-Identifier: Apache-2.0
// Counts the products that cpir/dj/powers.cc computes.
#include "tree_cost.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cost.h"
#include "cpir/dj/level_shape.h"

namespace pirx::cpir::dj {
namespace {

unsigned measured_window(unsigned window) {
  return 2 * window <= kSmallWindow + kLargeWindow ? kSmallWindow : kLargeWindow;
}

}  // namespace

const Ring& TreeCost::ring(unsigned s) {
  if (rings_.size() <= s) rings_.resize(s + std::size_t{1});
  // Plans depend on the length of N alone.
  if (!rings_[s]) rings_[s] = std::make_unique<Ring>(*kernel_, (mpz_class(1) << modulus_bits_) - 1, s);
  return *rings_[s];
}

Result<LevelCost> TreeCost::level(const TreeShape& shape, unsigned s, unsigned levels, std::uint64_t children,
                                  std::uint32_t arity) {
  const std::size_t order = std::size_t{s} * modulus_bits_;
  const auto powers =
      level_shape(static_cast<std::size_t>(children), arity, static_cast<std::size_t>(shape.chunks),
                  s == 1 ? shape.chunk_bits : order, order)
          .powers;
  const auto& ring = this->ring(s);
  const auto plan = plan_powers(ring, powers, table_bytes_ / levels, cores_);
  const unsigned window = measured_window(plan.window);
  PIRX_ASSIGN(const double product, rates_->seconds({"dj_product", {modulus_bits_, s, window}}));
  PIRX_ASSIGN(const double entry, rates_->seconds({"dj_entry", {modulus_bits_, s, window}}));
  PIRX_ASSIGN(const double square, rates_->seconds({"dj_square", {modulus_bits_, s}}));
  PIRX_ASSIGN(const double row, rates_->seconds({"dj_row", {modulus_bits_, s}}));

  const std::size_t lanes = ring.kernel().lanes, group = lanes / plan.rows_per_block;
  const auto quotient = [](std::size_t a, std::size_t b) { return static_cast<double>(div_up(a, b)); };
  const double steps = quotient(powers.bits, plan.window), parts = quotient(powers.bases, lanes);
  const double part = (plan.comb ? (plan.window - 1) * steps * square : 0) + std::exp2(plan.window) * entry;
  const double folds = std::countr_zero(group);
  const double block =
      steps * (quotient(powers.bases, group) * product + (plan.comb ? 1 : plan.window) * square) +
      folds * product + static_cast<double>(plan.rows_per_block) * row;
  return LevelCost{parts * part, part,
                   std::ceil(quotient(powers.rows, plan.rows_per_block) / cores_) * block};
}

Result<double> TreeCost::tree(const TreeShape& shape, const std::vector<std::uint32_t>& arities) {
  const auto levels = static_cast<unsigned>(arities.size());
  double tables = 0, longest = 0, leaves = 0, above = 0;
  std::uint64_t children = shape.rows;
  for (unsigned s = 1; s <= levels; ++s) {
    PIRX_ASSIGN(const auto cost, level(shape, s, levels, children, arities[s - 1]));
    tables += cost.prepare;
    longest = std::max(longest, cost.longest);
    (s == 1 ? leaves : above) += cost.nodes;
    children = div_up(children, arities[s - 1]);
  }
  PIRX_ASSIGN(const double check, rates_->seconds({"dj_check", {modulus_bits_}}));
  return check + std::max(tables / cores_ + leaves, longest) + above;
}

}  // namespace pirx::cpir::dj
