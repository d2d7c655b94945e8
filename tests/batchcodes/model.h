// SPDX-License-Identifier: Apache-2.0
// The oracle of the polynomial codes: polynomials evaluated and interpolated one value at a time, as the
// textbook has it, and the bytes, coins and databases that tests run on.
#pragma once

#include <gtest/gtest.h>

#include <random>

#include "batchcodes/encoder_impl.h"
#include "batchcodes/polynomial_code_impl.h"
#include "support/random_element.h"
#include "support/seed.h"
#include "support/tiny_engine.h"

namespace pirx::batchcodes::testing {

using matrix::Matrix;

/// The value at `at` of the polynomial of degree below x.size() that is y at x.
template <class F>
typename F::Elem interpolate(const F& f, const std::vector<typename F::Elem>& x,
                             const std::vector<typename F::Elem>& y, typename F::Elem at) {
  auto sum = f.zero();
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto top = y[i], bottom = f.one();
    for (std::size_t m = 0; m < x.size(); ++m) {
      if (m == i) continue;
      top = f.mul(top, f.sub(at, x[m]));
      bottom = f.mul(bottom, f.sub(x[i], x[m]));
    }
    sum = f.add(sum, f.mul(top, f.inv(bottom)));
  }
  return sum;
}

/// Random database words: bytes below the size of the field, so that over tiny fields they are elements.
template <class F>
Matrix<std::byte> random_database(const F& f, std::size_t rows, std::size_t words, std::mt19937_64& engine) {
  auto D = Matrix<std::byte>::create(rows, words * f.word_bytes()).value();
  const auto below = static_cast<unsigned>(std::min<std::uint64_t>(f.size_limit(), 256));
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t c = 0; c < D.cols(); ++c) D.at(i, c) = static_cast<std::byte>(engine() % below);
  }
  return D;
}

template <class F>
Matrix<typename F::Elem> random_elements(const F& f, std::size_t rows, std::size_t cols,
                                         std::mt19937_64& engine) {
  auto M = Matrix<typename F::Elem>::create(rows, cols).value();
  pirx::testing::EngineSource rng{engine};
  for (std::size_t i = 0; i < rows; ++i) f.random_fill(rng, std::span(M.row(i), cols));
  return M;
}

/// All buckets of a database, bucket after bucket, encoded in streams of `step` rows.
template <class F>
Matrix<typename F::Sum> encode_all(const Encoder<F>& encoder, const Matrix<std::byte>& D,
                                   const Matrix<typename F::Elem>& noise, std::size_t words,
                                   std::size_t step = SIZE_MAX) {
  using Sum = typename F::Sum;
  const auto& spec = encoder.encoding().spec();
  const auto R = static_cast<std::size_t>(encoder.encoding().rows(D.rows()));
  auto buckets = Matrix<Sum>::create(encoder.buckets() * R, words).value();
  step = std::max<std::size_t>(1, std::min(step, R));
  for (std::size_t row = 0; row < R; row += step) {
    const std::size_t n = std::min(step, R - row), first = row * spec.arity;
    const std::size_t blocks = std::min<std::size_t>(n * spec.arity, D.rows() - first);
    auto part = Matrix<Sum>::create(encoder.buckets() * n, words).value();
    const auto coins = noise.view().window(row * spec.independence, 0, n * spec.independence, noise.cols());
    EXPECT_TRUE(encoder.encode(row, D.view().window(first, 0, blocks, D.cols()), coins, part.view()));
    for (std::size_t j = 0; j < encoder.buckets(); ++j) {
      for (std::size_t g = 0; g < n; ++g) {
        std::copy_n(part.row(j * n + g), words, buckets.row(j * R + row + g));
      }
    }
  }
  return buckets;
}

template <class F>
bool same(const F& f, matrix::ConstView<typename F::Sum> a, matrix::ConstView<typename F::Sum> b) {
  if (a.rows != b.rows || a.cols != b.cols) return false;
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t c = 0; c < a.cols; ++c) {
      if (!f.sum_equal(a.at(i, c), b.at(i, c))) return false;
    }
  }
  return true;
}

template <class F>
bool holds(const F& f, matrix::ConstView<std::byte> words, std::size_t row, const typename F::Sum* sums,
           std::size_t n) {
  for (std::size_t c = 0; c < n; ++c) {
    if (!f.sum_equal(f.load_word(words.row(row) + c * f.word_bytes()), sums[c])) return false;
  }
  return true;
}

}  // namespace pirx::batchcodes::testing
