// SPDX-License-Identifier: Apache-2.0
// Encode, query, answer, interpolate: the wanted blocks come back through any d + 1 servers, for every
// setting; and the known answers A and B of the reference program.
#include "pirx/batchcodes/polynomial_code.h"

#include <nlohmann/json.hpp>

#include "batchcodes/model.h"
#include "pirx/fp/prime_field.h"
#include "pirx/fp/w160.h"
#include "pirx/fp/w48.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"
#include "support/random_element.h"
#include "support/source_file.h"

namespace pirx::batchcodes {
namespace {

using matrix::Matrix;
using nlohmann::json;
using pirx::testing::seeded_engine;
using pirx::testing::TinyPrime;

template <class F>
Matrix<std::uint8_t> numbers(const json& rows) {
  const auto cols = rows.empty() ? 0 : rows[0].size();
  auto M = Matrix<std::uint8_t>::create(rows.size(), cols).value();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t c = 0; c < cols; ++c) M.at(i, c) = rows[i][c];
  }
  return M;
}

/// Fields whose elements, words and sums are single bytes.
template <class F>
void check_known_answer(const F& f, const json& known) {
  const std::vector<std::uint64_t> wanted = known.at("items");
  Encoding::Spec spec{f.tag(),       known.at("t"), static_cast<unsigned>(wanted.size()), known.at("u"), 0,
                      known.at("M"), known.at("xs")};
  const auto encoding = Encoding::create(spec).value();
  EXPECT_EQ(encoding.degree(), known.at("d").get<unsigned>());
  const strassen::Engine<F> engine(f);
  const auto values = numbers<F>(known.at("D"));
  const std::size_t r = values.rows(), s = values.cols(), R = static_cast<std::size_t>(encoding.rows(r));
  const std::size_t l = encoding.servers();
  auto D = Matrix<std::byte>::create(r, s).value();
  for (std::size_t i = 0; i < r; ++i) std::memcpy(D.row(i), values.row(i), s);

  const auto encoder = Encoder<F>::create(engine, encoding).value();
  const auto buckets = testing::encode_all<F>(encoder, D, {}, s);
  for (std::size_t j = 0; j < l; ++j) {
    EXPECT_TRUE(
        testing::same<F>(f, buckets.view().window(j * R, 0, R, s), numbers<F>(known.at("buckets")[j]).view()))
        << j;
  }

  const PolynomialCode<F> code(engine, encoding);
  // The slots in the order of the file, which plan_batch need not keep.
  std::vector<Slot> slots;
  for (const auto block : wanted) slots.push_back({block, ~std::uint64_t{0}});
  const std::vector<std::uint8_t> rho = known.at("rho");
  auto shares = Matrix<std::uint8_t>::create(l, R).value();
  ASSERT_TRUE(code.share(slots, numbers<F>(known.at("G")).view(), shares.view(), rho));
  EXPECT_TRUE(testing::same<F>(f, shares.view(), numbers<F>(known.at("shares")).view()));

  auto replies = Matrix<std::uint8_t>::create(l, s).value();
  for (std::size_t j = 0; j < l; ++j) {
    ASSERT_TRUE(engine.multiply_sums(shares.view().window(j, 0, 1, R), buckets.view().window(j * R, 0, R, s),
                                     replies.view().window(j, 0, 1, s)));
  }
  EXPECT_TRUE(testing::same<F>(f, replies.view(), numbers<F>(known.at("responses")).view()));
  for (std::size_t j = 0; j < l; ++j) {
    for (std::size_t c = 0; c < s; ++c) replies.at(j, c) = f.mul(f.inv(rho[j]), replies.at(j, c));
  }
  EXPECT_TRUE(testing::same<F>(f, replies.view(), numbers<F>(known.at("unblinded")).view()));

  const std::size_t n = encoding.degree() + 1;
  const auto W = code.interpolation_rows(slots, code.coordinates().first(n)).value();
  EXPECT_TRUE(testing::same<F>(f, W.view(), numbers<F>(known.at("decode_matrix_first_d1")).view()));
  auto blocks = Matrix<std::uint8_t>::create(wanted.size(), s).value();
  ASSERT_TRUE(engine.multiply_sums(W.view(), replies.view().window(0, 0, n, s), blocks.view()));
  EXPECT_TRUE(testing::same<F>(f, blocks.view(), numbers<F>(known.at("recovered")).view()));
}

TEST(PolynomialCode, KnownAnswers) {
  auto file = pirx::testing::source_file("tests/vectors/decoding_kat.json");
  const auto known = json::parse(file);
  ASSERT_EQ(known.size(), 2u);
  check_known_answer(TinyPrime<97>{}, known[0]);
  check_known_answer(gf2e::Gf2_8{}, known[1]);
}

