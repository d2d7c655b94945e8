// SPDX-License-Identifier: Apache-2.0
// Blinding (Devet, Goldberg, Heninger 2012): a server gets its share vector times a secret scalar of its own,
// fresh for each query, and the client takes the scalar out of the reply again. Nothing changes for privacy;
// but liars who agree on a lie no longer agree once the scalars are out, so further queries tell them apart.
#pragma once

#include "src/base/constant_time.h"
#include "vectors.h"

namespace pirx::itpir::goldberg {

/// Whether queries are blinded; off is for tests that need the bare shares.
enum class Blinding : bool { kOff, kOn };

/// Uniform over the |F| - 1 non-zero elements: a zero is drawn again, which says nothing about what is kept.
template <SharingField F, RandomSource R>
void random_nonzero_fill(const F& f, R& rng, std::span<typename F::Elem> out) {
  f.random_fill(rng, out);
  for (auto& value : out) {
    while (reveal(f.equal(value, f.zero()) ? 1 : 0)) f.random_fill(rng, std::span(&value, 1));
  }
}

}  // namespace pirx::itpir::goldberg
