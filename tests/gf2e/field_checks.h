// SPDX-License-Identifier: Apache-2.0
// What every field of gf2e owes: constants, labels, words and wire encodings that round-trip, randomness
// drawn whole.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "pirx/base/field.h"
#include "support/random_element.h"
#include "support/seed.h"

namespace pirx::testing {

/// 0, 1, and labels: f.from_label(n) are all the elements, once each, as their byte patterns.
template <class F>
void check_labels_and_wire(const F& f) {
  using Elem = typename F::Elem;
  EXPECT_EQ(f.zero(), f.from_label(0));
  EXPECT_EQ(f.one(), f.from_label(1));
  EXPECT_EQ(f.elem_bytes(), sizeof(Elem));
  for (std::uint64_t n = 0; n < f.size_limit(); ++n) {
    const Elem a = f.from_label(n);
    ASSERT_EQ(a, n);
    std::array<std::byte, sizeof(Elem)> wire{};
    f.encode_elem(a, wire.data());
    ASSERT_EQ(load_le<Elem>(wire.data()), n);
    Elem back = static_cast<Elem>(~a);
    ASSERT_TRUE(f.decode_elem(wire.data(), back));
    ASSERT_TRUE(f.equal(a, back));
  }
}

/// Every pattern is a word, and a sum that encodes as itself.
template <class F>
void check_words(const F& f) {
  using Sum = typename F::Sum;
  EXPECT_EQ(f.word_bytes(), sizeof(Sum));
  EXPECT_EQ(f.sum_bytes(), sizeof(Sum));
  for (std::uint64_t n = 0; n >> (8 * sizeof(Sum)) == 0; ++n) {
    std::array<std::byte, sizeof(Sum)> word{}, stored{}, wire{};
    store_le(word.data(), static_cast<Sum>(n));
    const Sum s = f.load_word(word.data());
    ASSERT_EQ(s, n);
    ASSERT_TRUE(f.store_word(s, stored.data()));
    ASSERT_EQ(stored, word);
    f.encode_sum(s, wire.data());
    ASSERT_EQ(wire, word);
    Sum back{};
    ASSERT_TRUE(f.decode_sum(wire.data(), back));
    ASSERT_TRUE(f.sum_equal(s, back));
    ASSERT_TRUE(f.sum_equal(f.sum_scale(f.one(), s), s));
    ASSERT_TRUE(f.sum_equal(f.sum_scale(f.zero(), s), Sum{}));
    ASSERT_TRUE(f.sum_equal(f.sum_sub(f.sum_add(s, 1), 1), s));
  }
}

/// Every element is drawn, about equally often; random_fill is random, repeated.
template <class F>
void check_random(const F& f, std::size_t draws) {
  using Elem = typename F::Elem;
  auto engine = seeded_engine(10), same = engine;
  EngineSource one{engine}, many{same};
  std::vector<Elem> filled(draws);
  f.random_fill(many, std::span<Elem>(filled));
  std::vector<double> count(f.size_limit());
  for (const Elem a : filled) {
    ASSERT_LT(a, f.size_limit());
    ASSERT_EQ(a, pirx::testing::random_element(f, one));
    ++count[a];
  }
  // Chi-squared: mean cells - 1, standard deviation sqrt(2 (cells - 1)); eight of them are never seen by
  // chance.
  const double cells = static_cast<double>(f.size_limit()), expected = static_cast<double>(draws) / cells;
  double chi_squared = 0;
  for (const double c : count) chi_squared += (c - expected) * (c - expected) / expected;
  EXPECT_LT(chi_squared, cells - 1 + 8 * std::sqrt(2 * cells) + 30) << "seed " << test_seed();
}

}  // namespace pirx::testing
