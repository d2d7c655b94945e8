// SPDX-License-Identifier: Apache-2.0
// Blocks of 2048 columns, as deployments have them: exactness, kernels, the sizes of errors for structured
// data, and the certificate.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "cpir/inspire/certificate.h"
#include "cpir/inspire/client_core.h"
#include "cpir/inspire/column_masks.h"
#include "cpir/inspire/noise.h"
#include "cpir/ring/bits.h"
#include "offline_support.h"
#include "support/files.h"
#include "support/seed.h"

namespace pirx::cpir::inspire {
namespace {

using namespace testing;
using pirx::testing::expect_error;
constexpr std::size_t kD = 2048;

std::uint32_t hashed(std::size_t i, std::size_t k) {
  std::uint64_t x = (i << 32 | k) * 0x9e3779b97f4a7c15;
  x ^= x >> 29;
  return static_cast<std::uint32_t>(x * 0xbf58476d1ce4e5b9 >> 40);
}

/// The stages of a block, each with its results kept.
class Stages {
 public:
  Stages(const Ring& ring, const Params& params, const std::vector<Polynomial>& query_masks,
         const std::vector<Polynomial>& key_masks, const Word& word)
      : ring_(ring), set_(params.set()) {
    auto factors = Polynomials::create(query_masks.size(), kD).value(),
         w = Polynomials::create(set_.l, kD).value(),
         transforms = Polynomials::create(query_masks.size(), kD).value();
    for (std::size_t v = 0; v < query_masks.size(); ++v) {
      Polynomial scaled = automorphism_ref(query_masks[v], 2 * kD - 1);
      for (auto& x : scaled) x = centred(-static_cast<Wide>(x) * static_cast<Wide>((kModulus - 1) / kD));
      auto x = slots(ring, scaled);
      ring.to_montgomery(factors[v], x.data());
    }
    for (unsigned j = 0; j < set_.l; ++j) {
      const auto x = slots(ring, key_masks[j]);
      std::copy(x.begin(), x.end(), w[j]);
    }
    Bytes columns(2 * column_bytes(params.rows(), set_.word_bytes(), kD));
    const auto words = read_words(word, set_.word_bytes());
    column_masks(ring, factors, {words, set_.word_bytes(), params.rows(), 0, kD}, transforms, columns,
                 {sums[0].rows, sums[1].rows});
    for (std::size_t k = 0; k < 2; ++k) ring_fft(ring.kernel(), ring.prime(k), sums[k].rows);
    const auto automorphisms = KeyMasks::create(ring, w, set_.l).value();
    auto scratch = ChainScratch::create(kD, set_.l).value();
    std::vector<Rows<std::int32_t>> of_digits;
    for (unsigned j = 0; j < set_.l; ++j) of_digits.push_back(digits[j].rows);
    for (const int sign : {1, -1}) {
      auto& mask = masks[sign < 0];
      mask.resize(kD);
      chain(ring, set_, automorphisms, {{sums[0].rows, sums[1].rows}, of_digits, residues.rows}, sign,
            scratch, mask);
    }
  }
  Polynomial slot_mask(std::size_t g) const {
    // tau_(-g) of the row of -1/g.
    std::size_t h = 1;
    while (h * g % (2 * kD) != 2 * kD - 1) h += 2;
    std::vector<std::uint32_t> x(2 * kD);
    for (std::size_t k = 0; k < 2; ++k)
      std::copy_n(sums[k].rows[row_of(h, 11)], kD, x.begin() + static_cast<std::ptrdiff_t>(k * kD));
    Polynomial out(kD);
    ring_.compose(out.data(), x.data());
    return automorphism_ref(out, 2 * kD - g);
  }

  template <class T>
  struct OwnRows {
    Bytes memory = Bytes(Rows<T>::words(kD) * sizeof(T));
    std::vector<std::uint16_t> order = std::vector<std::uint16_t>(kD + 1);
    Rows<T> rows{RowMemory{memory.data(), order}};
  };
  OwnRows<std::uint32_t> sums[2];
  OwnRows<std::int32_t> digits[2];
  OwnRows<float> residues;
  Polynomial masks[2];

