// SPDX-License-Identifier: Apache-2.0
// The product by ISA-L's erasure code: rows of the database are its sources, answers are its parities.
#include <isa-l/erasure_code.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "bench/engine/peers.h"

namespace pirx::bench {
namespace {

constexpr std::size_t kRows = 64, kColumns = 4096;  // of a block: 256 KiB

struct State {
  State(matrix::ConstView<std::uint8_t> q, matrix::ConstView<std::byte> d)
      : Q(q), D(d), R(q.rows * d.cols), part(q.rows * kColumns) {
    std::vector<unsigned char> coefficients;
    for (std::size_t k = 0; k < D.rows; k += kRows) {
      const std::size_t rows = std::min(kRows, D.rows - k);
      coefficients.clear();
      for (std::size_t i = 0; i < Q.rows; ++i) {
        coefficients.insert(coefficients.end(), Q.row(i) + k, Q.row(i) + k + rows);
      }
      tables.emplace_back(32 * rows * Q.rows);
      ec_init_tables(static_cast<int>(rows), static_cast<int>(Q.rows), coefficients.data(),
                     tables.back().data());
    }
  }

  void multiply() {
    std::fill(R.begin(), R.end(), 0);
    std::vector<unsigned char*> sources(kRows), targets(Q.rows);
    for (std::size_t i = 0; i < Q.rows; ++i) targets[i] = part.data() + i * kColumns;
    for (std::size_t j = 0; j < D.cols; j += kColumns) {
      const std::size_t columns = std::min(kColumns, D.cols - j);
      for (std::size_t k = 0; k < D.rows; k += kRows) {
        const std::size_t rows = std::min(kRows, D.rows - k);
        for (std::size_t row = 0; row < rows; ++row) {
          // The library only reads its sources, but has no const.
          sources[row] = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(D.row(k + row) + j));
        }
        ec_encode_data(static_cast<int>(columns), static_cast<int>(rows), static_cast<int>(Q.rows),
                       tables[k / kRows].data(), sources.data(), targets.data());
        for (std::size_t i = 0; i < Q.rows; ++i) {
          for (std::size_t c = 0; c < columns; ++c) R[i * D.cols + j + c] ^= targets[i][c];
        }
      }
    }
  }

  matrix::ConstView<std::uint8_t> Q;
  matrix::ConstView<std::byte> D;
  std::vector<std::uint8_t> R, part;
  std::vector<std::vector<unsigned char>> tables;
};

}  // namespace

Peer make_isal(matrix::ConstView<std::uint8_t> Q, matrix::ConstView<std::byte> D) {
  const auto state = std::make_shared<State>(Q, D);
  return {[state] { state->multiply(); },
          [state](std::size_t i, std::size_t j) { return state->R[i * state->D.cols + j]; },
          [](std::uint8_t a, std::uint8_t b) { return gf_mul(a, b); }};
}

}  // namespace pirx::bench
