// The selectors of paper 001 (section 4.1): encryptions of the products of the digit's bits, in the paper's
// order, and what the server makes of them: the selectors of single children, so that one kind of tree serves
// both.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <vector>

namespace pirx::cpir::dj {

/// For every selector of a node with so many children (2, 4 or 8) the bits whose product it encrypts: x0, x1,
/// x2, x0 x1, x0 x2, x1 x2, x0 x1 x2.
std::vector<std::uint32_t> monomials(std::uint32_t arity);

/// c_1 .. c_(a-1), of which c_i encrypts 1 where the digit is i, from those of the monomials: c_i is the
/// product of c_T^((-1)^(|T|-|i|)) over all T that hold the bits of i. Units modulo N^(s+1); a = 2, 4 or 8.
std::vector<mpz_class> one_hot_from_polynomial(const std::vector<mpz_class>& selectors,
                                               const mpz_class& modulus);

}  // namespace pirx::cpir::dj