 private:
  const Ring& ring_;
  Set set_;
};

/// x / 2^bits - y / q, between -1/2 and 1/2, to 2^-80 or so where it is small.
double torus(std::uint64_t x, unsigned bits, std::int64_t y) {
  Wide apart = static_cast<Wide>(x) * static_cast<Wide>(kModulus) - (static_cast<Wide>(y) << bits);
  const Wide one = static_cast<Wide>(kModulus) << bits;  // the torus
  apart %= one;
  if (apart > one / 2) apart -= one;
  if (apart < -(one / 2)) apart += one;
  return std::ldexp(static_cast<double>(apart) / static_cast<double>(kModulus), -static_cast<int>(bits));
}

class FullBlock : public ::testing::Test {
 protected:
  FullBlock() {
    for (int i = 0; i < 2; ++i) {
      query_masks_.push_back(random_polynomial(kD, engine_));
      key_masks_.push_back(random_polynomial(kD, engine_));
    }
  }
  std::mt19937_64 engine_ = pirx::testing::seeded_engine();
  const Ring& ring_ = Ring::get(11);
  std::vector<Polynomial> query_masks_, key_masks_;
};

TEST_F(FullBlock, TraceChainsAndPackingAreExact) {
  for (const Set& set : {kS8, kS16}) {
    const auto params = params_of(set, 2100, kD, false);
    const Stages stages(ring_, params, query_masks_, key_masks_, hashed);
    // The column masks and the trace: all slot masks together take every column's constant coefficient.
    const auto a = column_masks_ref(ring_, params, 0, query_masks_, hashed);
    const auto s = random_polynomial(kD, engine_);
    Polynomial trace(kD);
    std::map<std::size_t, Polynomial> alpha;
    for (std::size_t g = 1; g < 2 * kD; g += 2) {
      alpha[g] = stages.slot_mask(g);
      trace = add(trace, multiply(ring_, alpha[g], automorphism_ref(s, g)));
    }
    for (std::size_t k = 0; k < kD; ++k) {
      Wide constant = static_cast<Wide>(a[k][0]) * s[0];
      for (std::size_t n = 1; n < kD; ++n)
        constant = centred(constant - static_cast<Wide>(a[k][n]) * s[kD - n]);
      ASSERT_EQ(trace[k], centred(constant));
    }
    const auto chains = chains_ref(ring_, set, key_masks_, [&](std::size_t g) { return alpha.at(g); });
    const auto built = build(builder_of(params, ring_, query_masks_, key_masks_), params, 0,
                             read_words(hashed, set.word_bytes()))
                           .value();
    std::vector<Polynomial> y;
    for (unsigned j = 0; j < set.l; ++j) y.push_back(random_polynomial(kD, engine_));
    Polynomial sum(kD);
    for (const auto& [g, digits] : chains.digits)
      for (unsigned j = 0; j < set.l; ++j)
        sum = add(sum, multiply(ring_, digits[j], automorphism_ref(y[j], g)));
    for (std::size_t k = 0; k < kD; ++k) {
      Wide product = 0;  // below 2^(31 + 55 + 12)
      for (std::size_t n = 0; n < set.l * kD; ++n)
        product += static_cast<Wide>(built.packing[k][n]) * y[n / kD][n % kD];
      ASSERT_EQ(centred(product), sum[k]);
    }
    for (std::size_t sign = 0; sign < 2; ++sign) {
      EXPECT_EQ(stages.masks[sign], chains.masks[sign]);
      for (std::size_t n = 0; n < kD; ++n)
        ASSERT_EQ(built.masks[sign][n], round_ref(chains.masks[sign][n], set.tm));
    }
    for (const auto& [g, residue] : chains.residues) {
      const float* row = stages.residues.rows[row_of(g, 11)];
      for (std::size_t n = 0; n < kD; ++n) ASSERT_FLOAT_EQ(row[n], static_cast<float>(residue[n]));
    }
  }
}

TEST_F(FullBlock, KernelsAgree) {
  for (const Set& set : {kS8, kS16}) {
    const auto params = params_of(set, 3000, kD + 100, false);
    std::optional<Built> first;
    for (const auto* kernel : usable_kernels()) {
      const Ring ring(11, *kernel);
      const auto built = build(BlockBuilder::create(params, ring, 2).value(), params, 1,
                               read_words(hashed, set.word_bytes()))
                             .value();
      if (!first) first = built;
      EXPECT_EQ(built.packing_bytes, first->packing_bytes) << kernel->name;
      EXPECT_EQ(built.masks_bytes, first->masks_bytes) << kernel->name;
    }
  }
}

/// No database makes a row of H or S much longer than the model says. Without the asymmetry of the chains the
/// last two would have a row of twice the model.
TEST_F(FullBlock, StructuredDataHaveTheModelsErrors) {
  const struct {
    const char* name;
    Word word;
  } databases[] = {{"random", hashed},
                   {"all at the edge", [](std::size_t, std::size_t) { return 0x8080u; }},
                   {"all columns equal", [](std::size_t i, std::size_t) { return hashed(i, 0); }},
                   {"one entry", [](std::size_t i, std::size_t k) { return i == 5 && k == 7 ? 1u : 0u; }},
                   {"one column", [](std::size_t i, std::size_t k) { return k == 7 ? hashed(i, 7) : 0u; }}};
  for (const Set& set : {kS8, kS16}) {
    const auto params = params_of(set, kD, kD, false);
    const Noise model = noise(set, kD, params.spec().t);
    const double unit = set.eta / 2.0 / std::pow(static_cast<double>(kModulus), 2);
    for (const auto& database : databases) {
      const Stages stages(ring_, params, {query_masks_[0]}, key_masks_, database.word);
      std::vector<float> packing(kD), secret(kD);
      const auto add = []<class T>(const Rows<T>& rows, std::vector<float>& squares) {
        for (std::size_t n = 0; n < kD; ++n) add_squares(std::span<const T>(rows[n], kD), std::span(squares));
      };
      for (unsigned j = 0; j < set.l; ++j) {
        ASSERT_TRUE(ring_fft_transposed(ring_.kernel(), stages.digits[j].rows));
        add(stages.digits[j].rows, packing);
      }
      ring_fft_transposed(ring_.kernel(), stages.residues.rows);
      add(stages.residues.rows, secret);
      const auto check = [&](const std::vector<float>& squares, double expected) {
        const double worst = *std::max_element(squares.begin(), squares.end()) * unit;
        const double mean = std::accumulate(squares.begin(), squares.end(), 0.0) / kD * unit;
        EXPECT_LT(worst, 1.25 * expected) << database.name;
        EXPECT_NEAR(mean, expected, 0.02 * expected) << database.name;
      };
      check(packing, model.key);
      check(secret, model.secret);
    }
  }
}

/// Every part of the errors of real queries on its own, each computed exactly from the secret, and the model
/// of each; together they are the whole error.
TEST_F(FullBlock, PartsOfTheErrorsAreThoseOfTheModel) {
  constexpr std::size_t kRows = 3000, kQueries = 128;
  for (const Set& set : {kS8, kS16}) {
    auto spec = params_of(set, kRows, kD).spec();
    spec.tr = set.tm;  // replies are hardly rounded
    const auto params = Params::create(spec).value();
    const Stages stages(ring_, params, query_masks_, key_masks_, hashed);
    for (unsigned j = 0; j < set.l; ++j)
      ASSERT_TRUE(ring_fft_transposed(ring_.kernel(), stages.digits[j].rows));
    ring_fft_transposed(ring_.kernel(), stages.residues.rows);
    ClientCore::Public randomness;
    const auto append = [&](const std::vector<Polynomial>& from, std::size_t count, auto& to) {
      for (std::size_t i = 0; i < count; ++i) {
        const auto x = slots(ring_, from[i]);
        to.insert(to.end(), x.begin(), x.end());
      }
    };
    append(query_masks_, 2, randomness.query_masks);
    append(key_masks_, set.l, randomness.key_masks);
    const ClientCore core(params, randomness);
    // mu_+ and mu_-, and what rounding made of M_+ and M_-.
    Bytes masks;
    std::vector<double> apart[2];
    for (std::size_t sign = 0; sign < 2; ++sign) {
      Bytes run(params.masks_bytes() / 2);
      BitWriter writer(run);
      for (const auto x : stages.masks[sign]) {
        const auto rounded = round_ref(x, set.tm);
        writer.put(rounded, set.tm);
        apart[sign].push_back(torus(rounded, set.tm, x));
      }
      writer.finish();
      masks.insert(masks.end(), run.begin(), run.end());
    }
    const std::vector slots_of_masks{std::make_shared<const MaskSlots>(core.mask_slots(masks))};
    std::vector<std::int32_t> words(kRows * kD);
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i] = static_cast<std::int32_t>(signed_word(hashed(i / kD, i % kD), set.w));
    }

