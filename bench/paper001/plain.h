// SPDX-License-Identifier: Apache-2.0
// Paper 001's server over GMP, written as plainly as its authors did. A node is E(f_0) times a power of every
// selector: nine modular exponentiations in an octree, which share nothing. Variable time; all numbers are
// public.
#pragma once

#include <gmpxx.h>

#include <vector>

namespace pirx::bench::plain {

inline mpz_class power_mod(const mpz_class& a, const mpz_class& e, const mpz_class& m) {
  mpz_class out;
  mpz_powm(out.get_mpz_t(), a.get_mpz_t(), e.get_mpz_t(), m.get_mpz_t());
  return out;
}

inline mpz_class power_of(const mpz_class& n, unsigned long s) {
  mpz_class out;
  mpz_pow_ui(out.get_mpz_t(), n.get_mpz_t(), s);
  return out;
}

/// E_s(m; r), section 2.3, by two powers.
inline mpz_class encrypt(const mpz_class& n, unsigned s, const mpz_class& m, const mpz_class& r) {
  const mpz_class modulus = power_of(n, s + 1);
  return power_mod(n + 1, m, modulus) * power_mod(r, power_of(n, s), modulus) % modulus;
}

class Server {
 public:
  /// bits: 1, 2 or 3 for binary, quadratic and octal trees.
  Server(mpz_class n, unsigned bits) : n_(std::move(n)), bits_(bits), random_(gmp_randinit_default) {
    random_.seed(1);
  }

  /// Selectors of one level for a digit: encryptions of the products of the digit's bits, by sets of bits.
  std::vector<mpz_class> selectors(unsigned s, unsigned digit) {
    std::vector<mpz_class> out(std::size_t{1} << bits_);
    for (unsigned set = 1; set < out.size(); ++set)
      out[set] = encrypt(n_, s, (digit & set) == set ? 1 : 0, coin());
    return out;
  }

  /// The root of the tree over (2^bits)^levels items: Figures 2 and 3 with the corrections of the errata.
  mpz_class answer(std::vector<mpz_class> items, const std::vector<std::vector<mpz_class>>& levels) {
    const std::size_t arity = std::size_t{1} << bits_;
    for (unsigned s = 1; s <= levels.size(); ++s) {
      const mpz_class modulus = power_of(n_, s + 1), order = power_of(n_, s);
      std::vector<mpz_class> nodes(items.size() / arity);
      for (std::size_t node = 0; node < nodes.size(); ++node) {
        const mpz_class* f = &items[node * arity];
        mpz_class root = encrypt(n_, s, f[0], coin());
        for (unsigned set = 1; set < arity; ++set) {
          mpz_class e = 0;  // Moebius sum over the subsets
          for (unsigned part = 0; part <= set; ++part) {
            if ((part & set) != part) continue;
            const bool odd = __builtin_popcount(set ^ part) % 2 != 0;
            e += odd ? mpz_class(-f[part]) : f[part];
          }
          mpz_fdiv_r(e.get_mpz_t(), e.get_mpz_t(), order.get_mpz_t());
          root = root * power_mod(levels[s - 1][set], e, modulus) % modulus;
        }
        nodes[node] = root;
      }
      items = std::move(nodes);
    }
    return items.at(0);
  }

 private:
  mpz_class coin() { return random_.get_z_range(n_ - 1) + 1; }

  mpz_class n_;
  unsigned bits_;
  gmp_randclass random_;
};

}  // namespace pirx::bench::plain
