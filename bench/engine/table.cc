// SPDX-License-Identifier: Apache-2.0
// The product over GF(2^8) by a 64 KiB table of all products, 8 bytes of the database at a time, as paper 000
// describes it; with levels of Strassen around it, as its authors added them. A re-creation: no line is
// Percy++'s.
#include <array>
#include <limits>
#include <memory>

#include "bench/engine/peers.h"
#include "pirx/gf2e/gf2_8.h"
#include "pirx/strassen/engine.h"

namespace pirx::bench {
namespace {

using F = gf2e::Gf2_8;
using Byte = std::uint8_t;

const std::array<std::array<Byte, 256>, 256>& products() {
  static const auto table = [] {
    const auto made = std::make_unique<std::array<std::array<Byte, 256>, 256>>();
    for (unsigned a = 0; a < 256; ++a) {
      for (unsigned b = 0; b < 256; ++b) {
        (*made)[a][b] = F{}.mul(static_cast<Byte>(a), static_cast<Byte>(b));
      }
    }
    return *made;
  }();
  return table;
}

/// R += a * D over `words` bytes.
void add_multiple(const std::array<Byte, 256>& multiples, std::size_t words, const std::byte* D, Byte* R) {
  std::size_t j = 0;
  for (; j + 8 <= words; j += 8) {
    const auto word = load_le<std::uint64_t>(D + j);
    std::uint64_t product = multiples[word & 0xff];
    for (unsigned shift = 8; shift < 64; shift += 8) {
      product |= std::uint64_t{multiples[(word >> shift) & 0xff]} << shift;
    }
    auto* out = reinterpret_cast<std::byte*>(R + j);
    store_le(out, load_le<std::uint64_t>(out) ^ product);
  }
  for (; j < words; ++j) R[j] ^= multiples[std::to_integer<Byte>(D[j])];
}

void muladd_words(const F&, std::size_t q, std::size_t r, std::size_t s, const Byte* Q, std::size_t q_stride,
                  const std::byte* D, std::size_t d_stride, Byte* R, std::size_t r_stride) noexcept {
  for (std::size_t k = 0; k < r; ++k) {
    for (std::size_t i = 0; i < q; ++i) {
      add_multiple(products()[Q[i * q_stride + k]], s, D + k * d_stride, R + i * r_stride);
    }
  }
}
void muladd_sums(const F& f, std::size_t q, std::size_t r, std::size_t s, const Byte* Q, std::size_t q_stride,
                 const Byte* D, std::size_t d_stride, Byte* R, std::size_t r_stride) noexcept {
  muladd_words(f, q, r, s, Q, q_stride, reinterpret_cast<const std::byte*>(D), d_stride, R, r_stride);
}
void add(const F&, std::size_t n, const Byte* a, const Byte* b, Byte* out) noexcept {
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<Byte>(a[i] ^ b[i]);
}

// One tile is the whole matrix: the authors had no other blocks than Strassen's.
constexpr std::size_t kAll = std::numeric_limits<std::uint32_t>::max();
const Kernels<F> kTable{"table", 0, &muladd_words, &muladd_sums, &add, &add, kAll, kAll};

}  // namespace

Peer make_table(matrix::ConstView<std::uint8_t> Q, matrix::ConstView<std::byte> D, int depth) {
  using Products = matrix::Matrix<std::uint8_t>;
  const auto R = std::make_shared<Products>(need(Products::create(Q.rows, D.cols)));
  const strassen::Engine<F> engine(F{}, kTable);
  const auto prepared = need(engine.prepare(D, {strassen::Layout::kRows, 1}));
  const auto multiply = [=] { need(engine.multiply(Q, prepared, R->view(), {1, depth})); };
  return {multiply, [R](std::size_t i, std::size_t j) { return R->row(i)[j]; },
          [](std::uint8_t a, std::uint8_t b) { return F{}.mul(a, b); }};
}

}  // namespace pirx::bench
