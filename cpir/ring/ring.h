// SPDX-License-Identifier: Apache-2.0
// The ring Z[x]/(x^d + 1) modulo q = q1 q2 (Spiral, eprint 2022/368, section 4.1) with d = 2048, or smaller
// in tests: tables for the transforms, automorphisms, and memory for polynomials.
//
// A polynomial is 2d residues: d modulo q1, then d modulo q2. They are coefficients, or slots of the
// transform. A ciphertext is two polynomials (c0, c1) with s c0 + c1 = message + error.
#pragma once

#include <array>
#include <vector>

#include "cpir/ring/kernels/kernels.h"
#include "pirx/base/buffer.h"

namespace pirx::cpir {

inline constexpr std::array<std::uint32_t, 2> kPrimes = {268369921, 249561089};
inline constexpr std::uint64_t kModulus = std::uint64_t{kPrimes[0]} * kPrimes[1];
static_assert(kPrimes[0] > kPrimes[1] && kLazyProducts <= ~std::uint64_t{0} / kPrimes[0] / kPrimes[0]);
inline constexpr unsigned kLogDimension = 11, kMinLogDimension = 6;

/// The kernels that may be used (pirx/base/cpu.h): the portable ones first, the fastest last.
std::vector<const RingKernel*> usable_kernels();

/// base^exponent modulo `prime`.
std::uint32_t power(std::uint64_t base, std::uint64_t exponent, std::uint32_t prime) noexcept;

/// The number of residues from one polynomial to the next if many lie together: 2d and a cache line, so that
/// the same place of many polynomials does not fall into one set of the cache.
constexpr std::size_t polynomial_stride(std::size_t d) noexcept { return 2 * d + 16; }

/// An array of polynomials in one aligned buffer. A ciphertext is two neighbours.
class Polynomials {
 public:
  Polynomials() = default;
  /// `count` polynomials of 2d residues, all zero. ResourceExhausted: no memory.
  static Result<Polynomials> create(std::uint64_t count, std::size_t d);
  /// The bytes that they take, rounded as in AlignedBuffer.
  std::uint64_t bytes() const noexcept { return buffer_.size(); }
  std::uint32_t* operator[](std::size_t i) noexcept { return data() + i * stride_; }
  const std::uint32_t* operator[](std::size_t i) const noexcept { return data() + i * stride_; }

 private:
  std::uint32_t* data() noexcept { return reinterpret_cast<std::uint32_t*>(buffer_.data()); }
  const std::uint32_t* data() const noexcept {
    return reinterpret_cast<const std::uint32_t*>(buffer_.data());
  }
  AlignedBuffer buffer_;
  std::size_t stride_ = 0;
};

/// The tables for one dimension, and the kernels to use with them. Const and thread-safe.
class Ring {
 public:
  /// On input kMinLogDimension <= log_d <= kLogDimension.
  Ring(unsigned log_d, const RingKernel& kernel);
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  /// The ring with the best kernels. It is made once.
  static const Ring& get(unsigned log_d);

  std::size_t d() const noexcept { return std::size_t{1} << log_d_; }
  const RingKernel& kernel() const noexcept { return kernel_; }
  const PrimeTable& prime(std::size_t k) const noexcept { return primes_[k]; }

  /// Transforms both halves, one for each prime. `in` is what the kernel takes.
  void forward(std::uint32_t* out, const std::uint32_t* in) const noexcept;
  void inverse(std::uint32_t* out, const std::uint32_t* in) const noexcept;
  void add(std::uint32_t* out, const std::uint32_t* a, const std::uint32_t* b) const noexcept;
  void subtract(std::uint32_t* out, const std::uint32_t* a, const std::uint32_t* b) const noexcept;
  /// out = a b, where b is in Montgomery form (times 2^32).
  void multiply(std::uint32_t* out, const std::uint32_t* a, const std::uint32_t* b) const noexcept;
  /// out = a times a public number, given by its residues.
  void scale(std::uint32_t* out, const std::uint32_t* a,
             const std::array<std::uint32_t, 2>& factor) const noexcept;
  /// Multiplies every slot by 2^32.
  void to_montgomery(std::uint32_t* out, const std::uint32_t* in) const noexcept {
    scale(out, in, {primes_[0].one, primes_[1].one});
  }
  /// The transform of a polynomial of signed coefficients with absolute values below 2^27.
  void forward_small(std::uint32_t* out, const std::int32_t* coefficients) const noexcept;
  /// The coefficients in (-q/2, q/2), from their residues.
  void compose(std::int64_t* out, const std::uint32_t* in) const noexcept;

  /// out = tau_r(a) on slots, where tau_r maps x to x^(d/2^r + 1). `out` and `a` must not overlap.
  void automorphism(unsigned r, std::uint32_t* out, const std::uint32_t* a) const noexcept;
  /// The transform of x^(-2^r), in Montgomery form.
  const std::uint32_t* monomial(unsigned r) const noexcept { return monomials_[r].data(); }

 private:
  unsigned log_d_;
  const RingKernel& kernel_;
  std::array<PrimeTable, 2> primes_;
  std::array<std::vector<std::uint32_t>, 2> powers_;
  std::vector<std::vector<std::uint16_t>> slots_;      // for each r
  std::vector<std::vector<std::uint32_t>> monomials_;  // for each r
};

}  // namespace pirx::cpir
