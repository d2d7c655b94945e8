// SPDX-License-Identifier: Apache-2.0
// The selectors of paper 001 (section 4.1): encryptions of the products of a digit's bits, in the paper's
// order. The server turns them into selectors of single children, so that one kind of tree serves both kinds
// of selectors.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <vector>

namespace pirx::cpir::dj {

/// For every selector of a node with `arity` (2, 4 or 8) children, the bits whose product it encrypts: x0,
/// x1, x2, x0 x1, x0 x2, x1 x2, x0 x1 x2.
std::vector<std::uint32_t> monomials(std::uint32_t arity);

/// c_1 .. c_(a-1) from the selectors of monomials; c_i encrypts whether the digit is i. c_i is the product of
/// c_T^((-1)^(|T|-|i|)) over all T that contain the bits of i. On input the selectors are units modulo
/// N^(s+1), and a = 2, 4 or 8.
std::vector<mpz_class> one_hot_from_polynomial(const std::vector<mpz_class>& selectors,
                                               const mpz_class& modulus);

}  // namespace pirx::cpir::dj
