// SPDX-License-Identifier: Apache-2.0
// A slow server and client straight from the formulas of the specification, in schoolbook arithmetic modulo
// q: the oracle of the tests of inspire. For rings of dimension 64; nothing here is fast or constant-time.
#pragma once

#include <openssl/evp.h>

#include <functional>
#include <string>
#include <vector>

#include "cpir/ring/bits.h"
#include "cpir/ring/ring.h"
#include "pirx/cpir/inspire/common.h"

namespace pirx::cpir::inspire::testing {

__extension__ typedef __int128 Wide;
using U64 = std::uint64_t;
/// Coefficients in [0, q), lowest first.
using Poly = std::vector<U64>;
using Numbers = std::vector<std::int64_t>;

inline U64 reduce(Wide x) {
  const Wide q = static_cast<Wide>(kModulus), r = x % q;
  return static_cast<U64>(r < 0 ? r + q : r);
}
inline Poly reduced(const Numbers& x) {
  Poly out;
  for (const auto n : x) out.push_back(reduce(n));
  return out;
}
inline std::int64_t centred(U64 x) {
  return x > kModulus / 2 ? static_cast<std::int64_t>(x) - static_cast<std::int64_t>(kModulus)
                          : static_cast<std::int64_t>(x);
}
inline Poly multiply(const Poly& a, const Poly& b) {
  const std::size_t d = a.size();
  Poly out(d);
  for (std::size_t n = 0; n < d; ++n) {
    Wide sum = 0;
    for (std::size_t i = 0; i < d; ++i) {
      const Wide product = static_cast<Wide>(a[i]) * b[(n + d - i) % d] % kModulus;
      sum += i <= n ? product : -product;
    }
    out[n] = reduce(sum);
  }
  return out;
}
inline Poly add(const Poly& a, const Poly& b) {
  Poly out;
  for (std::size_t n = 0; n < a.size(); ++n) out.push_back(reduce(static_cast<Wide>(a[n]) + b[n]));
  return out;
}
inline Poly scale(const Poly& a, U64 factor) {
  Poly out;
  for (const auto x : a) out.push_back(reduce(static_cast<Wide>(x) * factor));
  return out;
}
inline Poly negate(const Poly& a) { return scale(a, kModulus - 1); }
inline Poly tau(const Poly& a, std::size_t g) {
  const std::size_t d = a.size();
  Poly out(d);
  for (std::size_t n = 0; n < d; ++n) {
    const std::size_t at = n * g % (2 * d);
    out[at % d] = at < d ? a[n] : reduce(-static_cast<Wide>(a[n]));
  }
  return out;
}
/// X^by a
inline Numbers rotate(const Numbers& a, std::size_t by) {
  const std::size_t d = a.size();
  Numbers out(d);
  for (std::size_t n = 0; n < d; ++n) {
    const std::size_t at = (n + by) % (2 * d);
    out[at % d] = at < d ? a[n] : -a[n];
  }
  return out;
}
inline Poly rotate(const Poly& a, std::size_t by) {
  const Numbers same(a.begin(), a.end());  // below 2^56
  return reduced(rotate(same, by));
}
/// round_t(x), as it is written.
inline U64 round_to(U64 x, unsigned t) {
  const Wide sum = (static_cast<Wide>(x) << t) + (kModulus - 1) / 2;
  return static_cast<U64>(sum / kModulus) & ((U64{1} << t) - 1);
}

/// A_v and w_j.
struct PublicPolynomials {
  std::vector<Poly> query, key;
};
/// What a query draws.
struct Drawn {
  Numbers secret;
  std::vector<Numbers> errors, key_errors;
};
struct QueryRef {
  std::vector<Poly> b, y;
  std::vector<U64> c, key;
};

inline QueryRef query_ref(const Params& params, const PublicPolynomials& random, const Drawn& drawn,
                          std::size_t row) {
  const auto& set = params.set();
  const std::size_t d = params.d();
  const Poly s = reduced(drawn.secret);
  const U64 unit = (kModulus + (U64{1} << (set.w - 1))) >> set.w;
  QueryRef out;
  for (std::size_t v = 0; v < params.row_blocks(); ++v) {
    Poly b = add(negate(multiply(random.query[v], s)), reduced(drawn.errors[v]));
    if (row / d == v) b[row % d] = reduce(static_cast<Wide>(b[row % d]) + unit);
    for (std::size_t n = 0; n < d && v * d + n < params.rows(); ++n) {
      out.c.push_back(round_to(b[n], params.spec().t));
    }
    out.b.push_back(std::move(b));
  }
  for (unsigned j = 0; j < set.l; ++j) {
    const U64 weight = U64{1} << (set.delta + j * set.beta);
    Poly y =
        add(add(negate(multiply(random.key[j], s)), scale(tau(s, 5), weight)), reduced(drawn.key_errors[j]));
    for (const auto x : y) out.key.push_back(round_to(x, set.kappa));
    out.y.push_back(std::move(y));
  }
  return out;
}

/// H, d rows of l d entries, and mu_+, mu_-.
struct BlockRef {
  std::vector<Numbers> packing;
  std::vector<U64> masks[2];
};
/// The word, in [0, 2^w), of a row and a column.
using Word = std::function<U64(std::size_t row, std::size_t column)>;

inline std::int64_t signed_word(U64 word, unsigned w) {
  return word >> (w - 1) != 0 ? static_cast<std::int64_t>(word) - (std::int64_t{1} << w)
                              : static_cast<std::int64_t>(word);
}

inline BlockRef block_ref(const Params& params, const PublicPolynomials& random, const Word& word,
                          std::size_t block) {
  const auto& set = params.set();
  const std::size_t d = params.d();
  std::vector<Poly> columns(d, Poly(d));
  for (std::size_t k = 0; k < params.columns_of(block); ++k) {
    for (std::size_t v = 0; v < params.row_blocks(); ++v) {
      Numbers data(d);
      for (std::size_t n = 0; n < d && v * d + n < params.rows(); ++n) {
        const auto value = signed_word(word(v * d + n, block * d + k), set.w);
        if (n == 0) {
          data[0] += value;
        } else {
          data[d - n] -= value;
        }
      }
      columns[k] = add(columns[k], multiply(random.query[v], reduced(data)));
    }
  }
  // 1 / d modulo q, which is (q^k + 1) / d for some k
  U64 inverse = 1;
  for (std::size_t half = d; half > 1; half /= 2)
    inverse = reduce(static_cast<Wide>(inverse) * ((kModulus + 1) / 2));
  std::vector<Poly> alpha(2 * d);
  for (std::size_t g = 1; g < 2 * d; g += 2) {
    Poly sum(d);
    for (std::size_t k = 0; k < d; ++k) sum = add(sum, rotate(tau(columns[k], g), k));
    alpha[g] = scale(sum, inverse);
  }
  std::vector<std::size_t> powers = {1};
  while (powers.size() < d / 2) powers.push_back(powers.back() * 5 % (2 * d));
  BlockRef out;
  out.packing.assign(d, Numbers(set.l * d));
  for (std::size_t chain = 0; chain < 2; ++chain) {
    const auto exponent = [&](std::size_t i) { return chain == 0 ? powers[i] : 2 * d - powers[i]; };
    Poly acc = alpha[exponent(d / 2 - 1)];
    for (std::size_t i = d / 2 - 1; i > 0; --i) {
      const std::size_t g = exponent(i - 1);
      std::vector<Numbers> digits(set.l, Numbers(d));
      for (std::size_t n = 0; n < d; ++n) {
        std::int64_t x = (centred(acc[n]) + (std::int64_t{1} << (set.delta - 1))) >> set.delta;
        for (unsigned j = 0; j + 1 < set.l; ++j) {
          const std::int64_t half = std::int64_t{1} << (set.beta - 1);
          digits[j][n] = ((x + half) & (2 * half - 1)) - half;
          x = (x - digits[j][n]) >> set.beta;
        }
        digits[set.l - 1][n] = x;
      }
      if (chain == 1 && i == d / 2 - 1) digits[0][0] += 1;  // breaks the mirror
      acc = alpha[g];
      for (unsigned j = 0; j < set.l; ++j) {
        acc = add(acc, multiply(reduced(digits[j]), tau(random.key[j], g)));
        for (std::size_t n = 0; n < d; ++n) {
          const Numbers column = rotate(digits[j], g * n % (2 * d));
          for (std::size_t k = 0; k < d; ++k) out.packing[k][j * d + n] += column[k];
        }
      }
    }
    for (const auto x : acc) out.masks[chain].push_back(round_to(x, set.tm));
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

/// The numbers that the known answers draw: the 8-byte words of a label's SHAKE-128 stream modulo something.
inline std::vector<U64> shake_words(const std::string& label, std::size_t count) {
  Bytes bytes(8 * count);
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  EVP_DigestInit_ex(context, EVP_shake128(), nullptr);
  EVP_DigestUpdate(context, label.data(), label.size());
  EVP_DigestFinalXOF(context, reinterpret_cast<unsigned char*>(bytes.data()), bytes.size());
  EVP_MD_CTX_free(context);
  std::vector<U64> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(load_le<U64>(bytes.data() + 8 * i));
  return out;
}
inline std::vector<Poly> shake_public(const std::string& label, std::size_t count, std::size_t d) {
  const auto words = shake_words(label, count * d);
  std::vector<Poly> out(count);
  for (std::size_t i = 0; i < count * d; ++i) out[i / d].push_back(words[i] % kModulus);
  return out;
}
inline std::vector<Numbers> shake_small(const std::string& label, std::size_t count, std::size_t d) {
  const auto words = shake_words(label, count * d);
  std::vector<Numbers> out(count);
  for (std::size_t i = 0; i < count * d; ++i) {
    out[i / d].push_back(static_cast<std::int64_t>(words[i] % 33) - 16);
  }
  return out;
}

}  // namespace pirx::cpir::inspire::testing
