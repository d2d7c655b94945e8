// SPDX-License-Identifier: Apache-2.0
// The client of Goldberg's protocol written plainly, value by value, as in Percy++ 1.0: polynomials as
// coefficients, Horner's rule for every server, Lagrange's rule for every word. (It is faster than Percy++ in
// one thing: it computes once what does not change from row to row.) Over a prime field by NTL, or over
// GF(2^8) with a table of all products.
#pragma once

#include <NTL/ZZ_p.h>

#include <array>
#include <random>
#include <vector>

#include "pirx/base/bytes.h"

namespace pirx::bench {

/// The integers modulo 2^160 + 7, as NTL has them; sets NTL's modulus.
class NtlField {
 public:
  using Value = NTL::ZZ_p;
  static constexpr std::size_t kWordBytes = 20, kBytes = 21;
  static constexpr unsigned long kFirstServer = 1000;

  NtlField() { NTL::ZZ_p::init((NTL::ZZ(1) << 160) + 7); }
  Value label(unsigned long n) const { return NTL::to_ZZ_p(NTL::ZZ(static_cast<long>(n))); }
  Value random() const { return NTL::random_ZZ_p(); }
  void multiply(Value& out, const Value& a, const Value& b) const { NTL::mul(out, a, b); }
  void add(Value& out, const Value& a, const Value& b) const { NTL::add(out, a, b); }
  Value subtract(const Value& a, const Value& b) const { return a - b; }
  Value inverse(const Value& a) const { return NTL::inv(a); }
  void write(const Value& a, std::byte* to, std::size_t bytes) const {
    NTL::BytesFromZZ(reinterpret_cast<unsigned char*>(to), NTL::rep(a), static_cast<long>(bytes));
  }
  void read(Value& out, const std::byte* from, std::size_t bytes) const {
    NTL::ZZ value;
    NTL::ZZFromBytes(value, reinterpret_cast<const unsigned char*>(from), static_cast<long>(bytes));
    NTL::conv(out, value);
  }
};

/// GF(2^8) modulo x^8 + x^4 + x^3 + x + 1.
class TableField {
 public:
  using Value = std::uint8_t;
  static constexpr std::size_t kWordBytes = 1, kBytes = 1;
  static constexpr unsigned long kFirstServer = 128;

  TableField() {
    for (unsigned a = 0; a < 256; ++a) {
      for (unsigned b = 0; b < 256; ++b) {
        unsigned product = 0;
        for (unsigned bit = 8; bit-- > 0;) {
          product = product << 1 ^ ((product & 0x80) != 0 ? 0x11Bu : 0u);
          if ((b >> bit & 1) != 0) product ^= a;
        }
        products_[a][b] = static_cast<std::uint8_t>(product);
      }
    }
  }
  Value label(unsigned long n) const { return static_cast<Value>(n); }
  Value random() { return static_cast<Value>(random_()); }
  void multiply(Value& out, Value a, Value b) const { out = products_[a][b]; }
  void add(Value& out, Value a, Value b) const { out = static_cast<Value>(a ^ b); }
  Value subtract(Value a, Value b) const { return static_cast<Value>(a ^ b); }
  Value inverse(Value a) const {
    for (unsigned b = 1; b < 256; ++b) {
      if (products_[a][b] == 1) return static_cast<Value>(b);
    }
    return 0;
  }
  void write(Value a, std::byte* to, std::size_t) const { *to = static_cast<std::byte>(a); }
  void read(Value& out, const std::byte* from, std::size_t) const { out = static_cast<Value>(*from); }

 private:
  std::array<std::array<std::uint8_t, 256>, 256> products_{};
  std::mt19937_64 random_{3};
};

/// One query vector for q rows of the database, hidden at 0 .. q - 1, from l servers of which t may collude.
template <class Field>
class PlainClient {
 public:
  using Value = typename Field::Value;

  PlainClient(unsigned servers, unsigned threshold, unsigned ramp)
      : l_(servers), t_(threshold), q_(ramp), x_(l_), blinding_(l_), unblinding_(l_) {
    for (unsigned j = 0; j < l_; ++j) {
      x_[j] = field_.label(Field::kFirstServer + j);
      do {
        blinding_[j] = field_.random();
      } while (blinding_[j] == field_.label(0));
      unblinding_[j] = field_.inverse(blinding_[j]);
    }
    // roots: the product of x - s for the secrets s; basis[m]: Lagrange's polynomial that is 1 at secret m.
    roots_ = product_without(q_);
    for (unsigned m = 0; m < q_; ++m) {
      auto polynomial = product_without(m);
      const auto scale = field_.inverse(evaluate(polynomial, field_.label(m)));
      for (auto& coefficient : polynomial) field_.multiply(coefficient, coefficient, scale);
      basis_.push_back(std::move(polynomial));
    }
    // Points 0 .. d give the secrets, and what the other servers must have sent.
    std::vector<Value> targets;
    for (unsigned m = 0; m < q_; ++m) targets.push_back(field_.label(m));
    for (unsigned j = degree() + 1; j < l_; ++j) targets.push_back(x_[j]);
    for (const auto& target : targets) weights_.push_back(lagrange(target));
  }

