// Gadgets: how a number modulo q is written in small digits (Spiral, eprint 2022/368, section 2.2, with
// balanced digits; "3-PIR" proposes base 3; leaving low digits out is "approximate" decomposition).
#pragma once

#include <cstdint>
#include <vector>

#include "pirx/base/wire.h"

namespace pirx::cpir::spiral {

/// Which number is written: x modulo q in (-q/2, q/2), or its residues modulo both primes one after the
/// other; or x in [0, q) with digits that are not balanced, as other implementations have them: four times
/// the noise, for comparisons only.
enum class Domain : std::uint8_t { kComposed = 0, kResidues = 1, kUnsigned = 2 };

/// Digits k = drop .. t-1 of base z with the weights 2^bits z^k. Balanced: in [-z/2, z/2), in [-(z-1)/2,
/// (z-1)/2] when z is odd; the top digit takes what is left. Of kUnsigned: in [0, z). A validated value.
class Gadget {
 public:
  struct Spec {
    std::uint32_t z = 2;     ///< base, 2 to 2^16
    std::uint32_t t = 0;     ///< digits, those left out included; 0: as few as reach q
    std::uint32_t drop = 0;  ///< lowest digits that are left out
    std::uint32_t bits = 0;  ///< and bits below them; only for bases that are powers of two
    Domain domain = Domain::kComposed;
    friend bool operator==(const Spec&, const Spec&) = default;
  };
  static constexpr std::size_t kBytes = 20;
  static constexpr unsigned kMaxDigits = 60;
  /// InvalidArgument: base, digits too few to reach q or with a weight above it, nothing left, residues
  /// or unsigned digits truncated, bits left out of a base that is no power of two.
  static Result<Gadget> create(Spec spec);

  const Spec& spec() const noexcept { return spec_; }
  /// Digits that there are, of both residues together.
  unsigned digits() const noexcept { return parts() * (spec_.t - spec_.drop); }
  /// Numbers that digits are taken from: 1, or the two residues.
  unsigned parts() const noexcept { return spec_.domain == Domain::kResidues ? 2 : 1; }
  /// 2^bits z^drop: what digits forget is at most half of it.
  std::uint64_t delta() const noexcept;
  /// Weight of digit k < digits() modulo prime number `prime` (0 or 1).
  std::uint32_t weight(unsigned k, unsigned prime) const noexcept;
  /// Weight of digit k < digits() as a number below q.
  std::uint64_t weight(unsigned k) const noexcept;
  /// Sum over all digits of the mean square of a digit of a uniform number.
  double mean_square() const noexcept;
  /// The same of variances: less where digits are not balanced.
  double variance() const noexcept;

  void encode(Writer& writer) const;
  /// DataLoss; InvalidArgument as create().
  static Result<Gadget> decode(Reader& reader);
  friend bool operator==(const Gadget& a, const Gadget& b) { return a.spec_ == b.spec_; }

 private:
  explicit Gadget(Spec spec) : spec_(spec) {}
  Spec spec_;
};

}  // namespace pirx::cpir::spiral
