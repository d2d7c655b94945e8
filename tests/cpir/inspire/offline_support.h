// SPDX-License-Identifier: Apache-2.0
// Deployments, data, and the definitions of the offline half (specification, section 3), one number at a
// time.
#pragma once

#include <openssl/evp.h>

#include <map>
#include <string>

#include "../spiral/spiral_support.h"
#include "cpir/inspire/block_builder.h"
#include "cpir/inspire/ring_fft.h"

namespace pirx::cpir::inspire::testing {

using spiral::testing::automorphism_ref;
using spiral::testing::centred;
using spiral::testing::coefficients;
using spiral::testing::random_number;
using spiral::testing::random_polynomial;
using spiral::testing::slots;
using spiral::testing::Wide;
using Polynomial = std::vector<std::int64_t>;

/// A set of a small ring.
inline Set toy_set(Set set, unsigned log_d) {
  set.log_d = log_d;
  return set;
}

inline Params params_of(const Set& set, std::size_t rows, std::size_t columns, bool toy = true) {
  const auto geometry = database::Geometry::create({.records = rows,
                                                    .record_bytes = columns * set.word_bytes(),
                                                    .variable_length = false,
                                                    .digests = false});
  Params::Spec spec{.geometry = geometry.value(),
                    .version = {.identity = sha256(as_bytes("identity")), .epoch = 1},
                    .set = set,
                    .layout = {},
                    .t = set.w == 8 ? 28u : 44u,
                    .tr = set.w + 4};
  spec.salt.fill(std::byte{0x33});
  spec.toy = toy;
  return Params::create(spec).value();
}

/// The words of a database: word(row, column), of which the low bits count.
using Word = std::function<std::uint32_t(std::size_t, std::size_t)>;
inline ReadWords read_words(const Word& word, unsigned word_bytes) {
  return [=](std::size_t row, std::size_t first, std::size_t count, std::byte* out) {
    for (std::size_t k = 0; k < count; ++k) {
      const std::uint32_t x = word(row, first + k);
      for (unsigned i = 0; i < word_bytes; ++i) *out++ = static_cast<std::byte>(x >> (8 * i));
    }
  };
}
inline std::int64_t signed_word(std::uint32_t x, unsigned w) {
  x &= (1u << w) - 1;
  return x >> (w - 1) ? std::int64_t{x} - (1 << w) : x;
}

/// What build() wrote, as numbers.
struct Built {
  std::vector<std::vector<std::int64_t>> packing;  ///< H: [column][l d]
  std::vector<std::vector<std::uint64_t>> masks;   ///< mu_+, mu_-
  Bytes packing_bytes, masks_bytes;
};
inline Result<Built> build(const BlockBuilder& builder, const Params& params, std::size_t block,
                           const ReadWords& words, BlockScratch* scratch = nullptr) {
  const Set& set = params.set();
  const std::size_t d = set.d(), columns = params.columns_of(block);
  Built out;
  out.packing_bytes.resize(set.l * d * columns * set.packing_bytes, std::byte{0xee});
  out.masks_bytes.resize(params.masks_bytes(), std::byte{0xee});
  PIRX_ASSIGN(auto own, builder.scratch());
  PIRX_TRY(
      builder.build(block, words, scratch == nullptr ? own : *scratch, {out.masks_bytes, out.packing_bytes}));
  out.packing.assign(columns, std::vector<std::int64_t>(set.l * d));
  const std::byte* at = out.packing_bytes.data();
  for (std::size_t n = 0; n < set.l * d; ++n) {
    for (std::size_t k = 0; k < columns; ++k, at += set.packing_bytes) {
      std::uint64_t x = 0;
      for (unsigned i = 0; i < set.packing_bytes; ++i) x |= std::to_integer<std::uint64_t>(at[i]) << (8 * i);
      const unsigned unused = 64 - 8 * set.packing_bytes;
      out.packing[k][n] = static_cast<std::int64_t>(x << unused) >> unused;
    }
  }
  const auto bit = [&](std::size_t i) {
    return std::to_integer<std::uint64_t>(out.masks_bytes[i / 8]) >> i % 8 & 1;
  };
  for (std::size_t mask = 0; mask < 2; ++mask) {
    std::vector<std::uint64_t> numbers(d);
    for (std::size_t n = 0; n < d; ++n) {
      for (unsigned i = 0; i < set.tm; ++i) numbers[n] |= bit((mask * d + n) * set.tm + i) << i;
    }
    out.masks.push_back(std::move(numbers));
  }
  return out;
}

inline Polynomial add(Polynomial a, const Polynomial& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = centred(static_cast<Wide>(a[i]) + b[i]);
  return a;
}
/// X^k a, k below 2d.
inline Polynomial rotate(const Polynomial& a, std::size_t k) {
  const std::size_t d = a.size();
  Polynomial out(d);
  for (std::size_t i = 0; i < d; ++i) {
    const std::size_t at = (i + k) % (2 * d);
    out[at % d] = at < d ? a[i] : -a[i];
  }
  return out;
}
/// The product modulo q.
inline Polynomial multiply(const Ring& ring, const Polynomial& a, const Polynomial& b) {
  auto x = slots(ring, a), y = slots(ring, b);
  ring.to_montgomery(y.data(), y.data());
  ring.multiply(x.data(), x.data(), y.data());
  return coefficients(ring, x);
}

/// Both chains, from the slot masks alpha_g.
struct Chains {
  std::map<std::size_t, std::vector<Polynomial>> digits;  ///< by the exponent of y_j
  std::map<std::size_t, Polynomial> residues;             ///< by the exponent of s
  Polynomial masks[2];                                    ///< M_+, M_-
};
inline Chains chains_ref(const Ring& ring, const Set& set, const std::vector<Polynomial>& w,
                         const std::function<Polynomial(std::size_t)>& alpha) {
  const std::size_t d = ring.d(), two_d = 2 * d;
  std::vector<std::size_t> fives = {1};
  while (fives.size() < d / 2) fives.push_back(fives.back() * 5 % two_d);
  Chains out;
  for (const bool minus : {false, true}) {
    const auto exponent = [&](std::size_t i) { return minus ? two_d - fives[i] : fives[i]; };
    Polynomial acc = alpha(exponent(d / 2 - 1));
    for (std::size_t i = d / 2 - 1; i > 0; --i) {
      const std::size_t g = exponent(i - 1);
      std::vector<Polynomial> digits(set.l, Polynomial(d));
      Polynomial residue(d);
      for (std::size_t n = 0; n < d; ++n) {
        std::int64_t x = (acc[n] + (std::int64_t{1} << (set.delta - 1))) >> set.delta;
        residue[n] = acc[n] - (x << set.delta);
        for (unsigned j = 0; j < set.l; ++j) {
          const std::int64_t z = std::int64_t{1} << set.beta;
          const std::int64_t t = j + 1 == set.l ? x : ((x + z / 2) & (z - 1)) - z / 2;
          digits[j][n] = t;
          x = (x - t) >> set.beta;
        }
      }
      if (minus && i == d / 2 - 1) {
        digits[0][0] += 1;
        residue[0] -= std::int64_t{1} << set.delta;
      }
      acc = alpha(g);
      for (unsigned j = 0; j < set.l; ++j)
        acc = add(acc, multiply(ring, digits[j], automorphism_ref(w[j], g)));
      out.digits[g] = std::move(digits);
      out.residues[exponent(i)] = std::move(residue);
    }
    out.masks[minus] = std::move(acc);
  }
  return out;
}

/// a~_k of all columns of a block, by products.
inline std::vector<Polynomial> column_masks_ref(const Ring& ring, const Params& params, std::size_t block,
                                                const std::vector<Polynomial>& query_masks,
                                                const Word& word) {
  const std::size_t d = ring.d();
  std::vector<Polynomial> out(d, Polynomial(d));
  for (std::size_t k = 0; k < params.columns_of(block); ++k) {
    for (std::size_t v = 0; v < query_masks.size(); ++v) {
      Polynomial data(d);
      for (std::size_t n = 0; n < d && v * d + n < params.rows(); ++n) {
        const auto x = signed_word(word(v * d + n, block * d + k), params.set().w);
        if (n == 0) data[0] = x;
        if (n > 0) data[d - n] = -x;
      }
      out[k] = add(out[k], multiply(ring, query_masks[v], data));
    }
  }
  return out;
}
/// alpha_g = (1/d) sum over k of X^k tau_g(a~_k).
inline Polynomial slot_mask_ref(const std::vector<Polynomial>& a, std::size_t g) {
  const std::size_t d = a.size();
  Polynomial sum(d);
  for (std::size_t k = 0; k < d; ++k) sum = add(sum, rotate(automorphism_ref(a[k], g), k));
  // q = 1 modulo d: 1/d = q - (q - 1) / d.
  for (auto& x : sum) x = centred(-static_cast<Wide>(x) * static_cast<Wide>((kModulus - 1) / d));
  return sum;
}

/// floor((2^t x + (q-1)/2) / q) modulo 2^t.
inline std::uint64_t round_ref(std::int64_t x, unsigned t) {
  __extension__ typedef unsigned __int128 Unsigned;
  const auto c = static_cast<Unsigned>(x < 0 ? x + static_cast<std::int64_t>(kModulus) : x);
  return static_cast<std::uint64_t>(((c << t) + (kModulus - 1) / 2) / kModulus) &
         ((std::uint64_t{1} << t) - 1);
}

/// The numbers that the known answers draw: the 8-byte words of a label's SHAKE-128 stream modulo something.
inline std::vector<std::uint64_t> shake_words(const std::string& label, std::size_t count) {
  std::vector<std::uint64_t> out(count);
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  EVP_DigestInit_ex(context, EVP_shake128(), nullptr);
  EVP_DigestUpdate(context, label.data(), label.size());
  EVP_DigestFinalXOF(context, reinterpret_cast<unsigned char*>(out.data()), 8 * count);
  EVP_MD_CTX_free(context);
  return out;
}
inline std::vector<Polynomial> shake_public(const std::string& label, std::size_t count, std::size_t d) {
  const auto words = shake_words(label, count * d);
  std::vector<Polynomial> out(count, Polynomial(d));
  for (std::size_t i = 0; i < words.size(); ++i) out[i / d][i % d] = centred(static_cast<Wide>(words[i]));
  return out;
}

/// The builder for polynomials that a test chose.
inline BlockBuilder builder_of(const Params& params, const Ring& ring,
                               const std::vector<Polynomial>& query_masks,
                               const std::vector<Polynomial>& key_masks) {
  const auto draw = [&ring](const std::vector<Polynomial>& from) {
    return [&ring, &from](std::uint64_t i, std::uint32_t* out) {
      const auto x = slots(ring, from[i]);
      std::copy(x.begin(), x.end(), out);
    };
  };
  return BlockBuilder::create(params, ring, draw(query_masks), draw(key_masks), 1).value();
}

}  // namespace pirx::cpir::inspire::testing