  unsigned degree() const { return t_ + q_ - 1; }

  /// The shares of every row, in bytes, to requests[server]. wanted[m]: the row hidden at m.
  void query(std::size_t rows, const std::vector<std::size_t>& wanted, std::vector<Bytes>& requests) {
    std::vector<Value> random(t_), polynomial;
    Value share, product;
    for (std::size_t row = 0; row < rows; ++row) {
      for (auto& coefficient : random) coefficient = field_.random();
      polynomial.assign(t_ + q_, field_.label(0));
      if (q_ == 1) {
        std::copy(random.begin(), random.end(), polynomial.begin() + 1);
      } else {
        for (unsigned a = 0; a < t_; ++a) {
          for (unsigned b = 0; b <= q_; ++b) {
            field_.multiply(product, random[a], roots_[b]);
            field_.add(polynomial[a + b], polynomial[a + b], product);
          }
        }
      }
      for (unsigned m = 0; m < q_; ++m) {
        if (wanted[m] != row) continue;
        for (unsigned b = 0; b < q_; ++b) field_.add(polynomial[b], polynomial[b], basis_[m][b]);
      }
      for (unsigned j = 0; j < l_; ++j) {
        share = evaluate(polynomial, x_[j]);
        field_.multiply(share, share, blinding_[j]);
        field_.write(share, requests[j].data() + row * Field::kBytes, Field::kBytes);
      }
    }
  }

  /// What a server answers to `request` over D, rows of so many words.
  void answer(const Bytes& request, const Bytes& D, std::size_t words, Bytes& reply) {
    const std::size_t rows = request.size() / Field::kBytes;
    Value sum, share, word;
    for (std::size_t c = 0; c < words; ++c) {
      sum = field_.label(0);
      for (std::size_t row = 0; row < rows; ++row) {
        field_.read(share, request.data() + row * Field::kBytes, Field::kBytes);
        field_.read(word, D.data() + (row * words + c) * Field::kWordBytes, Field::kWordBytes);
        field_.multiply(word, word, share);
        field_.add(sum, sum, word);
      }
      field_.write(sum, reply.data() + c * Field::kBytes, Field::kBytes);
    }
  }

  /// Takes the replies in, without their blinding.
  void read(const std::vector<Bytes>& replies, std::size_t words) {
    values_.resize(l_ * words);
    for (std::size_t c = 0; c < words; ++c) {
      for (unsigned j = 0; j < l_; ++j) {
        Value& value = values_[c * l_ + j];
        field_.read(value, replies[j].data() + c * Field::kBytes, Field::kBytes);
        field_.multiply(value, value, unblinding_[j]);
      }
    }
  }

  /// The wanted rows from the replies taken in; false when these contradict each other.
  bool decode(std::size_t words, std::vector<Bytes>& blocks) {
    Value sum, product;
    for (std::size_t c = 0; c < words; ++c) {
      const Value* values = values_.data() + c * l_;
      for (std::size_t z = 0; z < weights_.size(); ++z) {
        sum = field_.label(0);
        for (unsigned i = 0; i <= degree(); ++i) {
          field_.multiply(product, weights_[z][i], values[i]);
          field_.add(sum, sum, product);
        }
        if (z < q_) {
          field_.write(sum, blocks[z].data() + c * Field::kWordBytes, Field::kWordBytes);
        } else if (!(sum == values[degree() + 1 + z - q_])) {
          return false;
        }
      }
    }
    return true;
  }

 private:
  Value evaluate(const std::vector<Value>& polynomial, const Value& x) const {
    Value sum = polynomial.back();
    for (std::size_t k = polynomial.size() - 1; k-- > 0;) {
      field_.multiply(sum, sum, x);
      field_.add(sum, sum, polynomial[k]);
    }
    return sum;
  }
  /// prod_{m != skip} (x - m).
  std::vector<Value> product_without(unsigned skip) const {
    std::vector<Value> polynomial{field_.label(1)};
    Value product;
    for (unsigned m = 0; m < q_; ++m) {
      if (m == skip) continue;
      std::vector<Value> next(polynomial.size() + 1, field_.label(0));
      const Value root = field_.subtract(field_.label(0), field_.label(m));
      for (std::size_t k = 0; k < polynomial.size(); ++k) {
        field_.add(next[k + 1], next[k + 1], polynomial[k]);
        field_.multiply(product, polynomial[k], root);
        field_.add(next[k], next[k], product);
      }
      polynomial = std::move(next);
    }
    return polynomial;
  }
  std::vector<Value> lagrange(const Value& target) const {
    std::vector<Value> row(degree() + 1, field_.label(1));
    for (unsigned i = 0; i <= degree(); ++i) {
      for (unsigned m = 0; m <= degree(); ++m) {
        if (m == i) continue;
        field_.multiply(row[i], row[i], field_.subtract(target, x_[m]));
        field_.multiply(row[i], row[i], field_.inverse(field_.subtract(x_[i], x_[m])));
      }
    }
    return row;
  }

  Field field_;
  unsigned l_, t_, q_;
  std::vector<Value> x_, blinding_, unblinding_, roots_, values_;
  std::vector<std::vector<Value>> basis_, weights_;
};

}  // namespace pirx::bench
