// SPDX-License-Identifier: Apache-2.0
// The product over GF(2^8) as Percy++ 1.0 and paper 000 compute it: by a 64 KiB table of all products, 8
// bytes of the database at a time.
#include <cstring>
#include <memory>

#include "bench/engine/peers.h"
#include "pirx/gf2e/gf2_8.h"

namespace pirx::bench {

Peer make_table(matrix::ConstView<std::uint8_t> Q, matrix::ConstView<std::byte> D) {
  const gf2e::Gf2_8 f;
  const auto table = std::make_shared<std::vector<std::uint8_t>>(256 * 256);
  for (unsigned a = 0; a < 256; ++a) {
    for (unsigned b = 0; b < 256; ++b) {
      (*table)[256 * a + b] = f.mul(static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(b));
    }
  }
  using Products = matrix::Matrix<std::uint8_t>;
  const auto R = std::make_shared<Products>(need(Products::create(Q.rows, D.cols)));
  const auto multiply = [=] {
    for (std::size_t i = 0; i < Q.rows; ++i) std::memset(R->row(i), 0, D.cols);
    for (std::size_t k = 0; k < D.rows; ++k) {
      for (std::size_t i = 0; i < Q.rows; ++i) {
        const std::uint8_t* products = table->data() + std::size_t{256} * Q.at(i, k);
        for (std::size_t j = 0; j < D.cols; j += 8) {
          const auto word = load_le<std::uint64_t>(D.row(k) + j);
          std::uint64_t product = products[word & 0xff];
          for (unsigned shift = 8; shift < 64; shift += 8) {
            product |= std::uint64_t{products[(word >> shift) & 0xff]} << shift;
          }
          store_le(R->row(i) + j, load_le<std::uint64_t>(R->row(i) + j) ^ product);
        }
      }
    }
  };
  return {multiply, [R](std::size_t i, std::size_t j) { return R->row(i)[j]; },
          [f](std::uint8_t a, std::uint8_t b) { return f.mul(a, b); }};
}

}  // namespace pirx::bench
