// SPDX-License-Identifier: Apache-2.0
// What paper 004 (Sion and Carbunar 2007) counts, written plainly over GMP: one multiplication modulo N for
// every bit of the database, with Montgomery's reduction as its authors had or with a division; and
// Kushilevitz and Ostrovsky's protocol in one and two levels.
#pragma once

#include <gmpxx.h>

#include <vector>

namespace pirx::bench {

/// Products modulo an odd N of at most 4096 bits. Numbers are in a form of their own.
class PlainModulus {
 public:
  using Number = std::vector<mp_limb_t>;

  PlainModulus(const mpz_class& n, bool montgomery)
      : n_(n), limbs_(mpz_size(n.get_mpz_t())), montgomery_(montgomery), wide_(2 * limbs_ + 1) {
    const mp_limb_t low = limb(n, 0);
    inverse_ = 1;  // of -n modulo 2^64, by Newton's method
    for (int i = 0; i < 6; ++i) inverse_ *= 2 - low * inverse_;
    inverse_ = 0 - inverse_;
  }
  Number from(const mpz_class& x) const {
    const mpz_class y = montgomery_ ? mpz_class((x << (64 * limbs_)) % n_) : x;
    Number out(limbs_);
    for (std::size_t i = 0; i < limbs_; ++i) out[i] = limb(y, i);
    return out;
  }
  mpz_class to(const Number& x) const {
    mpz_class out;
    Number one(limbs_), plain = x;
    one[0] = 1;
    if (montgomery_) multiply(plain, x, one);
    mpz_import(out.get_mpz_t(), limbs_, -1, sizeof(mp_limb_t), 0, 0, plain.data());
    return out;
  }
  void multiply(Number& out, const Number& a, const Number& b) const {
    const auto n = static_cast<mp_size_t>(limbs_);
    const mp_limb_t* modulus = mpz_limbs_read(n_.get_mpz_t());
    mp_limb_t* wide = wide_.data();
    mpn_mul_n(wide, a.data(), b.data(), n);
    if (!montgomery_) {
      Number quotient(limbs_ + 1);
      return mpn_tdiv_qr(quotient.data(), out.data(), 0, wide, 2 * n, modulus, n);
    }
    // Carries are kept where the limb that became zero was.
    for (std::size_t i = 0; i < limbs_; ++i) {
      wide[i] = mpn_addmul_1(wide + i, modulus, n, wide[i] * inverse_);
    }
    const mp_limb_t carry = mpn_add_n(out.data(), wide + n, wide, n);
    if (carry != 0 || mpn_cmp(out.data(), modulus, n) >= 0) mpn_sub_n(out.data(), out.data(), modulus, n);
  }

 private:
  static mp_limb_t limb(const mpz_class& x, std::size_t i) {
    return mpz_getlimbn(x.get_mpz_t(), static_cast<mp_size_t>(i));
  }
  mpz_class n_;
  std::size_t limbs_;
  bool montgomery_;
  mp_limb_t inverse_;
  mutable Number wide_;
};

/// For every column j < columns the product over the rows i of y[i] if bit(i, j), else of its square; or of
/// nothing, which the paper does not count, if `ones_only`.
template <class Bit>
std::vector<mpz_class> column_products(const PlainModulus& modulus, const std::vector<mpz_class>& y,
                                       std::size_t columns, bool ones_only, const Bit& bit) {
  std::vector<PlainModulus::Number> z(columns, modulus.from(1));
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto number = modulus.from(y[i]);
    auto square = number;
    modulus.multiply(square, number, number);
    for (std::size_t j = 0; j < columns; ++j) {
      const bool one = bit(i, j);
      if (one || !ones_only) modulus.multiply(z[j], z[j], one ? number : square);
    }
  }
  std::vector<mpz_class> out;
  for (const auto& product : z) out.push_back(modulus.to(product));
  return out;
}

/// The second level, over the numbers z of the first: rows of `width` of them. Every bit of each is looked
/// up, so that a reply has width times modulus_bits numbers.
inline std::vector<mpz_class> second_level(const PlainModulus& modulus, const std::vector<mpz_class>& y,
                                           const std::vector<mpz_class>& z, std::size_t width,
                                           std::size_t modulus_bits) {
  return column_products(modulus, y, width * modulus_bits, false, [&](std::size_t i, std::size_t j) {
    const std::size_t at = i * width + j / modulus_bits;
    return at < z.size() && mpz_tstbit(z[at].get_mpz_t(), j % modulus_bits) != 0;
  });
}

}  // namespace pirx::bench
