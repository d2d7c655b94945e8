// SPDX-License-Identifier: Apache-2.0
// Paper 001's client and server over GMP, written as plainly as its authors did. A node is E(f_0) times a
// power of every selector: nine modular exponentiations in an octree, which share nothing. Variable time:
// for benchmarks only.
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

/// What two cores share. The authors had two parallel versions (section 5.2.2).
enum class Parallel {
  kNodes,   ///< the nodes of a level (Table 5)
  kPowers,  ///< all powers of a level, those within a node too (Table 6, Algorithm 1)
};

/// The coins of encryptions.
class Coins {
 public:
  explicit Coins(mpz_class n) : n_(std::move(n)), random_(gmp_randinit_default) { random_.seed(1); }
  mpz_class next() { return random_.get_z_range(n_ - 1) + 1; }

 private:
  mpz_class n_;
  gmp_randclass random_;
};

/// base^exponent, one of the factors of a node or of an encryption.
struct Power {
  mpz_class base, exponent;
};

/// The two powers of E_s(m; r), section 2.3.
inline std::vector<Power> encryption(const mpz_class& n, unsigned s, const mpz_class& m, const mpz_class& r) {
  return {{n + 1, m}, {r, power_of(n, s)}};
}

inline mpz_class product(const std::vector<Power>& powers, const mpz_class& modulus) {
  mpz_class out = 1;
  for (const auto& [base, exponent] : powers) out = out * power_mod(base, exponent, modulus) % modulus;
  return out;
}

/// Every element's product, by `threads` threads.
inline std::vector<mpz_class> products(const std::vector<std::vector<Power>>& all, const mpz_class& modulus,
                                       [[maybe_unused]] int threads, Parallel parallel) {
  std::vector<mpz_class> out(all.size());
  if (parallel == Parallel::kNodes) {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (std::size_t i = 0; i < all.size(); ++i) out[i] = product(all[i], modulus);
    return out;
  }
  const std::size_t each = all.at(0).size();
  std::vector<mpz_class> powers(all.size() * each);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (std::size_t i = 0; i < powers.size(); ++i) {
    const auto& [base, exponent] = all[i / each][i % each];
    powers[i] = power_mod(base, exponent, modulus);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    out[i] = 1;
    for (std::size_t j = 0; j < each; ++j) out[i] = out[i] * powers[i * each + j] % modulus;
  }
  return out;
}

/// The key's owner. Decrypts by c^d with the whole d, as section 2.3 has it, and not modulo the primes.
class Client {
 public:
  /// bits: of a digit; 1, 2 or 3 for binary, quadratic and octal trees.
  Client(const mpz_class& p, const mpz_class& q, unsigned bits) : n_(p * q), bits_(bits), coins_(n_) {
    mpz_lcm(lambda_.get_mpz_t(), mpz_class(p - 1).get_mpz_t(), mpz_class(q - 1).get_mpz_t());
  }

  /// For every level the encryptions of the products of the digit's bits, by sets of bits; nothing for the
  /// empty set. The encryptions of a level are shared among the threads.
  std::vector<std::vector<mpz_class>> selectors(const std::vector<unsigned>& digits, int threads) {
    std::vector<std::vector<mpz_class>> out;
    for (unsigned s = 1; s <= digits.size(); ++s) {
      std::vector<std::vector<Power>> level;
      for (unsigned set = 1; set < 1u << bits_; ++set) {
        level.push_back(encryption(n_, s, (digits[s - 1] & set) == set ? 1 : 0, coins_.next()));
      }
      out.push_back(products(level, power_of(n_, s + 1), threads, Parallel::kNodes));
      out.back().insert(out.back().begin(), mpz_class());
    }
    return out;
  }

  /// D_1(D_2(... D_levels(c))).
  mpz_class decrypt(unsigned levels, mpz_class c) const {
    for (unsigned s = levels; s >= 1; --s) c = decrypt_layer(s, c);
    return c;
  }

 private:
  /// D_s(c): the recursion of Damgard and Jurik 2001, section 3, for the logarithm of (1 + N)^m.
  mpz_class decrypt_layer(unsigned s, const mpz_class& c) const {
    const mpz_class order = power_of(n_, s);
    mpz_class inverse;
    mpz_invert(inverse.get_mpz_t(), lambda_.get_mpz_t(), order.get_mpz_t());
    const mpz_class a = power_mod(c, lambda_ * inverse, order * n_);  // d is 1 mod N^s and 0 mod lambda
    mpz_class i = 0;
    for (unsigned j = 1; j <= s; ++j) {
      const mpz_class modulus = power_of(n_, j);
      mpz_class t1 = (a % (modulus * n_) - 1) / n_, t2 = i, factorial = 1;
      for (unsigned k = 2; k <= j; ++k) {
        i -= 1;
        t2 = t2 * i % modulus;
        factorial *= k;
        mpz_class divided;
        mpz_invert(divided.get_mpz_t(), factorial.get_mpz_t(), modulus.get_mpz_t());
        t1 -= t2 * power_of(n_, k - 1) * divided;
      }
      mpz_fdiv_r(i.get_mpz_t(), t1.get_mpz_t(), modulus.get_mpz_t());
    }
    return i;
  }

  mpz_class n_, lambda_;
  unsigned bits_;
  Coins coins_;
};

class Server {
 public:
  Server(mpz_class n, unsigned bits) : n_(std::move(n)), bits_(bits), coins_(n_) {}

  /// The root of the tree over (2^bits)^levels items: Figures 2 and 3 with the corrections of the errata.
  mpz_class answer(std::vector<mpz_class> items, const std::vector<std::vector<mpz_class>>& levels,
                   int threads = 1, Parallel parallel = Parallel::kNodes) {
    const std::size_t arity = std::size_t{1} << bits_;
    for (unsigned s = 1; s <= levels.size(); ++s) {
      const mpz_class order = power_of(n_, s);
      std::vector<std::vector<Power>> nodes(items.size() / arity);
      for (std::size_t node = 0; node < nodes.size(); ++node) {
        const mpz_class* f = &items[node * arity];
        nodes[node] = encryption(n_, s, f[0], coins_.next());
        for (unsigned set = 1; set < arity; ++set) {
          mpz_class e = 0;  // Moebius sum over the subsets
          for (unsigned part = 0; part <= set; ++part) {
            if ((part & set) != part) continue;
            const bool odd = __builtin_popcount(set ^ part) % 2 != 0;
            e += odd ? mpz_class(-f[part]) : f[part];
          }
          mpz_fdiv_r(e.get_mpz_t(), e.get_mpz_t(), order.get_mpz_t());
          nodes[node].push_back({levels[s - 1][set], e});
        }
      }
      items = products(nodes, order * n_, threads, parallel);
    }
    return items.at(0);
  }

 private:
  mpz_class n_;
  unsigned bits_;
  Coins coins_;
};

}  // namespace pirx::bench::plain
