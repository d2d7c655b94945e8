// Other libraries that multiply over GF(2^8), measured beside the engine where they are installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "pirx/base/matrix.h"

namespace pirx::bench {

/// A product over GF(2^8), ready to run.
struct Peer {
  std::function<void()> run;
  std::function<bool()> check;  ///< after a run: whether some entries are right
};

using PeerMaker = Peer (*)(matrix::ConstView<std::uint8_t> Q, matrix::ConstView<std::byte> D);

#if defined(PIRX_BENCH_M4RIE)
/// Bit-sliced Karatsuba over M4RI's GF(2) products, the database sliced beforehand.
Peer make_m4rie(matrix::ConstView<std::uint8_t> Q, matrix::ConstView<std::byte> D);
#endif
#if defined(PIRX_BENCH_ISAL)
/// Erasure coding as a matrix product (modulo 0x11D, its only polynomial), in blocks that fit the cache.
Peer make_isal(matrix::ConstView<std::uint8_t> Q, matrix::ConstView<std::byte> D);
#endif

}  // namespace pirx::bench
