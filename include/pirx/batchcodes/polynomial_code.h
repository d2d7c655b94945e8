// SPDX-License-Identifier: Apache-2.0
// PolynomialCode<F>: the client's side of an Encoding over one field. It makes the shares that a plan asks
// for, and tells where the replies are interpolated (paper 002, Henry 2016, sections 3 and 4).
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

  /// The encoding must be over the engine's field; otherwise the process aborts.
  PolynomialCode(strassen::Engine<F> engine, Encoding encoding);

  const Encoding& encoding() const noexcept { return encoding_; }
  const F& field() const noexcept { return engine_.field(); }
  /// x_j, one for each server. A reply is the value of a polynomial at its server's x_j.
  std::span<const Elem> coordinates() const noexcept { return x_; }

  /// The share vectors of one query vector. slots: q (BatchPlan::query). coins: t x R uniform elements, fresh
  /// for each query vector. shares: l x R. R = encoding().rows(blocks). blinding: l non-zero elements, or
  /// empty. Errors and timing are those of make_shares. Without data coordinates there may be c q slots
  /// (plan_batch with addends = c); then c neighbours make one wanted sum of blocks.
  Result<void> share(std::span<const Slot> slots, matrix::ConstView<Elem> coins, matrix::View<Elem> shares,
                     std::span<const Elem> blinding = {}) const;
  /// The share vectors of the last l - t servers, if the first t have uniform ones: see complete_shares.
  Result<void> complete(std::span<const Slot> slots, matrix::ConstView<Elem> given, matrix::View<Elem> rest,
                        std::span<const Elem> blinding = {}) const;

  /// s_m, one for each slot: the coordinate at which the polynomials of the replies have the wanted block as
  /// their values. Their degree is at most encoding().degree(). The values at a blank slot's s_m mean
  /// nothing. Without data coordinates the s_m are the same for every query; otherwise they are secret.
  SecretVector<Elem> secret_coordinates(std::span<const Slot> slots) const;
  /// W, q x x.size(), such that blocks = W * replies. The replies are those of the servers at x, at least d +
  /// 1 of them, without blinding.
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
