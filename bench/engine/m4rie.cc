// SPDX-License-Identifier: Apache-2.0
// The product by M4RIE. Its matrices are copies of Q and D. The answer stays bit-sliced, in M4RIE's form.
#include <m4rie/m4rie.h>

#include <memory>

#include "bench/engine/peers.h"
#include "pirx/gf2e/gf2_8.h"

namespace pirx::bench {
namespace {

struct State {
  State(matrix::ConstView<std::uint8_t> Q, matrix::ConstView<std::byte> D) {
    field = gf2e_init(0x11B);
    left = sliced(Q.rows, Q.cols, [&](std::size_t i, std::size_t j) { return Q.at(i, j); });
    right = sliced(D.rows, D.cols,
                   [&](std::size_t i, std::size_t j) { return static_cast<std::uint8_t>(D.at(i, j)); });
    product = mzd_slice_init(field, static_cast<rci_t>(Q.rows), static_cast<rci_t>(D.cols));
  }
  ~State() {
    mzd_slice_free(left);
    mzd_slice_free(right);
    mzd_slice_free(product);
    gf2e_free(field);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  template <class Entry>
  mzd_slice_t* sliced(std::size_t rows, std::size_t cols, const Entry& entry) {
    mzed_t* packed = mzed_init(field, static_cast<rci_t>(rows), static_cast<rci_t>(cols));
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < cols; ++j) {
        mzed_write_elem(packed, static_cast<rci_t>(i), static_cast<rci_t>(j), entry(i, j));
      }
    }
    mzd_slice_t* out = mzed_slice(nullptr, packed);
    mzed_free(packed);
    return out;
  }

  ::gf2e* field;
  mzd_slice_t *left, *right, *product;
};

}  // namespace

Peer make_m4rie(matrix::ConstView<std::uint8_t> Q, matrix::ConstView<std::byte> D) {
  const auto state = std::make_shared<State>(Q, D);
  return {[state] { mzd_slice_mul_karatsuba(state->product, state->left, state->right); },
          [state](std::size_t i, std::size_t j) {
            return static_cast<std::uint8_t>(
                mzd_slice_read_elem(state->product, static_cast<rci_t>(i), static_cast<rci_t>(j)));
          },
          [](std::uint8_t a, std::uint8_t b) { return gf2e::Gf2_8{}.mul(a, b); }};
}

}  // namespace pirx::bench
