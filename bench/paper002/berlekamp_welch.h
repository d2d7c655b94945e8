// SPDX-License-Identifier: Apache-2.0
// A plain Berlekamp-Welch decoder for replies with wrong values: it solves a system of equations for every
// word.
#pragma once

#include <array>
#include <optional>
#include <random>
#include <vector>

namespace pirx::bench {

/// Berlekamp-Welch over GF(2^8), one word after another, as text books have it, with tables of logarithms.
class BerlekampWelch {
 public:
  static constexpr unsigned kMostServers = 30;

  BerlekampWelch(unsigned k, unsigned d) : k_(k), d_(d), e_((k - d - 1) / 2) {
    unsigned value = 1;
    for (unsigned i = 0; i < 255; ++i) {
      exp_[i] = exp_[i + 255] = static_cast<std::uint8_t>(value);
      log_[value] = i;
      value ^= value << 1;  // times x + 1, a generator
      if (value & 0x100) value ^= 0x11B;
    }
  }
  std::uint8_t mul(std::uint8_t a, std::uint8_t b) const {
    return a == 0 || b == 0 ? std::uint8_t{0} : exp_[log_[a] + log_[b]];
  }
  std::uint8_t inv(std::uint8_t a) const { return exp_[255 - log_[a]]; }

  /// The value at 0 of the polynomial of degree d that all but e of the values y at 1 .. k are of.
  std::optional<std::uint8_t> decode(const std::uint8_t* y) const {
    // Q(x_j) = y_j E(x_j) with deg Q <= d + e and E monic of degree e: k equations.
    const unsigned q = d_ + e_ + 1, n = q + e_;
    std::array<std::array<std::uint8_t, 33>, 32> rows{};
    for (unsigned j = 0; j < k_; ++j) {
      std::uint8_t power = 1;
      const auto x = static_cast<std::uint8_t>(j + 1);
      for (unsigned c = 0; c < q; ++c, power = mul(power, x)) rows[j][c] = power;
      power = 1;
      for (unsigned c = 0; c < e_; ++c, power = mul(power, x)) rows[j][q + c] = mul(y[j], power);
      rows[j][n] = mul(y[j], power);
    }
    std::array<unsigned, 32> pivots{};
    unsigned rank = 0;
    for (unsigned c = 0; c < n && rank < k_; ++c) {
      unsigned r = rank;
      while (r < k_ && rows[r][c] == 0) ++r;
      if (r == k_) continue;
      std::swap(rows[r], rows[rank]);
      const auto scale = inv(rows[rank][c]);
      for (unsigned i = c; i <= n; ++i) rows[rank][i] = mul(rows[rank][i], scale);
      for (unsigned other = 0; other < k_; ++other) {
        const auto factor = rows[other][c];
        if (other == rank || factor == 0) continue;
        for (unsigned i = c; i <= n; ++i) rows[other][i] ^= mul(factor, rows[rank][i]);
      }
      pivots[rank++] = c;
    }
    for (unsigned r = rank; r < k_; ++r) {
      if (rows[r][n] != 0) return std::nullopt;
    }
    std::array<std::uint8_t, 33> solution{};
    for (unsigned r = 0; r < rank; ++r) solution[pivots[r]] = rows[r][n];
    // Q / E, from the top.
    std::array<std::uint8_t, 33> quotient{};
    std::array<std::uint8_t, 33> E{};
    for (unsigned c = 0; c < e_; ++c) E[c] = solution[q + c];
    E[e_] = 1;
    for (unsigned c = d_ + 1; c-- > 0;) {
      quotient[c] = solution[c + e_];
      for (unsigned i = 0; i <= e_; ++i) solution[c + i] ^= mul(quotient[c], E[i]);
    }
    for (unsigned c = 0; c < q; ++c) {
      if (solution[c] != 0) return std::nullopt;
    }
    return quotient[0];
  }
  unsigned radius() const { return e_; }

 private:
  unsigned k_, d_, e_;
  std::array<std::uint8_t, 510> exp_{};
  std::array<unsigned, 256> log_{};
};

/// Words of GF(2^8) with a wrong value each, and what they were.
struct WrongWords {
  WrongWords(std::size_t words, unsigned servers, unsigned threshold)
      : decoder(servers, threshold), k(servers) {
    std::mt19937_64 random(2);
    for (std::size_t w = 0; w < words; ++w) {
      std::vector<std::uint8_t> coefficients(threshold + 1);
      for (auto& c : coefficients) c = static_cast<std::uint8_t>(random());
      truth.push_back(coefficients[0]);
      for (unsigned j = 1; j <= k; ++j) {
        std::uint8_t value = 0;
        for (std::size_t c = coefficients.size(); c-- > 0;) {
          value =
              static_cast<std::uint8_t>(decoder.mul(value, static_cast<std::uint8_t>(j)) ^ coefficients[c]);
        }
        values.push_back(value);
      }
      values[w * k + random() % k] ^= decoder.radius() > 0 ? 0x5A : 0;
    }
    found = truth;
  }
  void decode() {
    for (std::size_t w = 0; w < truth.size(); ++w) found[w] = decoder.decode(&values[w * k]).value_or(0);
  }
  BerlekampWelch decoder;
  unsigned k;
  std::vector<std::uint8_t> values, truth, found;
};

}  // namespace pirx::bench