struct Setting {
  unsigned t, q, u, tau, l;
  std::uint64_t M;
  std::size_t r, s, queries;
};

/// One round over random data; every set of d + 1 responders or more gives the blocks.
template <class F>
void check_round(const F& f, const Setting& set, std::mt19937_64& engine) {
  SCOPED_TRACE("t=" + std::to_string(set.t) + " q=" + std::to_string(set.q) + " u=" + std::to_string(set.u) +
               " tau=" + std::to_string(set.tau) + " l=" + std::to_string(set.l) +
               " M=" + std::to_string(set.M) + " r=" + std::to_string(set.r) + " s=" + std::to_string(set.s) +
               " c=" + std::to_string(set.queries));
  using Elem = typename F::Elem;
  const auto encoding = Encoding::create({f.tag(), set.t, set.q, set.u, set.tau, set.M,
                                          Encoding::suggested_coordinates(f.tag(), set.l).value()})
                            .value();
  const strassen::Engine<F> product(f);
  const std::size_t R = static_cast<std::size_t>(encoding.rows(set.r)), l = set.l, s = set.s;
  const auto D = testing::random_database(f, set.r, s, engine);
  const auto noise = testing::random_elements(f, set.tau * R, s, engine);
  const auto encoder = Encoder<F>::create(product, encoding).value();
  const auto buckets = testing::encode_all(encoder, D, noise, s, 1 + engine() % R);
  const PolynomialCode<F> code(product, encoding);

  std::vector<std::uint64_t> wanted(1 + engine() % (set.q * set.queries));
  for (auto& block : wanted) block = engine() % 3 == 0 ? wanted[0] % set.r : engine() % set.r;
  const auto plan = plan_batch(encoding, set.r, wanted, set.queries);
  if (!plan) {
    EXPECT_EQ(plan.error().code(), ErrorCode::kInvalidArgument) << plan.error().message();
    EXPECT_FALSE(encoding.collision_free(set.r) && set.queries >= 1) << plan.error().message();
    return;
  }
  pirx::testing::EngineSource rng{engine};
  for (std::size_t i = 0; i < plan->queries(); ++i) {
    const auto slots = plan->query(i);
    const auto coins = testing::random_elements(f, set.t, R, engine);
    std::vector<Elem> rho;
    if (engine() % 2 == 0) {
      rho.resize(l);
      for (auto& factor : rho) {
        while (f.equal(factor, f.zero())) factor = pirx::testing::random_element(f, rng);
      }
    }
    auto shares = Matrix<Elem>::create(l, R).value();
    const bool given = engine() % 2 == 0;
    if (given) {  // the first t servers' shares are the coins
      for (std::size_t a = 0; a < set.t; ++a) std::copy_n(coins.row(a), R, shares.row(a));
      ASSERT_TRUE(code.complete(slots, coins.view(), shares.view().window(set.t, 0, l - set.t, R), rho));
    } else {
      ASSERT_TRUE(code.share(slots, coins.view(), shares.view(), rho));
    }
    auto replies = Matrix<Elem>::create(l, s).value();
    for (std::size_t j = 0; j < l; ++j) {
      ASSERT_TRUE(product.multiply_sums(shares.view().window(j, 0, 1, R),
                                        buckets.view().window(j * R, 0, R, s),
                                        replies.view().window(j, 0, 1, s)));
      for (std::size_t c = 0; c < s && !rho.empty(); ++c) {
        replies.at(j, c) = f.mul(f.inv(rho[j]), replies.at(j, c));
      }
    }
    const auto secrets = code.secret_coordinates(slots);
    // Every set of d + 1 responders or more; the oracle interpolates through all of them.
    const std::size_t n = encoding.degree() + 1;
    for (unsigned mask = 0; mask < 1u << l; ++mask) {
      const auto k = static_cast<std::size_t>(std::popcount(mask));
      if (k < n) continue;
      std::vector<std::size_t> order;
      for (std::size_t j = 0; j < l; ++j) {
        if (mask >> j & 1) order.push_back(j);
      }
      std::vector<Elem> x, y(k);
      for (const auto j : order) x.push_back(code.coordinates()[j]);
      for (std::size_t m = 0; m < set.q; ++m) {
        if (slots[m].filled == 0) continue;
        for (std::size_t c = 0; c < s; ++c) {
          for (std::size_t at = 0; at < k; ++at) y[at] = replies.at(order[at], c);
          const auto value = testing::interpolate(f, x, y, secrets.expose()[m]);
          ASSERT_TRUE(testing::holds(f, D.view().window(0, c * f.word_bytes(), set.r, f.word_bytes()),
                                     static_cast<std::size_t>(slots[m].block), &value, 1));
        }
      }
      const auto W = code.interpolation_rows(slots, x).value();
      auto Y = Matrix<Elem>::create(k, s).value(), blocks = Matrix<Elem>::create(set.q, s).value();
      for (std::size_t at = 0; at < k; ++at) std::copy_n(replies.row(order[at]), s, Y.row(at));
      ASSERT_TRUE(product.multiply_sums(W.view(), std::as_const(Y).view(), blocks.view()));
      for (std::size_t w = 0; w < wanted.size(); ++w) {
        if (plan->place(w) / set.q != i) continue;
        ASSERT_TRUE(testing::holds(f, D.view(), static_cast<std::size_t>(wanted[w]),
                                   blocks.row(plan->place(w) % set.q), s));
      }
    }
  }
}

