// SPDX-License-Identifier: Apache-2.0
// Gadgets: how a number modulo q is written in small digits (Spiral, eprint 2022/368, section 2.2, with
// balanced digits; "3-PIR" proposes base 3; "approximate" decomposition leaves low digits out).
#pragma once

#include <array>
#include <cstdint>

#include "pirx/base/wire.h"

namespace pirx::cpir::spiral {

/// The number that is written. kComposed: x modulo q, in (-q/2, q/2). kResidues: its residues modulo both
/// primes, one after the other. kUnsigned: x in [0, q), with digits that are not balanced, as in other
/// implementations; it has four times the noise and serves only for comparisons.
enum class Domain : std::uint8_t { kComposed = 0, kResidues = 1, kUnsigned = 2 };

/// Digits k = drop .. t-1 in base z, with the weights 2^bits z^k. Balanced digits lie in [-z/2, z/2), or in
/// [-(z-1)/2, (z-1)/2] if z is odd; the top digit takes the rest. Digits of kUnsigned lie in [0, z). A
/// validated value.
class Gadget {
 public:
  struct Spec {
    std::uint32_t z = 2;  ///< the base, 2 to 2^16
    /// The number of digits, with those that are left out; 0: as few as reach q.
    std::uint32_t t = 0;
    std::uint32_t drop = 0;  ///< the number of lowest digits that are left out
    /// the number of bits below the digits that are also left out; only if z is a power of two
    std::uint32_t bits = 0;
    Domain domain = Domain::kComposed;
    friend bool operator==(const Spec&, const Spec&) = default;
  };
  static constexpr std::size_t kBytes = 20;
  static constexpr unsigned kMaxDigits = 60;
  /// InvalidArgument: the base is out of range, the digits do not reach q or one has a weight above it, no
  /// digit is left, residues or unsigned digits are cut off, or bits are left out although the base is no
  /// power of two.
  static Result<Gadget> create(Spec spec);

  const Spec& spec() const noexcept { return spec_; }
  /// The number of digits that are used; with kResidues, of both residues together.
  unsigned digits() const noexcept { return parts() * (spec_.t - spec_.drop); }
  /// The number of values that digits are taken from: 1, or 2 for residues.
  unsigned parts() const noexcept { return spec_.domain == Domain::kResidues ? 2 : 1; }
  /// 2^bits z^drop. The error of the digits is at most half of it.
  std::uint64_t delta() const noexcept;
  /// The weight of digit k < digits() modulo prime number `prime` (0 or 1).
  std::uint32_t weight(unsigned k, unsigned prime) const noexcept;
  std::array<std::uint32_t, 2> weights(unsigned k) const noexcept { return {weight(k, 0), weight(k, 1)}; }
  /// The weight of digit k < digits() as a number below q.
  std::uint64_t weight(unsigned k) const noexcept;
  /// The sum, over all digits, of the mean square of a digit of a uniform number.
  double mean_square() const noexcept;
  /// The sum of the variances of these digits, which is less if digits are not balanced.
  double variance() const noexcept;

  void encode(Writer& writer) const;
  /// DataLoss: malformed. InvalidArgument: as create().
  static Result<Gadget> decode(Reader& reader);
  friend bool operator==(const Gadget& a, const Gadget& b) { return a.spec_ == b.spec_; }

 private:
  explicit Gadget(Spec spec) : spec_(spec) {}
  Spec spec_;
};

}  // namespace pirx::cpir::spiral
