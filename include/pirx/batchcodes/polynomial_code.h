// PolynomialCode<F>: the client's side of an Encoding over one field: shares of what a plan asks for, and
// where the replies are interpolated (paper 002, Henry 2016, sections 3 and 4).
#pragma once

#include <algorithm>

#include "pirx/batchcodes/encoding.h"
#include "pirx/batchcodes/lagrange.h"
#include "pirx/batchcodes/sharing.h"

namespace pirx::batchcodes {

/// Const, thread-safe, cheap to copy.
template <SharingField F>
class PolynomialCode {
 public:
  using Elem = typename F::Elem;

  /// The encoding is over the engine's field (a broken contract aborts).
  PolynomialCode(strassen::Engine<F> engine, Encoding encoding);

  const Encoding& encoding() const noexcept { return encoding_; }
  const F& field() const noexcept { return engine_.field(); }
  /// x_j, one a server: what replies are values at.
  std::span<const Elem> coordinates() const noexcept { return x_; }

  /// The share vectors of one query vector. slots: q (BatchPlan::query); coins: t x R uniform, fresh for each
  /// query vector; shares: l x R; R = encoding().rows(blocks); blinding: l non-zero elements or empty.
  /// Errors and timing as make_shares. Without data coordinates, slots may be c q (plan_batch with addends =
  /// c): c neighbours are then one wanted sum of blocks.
  Result<void> share(std::span<const Slot> slots, matrix::ConstView<Elem> coins, matrix::View<Elem> shares,
                     std::span<const Elem> blinding = {}) const;
  /// The share vectors of the last l - t servers when the first t have uniform ones: see complete_shares.
  Result<void> complete(std::span<const Slot> slots, matrix::ConstView<Elem> given, matrix::View<Elem> rest,
                        std::span<const Elem> blinding = {}) const;

  /// s_m, one a slot: the reply polynomials, of degree at most encoding().degree(), are the wanted blocks
  /// there. What they are at the s_m of a blank slot means nothing. Without data coordinates the same for
  /// every query, else secret.
  SecretVector<Elem> secret_coordinates(std::span<const Slot> slots) const;
  /// W, q x x.size(), with blocks = W * replies for replies of servers at x (d + 1 of them or more),
  /// unblinded.
  Result<matrix::Matrix<Elem>> interpolation_rows(std::span<const Slot> slots, std::span<const Elem> x) const;

 private:
  SecretVector<SharePoint<Elem>> points(std::span<const Slot> slots) const;
  Result<void> check(std::span<const Slot> slots, std::size_t coin_rows) const;
  std::size_t addends(std::span<const Slot> slots) const noexcept {
    return std::max<std::size_t>(1, slots.size() / encoding_.spec().ramp);
  }
  strassen::Engine<F> engine_;
  Encoding encoding_;
  std::vector<Elem> x_;
};

}  // namespace pirx::batchcodes
