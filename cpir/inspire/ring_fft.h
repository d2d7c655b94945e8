// SPDX-License-Identifier: Apache-2.0
// The Fourier transform of length d over the ring, with X as its root of order 2d (specification, 3.2
// and 3.4). Products with powers of X are rotations with a sign, so it takes additions only.
#pragma once

#include "cpir/inspire/rows.h"
#include "cpir/ring/ring.h"

namespace pirx::cpir::inspire {

/// The row of a transform that belongs to the odd exponent g below 2d: the bits of (g - 1) / 2 reversed.
std::size_t row_of(std::size_t g, unsigned log_d) noexcept;

/// Row k < d in: a polynomial a_k of residues modulo a prime. Out: row_of(g) is sum over k of a_k X^(g k),
/// for every odd g.
void ring_fft(const RingKernel& kernel, const PrimeTable& prime, const Rows<std::uint32_t>& rows) noexcept;

/// The transpose. Row row_of(g) in: a polynomial t_g of integers. Out: row n is sum over g of t_g X^(g n).
/// False if a sum did not fit 32 bits on the way; the rows are then of no use.
bool ring_fft_transposed(const RingKernel& kernel, const Rows<std::int32_t>& rows) noexcept;
/// The same of floating-point numbers.
void ring_fft_transposed(const RingKernel& kernel, const Rows<float>& rows) noexcept;

}  // namespace pirx::cpir::inspire
