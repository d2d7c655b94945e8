// SPDX-License-Identifier: Apache-2.0
// The seed of a random test: printed once, settable by PIRX_TEST_SEED.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "pirx/base/bytes.h"

namespace pirx::testing {

inline std::uint64_t test_seed() {
  static const std::uint64_t seed = [] {
    const char* text = std::getenv("PIRX_TEST_SEED");
    const std::uint64_t value = text != nullptr ? std::strtoull(text, nullptr, 0) : std::random_device{}();
    std::printf("PIRX_TEST_SEED=%llu\n", static_cast<unsigned long long>(value));
    return value;
  }();
  return seed;
}

/// A generator that depends on the seed and on `stream`, so that tests do not depend on each other's order.
inline std::mt19937_64 seeded_engine(std::uint64_t stream = 0) {
  std::seed_seq sequence{test_seed() & 0xffffffffu, test_seed() >> 32, stream & 0xffffffffu, stream >> 32};
  return std::mt19937_64(sequence);
}

/// A number from 0 to limit - 1.
inline std::size_t below(std::mt19937_64& engine, std::size_t limit) {
  return static_cast<std::size_t>(engine() % limit);
}

/// Random bytes.
inline void fill(std::mt19937_64& engine, MutableByteSpan out) {
  while (!out.empty()) {
    const std::uint64_t word = engine();
    const std::size_t size = std::min(sizeof word, out.size());
    std::memcpy(out.data(), &word, size);
    out = out.subspan(size);
  }
}

}  // namespace pirx::testing
