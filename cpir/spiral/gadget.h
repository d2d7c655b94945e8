// Digits of polynomials and their transforms: the work behind every key switch and external product.
#pragma once

#include "pirx/cpir/spiral/gadget.h"
#include "ring.h"

namespace pirx::cpir::spiral {

/// The plan of a gadget's digits of one number modulo `modulus` (q, or a prime).
DigitPlan digit_plan(const Gadget& gadget, std::uint64_t modulus) noexcept;

/// Memory for digits and their transforms, reused from product to product by one thread.
class Workspace {
 public:
  /// For sums over at most `digits` digits. ResourceExhausted.
  static Result<Workspace> create(std::size_t d, unsigned digits);

  /// One for every digit: its signed numbers in the half of the second prime, then its transforms.
  Polynomials digits;
  Polynomials coefficients;  ///< 2 for the caller
  Polynomials product;       ///< 4 for the caller
  std::int64_t* numbers() noexcept { return reinterpret_cast<std::int64_t*>(numbers_.data()); }  ///< d

 private:
  AlignedBuffer numbers_;
};

/// Writes the digits of a polynomial, given by its slots, to workspace.digits from number `first` on. Takes
/// time that depends on nothing but the gadget; addresses do not depend on values.
void decompose(const Ring& ring, const Gadget& gadget, const std::uint32_t* slots, unsigned first,
               Workspace& workspace) noexcept;

/// Transforms the first digits in their places.
void transform_digits(const Ring& ring, unsigned digits, Workspace& workspace) noexcept;

/// out = sum over k of digit k, which is not transformed yet, times column k: a ciphertext. Columns are
/// ciphertexts in Montgomery's form, one after the other. Leaves no digits behind.
void multiply_digits(const Ring& ring, unsigned digits, const std::uint32_t* columns, std::uint32_t* out,
                     Workspace& workspace) noexcept;

}  // namespace pirx::cpir::spiral