    double scan = 0, key = 0, chains = 0, rounding = 0, total = 0, unexplained = 0;
    for (std::size_t query = 0; query < kQueries; ++query) {
      const std::size_t row = query * 47 % kRows;
      // The client's message, and the secret that it is under.
      const Coins coins = [&](MutableByteSpan out) {
        for (auto& byte : out) byte = static_cast<std::byte>(engine_());
      };
      Bytes drawn;
      FreshSecret fresh(params, [&](MutableByteSpan out) {
        coins(out);
        drawn.insert(drawn.end(), out.begin(), out.end());
      });
      std::vector<std::int32_t> small(kD);
      const Coins replay = [&drawn, at = std::ptrdiff_t{0}](MutableByteSpan out) mutable {
        std::copy_n(drawn.begin() + at, out.size(), out.begin());
        at += static_cast<std::ptrdiff_t>(out.size());
      };
      centred_binomial(replay, set.eta, small);
      const Polynomial s(small.begin(), small.end());
      Bytes key_run(params.key_bytes()), query_run(params.query_bytes());
      auto secret = core.query(std::move(fresh), row, coins, key_run, query_run);
      // What c and y' are off, and with them the sums; exactly modulo 2^48.
      std::vector<double> of_scan(kD), of_key(kD), of_chains(kD), of_masks(kD);
      std::vector<std::uint64_t> z(kD);
      BitReader numbers(query_run), keys(key_run);
      for (std::size_t v = 0; v < 2; ++v) {
        const auto product = multiply(ring_, query_masks_[v], s);
        for (std::size_t n = 0; n < kD && v * kD + n < kRows; ++n) {
          const std::size_t i = v * kD + n;
          const auto unit =
              i == row ? static_cast<std::int64_t>((kModulus + (1u << (set.w - 1))) >> set.w) : 0;
          const std::uint64_t c = numbers.get(spec.t);
          const double off = torus(c, spec.t, centred(Wide{unit} - product[n]));
          for (std::size_t k = 0; k < kD; ++k) {
            of_scan[k] += off * words[i * kD + k];
            z[k] += static_cast<std::uint64_t>(std::int64_t{words[i * kD + k]}) * (c << (48 - spec.t));
          }
        }
      }
      const auto turned = automorphism_ref(s, 5);
      for (unsigned j = 0; j < set.l; ++j) {
        const auto product = multiply(ring_, key_masks_[j], s);
        const Wide weight = Wide{1} << (set.delta + j * set.beta);
        for (std::size_t n = 0; n < kD; ++n) {
          const std::uint64_t y = keys.get(set.kappa);
          const double off = torus(y, set.kappa, centred(weight * turned[n] - product[n]));
          const std::int32_t* column = stages.digits[j].rows[n];
          for (std::size_t k = 0; k < kD; ++k) {
            of_key[k] += off * column[k];
            z[k] += static_cast<std::uint64_t>(std::int64_t{column[k]}) * (y << (48 - set.kappa));
          }
        }
      }
      // What was dropped below the digits, and the masks' rounding, times the secret.
      const auto mirrored = automorphism_ref(s, 2 * kD - 1);
      for (std::size_t n = 0; n < kD; ++n) {
        const float* column = stages.residues.rows[n];
        const auto of_s = static_cast<double>(s[n]), of_mirrored = static_cast<double>(mirrored[n]);
        for (std::size_t k = 0; k < kD; ++k) {
          of_chains[k] -= of_s / static_cast<double>(kModulus) * static_cast<double>(column[k]);
          const double plus = of_s * apart[0][(k + kD - n) % kD],
                       minus = of_mirrored * apart[1][(k + kD - n) % kD];
          of_masks[k] += k < n ? -plus - minus : plus + minus;
        }
      }
      Bytes body(run_bytes(kD, spec.tr));
      BitWriter writer(body);
      for (const auto x : z) {
        writer.put((x + (std::uint64_t{1} << (47 - spec.tr))) >> (48 - spec.tr) &
                       ((std::uint64_t{1} << spec.tr) - 1),
                   spec.tr);
      }
      writer.finish();
      const auto phases = core.phases(std::move(secret), slots_of_masks, body);
      for (std::size_t k = 0; k < kD; ++k) {
        const std::uint64_t word = hashed(row, k) & ((1u << set.w) - 1);
        const auto left = static_cast<std::uint32_t>(phases.expose()[k] - (word << (set.tm - set.w)))
                          << (32 - set.tm);
        const double error = std::ldexp(static_cast<double>(static_cast<std::int32_t>(left)), -32);
        total += error * error;
        scan += of_scan[k] * of_scan[k];
        key += of_key[k] * of_key[k];
        chains += of_chains[k] * of_chains[k];
        rounding += of_masks[k] * of_masks[k];
        unexplained =
            std::max(unexplained, std::abs(error - of_scan[k] - of_key[k] - of_chains[k] - of_masks[k]));
      }
    }
    Noise model = noise(set, kRows, spec.t);
    model.query /= 3;  // the squares of uniform words are a third of the worst
    model.rounding /= 3;
    const double reply = std::ldexp(1.0 / 12, -2 * static_cast<int>(spec.tr));
    const auto ratio = [&](double squares, double of) { return squares / (kQueries * kD) / of; };
    const double ratios[] = {ratio(total, model.total() + reply), ratio(scan, model.query + model.rounding),
                             ratio(key, model.key + model.key_rounding), ratio(chains, model.secret),
                             ratio(rounding, model.masks)};
    std::printf(
        "s%u: measured / model: total %.4f, scan %.4f, key %.4f, chains %.4f, masks %.4f; 2^%.1f left\n",
        set.w, ratios[0], ratios[1], ratios[2], ratios[3], ratios[4], std::log2(unexplained));
    EXPECT_NEAR(ratios[0], 1, 0.03);
    EXPECT_NEAR(ratios[1], 1, 0.02);
    EXPECT_NEAR(ratios[2], 1, 0.02);
    EXPECT_NEAR(ratios[3], 1, 0.02);
    // The masks' 4096 rounding errors are the same in all queries, so that their mean square spreads by 1.4
    // %.
    EXPECT_NEAR(ratios[4], 1, 0.08);
    // Nothing is left but half a step of the reply.
    EXPECT_LT(unexplained, std::ldexp(0.501, -static_cast<int>(spec.tr)));
  }
}

