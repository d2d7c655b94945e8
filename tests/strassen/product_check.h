// SPDX-License-Identifier: Apache-2.0
// Random products, padded so that strides are odd, and the triple loop that they are checked against.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "pirx/strassen/engine.h"
#include "src/base/time_limit.h"
#include "support/kernels.h"
#include "support/random_element.h"
#include "support/seed.h"

namespace pirx::testing {

/// A random product with its answer. Rows of every operand lie apart with a gap, which must stay untouched in
/// R.
template <class F>
class ProductCase {
 public:
  using Elem = typename F::Elem;
  using Sum = typename F::Sum;

  ProductCase(const F& f, const strassen::Shape& shape, std::size_t gap, std::mt19937_64& engine)
      : f_(f),
        shape_(shape),
        q_width_(shape.r + gap),
        d_width_(shape.s * f.word_bytes() + gap),
        r_width_(shape.s + gap),
        q_(shape.q * q_width_),
        d_(shape.r * d_width_),
        words_(shape.r * r_width_),
        sums_(shape.r * r_width_) {
    EngineSource source{engine};
    for (Elem& a : q_) a = pirx::testing::random_element(f, source);
    source.fill(d_);
    for (std::size_t k = 0; k < shape.r; ++k) {
      for (std::size_t j = 0; j < shape.s; ++j) {
        Sum& word = words_[k * r_width_ + j];
        word = f.load_word(&d_[k * d_width_ + j * f.word_bytes()]);
        // Any sum, not only those that are words.
        sums_[k * r_width_ + j] = f.sum_scale(pirx::testing::random_element(f, source), word);
      }
    }
  }

  /// The product of Q with the database words, in rows and in planes.
  void expect_words(const strassen::Engine<F>& engine, const strassen::ExecOptions& options) {
    for (const auto layout : {strassen::Layout::kRows, strassen::Layout::kSliced}) {
      if (layout == strassen::Layout::kRows || engine.kernels().sliced != nullptr)
        expect_words(engine, options, layout);
    }
  }
  void expect_words(const strassen::Engine<F>& engine, const strassen::ExecOptions& options,
                    strassen::Layout layout, int stored = 0) {
    const strassen::PrepareOptions how{layout, static_cast<int>(shape_.r % 3), stored};
    const auto prepared = engine.prepare({d_.data(), shape_.r, shape_.s * f_.word_bytes(), d_width_}, how);
    ASSERT_TRUE(prepared) << prepared.error().to_string();
    ASSERT_EQ(prepared->layout(), layout);
    EXPECT_EQ(prepared->bytes(), engine.prepared_bytes(shape_.r, shape_.s, how));
    SCOPED_TRACE(engine.plan(shape_, options, how).to_string());
    SCOPED_TRACE(layout == strassen::Layout::kRows     ? "in rows"
                 : layout == strassen::Layout::kSliced ? "in planes"
                                                       : "as residues");
    if (words_answer_.empty()) words_answer_ = triple_loop(words_);
    expect(engine, options, words_answer_,
           [&](auto Q, auto R) { return engine.multiply(Q, *prepared, R, options); });
    if (prepared->window(0, shape_.r)) {
      expect(engine, options, words_answer_,
             [&](auto Q, auto R) { return in_windows(engine, Q, *prepared, R, options); });
    }
    if constexpr (std::same_as<F, gf2e::Gf2>) {
      expect(engine, options, words_answer_,
             [&](auto Q, auto R) { return engine.multiply_bits(in_bits(Q), *prepared, R, options); });
    }
  }
  /// The product of Q with other values, given as sums.
  void expect_sums(const strassen::Engine<F>& engine, const strassen::ExecOptions& options) {
    const matrix::ConstView<Sum> D{sums_.data(), shape_.r, shape_.s, r_width_ * sizeof(Sum)};
    if (sums_answer_.empty()) sums_answer_ = triple_loop(sums_);
    expect(engine, options, sums_answer_,
           [&](auto Q, auto R) { return engine.multiply_sums(Q, D, R, options); });
  }

 private:
  /// The sum of the products with the first rows and with the others.
  Result<void> in_windows(const strassen::Engine<F>& engine, matrix::ConstView<Elem> Q,
                          const strassen::PreparedMatrix<F>& D, matrix::View<Sum> R,
                          const strassen::ExecOptions& options) const {
    const std::size_t cut = shape_.r / 32 * 16, rest = shape_.r - cut;
    PIRX_ASSIGN(auto part, matrix::Matrix<Sum>::create(R.rows, R.cols));
    PIRX_TRY(engine.multiply(Q.window(0, 0, Q.rows, cut), *D.window(0, cut), R, options));
    PIRX_TRY(engine.multiply(Q.window(0, cut, Q.rows, rest), *D.window(cut, rest), part.view(), options));
    for (std::size_t i = 0; i < R.rows; ++i) {
      for (std::size_t j = 0; j < R.cols; ++j) R.at(i, j) = f_.sum_add(R.at(i, j), part.at(i, j));
    }
    return {};
  }

