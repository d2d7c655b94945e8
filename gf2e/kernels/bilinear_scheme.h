// SPDX-License-Identifier: Apache-2.0
// Products in GF(2^n) from products of bits, as data: a scheme, and programs of exclusive ors that compute
// its sums. What a scheme and a program claim is checked at compile time.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace pirx::gf2e {

/// Up to 128 bits.
struct Bits {
  std::uint64_t low = 0, high = 0;

  constexpr bool at(std::size_t i) const { return ((i < 64 ? low >> i : high >> (i - 64)) & 1) != 0; }
  static constexpr Bits one(std::size_t i) {
    return i < 64 ? Bits{std::uint64_t{1} << i, 0} : Bits{0, std::uint64_t{1} << (i - 64)};
  }
  constexpr Bits operator^(const Bits& b) const { return {low ^ b.low, high ^ b.high}; }
  constexpr bool operator==(const Bits&) const = default;
  /// The sum of the bits that both have. (Folded by hand: gcc 12 computes popcount(x) & 1 wrongly here.)
  constexpr bool dot(const Bits& b) const {
    std::uint64_t sum = (low & b.low) ^ (high & b.high);
    for (unsigned shift = 32; shift > 0; shift /= 2) sum ^= sum >> shift;
    return (sum & 1) != 0;
  }
};

/// a * b = C ((A a) . (A b)), where the dot multiplies bit by bit: `rank` products of bits. Bit i of A[k]
/// says whether sum k has bit i of an element, bit k of C[i] whether bit i of the result has product k.
template <std::size_t n, std::size_t rank>
struct BilinearScheme {
  static constexpr std::size_t kBits = n, kRank = rank;
  Bits A[rank];
  Bits C[n];
};

/// Whether the scheme multiplies in F. Both sides are linear in a and in b, so pairs of basis elements prove
/// it.
template <class F, std::size_t n, std::size_t rank>
constexpr bool multiplies(const BilinearScheme<n, rank>& scheme) {
  static_assert(F::tag().bits == n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      Bits products;
      for (std::size_t k = 0; k < rank; ++k) {
        if (scheme.A[k].at(i) && scheme.A[k].at(j)) products = products ^ Bits::one(k);
      }
      using Elem = typename F::Elem;
      const Elem wanted = F::mul(static_cast<Elem>(Elem{1} << i), static_cast<Elem>(Elem{1} << j));
      for (std::size_t bit = 0; bit < n; ++bit) {
        if (scheme.C[bit].dot(products) != ((wanted >> bit & 1) != 0)) return false;
      }
    }
  }
  return true;
}

/// A value is the exclusive or of two earlier values, or of three. c = 0 with a < b means that there are two:
/// operands are in ascending order.
struct Step {
  std::uint16_t a, b, c = 0;
  constexpr bool has_three() const { return c != 0; }
};

/// Computes `outputs` sums of `inputs` values in `parts` programs, each for as many outputs as the others.
/// Within a part, values 0 to inputs - 1 are the inputs, and value inputs + i is made by step first[part] +
/// i.
template <std::size_t inputs, std::size_t outputs, std::size_t parts, std::size_t steps>
struct StraightLine {
  static constexpr std::size_t kInputs = inputs, kOutputs = outputs, kParts = parts;
  static constexpr std::size_t kPartOutputs = outputs / parts;
  static_assert(outputs % parts == 0);
  std::size_t first[parts + 1];
  Step step[steps];
  std::uint16_t output[outputs];  ///< the value that each output is

  constexpr std::size_t steps_of(std::size_t part) const { return first[part + 1] - first[part]; }
};

/// Whether the program computes the sums of `rows`.
template <std::size_t inputs, std::size_t outputs, std::size_t parts, std::size_t steps>
constexpr bool computes(const StraightLine<inputs, outputs, parts, steps>& program,
                        const Bits (&rows)[outputs]) {
  for (std::size_t part = 0; part < parts; ++part) {
    std::array<Bits, inputs + steps> value{};
    for (std::size_t i = 0; i < inputs; ++i) value[i] = Bits::one(i);
    const std::size_t made = program.steps_of(part);
    for (std::size_t i = 0; i < made; ++i) {
      const Step& step = program.step[program.first[part] + i];
      if (step.a >= inputs + i || step.b >= inputs + i || step.c >= inputs + i) return false;
      value[inputs + i] = value[step.a] ^ value[step.b] ^ (step.has_three() ? value[step.c] : Bits{});
    }
    for (std::size_t k = part * (outputs / parts); k < (part + 1) * (outputs / parts); ++k) {
      if (program.output[k] >= inputs + made || value[program.output[k]] != rows[k]) return false;
    }
  }
  return true;
}

/// Whether a scheme is exact and its programs compute what it says.
template <class F, class Scheme>
constexpr bool proved() {
  return multiplies<F>(Scheme::kScheme) && computes(Scheme::kSums, Scheme::kScheme.A) &&
         computes(Scheme::kResults, Scheme::kScheme.C);
}

}  // namespace pirx::gf2e
