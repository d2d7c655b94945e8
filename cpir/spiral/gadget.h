// SPDX-License-Identifier: Apache-2.0
// Digits of polynomials and their transforms, which every key switch and external product needs.
#pragma once

#include "cpir/ring/ring.h"
#include "pirx/cpir/spiral/gadget.h"

namespace pirx::cpir::spiral {

/// The plan for a gadget's digits of one number modulo `modulus` (q, or a prime).
DigitPlan digit_plan(const Gadget& gadget, std::uint64_t modulus) noexcept;

/// Memory for digits and their transforms. One thread uses it for product after product.
class Workspace {
 public:
  /// For sums over at most `digits` digits. ResourceExhausted: no memory.
  static Result<Workspace> create(std::size_t d, unsigned digits);

  /// One for every digit: first its signed numbers, in the half of the second prime, then its transforms.
  Polynomials digits;
  Polynomials coefficients;  ///< two, for the caller
  Polynomials product;       ///< four, for the caller
  /// d numbers
  std::int64_t* numbers() noexcept { return reinterpret_cast<std::int64_t*>(numbers_.data()); }

 private:
  AlignedBuffer numbers_;
};

/// Writes the digits of a polynomial, given by its slots, to workspace.digits from number `first` on. Time
/// depends on the gadget only, and addresses do not depend on values.
void decompose(const Ring& ring, const Gadget& gadget, const std::uint32_t* slots, unsigned first,
               Workspace& workspace) noexcept;

/// Transforms the first `digits` digits in place.
void transform_digits(const Ring& ring, unsigned digits, Workspace& workspace) noexcept;

/// out = sum over k of digit k, which is not transformed yet, times column k. The result is a ciphertext.
/// Columns are ciphertexts in Montgomery form, one after the other. The digits are overwritten.
void multiply_digits(const Ring& ring, unsigned digits, const std::uint32_t* columns, std::uint32_t* out,
                     Workspace& workspace) noexcept;

}  // namespace pirx::cpir::spiral
