// SPDX-License-Identifier: Apache-2.0
// Layers as in a number theoretic transform: m blocks of d / m rows, and block i has one rotation for all of
// its butterflies. Several layers are done at once on kGroup rows, which the second cache holds, and then
// block after block, so that the whole is read and written a few times only.
#include "ring_fft.h"

#include <algorithm>
#include <bit>

namespace pirx::cpir::inspire {
namespace {

constexpr std::size_t kGroup = 16;

std::size_t reversed(std::size_t i, unsigned bits) noexcept {
  std::size_t out = 0;
  for (unsigned k = 0; k < bits; ++k) out |= (i >> k & 1) << (bits - 1 - k);
  return out;
}

/// The butterflies of one kind of number.
struct Residues {
  const RingKernel& kernel;
  std::uint32_t q;
  void operator()(std::uint32_t* sum, std::uint32_t* difference, const std::uint32_t* a,
                  const std::uint32_t* b, std::size_t count) noexcept {
    kernel.butterfly(q, sum, difference, a, b, count);
  }
};
struct Integers {
  const RingKernel& kernel;
  bool fit = true;
  void operator()(std::int32_t* sum, std::int32_t* difference, const std::int32_t* a, const std::int32_t* b,
                  std::size_t count) noexcept {
    fit &= kernel.butterfly_integers(sum, difference, a, b, count);
  }
};
struct Floats {
  const RingKernel& kernel;
  void operator()(float* sum, float* difference, const float* a, const float* b, std::size_t count) noexcept {
    kernel.butterfly_floats(sum, difference, a, b, count);
  }
};

template <class T, class Butterfly>
class RingFft {
 public:
  RingFft(const Rows<T>& rows, Butterfly& butterfly) noexcept
      : rows_(rows), butterfly_(butterfly), log_d_(static_cast<unsigned>(std::countr_zero(rows.d()))) {}

  /// All layers of block i of m, and of the blocks inside.
  void forward(std::size_t m, std::size_t i) noexcept {
    const std::size_t rows = rows_.d() / m, group = std::min(rows, kGroup);
    if (rows == 1) return;
    for (std::size_t j = 0; j < rows / group; ++j) {
      for (std::size_t n = 1; n < group; n *= 2) each(m, i, j, group, n, &RingFft::rotate_and_add);
    }
    for (std::size_t k = 0; k < group; ++k) forward(m * group, i * group + k);
  }
  /// The same layers transposed, and so in the other order.
  void transposed(std::size_t m, std::size_t i) noexcept {
    const std::size_t rows = rows_.d() / m, group = std::min(rows, kGroup);
    if (rows == 1) return;
    for (std::size_t k = 0; k < group; ++k) transposed(m * group, i * group + k);
    for (std::size_t j = 0; j < rows / group; ++j) {
      for (std::size_t n = group / 2; n > 0; n /= 2) each(m, i, j, group, n, &RingFft::add_and_rotate);
    }
  }

 private:
  using Step = void (RingFft::*)(std::size_t, std::size_t, std::size_t);
  /// The layer of n m blocks, on the `group` rows of block i of m that are j rows behind others.
  void each(std::size_t m, std::size_t i, std::size_t j, std::size_t group, std::size_t n,
            Step step) noexcept {
    const std::size_t rows = rows_.d() / m, distance = rows / group, half = group / (2 * n);
    for (std::size_t block = 0; block < n; ++block) {
      const std::size_t rotation = reversed(n * (m + i) + block, log_d_);
      for (std::size_t k = 0; k < half; ++k) {
        const std::size_t u = i * rows + j + (2 * half * block + k) * distance;
        (this->*step)(u, u + half * distance, rotation);
      }
    }
  }
  /// u, v -> u + X^e v, u - X^e v.
  void rotate_and_add(std::size_t at_u, std::size_t at_v, std::size_t e) noexcept {
    T *u = rows_[at_u], *v = rows_[at_v], *spare = rows_.spare();
    const std::size_t d = rows_.d();
    butterfly_(spare, u, u, v + d - e, e);
    butterfly_(u + e, spare + e, u + e, v, d - e);
    rows_.take_spare(at_v);
  }
  /// u, v -> u + v, X^e (u - v).
  void add_and_rotate(std::size_t at_u, std::size_t at_v, std::size_t e) noexcept {
    T *u = rows_[at_u], *v = rows_[at_v], *spare = rows_.spare();
    const std::size_t d = rows_.d();
    butterfly_(u, spare + e, u, v, d - e);
    butterfly_(u + d - e, spare, v + d - e, u + d - e, e);
    rows_.take_spare(at_v);
  }

  const Rows<T>& rows_;
  Butterfly& butterfly_;
  unsigned log_d_;
};

}  // namespace

std::size_t row_of(std::size_t g, unsigned log_d) noexcept { return reversed(g / 2, log_d); }

void ring_fft(const RingKernel& kernel, const PrimeTable& prime, const Rows<std::uint32_t>& rows) noexcept {
  Residues butterfly{kernel, prime.q};
  RingFft(rows, butterfly).forward(1, 0);
}
bool ring_fft_transposed(const RingKernel& kernel, const Rows<std::int32_t>& rows) noexcept {
  Integers butterfly{kernel};
  RingFft(rows, butterfly).transposed(1, 0);
  return butterfly.fit;
}
void ring_fft_transposed(const RingKernel& kernel, const Rows<float>& rows) noexcept {
  Floats butterfly{kernel};
  RingFft(rows, butterfly).transposed(1, 0);
}

}  // namespace pirx::cpir::inspire