  /// Q with its scalars in bits, and with ones wherever nothing is to be read. Rows lie apart with a gap.
  matrix::ConstView<std::byte> in_bits(matrix::ConstView<Elem> Q) {
    const std::size_t bytes = Q.cols / 8 + (Q.cols % 8 != 0), stride = bytes + q_width_ % 5;
    bits_.assign(Q.rows * stride, std::byte{0xFF});
    for (std::size_t i = 0; i < Q.rows; ++i) {
      for (std::size_t k = 0; k < Q.cols; ++k) {
        const auto zero = static_cast<std::byte>((Q.at(i, k) ^ 1) << (k % 8));
        bits_[i * stride + k / 8] ^= zero;
      }
    }
    return {bits_.data(), Q.rows, bytes, stride};
  }

  std::vector<Sum> triple_loop(const std::vector<Sum>& D) const {
    std::vector<Sum> answer(shape_.q * r_width_, Sum{});
    for (std::size_t i = 0; i < shape_.q; ++i) {
      for (std::size_t k = 0; k < shape_.r; ++k) {
        for (std::size_t j = 0; j < shape_.s; ++j) {
          Sum& sum = answer[i * r_width_ + j];
          sum = f_.sum_add(sum, f_.sum_scale(q_[i * q_width_ + k], D[k * r_width_ + j]));
        }
      }
    }
    return answer;
  }

  template <class Multiply>
  void expect(const strassen::Engine<F>& engine, const strassen::ExecOptions& options,
              const std::vector<Sum>& answer, const Multiply& multiply) {
    // Garbage that multiply must overwrite, and that it must leave alone between the rows.
    const Sum garbage = answer.empty() ? Sum{} : answer[0];
    std::vector<Sum> out(shape_.q * r_width_, garbage);
    const matrix::ConstView<Elem> Q{q_.data(), shape_.q, shape_.r, q_width_ * sizeof(Elem)};
    const matrix::View<Sum> R{out.data(), shape_.q, shape_.s, r_width_ * sizeof(Sum)};
    const auto done = multiply(Q, R);
    ASSERT_TRUE(done) << done.error().to_string();
    std::size_t wrong = 0, touched = 0;
    for (std::size_t i = 0; i < shape_.q; ++i) {
      for (std::size_t j = 0; j < r_width_; ++j) {
        const Sum& sum = out[i * r_width_ + j];
        if (j < shape_.s) {
          wrong += !f_.sum_equal(sum, answer[i * r_width_ + j]);
        } else {
          touched += !f_.sum_equal(sum, garbage);
        }
      }
    }
    EXPECT_EQ(wrong, 0u) << f_.tag().name() << " " << engine.plan(shape_, options).to_string();
    EXPECT_EQ(touched, 0u) << f_.tag().name() << " " << engine.plan(shape_, options).to_string();
    if (shape_.q * shape_.r * shape_.s == 0) return;
    TimeLimit limit(TimeLimit::Clock::now());
    static_cast<void>(multiply(Q, R));
    EXPECT_TRUE(limit.reached()) << engine.plan(shape_, options).to_string();
  }

  F f_;
  strassen::Shape shape_;
  std::size_t q_width_, d_width_, r_width_;
  std::vector<Elem> q_;
  std::vector<std::byte> d_, bits_;
  std::vector<Sum> words_, sums_, words_answer_, sums_answer_;
};

/// Random shapes, with the corners: empty, single, thin, odd. Words of a row are at most `most`.
inline std::vector<strassen::Shape> some_shapes(std::size_t most, int random, std::mt19937_64& engine) {
  std::vector<strassen::Shape> shapes = {{0, 0, 0},    {0, 3, 5},    {3, 0, 5},    {3, 5, 0},     {1, 1, 1},
                                         {1, most, 1}, {1, 1, most}, {most, 1, 1}, {1, 17, most}, {2, 2, 2},
                                         {3, 3, 3},    {7, 9, 11},   {16, 16, 16}, {17, 31, 33}};
  for (; random > 0; --random) shapes.push_back({engine() % 20, engine() % 70, engine() % (most + 1)});
  return shapes;
}

}  // namespace pirx::testing
