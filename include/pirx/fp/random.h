// SPDX-License-Identifier: Apache-2.0
// Uniform elements of a prime field by rejection sampling, for W160, W48 and PrimeField.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "pirx/base/rng.h"
#include "pirx/base/secret.h"

namespace pirx::fp {

/// Fills `out` with independent uniform elements of f, a field of p > 2^w elements that take w/8 + 1 bytes
/// each. Candidates of w + 1 random bits are drawn until enough of them are below p: two per element on
/// average. The number of refused candidates does not depend on the values that are kept, so the timing
/// reveals nothing about them. Each round draws from `rng` one candidate for each missing element, at most
/// kBatch, in order.
template <class F, RandomSource R>
void random_fill(const F& f, R& rng, std::span<typename F::Elem> out) {
  constexpr std::size_t kBatch = 64;
  constexpr std::size_t kMaxBytes = 33;
  std::array<std::byte, kBatch * kMaxBytes> candidates;
  const std::size_t width = f.elem_bytes();
  std::size_t done = 0;
  while (done < out.size()) {
    const std::size_t count = std::min(kBatch, out.size() - done);
    rng.fill(MutableByteSpan(candidates.data(), count * width));
    for (std::size_t i = 0; i < count; ++i) {
      std::byte* candidate = candidates.data() + i * width;
      candidate[width - 1] &= std::byte{1};
      // Without a branch: it would be mispredicted half of the time.
      done += f.decode_elem(candidate, out[done]) ? 1 : 0;
    }
  }
  secure_wipe(candidates.data(), candidates.size());
}

}  // namespace pirx::fp
