// SPDX-License-Identifier: Apache-2.0
// What the tests of both prime fields share: conversions to NTL, the axioms, the wire, random elements.
#pragma once

#include <NTL/ZZ.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "pirx/base/field.h"
#include "support/random_element.h"
#include "support/seed.h"

namespace pirx::fp::testing {

using pirx::testing::EngineSource;
using pirx::testing::seeded_engine;

/// Plays given candidates; asking for more is a failure.
struct Tape {
  Bytes coins;
  std::size_t at = 0;
  void fill(MutableByteSpan out) {
    ASSERT_LE(at + out.size(), coins.size()) << "more coins drawn than needed";
    std::copy_n(coins.begin() + static_cast<std::ptrdiff_t>(at), out.size(), out.begin());
    at += out.size();
  }
};

template <class F>
NTL::ZZ modulus(const F& f) {
  return NTL::power2_ZZ(f.tag().bits - 1) + NTL::to_ZZ(static_cast<unsigned long>(f.tag().low));
}

template <class F>
NTL::ZZ to_zz(const F& f, const typename F::Elem& a) {
  Bytes bytes(f.elem_bytes());
  f.encode_elem(a, bytes.data());
  return NTL::ZZFromBytes(reinterpret_cast<const unsigned char*>(bytes.data()),
                          static_cast<long>(bytes.size()));
}

inline Bytes to_bytes(const NTL::ZZ& value, std::size_t size) {
  Bytes bytes(size);
  NTL::BytesFromZZ(reinterpret_cast<unsigned char*>(bytes.data()), value, static_cast<long>(size));
  return bytes;
}

template <class F>
typename F::Elem from_zz(const F& f, const NTL::ZZ& value) {
  typename F::Elem out{};
  EXPECT_TRUE(f.decode_elem(to_bytes(value, f.elem_bytes()).data(), out));
  return out;
}

/// 0, 1, p-1, 2^w and its neighbours, and every power of two with its neighbours, so every limb border.
template <class F>
std::vector<typename F::Elem> edge_values(const F& f) {
  std::vector<typename F::Elem> out{f.zero()};
  const NTL::ZZ p = modulus(f);
  for (long bit = 0; bit < f.tag().bits; ++bit) {
    for (long delta = -2; delta <= 2; ++delta) {
      const NTL::ZZ value = NTL::power2_ZZ(bit) + delta;
      if (value >= 0 && value < p) out.push_back(from_zz(f, value));
    }
  }
  for (long delta = 1; delta <= 8; ++delta) out.push_back(from_zz(f, p - delta));
  return out;
}

/// Addition, subtraction and product of a and b against NTL.
template <class F>
void check_pair(const F& f, const NTL::ZZ& p, const typename F::Elem& a, const typename F::Elem& b) {
  const NTL::ZZ za = to_zz(f, a), zb = to_zz(f, b);
  ASSERT_EQ(to_zz(f, f.add(a, b)), (za + zb) % p) << za << " + " << zb;
  ASSERT_EQ(to_zz(f, f.sub(a, b)), (za - zb) % p) << za << " - " << zb;
  ASSERT_EQ(to_zz(f, f.mul(a, b)), za * zb % p) << za << " * " << zb;
  ASSERT_EQ(f.equal(a, b), za == zb);
}

template <class F>
void check_arithmetic(const F& f, int random_pairs) {
  auto engine = seeded_engine(1);
  EngineSource source{engine};
  const NTL::ZZ p = modulus(f);
  for (int i = 0; i < random_pairs; ++i) {
    ASSERT_NO_FATAL_FAILURE(
        check_pair(f, p, pirx::testing::random_element(f, source), pirx::testing::random_element(f, source)));
  }
  const auto edges = edge_values(f);
  const std::size_t step = random_pairs < 10000 ? 7 : 1;
  for (std::size_t i = 0; i < edges.size(); i += step) {
    for (std::size_t j = 0; j < edges.size(); j += step) {
      ASSERT_NO_FATAL_FAILURE(check_pair(f, p, edges[i], edges[j]));
    }
    ASSERT_NO_FATAL_FAILURE(check_pair(f, p, edges[i], pirx::testing::random_element(f, source)));
  }
}

template <class F>
void check_axioms(const F& f) {
  auto engine = seeded_engine(2);
  EngineSource source{engine};
  std::vector<typename F::Elem> values = edge_values(f);
  for (int i = 0; i < 50; ++i) values.push_back(pirx::testing::random_element(f, source));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto a = values[i], b = values[engine() % values.size()], c = values[engine() % values.size()];
    ASSERT_TRUE(f.equal(f.add(a, b), f.add(b, a)));
    ASSERT_TRUE(f.equal(f.mul(a, b), f.mul(b, a)));
    ASSERT_TRUE(f.equal(f.add(f.add(a, b), c), f.add(a, f.add(b, c))));
    ASSERT_TRUE(f.equal(f.mul(f.mul(a, b), c), f.mul(a, f.mul(b, c))));
    ASSERT_TRUE(f.equal(f.mul(a, f.add(b, c)), f.add(f.mul(a, b), f.mul(a, c))));
    ASSERT_TRUE(f.equal(f.sub(f.add(a, b), b), a));
    ASSERT_TRUE(f.equal(f.add(a, f.zero()), a));
    ASSERT_TRUE(f.equal(f.mul(a, f.one()), a));
    if (f.equal(a, f.zero())) {
      ASSERT_TRUE(f.equal(f.inv(a), f.zero()));
    } else {
      ASSERT_TRUE(f.equal(f.mul(a, f.inv(a)), f.one()));
      ASSERT_TRUE(f.equal(f.inv(f.inv(a)), a));
    }
    ASSERT_TRUE(f.sum_equal(f.sum_add(a, b), f.add(a, b)));
    ASSERT_TRUE(f.sum_equal(f.sum_sub(a, b), f.sub(a, b)));
    ASSERT_TRUE(f.sum_equal(f.sum_scale(a, b), f.mul(a, b)));
  }
}

