// SPDX-License-Identifier: Apache-2.0
// A slow server and client straight from the formulas of the specification: the oracle of the tests of
// inspire. For rings of dimension 64; nothing here is fast or constant-time.
#pragma once

#include "cpir/ring/bits.h"
#include "offline_support.h"

namespace pirx::cpir::inspire::testing {

using U64 = std::uint64_t;

/// Coefficients in [0, q).
inline std::vector<U64> reduced(const Polynomial& a) {
  std::vector<U64> out;
  for (const auto x : a) out.push_back(static_cast<U64>(x < 0 ? x + static_cast<std::int64_t>(kModulus) : x));
  return out;
}

/// A_v and w_j.
struct PublicPolynomials {
  std::vector<Polynomial> query, key;
};
/// What a query draws.
struct Drawn {
  Polynomial secret;
  std::vector<Polynomial> errors, key_errors;
};
struct QueryRef {
  std::vector<std::vector<U64>> b, y;
  std::vector<U64> c, key;
};

inline QueryRef query_ref(const Params& params, const PublicPolynomials& random, const Drawn& drawn,
                          std::size_t row) {
  const auto& set = params.set();
  const Ring& ring = Ring::get(set.log_d);
  const std::size_t d = params.d();
  const auto scale = [](Polynomial a, std::int64_t factor) {
    for (auto& x : a) x = centred(static_cast<Wide>(x) * factor);
    return a;
  };
  const auto masked = [&](const Polynomial& mask, const Polynomial& error) {
    return add(scale(multiply(ring, mask, drawn.secret), -1), error);
  };
  QueryRef out;
  for (std::size_t v = 0; v < params.row_blocks(); ++v) {
    Polynomial b = masked(random.query[v], drawn.errors[v]);
    const auto unit = static_cast<std::int64_t>((kModulus + (U64{1} << (set.w - 1))) >> set.w);
    if (row / d == v) b[row % d] = centred(static_cast<Wide>(b[row % d]) + unit);
    for (std::size_t n = 0; n < d && v * d + n < params.rows(); ++n) {
      out.c.push_back(round_ref(b[n], params.spec().t));
    }
    out.b.push_back(reduced(b));
  }
  for (unsigned j = 0; j < set.l; ++j) {
    const auto weight = std::int64_t{1} << (set.delta + j * set.beta);
    const Polynomial y =
        add(masked(random.key[j], drawn.key_errors[j]), scale(automorphism_ref(drawn.secret, 5), weight));
    for (const auto x : y) out.key.push_back(round_ref(x, set.kappa));
    out.y.push_back(reduced(y));
  }
  return out;
}

/// H, d rows of l d entries, and mu_+, mu_-.
struct BlockRef {
  std::vector<std::vector<std::int64_t>> packing;
  std::vector<U64> masks[2];
};

inline BlockRef block_ref(const Params& params, const PublicPolynomials& random, const Word& word,
                          std::size_t block) {
  const auto& set = params.set();
  const Ring& ring = Ring::get(set.log_d);
  const std::size_t d = params.d();
  const auto a = column_masks_ref(ring, params, block, random.query, word);
  const auto chains = chains_ref(ring, set, random.key, [&](std::size_t g) { return slot_mask_ref(a, g); });
  BlockRef out;
  out.packing.assign(d, Polynomial(set.l * d));
  for (const auto& [g, digits] : chains.digits) {
    for (std::size_t n = 0; n < set.l * d; ++n) {
      const Polynomial column = rotate(digits[n / d], g * (n % d) % (2 * d));
      for (std::size_t k = 0; k < d; ++k) out.packing[k][n] += column[k];
    }
  }
  for (std::size_t chain = 0; chain < 2; ++chain) {
    for (const auto x : chains.masks[chain]) out.masks[chain].push_back(round_ref(x, set.tm));
  }
  return out;
}

/// z modulo 2^48 for a query's numbers.
inline std::vector<U64> sums_ref(const Params& params, const std::vector<BlockRef>& blocks, const Word& word,
                                 const std::vector<U64>& c, const std::vector<U64>& key) {
  std::vector<U64> out;
  for (std::size_t k = 0; k < params.columns(); ++k) {
    U64 scanned = 0, packed = 0;
    for (std::size_t i = 0; i < params.rows(); ++i) {
      scanned += static_cast<U64>(signed_word(word(i, k), params.set().w)) * c[i];
    }
    const auto& row = blocks[k / params.d()].packing[k % params.d()];
    for (std::size_t n = 0; n < key.size(); ++n) packed += static_cast<U64>(row[n]) * key[n];
    const U64 z = (scanned << (48 - params.spec().t)) + (packed << (48 - params.set().kappa));
    out.push_back(z & ((U64{1} << 48) - 1));
  }
  return out;
}
inline std::vector<U64> reply_ref(const Params& params, const std::vector<U64>& sums) {
  const unsigned tr = params.spec().tr;
  std::vector<U64> out;
  for (const auto z : sums) out.push_back(((z + (U64{1} << (47 - tr))) >> (48 - tr)) & ((U64{1} << tr) - 1));
  return out;
}

/// A run of numbers in a message.
inline Bytes run_of(const std::vector<U64>& numbers, unsigned bits) {
  Bytes out(static_cast<std::size_t>(run_bytes(numbers.size(), bits)));
  BitWriter writer(out);
  for (const auto x : numbers) writer.put(x, bits);
  writer.finish();
  return out;
}
inline std::vector<U64> numbers_of(ByteSpan run, std::size_t count, unsigned bits) {
  BitReader reader(run);
  std::vector<U64> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(reader.get(bits));
  return out;
}
/// A block's masks as in a message.
inline Bytes masks_of(const Params& params, const BlockRef& block) {
  Bytes out = run_of(block.masks[0], params.set().tm);
  const Bytes minus = run_of(block.masks[1], params.set().tm);
  out.insert(out.end(), minus.begin(), minus.end());
  return out;
}

inline std::vector<Polynomial> shake_small(const std::string& label, std::size_t count, std::size_t d) {
  const auto words = shake_words(label, count * d);
  std::vector<Polynomial> out(count);
  for (std::size_t i = 0; i < count * d; ++i) {
    out[i / d].push_back(static_cast<std::int64_t>(words[i] % 33) - 16);
  }
  return out;
}

}  // namespace pirx::cpir::inspire::testing
