// SPDX-License-Identifier: Apache-2.0
// KeyPeeler: finds a filter in which every key has a slot of its own in its column, and the order in which
// to fill the slots. It needs only hashes, a few words for each key.
#pragma once

#include <vector>

#include "key_hash.h"

namespace pirx::database {

/// A distinct key of the input.
struct HashedKey {
  KeyHash hash;
  std::uint64_t position = 0;  ///< of its record in the input
};

/// Keys in the order in which their slots are settled: a key's own slot is no other one's of the keys before
/// it in its column, so setting it leaves their sums alone.
struct KeyPlan {
  struct Step {
    std::uint64_t row_hash = 0, position = 0;
    unsigned own = 0;  ///< which of rows_of(row_hash) is settled by this key
  };
  FilterSpec filter;
  std::vector<std::uint64_t> column_begin;  ///< column c: steps[column_begin[c] .. column_begin[c + 1])
  std::vector<Step> steps;
};

/// Most keys of a keyed database: rows are counted in 32 bits here.
inline constexpr std::uint64_t kMaxKeys = std::uint64_t{1} << 29;

/// The smallest filter of this seed found by trying lengths upward, some tweaks each: the same for the same
/// set of keys in any order, on any number of threads. Nothing when no length up to four times the keys
/// works, which another seed mends. `keys` (1 to kMaxKeys) are put in another order. Peeling: Graf and Lemire
/// 2022, section 3.
std::optional<KeyPlan> plan_keys(std::vector<HashedKey>& keys, std::uint64_t columns, const Digest& seed);

}  // namespace pirx::database
