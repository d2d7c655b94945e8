// SPDX-License-Identifier: Apache-2.0
// Other ways to multiply over GF(2^8), which are measured beside the engine. Libraries are measured if they
// are installed.
#pragma once

#include <functional>

#include "bench/measure.h"
#include "pirx/base/matrix.h"

namespace pirx::bench {

/// A product over GF(2^8), or over another field of 256 elements, ready to run.
struct Peer {
  std::function<void()> run;
  std::function<std::uint8_t(std::size_t i, std::size_t j)> entry;  ///< of the product, after a run
  std::function<std::uint8_t(std::uint8_t, std::uint8_t)> multiply;
};
using PeerMaker = std::function<Peer(matrix::ConstView<std::uint8_t> Q, matrix::ConstView<std::byte> D)>;

/// Look-up in a table of all products, with so many levels of Strassen around it, or as many as the shape
/// allows.
Peer make_table(matrix::ConstView<std::uint8_t> Q, matrix::ConstView<std::byte> D, int depth);
/// M4RIE: bit-sliced Karatsuba over M4RI's GF(2) products, the database sliced beforehand.
Peer make_m4rie(matrix::ConstView<std::uint8_t> Q, matrix::ConstView<std::byte> D);
/// ISA-L: erasure coding as a matrix product (modulo 0x11D, its only polynomial), in blocks that fit the
/// cache.
Peer make_isal(matrix::ConstView<std::uint8_t> Q, matrix::ConstView<std::byte> D);

}  // namespace pirx::bench