/// Columns that are symmetric about column 1023, and a key mask of zero, with which the chains stay mirror
/// images though they start apart: a row with twice the variance is found. With an honest key mask there is
/// none.
TEST_F(FullBlock, CertificateFindsTheMirror) {
  Params params = params_of(kS8, kD, kD, false);
  auto spec = params.spec();
  spec.t = *least_t(kS8, kD, kD, spec.tr);
  params = Params::create(spec).value();
  const Word word = [](std::size_t i, std::size_t k) {
    return k == 2047 ? 0u : hashed(i, std::min(k, 2046 - k));
  };
  const auto words = read_words(word, 1);
  const auto honest = build(builder_of(params, ring_, {query_masks_[0]}, key_masks_), params, 0, words);
  EXPECT_TRUE(honest) << honest.error().to_string();
  const auto refused =
      build(builder_of(params, ring_, {query_masks_[0]}, {Polynomial(kD)}), params, 0, words);
  expect_error(refused, ErrorCode::kInternal, "wrong with probability");
  // A toy is not held to it.
  spec.toy = true;
  params = Params::create(spec).value();
  EXPECT_TRUE(build(builder_of(params, ring_, {query_masks_[0]}, {Polynomial(kD)}), params, 0, words));
}

/// With the model's variances and the spread that it grants, the certificate says what the parameters say.
TEST_F(FullBlock, CertificateOfTheModelIsTheParametersBound) {
  for (const Set& set : {kS8, kS16}) {
    const auto params = params_of(set, 5000, kD, false);
    const Noise model = noise(set, 5000, params.spec().t);
    const double unit = set.eta / 2.0 / std::pow(static_cast<double>(kModulus), 2);
    const double rest = 0.05 * (model.query + model.rounding);
    std::vector<float> packing(kD, static_cast<float>(1.05 * model.key / unit)),
        secret(kD, static_cast<float>((1.05 * (model.secret + model.masks) + rest) / unit));
    EXPECT_NEAR(log2_failure(params, packing, secret), params.log2_failure(), 0.01);
    // Worse by a row of twice the variance.
    secret[77] *= 2;
    EXPECT_GT(log2_failure(params, packing, secret), params.log2_failure() + 5);
  }
}

}  // namespace
}  // namespace pirx::cpir::inspire
