// SPDX-License-Identifier: Apache-2.0
// Schoolbook arithmetic of Spiral's ring and small helpers that the tests share.
#pragma once

#include <random>
#include <vector>

#include "cpir/ring/ring.h"

namespace pirx::cpir::spiral::testing {

__extension__ typedef __int128 Wide;

/// In (-q/2, q/2).
inline std::int64_t centred(Wide x) {
  Wide r = x % static_cast<Wide>(kModulus);
  if (r < 0) r += kModulus;
  if (r > static_cast<Wide>(kModulus / 2)) r -= kModulus;
  return static_cast<std::int64_t>(r);
}

inline std::int64_t random_number(std::mt19937_64& engine) {
  return centred(static_cast<Wide>(engine() >> 1));
}

inline std::vector<std::int64_t> random_polynomial(std::size_t d, std::mt19937_64& engine) {
  std::vector<std::int64_t> out(d);
  for (auto& x : out) x = random_number(engine);
  return out;
}

inline std::vector<std::int64_t> multiply_ref(const std::vector<std::int64_t>& a,
                                              const std::vector<std::int64_t>& b) {
  const std::size_t d = a.size();
  std::vector<std::int64_t> out(d);
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < d; ++j) {
      const auto product = static_cast<Wide>(a[i]) * b[j];
      auto& to = out[(i + j) % d];
      to = centred(i + j < d ? to + product : to - product);
    }
  }
  return out;
}

/// x -> x^exponent.
inline std::vector<std::int64_t> automorphism_ref(const std::vector<std::int64_t>& a, std::size_t exponent) {
  const std::size_t d = a.size();
  std::vector<std::int64_t> out(d);
  for (std::size_t i = 0; i < d; ++i) {
    const std::size_t at = i * exponent % (2 * d);
    out[at % d] = at < d ? a[i] : -a[i];
  }
  return out;
}

/// x modulo q_k.
inline std::uint32_t residue(std::int64_t x, std::size_t k) {
  const auto q = static_cast<std::int64_t>(kPrimes[k]);
  return static_cast<std::uint32_t>((x % q + q) % q);
}

inline std::vector<std::uint32_t> residues(const std::vector<std::int64_t>& a) {
  std::vector<std::uint32_t> out;
  for (std::size_t k = 0; k < 2; ++k)
    for (const auto x : a) out.push_back(residue(x, k));
  return out;
}
inline std::vector<std::uint32_t> slots(const Ring& ring, const std::vector<std::int64_t>& a) {
  auto out = residues(a);
  ring.forward(out.data(), out.data());
  return out;
}
inline std::vector<std::int64_t> coefficients(const Ring& ring, std::vector<std::uint32_t> slots) {
  ring.inverse(slots.data(), slots.data());
  std::vector<std::int64_t> out(ring.d());
  ring.compose(out.data(), slots.data());
  return out;
}

}  // namespace pirx::cpir::spiral::testing
