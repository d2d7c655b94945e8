// Uniform elements of a prime field by rejection, shared by W160 and PrimeField.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "pirx/base/rng.h"
#include "pirx/base/secret.h"

namespace pirx::fp {

/// Fills `out` with independent uniform elements of f, a field of p > 2^w elements that travel in w/8 + 1
/// bytes. Candidates of w + 1 random bits are drawn until enough lie below p: two per element on average. How
/// many are refused does not depend on the values kept, so the timing says nothing about them. Coins: each
/// round draws one candidate for each element still missing (at most kBatch), in order.
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
      // No branch: it would go wrong every other time.
      done += f.decode_elem(candidate, out[done]) ? 1 : 0;
    }
  }
  secure_wipe(candidates.data(), candidates.size());
}

}  // namespace pirx::fp