/// Every edge value goes over the wire and back; p and everything above is refused and leaves the target
/// alone. Words come back as they were; a sum at or above 2^w is no word.
template <class F>
void check_wire(const F& f) {
  const NTL::ZZ p = modulus(f);
  const NTL::ZZ limit = NTL::power2_ZZ(f.tag().bits - 1);
  ASSERT_EQ(f.elem_bytes(), f.word_bytes() + 1);
  ASSERT_EQ(f.sum_bytes(), f.elem_bytes());
  for (const auto& a : edge_values(f)) {
    Bytes wire(f.sum_bytes() + 1, std::byte{0xA5});
    f.encode_sum(a, wire.data());
    ASSERT_EQ(wire.back(), std::byte{0xA5});
    wire.pop_back();
    ASSERT_EQ(wire, to_bytes(to_zz(f, a), wire.size()));
    auto back = f.one();
    ASSERT_TRUE(f.decode_sum(wire.data(), back));
    ASSERT_TRUE(f.equal(a, back));

    Bytes word(f.word_bytes() + 1, std::byte{0xA5});
    const bool is_word = to_zz(f, a) < limit;
    ASSERT_EQ(f.store_word(a, word.data()), is_word);
    ASSERT_EQ(word.back(), std::byte{0xA5});
    if (is_word) {
      ASSERT_TRUE(f.sum_equal(f.load_word(word.data()), a));
    }
  }
  std::vector<NTL::ZZ> refused{p, p + 1, p + 2, 2 * limit - 1, 2 * limit, 2 * limit + 1, 256 * limit - 1};
  for (long bit = 1; bit < f.tag().bits - 1; ++bit) {
    if (NTL::power2_ZZ(bit) + limit >= p) refused.push_back(NTL::power2_ZZ(bit) + limit);
  }
  for (const NTL::ZZ& value : refused) {
    auto out = f.from_label(42);
    EXPECT_FALSE(f.decode_elem(to_bytes(value, f.elem_bytes()).data(), out)) << value;
    EXPECT_FALSE(f.decode_sum(to_bytes(value, f.elem_bytes()).data(), out)) << value;
    EXPECT_TRUE(f.equal(out, f.from_label(42))) << "a refused value was stored";
  }
}

inline double chi_square(const std::vector<int>& counts) {
  double total = 0, sum = 0;
  for (const int count : counts) total += count;
  const double expected = total / static_cast<double>(counts.size());
  for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

/// Far beyond any chance: mean + 8 standard deviations + 8.
inline double chi_square_limit(std::size_t bins) {
  const double freedom = static_cast<double>(bins - 1);
  return freedom + 8 * std::sqrt(2 * freedom) + 8;
}

/// Random elements lie evenly in sixteenths of the field and their low nibbles are even (w >= 16).
template <class F>
void check_uniformity(const F& f) {
  auto engine = seeded_engine(3);
  EngineSource source{engine};
  std::vector<typename F::Elem> values(16000);
  f.random_fill(source, std::span(values));
  std::vector<int> high(16), low(16);
  const NTL::ZZ sixteenth = NTL::power2_ZZ(f.tag().bits - 5);
  for (const auto& a : values) {
    const NTL::ZZ value = to_zz(f, a);
    ASSERT_LT(value, modulus(f));
    ++high[std::min(15ul, NTL::conv<unsigned long>(value / sixteenth))];
    ++low[NTL::conv<unsigned long>(value % 16)];
  }
  EXPECT_LT(chi_square(high), chi_square_limit(16));
  EXPECT_LT(chi_square(low), chi_square_limit(16));
}

/// Coins chosen by an enemy: candidates from p on are refused one by one, bits above the candidate are
/// ignored, and not one coin more is drawn than the missing elements need.
template <class F>
void check_rejection(const F& f) {
  const NTL::ZZ p = modulus(f);
  const std::size_t width = f.elem_bytes();
  Tape tape;
  const auto coin = [&](const NTL::ZZ& value, unsigned garbage) {
    Bytes bytes = to_bytes(value, width);
    bytes.back() |= static_cast<std::byte>(garbage);
    tape.coins.insert(tape.coins.end(), bytes.begin(), bytes.end());
  };
  coin(p, 0);  // first round, three missing: all refused
  coin(p + 1, 0xFE);
  coin(NTL::power2_ZZ(f.tag().bits) - 1, 0);
  coin(p - 1, 0xFE);  // second round: two kept
  coin(2 * p - 2 < NTL::power2_ZZ(f.tag().bits) ? p + 2 : p, 0);
  coin(NTL::ZZ(5), 0);
  coin(p, 0x80);  // third and fourth round: one missing
  coin(p - 2, 0);
  std::vector<typename F::Elem> out(3);
  f.random_fill(tape, std::span(out));
  EXPECT_EQ(tape.at, tape.coins.size());
  EXPECT_EQ(to_zz(f, out[0]), p - 1);
  EXPECT_EQ(to_zz(f, out[1]), NTL::ZZ(5));
  EXPECT_EQ(to_zz(f, out[2]), p - 2);

  Tape all_ones{Bytes(1000 * width, std::byte{0xFF})};
  const Bytes last = to_bytes(NTL::ZZ(9), width);
  all_ones.coins.insert(all_ones.coins.end(), last.begin(), last.end());
  EXPECT_EQ(to_zz(f, pirx::testing::random_element(f, all_ones)), NTL::ZZ(9));
}

}  // namespace pirx::fp::testing