template <class F>
void check_random_settings(const F& f, unsigned stream, int trials) {
  auto engine = seeded_engine(stream);
  const auto pick = [&](unsigned low, unsigned high) {
    return low + static_cast<unsigned>(engine() % (high - low + 1));
  };
  for (int trial = 0; trial < trials && !::testing::Test::HasFailure(); ++trial) {
    Setting set{};
    set.t = pick(1, 3), set.q = pick(1, 4), set.u = pick(1, 4), set.tau = pick(0, 2);
    set.r = pick(1, 23), set.s = pick(1, 5), set.queries = pick(1, 3);
    if (trial % 7 == 0) set.r = set.u;         // one full row
    if (trial % 7 == 1) set.u = 4, set.r = 3;  // fewer blocks than the arity
    if (trial % 7 == 2) set.q = set.u, set.M = set.u;
    set.l = set.t + set.q + set.u + set.tau - 1 + pick(0, 2);
    if (trial % 7 != 2) {
      const std::uint64_t least = set.u * ((set.q + set.u - 1) / set.u);
      set.M = trial % 2 == 0 ? std::max(least, Encoding::batch_modulus(set.u, set.r))
                             : least + set.u * pick(0, 2);
    }
    check_round(f, set, engine);
  }
}

TEST(PolynomialCode, RandomSettingsGf2_8) { check_random_settings(gf2e::Gf2_8{}, 11, 60); }
TEST(PolynomialCode, RandomSettingsGf2_16) { check_random_settings(gf2e::Gf2_16{}, 12, 40); }
TEST(PolynomialCode, RandomSettingsW160) { check_random_settings(fp::W160{}, 13, 20); }
TEST(PolynomialCode, RandomSettingsW48) { check_random_settings(fp::W48{}, 14, 30); }
TEST(PolynomialCode, RandomSettingsPrime) {
  check_random_settings(fp::PrimeField::create(24).value(), 15, 14);
}
TEST(PolynomialCode, RandomSettingsTiny) { check_random_settings(TinyPrime<97>{}, 16, 70); }

TEST(PolynomialCode, RowsBeyondOneChunk) {
  auto engine = seeded_engine(17);
  check_round(gf2e::Gf2_8{}, {2, 2, 2, 1, 8, 4, 5000, 2, 2}, engine);
  check_round(gf2e::Gf2_16{}, {1, 3, 1, 0, 4, 0, 2500, 3, 1}, engine);
}

TEST(PolynomialCode, WrongShapes) {
  const gf2e::Gf2_8 f;
  const strassen::Engine<gf2e::Gf2_8> engine(f);
  const auto encoding =
      Encoding::create({f.tag(), 2, 2, 2, 0, 8, Encoding::suggested_coordinates(f.tag(), 6).value()}).value();
  const PolynomialCode<gf2e::Gf2_8> code(engine, encoding);
  const std::vector<Slot> slots{{1, ~0ull}, {2, ~0ull}}, beyond{{1, ~0ull}, {6, ~0ull}};
  auto coins = Matrix<std::uint8_t>::create(2, 3).value(),
       shares = Matrix<std::uint8_t>::create(6, 3).value();
  const std::vector<std::uint8_t> rho(5, 1);
  EXPECT_TRUE(code.share(slots, coins.view(), shares.view()));
  EXPECT_EQ(code.share(beyond, coins.view(), shares.view()).error().code(), ErrorCode::kOutOfRange);
  const auto invalid = [](const Result<void>& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::kInvalidArgument) << result.error().message();
  };
  invalid(code.share(std::span(slots).first(1), coins.view(), shares.view()));
  invalid(code.share(slots, coins.view().window(0, 0, 1, 3), shares.view()));
  invalid(code.share(slots, coins.view().window(0, 0, 2, 2), shares.view()));
  invalid(code.share(slots, coins.view(), shares.view().window(0, 0, 5, 3)));
  invalid(code.share(slots, coins.view(), shares.view(), rho));
  invalid(code.complete(slots, coins.view(), shares.view()));
}

}  // namespace
}  // namespace pirx::batchcodes
