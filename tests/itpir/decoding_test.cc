// SPDX-License-Identifier: Apache-2.0
// The decoder's algorithms by themselves: known answers, exhaustive runs over tiny fields, each against a
// slow oracle and against the others, and the proof bound under attack.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "itpir/agreements.h"
#include "pirx/batchcodes/fields.h"
#include "support/random_element.h"
#include "support/seed.h"
#include "support/source_file.h"
#include "support/tiny_engine.h"

namespace pirx::itpir::goldberg::decoding {
namespace {

using pirx::testing::EngineSource;
using pirx::testing::TinyPrime;

/// Replies of servers to one query, unblinded, and what is true.
template <class F>
struct Case : testing::Replies<F> {
  using Elem = typename F::Elem;
  using testing::Replies<F>::f;
  using testing::Replies<F>::x;
  using testing::Replies<F>::Y;
  matrix::Matrix<Elem> truth;

  /// Random words of a code with coordinates 1 .. k.
  Case(const F& field, std::size_t k, std::size_t d, std::size_t words, std::mt19937_64& engine)
      : testing::Replies<F>(field, k, d, words), truth(matrix::Matrix<Elem>::create(k, words).value()) {
    EngineSource rng{engine};
    std::vector<Elem> coefficients(d + 1);
    for (std::size_t w = 0; w < words; ++w) {
      f.random_fill(rng, std::span<Elem>(coefficients));
      for (std::size_t j = 0; j < k; ++j) Y.at(j, w) = truth.at(j, w) = value(coefficients, x[j]);
    }
  }
  Elem value(std::span<const Elem> coefficients, Elem at) const {
    Elem sum = f.zero();
    for (std::size_t c = coefficients.size(); c-- > 0;) sum = f.add(f.mul(sum, at), coefficients[c]);
    return sum;
  }
  bool lied(std::size_t server) const {
    for (std::size_t w = 0; w < Y.cols(); ++w) {
      if (!f.equal(Y.at(server, w), truth.at(server, w))) return true;
    }
    return false;
  }
  RoundWords<F> round() const { return {this->rows(), this->reduced().basis}; }
};

template <class F>
std::vector<std::vector<bool>> search_all(const Case<F>& c, std::span<const Word<F>> words,
                                          std::size_t liars) {
  std::vector<std::vector<bool>> found;
  Budget budget;
  EXPECT_TRUE(complete_search(c.f, std::span<const typename F::Elem>(c.x), c.degree, words, liars, budget,
                              [&](const std::vector<bool>& agrees) {
                                found.push_back(agrees);
                                return true;
                              }));
  return found;
}

/// Random errors of up to `liars` servers; a third of the words are untouched.
template <class F>
void lie_at_random(Case<F>& c, std::size_t liars, std::mt19937_64& engine) {
  EngineSource rng{engine};
  for (std::size_t v = 0; v < liars; ++v) {
    const std::size_t server = engine() % c.k();
    for (std::size_t w = 0; w < c.Y.cols(); ++w) {
      if (engine() % 3 != 0) c.add(server, w, pirx::testing::random_element(c.f, rng));
    }
  }
}

using nlohmann::json;

template <class F>
void check_known_answer(const F& f, const json& known) {
  using Elem = typename F::Elem;
  const auto elem = [&](const json& label) { return f.from_label(label.get<std::uint64_t>()); };
  const auto matrix_of = [&](const json& rows) {
    auto M = matrix::Matrix<Elem>::create(rows.size(), rows.at(0).size()).value();
    for (std::size_t i = 0; i < M.rows(); ++i) {
      for (std::size_t j = 0; j < M.cols(); ++j) M.at(i, j) = elem(rows.at(i).at(j));
    }
    return M;
  };
  const auto expect_equal = [&](const auto& M, const json& rows) {
    ASSERT_EQ(M.rows(), rows.size());
    for (std::size_t i = 0; i < M.rows(); ++i) {
      for (std::size_t j = 0; j < M.cols(); ++j) EXPECT_TRUE(f.equal(M.at(i, j), elem(rows.at(i).at(j))));
    }
  };
  std::vector<Elem> x, rho, secrets;
  for (const auto& label : known.at("xs")) x.push_back(elem(label));
  for (const auto& label : known.at("rho")) rho.push_back(elem(label));
  for (const auto& item : known.at("items")) {
    secrets.push_back(f.from_label(item.get<std::uint64_t>() % known.at("M").get<std::uint64_t>()));
  }
  auto inverse = rho;
  invert_all(f, std::span<Elem>(inverse));
  const std::size_t d = known.at("d"), k = x.size(), n = secrets.size();
  std::vector<std::size_t> rows(k);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  const strassen::Engine<F> engine(f);
  const auto prediction = interpolate(f, std::span<const Elem>(x), d, std::span<const std::size_t>(rows),
                                      d + 1, std::span<const Elem>(secrets))
                              .value();
  for (std::size_t m = 0; m < n; ++m) {
    for (std::size_t i = 0; i <= d; ++i) {
      EXPECT_TRUE(f.equal(prediction.blocks[m][i], elem(known.at("decode_matrix_first_d1").at(m).at(i))));
    }
  }
  // H = [predicted | -1].
  for (std::size_t c = 0; c < k - d - 1; ++c) {
    for (std::size_t j = 0; j < k; ++j) {
      const auto expected = elem(known.at("H_systematic").at(c).at(j));
      const auto minus = j == d + 1 + c ? f.sub(f.zero(), f.one()) : f.zero();
      EXPECT_TRUE(f.equal(j <= d ? prediction.predicted[c][j] : minus, expected));
    }
  }

  auto replies = matrix_of(known.at("responses"));
  const QueryReplies<F> query{std::as_const(replies).view(), rho, inverse};
  auto blocks = matrix::Matrix<Elem>::create(n, replies.cols()).value();
  EXPECT_EQ(first_difference(engine, query, prediction, 0, blocks.view()).value(), std::nullopt);
  expect_equal(blocks, known.at("recovered"));

  for (const auto& [server, errors] : known.at("errors_added").items()) {
    for (std::size_t w = 0; w < errors.size(); ++w) {
      auto& value = replies.at(std::stoul(server), w);
      value = f.add(value, elem(errors.at(w)));
    }
  }
  auto unblinded = matrix::Matrix<Elem>::create(k, replies.cols()).value();
  auto syndromes = matrix::Matrix<Elem>::create(k - d - 1, replies.cols()).value();
  for (std::size_t w = 0; w < replies.cols(); ++w) {
    const auto word = word_at(f, query, rows, w);
    for (std::size_t j = 0; j < k; ++j) unblinded.at(j, w) = word[j];
    for (std::size_t c = 0; c < k - d - 1; ++c) {
      auto sum = f.sub(f.zero(), word[d + 1 + c]);
      for (std::size_t i = 0; i <= d; ++i) sum = f.add(sum, f.mul(prediction.predicted[c][i], word[i]));
      syndromes.at(c, w) = sum;
    }
  }
  expect_equal(unblinded, known.at("bad_unblinded"));
  expect_equal(syndromes, known.at("syndromes"));
  const auto reduction =
      reduce(engine, std::span<const Elem>(x), d, std::span<const std::size_t>(rows), std::span(&query, 1))
          .value();
  EXPECT_EQ(reduction.rank(), known.at("rank").get<std::size_t>());
  const auto agrees = metzner_kapturowski(f, reduction);
  ASSERT_TRUE(agrees.has_value());
  std::vector<std::size_t> located;
  for (std::size_t j = 0; j < k; ++j) {
    if (!(*agrees)[j]) located.push_back(j);
  }
  EXPECT_EQ(located, known.at("located").get<std::vector<std::size_t>>());
  // The blocks once more, without the liars.
  std::vector<std::size_t> honest = rows;
  std::erase_if(honest, [&](std::size_t j) { return !(*agrees)[j]; });
  const auto again = interpolate(f, std::span<const Elem>(x), d, std::span<const std::size_t>(honest), d + 1,
                                 std::span<const Elem>(secrets))
                         .value();
  EXPECT_EQ(first_difference(engine, query, again, 0, blocks.view()).value(), std::nullopt);
  expect_equal(blocks, known.at("recovered"));
}

TEST(KnownAnswers, OfTheSpecification) {
  auto file = pirx::testing::source_file("tests/vectors/decoding_kat.json");
  const auto known = json::parse(file, nullptr, false);
  ASSERT_TRUE(known.is_array() && known.size() == 2);
  check_known_answer(TinyPrime<97>{}, known.at(0));
  check_known_answer(gf2e::Gf2_8{}, known.at(1));
}

/// Nothing is found in code words, and the wanted blocks are the same whichever servers make them.
template <class F>
void decode_code_words(const F& f, std::size_t k, std::size_t d, std::size_t words, std::uint64_t stream) {
  SCOPED_TRACE(f.tag().name());
  using Elem = typename F::Elem;
  auto engine = pirx::testing::seeded_engine(stream);
  EngineSource rng{engine};
  Case<F> c(f, k, d, words, engine);
  EXPECT_EQ(c.reduced().rank(), 0u);
  // Blinded: row j times rho_j.
  std::vector<Elem> rho(k);
  for (auto& value : rho) {
    do {
      value = pirx::testing::random_element(f, rng);
    } while (f.equal(value, f.zero()));
  }
  auto inverse = rho;
  invert_all(f, std::span<Elem>(inverse));
  for (std::size_t j = 0; j < k; ++j) {
    for (std::size_t w = 0; w < words; ++w) c.Y.at(j, w) = f.mul(rho[j], c.Y.at(j, w));
  }
  const QueryReplies<F> query{std::as_const(c.Y).view(), rho, inverse};
  const Elem secrets[] = {f.zero(), f.from_label(k + 1), f.from_label(2)};
  std::optional<matrix::Matrix<Elem>> first;
  const strassen::Engine<F> product(f);
  for (int round = 0; round < 10; ++round) {
    auto rows = c.rows();
    std::shuffle(rows.begin(), rows.end(), engine);
    const auto prediction = interpolate(f, std::span<const Elem>(c.x), d, std::span<const std::size_t>(rows),
                                        d + 1, std::span<const Elem>(secrets))
                                .value();
    auto blocks = matrix::Matrix<Elem>::create(3, words).value();
    ASSERT_EQ(first_difference(product, query, prediction, 0, blocks.view()).value(), std::nullopt);
    if (!first) {
      first = std::move(blocks);
      for (std::size_t w = 0; w < words; ++w) {
        ASSERT_TRUE(f.equal(first->at(2, w), c.truth.at(1, w))) << "the coordinate of server 1";
      }
      continue;
    }
    for (std::size_t w = 0; w < words; ++w) {
      for (std::size_t m = 0; m < 3; ++m) ASSERT_TRUE(f.equal(blocks.at(m, w), first->at(m, w)));
    }
  }
  // A single wrong word is found where it is, and the server it is from.
  const std::size_t liar = engine() % k, wrong = engine() % words;
  c.Y.at(liar, wrong) = f.add(c.Y.at(liar, wrong), f.one());
  const auto rows = c.rows();
  const auto reduction =
      reduce(product, std::span<const Elem>(c.x), d, std::span<const std::size_t>(rows), std::span(&query, 1))
          .value();
  ASSERT_EQ(reduction.rank(), 1u);
  auto expected = std::vector<bool>(k, true);
  expected[liar] = false;
  EXPECT_EQ(metzner_kapturowski(f, reduction), expected);
}

TEST(FastPath, GivesTheSameBlocksForEveryChoiceOfServers) {
  decode_code_words(gf2e::Gf2_8{}, 8, 2, 10'000, 1);
  decode_code_words(gf2e::Gf2_16{}, 7, 3, 5'000, 2);
  decode_code_words(fp::W160{}, 6, 1, 700, 3);
  decode_code_words(fp::W48{}, 9, 4, 1'500, 4);
  decode_code_words(fp::PrimeField::create(64).value(), 5, 1, 300, 5);
  decode_code_words(TinyPrime<97>{}, 12, 4, 300, 6);
}

/// The rank of the syndromes by Gaussian elimination of all words.
template <class F>
std::size_t rank_of_errors(const Case<F>& c) {
  const auto& f = c.f;
  std::vector<Word<F>> echelon;
  std::vector<std::size_t> pivots;
  for (std::size_t w = 0; w < c.Y.cols(); ++w) {
    Word<F> error;
    for (std::size_t j = 0; j < c.k(); ++j) error.push_back(f.sub(c.Y.at(j, w), c.truth.at(j, w)));
    for (std::size_t i = 0; i < echelon.size(); ++i) {
      const auto factor = f.mul(error[pivots[i]], f.inv(echelon[i][pivots[i]]));
      for (std::size_t j = 0; j < c.k(); ++j) error[j] = f.sub(error[j], f.mul(factor, echelon[i][j]));
    }
    const auto pivot =
        std::find_if(error.begin(), error.end(), [&](auto e) { return !f.equal(e, f.zero()); });
    if (pivot == error.end()) continue;
    pivots.push_back(static_cast<std::size_t>(pivot - error.begin()));
    echelon.push_back(std::move(error));
  }
  return echelon.size();
}

TEST(Reduction, KeepsRankAndEveryAgreement) {
  auto engine = pirx::testing::seeded_engine(10);
  for (int i = 0; i < 300; ++i) {
    const std::size_t k = 4 + engine() % 4, d = engine() % (k - 2);
    Case<TinyPrime<11>> c({}, k, d, 1 + engine() % 5, engine);
    const std::size_t liars = engine() % (k - d);
    lie_at_random(c, liars, engine);
    const auto reduction = c.reduced();
    // Errors of at most k - d - 1 servers have the rank of their syndromes.
    ASSERT_EQ(reduction.rank(), rank_of_errors(c));
    const auto basis = search_all(c, std::span<const Word<TinyPrime<11>>>(reduction.basis), k - d - 1);
    const auto words = c.words();
    const auto all = search_all(c, std::span<const Word<TinyPrime<11>>>(words), k - d - 1);
    ASSERT_EQ(basis, all);
  }
}

TEST(CompleteSearch, FindsWhatTryingEverySetFinds) {
  auto engine = pirx::testing::seeded_engine(11);
  for (int i = 0; i < 200; ++i) {
    const std::size_t k = 3 + engine() % 5, d = engine() % (k - 1);
    Case<TinyPrime<11>> c({}, k, d, 1 + engine() % 3, engine);
    lie_at_random(c, engine() % k, engine);
    const auto words = c.words();
    for (std::size_t liars = 0; liars + d + 1 <= k; ++liars) {
      auto found = search_all(c, std::span<const Word<TinyPrime<11>>>(words), liars);
      std::sort(found.begin(), found.end());
      ASSERT_EQ(found, c.agreements(k - liars)) << "k=" << k << " d=" << d << " liars=" << liars;
    }
  }
}

/// k = 5, d = 1, every pair of servers, two words, every error: 24,010 patterns.
TEST(MetznerKapturowski, IsNeverWrongInsideItsBoundExhaustively) {
  auto engine = pirx::testing::seeded_engine(12);
  const Case<TinyPrime<7>> honest({}, 5, 1, 2, engine);
  int patterns = 0, decoded = 0;
  for (std::size_t a = 0; a < 5; ++a) {
    for (std::size_t b = a + 1; b < 5; ++b) {
      for (unsigned pattern = 0; pattern < 2401; ++pattern) {
        const std::uint8_t errors[] = {
            static_cast<std::uint8_t>(pattern % 7), static_cast<std::uint8_t>(pattern / 7 % 7),
            static_cast<std::uint8_t>(pattern / 49 % 7), static_cast<std::uint8_t>(pattern / 343)};
        Case<TinyPrime<7>> c({}, 5, 1, 2, engine);
        c.add(a, 0, errors[0]);
        c.add(a, 1, errors[1]);
        c.add(b, 0, errors[2]);
        c.add(b, 1, errors[3]);
        ++patterns;
        const auto agrees = metzner_kapturowski(c.f, c.reduced());
        if (!agrees) continue;
        ++decoded;
        for (std::size_t j = 0; j < 5; ++j) ASSERT_EQ((*agrees)[j], !c.lied(j));
      }
    }
  }
  EXPECT_EQ(patterns, 24'010);
  EXPECT_EQ(decoded, 21'130);
}

/// With as many words as liars all three find the same; A and B never another answer than C.
TEST(Generators, AgreeWithEachOther) {
  auto engine = pirx::testing::seeded_engine(13);
  using F = gf2e::Gf2_8;
  EngineSource rng{engine};
  int by_rank = 0, by_locator = 0;
  for (int i = 0; i < 400; ++i) {
    const std::size_t k = 5 + engine() % 6, d = 1 + engine() % 2, most = k - d - 2;
    const std::size_t v = 1 + engine() % most, words = 1 + engine() % (v + 2);
    Case<F> c({}, k, d, words, engine);
    auto servers = c.rows();
    std::shuffle(servers.begin(), servers.end(), engine);
    for (std::size_t n = 0; n < v; ++n) {
      for (std::size_t w = 0; w < words; ++w) c.add(servers[n], w, pirx::testing::random_element(c.f, rng));
      if (!c.lied(servers[n])) c.add(servers[n], 0, 1);
    }
    std::vector<bool> truth(k);
    for (std::size_t j = 0; j < k; ++j) truth[j] = !c.lied(j);
    const auto reduction = c.reduced();
    const std::span<const Word<F>> basis(reduction.basis);
    const auto all = search_all(c, basis, most);
    ASSERT_NE(std::find(all.begin(), all.end(), truth), all.end());
    if (const auto found = metzner_kapturowski(c.f, reduction)) {
      ++by_rank;
      ASSERT_EQ(*found, truth);
    } else {
      ASSERT_LT(reduction.rank(), v);
    }
    Budget budget;
    const auto located = common_locator(c.f, std::span<const F::Elem>(c.x), d, basis, budget);
    if (located) {
      ++by_locator;
      ASSERT_NE(std::find(all.begin(), all.end(), *located), all.end());
    }
    if (v <= (k - d - 1) / 2) {
      ASSERT_EQ(located, truth);
    }
  }
  EXPECT_GT(by_rank, 100);
  EXPECT_GT(by_locator, 200);
}

TEST(CommonLocator, CorrectsBeyondTheUniqueRadiusWithSeveralWords) {
  auto engine = pirx::testing::seeded_engine(14);
  using F = gf2e::Gf2_16;
  EngineSource rng{engine};
  for (const auto& [v, words] : {std::pair{4u, 1u}, {5u, 2u}, {6u, 2u}, {7u, 4u}, {8u, 8u}}) {
    for (int i = 0; i < 20; ++i) {
      Case<F> c({}, 12, 2, words, engine);
      auto servers = c.rows();
      std::shuffle(servers.begin(), servers.end(), engine);
      std::vector<bool> truth(12, true);
      for (std::size_t n = 0; n < v; ++n) {
        truth[servers[n]] = false;
        for (std::size_t w = 0; w < words; ++w)
          c.add(servers[n], w, static_cast<std::uint16_t>(pirx::testing::random_element(c.f, rng) | 1));
      }
      const auto reduction = c.reduced();
      Budget budget;
      ASSERT_EQ(common_locator(c.f, std::span<const F::Elem>(c.x), 2,
                               std::span<const Word<F>>(reduction.basis), budget),
                truth)
          << "v=" << v << " words=" << words;
    }
  }
}

/// Errors as liars would choose them: at random, on a polynomial of their own (also through honest points),
/// the same for all, multiples of one another, those of a database of their own, or none.
template <class F>
void attack(Case<F>& c, const std::vector<bool>& liars, std::mt19937_64& engine) {
  using Elem = typename F::Elem;
  EngineSource rng{engine};
  const auto& f = c.f;
  const unsigned kind = engine() % 6;
  std::vector<Elem> roots;
  for (std::size_t j = 0; j < c.k(); ++j) {
    if (!liars[j] && roots.size() < c.degree && kind == 2) roots.push_back(c.x[j]);
  }
  std::vector<Elem> shared(c.Y.cols()), coefficients(c.degree + 1);
  f.random_fill(rng, std::span<Elem>(shared));
  std::vector<Elem> factors(c.k());
  f.random_fill(rng, std::span<Elem>(factors));
  for (std::size_t w = 0; w < c.Y.cols(); ++w) {
    f.random_fill(rng, std::span<Elem>(coefficients));
    for (std::size_t j = 0; j < c.k(); ++j) {
      if (!liars[j]) continue;
      Elem error = f.zero();
      switch (kind) {
        case 0:
          error = engine() % 2 ? pirx::testing::random_element(f, rng) : f.zero();
          break;
        case 1:
          error = c.value(coefficients, c.x[j]);
          break;
        case 2:
          error = shared[w];
          for (const auto root : roots) error = f.mul(error, f.sub(c.x[j], root));
          break;
        case 3:
          error = shared[w];
          break;
        case 4:
          error = f.mul(factors[j], shared[w]);
          break;
        default:
          error = f.zero();
      }
      // Blinding comes out: the scalar of this round and server stays on the error.
      c.add(j, w, kind % 2 ? f.mul(error, pirx::testing::random_element(f, rng)) : error);
    }
  }
}

/// Rounds of queries under attack; counts what is proven and what is proven and wrong inside its bound.
template <class F>
void prove_under_attack(const F& f, int cases, std::uint64_t stream) {
  auto engine = pirx::testing::seeded_engine(stream);
  int proven = 0, beyond = 0, several = 0;
  for (int i = 0; i < cases; ++i) {
    const std::size_t largest = f.size_limit() - 1;
    const std::size_t k = 3 + engine() % (largest - 2), d = engine() % std::min<std::size_t>(k - 1, 4);
    const std::size_t rounds = 1 + (engine() % 3 == 0) * (engine() % 3);
    std::vector<bool> pool(k), lied(k);
    for (std::size_t n = engine() % k; n > 0; --n) pool[engine() % k] = true;
    std::vector<Case<F>> session;
    std::vector<RoundWords<F>> words;
    for (std::size_t r = 0; r < rounds; ++r) {
      auto& c = session.emplace_back(f, k, d, 1 + engine() % 4, engine);
      auto liars = pool;
      if (engine() % 4 == 0) {
        for (std::size_t j = 0; j < k; ++j) liars[j] = liars[j] && engine() % 2;
      }
      attack(c, liars, engine);
      for (std::size_t j = 0; j < k; ++j) lied[j] = lied[j] || c.lied(j);
      words.push_back(c.round());
      // Now and then a server is silent.
      if (engine() % 8 == 0) {
        auto servers = c.rows();
        servers.erase(servers.begin() + static_cast<std::ptrdiff_t>(engine() % k));
        const auto query = c.query();
        words.back() = {servers, {}};
        if (servers.size() > d) {
          words.back().basis = reduce(strassen::Engine<F>(f), std::span<const typename F::Elem>(c.x), d,
                                      std::span<const std::size_t>(servers), std::span(&query, 1))
                                   .value()
                                   .basis;
        }
      }
    }
    const auto v = static_cast<std::size_t>(std::count(lied.begin(), lied.end(), true));
    std::optional<unsigned> declared;
    if (engine() % 2) declared = static_cast<unsigned>(engine() % k);
    const auto verdict = locate(strassen::Engine<F>(f), std::span<const typename F::Elem>(session[0].x), d,
                                std::span<const RoundWords<F>>(words), declared)
                             .value();
    bool any = false;
    for (std::size_t r = 0; r < rounds; ++r) {
      const auto& decided = verdict.rounds[r];
      if (!decided || !decided->proven) continue;
      any = true;
      bool right = true;
      for (const auto j : words[r].servers) right = right && decided->agrees[j] != session[r].lied(j);
      if (v <= decided->bound) {
        ++proven;
        several += rounds > 1;
        ASSERT_TRUE(right) << f.tag().name() << " k=" << k << " d=" << d << " liars=" << v
                           << " bound=" << decided->bound << " case " << i;
      } else {
        beyond += !right;
      }
    }
    const bool all_replied =
        std::all_of(words.begin(), words.end(), [&](const auto& round) { return round.servers.size() == k; });
    if (all_replied && k > d + 1 && v <= (k - d - 1) / 2 &&
        (!declared || (v <= *declared && *declared <= (k - d - 1) / 2))) {
      ASSERT_TRUE(any) << "inside the unique radius everything is proven: " << f.tag().name() << " k=" << k
                       << " d=" << d << " liars=" << v;
    }
  }
  EXPECT_GT(proven, cases / 4);
  EXPECT_GT(several, cases / 50);
  EXPECT_GT(beyond, 0) << "the attacks are so weak that the bound is never needed";
}

TEST(Proof, HoldsUnderAttack) {
  prove_under_attack(TinyPrime<7>{}, 60'000, 20);
  prove_under_attack(TinyPrime<11>{}, 40'000, 21);
}

TEST(Proof, BoundIsThatOfTheTheorem) {
  EXPECT_EQ(proof_bound(8, 2, 8, 0), 5u);  // all agree
  EXPECT_EQ(proof_bound(8, 2, 6, 1), 3u);  // rank 1
  EXPECT_EQ(proof_bound(8, 2, 4, 4), 4u);  // full rank: k - d - 2, always
  EXPECT_EQ(proof_bound(8, 2, 7, 1), 4u);
  EXPECT_EQ(proof_bound(9, 2, 5, 3), 4u);  // a stale database of 4 in 9
  EXPECT_EQ(proof_bound(9, 2, 4, 3), 3u);
  EXPECT_EQ(proof_bound(4, 2, 3, 1), 0u);
}

TEST(Locate, NeedsNoSolverWhereAllAgree) {
  auto engine = pirx::testing::seeded_engine(30);
  const Case<gf2e::Gf2_8> c({}, 9, 2, 40, engine);
  const RoundWords<gf2e::Gf2_8> rounds[] = {c.round()};
  const auto verdict = locate(strassen::Engine<gf2e::Gf2_8>({}), std::span<const std::uint8_t>(c.x), 2,
                              std::span<const RoundWords<gf2e::Gf2_8>>(rounds), std::nullopt)
                           .value();
  EXPECT_EQ(verdict.status, DecodeStatus::kOk);
  EXPECT_EQ(verdict.solver_calls, 0u);
  EXPECT_EQ(verdict.rounds[0]->bound, 6u);
}

/// Builds for debugging try one of the cases that take longest.
#ifdef PIRX_VERIFY
constexpr bool kSlow = true;
#else
constexpr bool kSlow = false;
#endif

/// Whatever comes, the answer comes in time: random words are the worst that one can do to the searches.
template <class F>
void expect_bounded(const F& f, std::size_t k, std::size_t d, std::size_t words, std::mt19937_64& engine) {
  EngineSource rng{engine};
  Case<F> c(f, k, d, words, engine);
  for (std::size_t j = 0; j < k; ++j) c.f.random_fill(rng, std::span(c.Y.row(j), words));
  std::vector<RoundWords<F>> rounds(3, c.round());
  const auto start = std::chrono::steady_clock::now();
  const auto verdict = locate(strassen::Engine<F>(f), std::span<const typename F::Elem>(c.x), d,
                              std::span<const RoundWords<F>>(rounds), std::nullopt)
                           .value();
  EXPECT_TRUE(verdict.rounds[0] || verdict.candidates.size() <= kMaxCandidates);
  // Seconds with room to spare, for slow builds and busy machines.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60)) << "k=" << k;
}

TEST(Locate, IsBounded) {
  auto engine = pirx::testing::seeded_engine(31);
  for (const auto& [k, d, words] :
       {std::tuple{24u, 8u, 4u}, {24u, 8u, 1u}, {30u, 3u, 2u}, {200u, 20u, 3u}, {254u, 1u, 1u}}) {
    expect_bounded(gf2e::Gf2_8(), k, d, words, engine);
    if (kSlow) return;
  }
  expect_bounded(fp::PrimeField::create(8).value(), 24, 8, 4, engine);
}

/// Not the fourth power, which was too much for a hundred servers over prime fields; nor more for many words,
/// where two liars say the same, so that the rank does not tell who lies.
TEST(CommonLocator, TakesTheCubeOfTheNumberOfLiars) {
  auto engine = pirx::testing::seeded_engine(36);
  EngineSource rng{engine};
  for (const std::size_t words : {1u, 100u}) {
    Case<gf2e::Gf2_8> c({}, 186, 5, words, engine);
    for (std::size_t w = 0; w < words; ++w) {
      for (std::size_t j = 1; j < 90; ++j) {
        const auto error = static_cast<std::uint8_t>(pirx::testing::random_element(c.f, rng) | 1);
        c.add(j, w, error);
        if (j == 1) c.add(0, w, error);
      }
    }
    const auto reduction = c.reduced();
    Budget budget(8'000'000);
    const auto agrees = common_locator(c.f, std::span<const std::uint8_t>(c.x), 5,
                                       std::span<const Word<gf2e::Gf2_8>>(reduction.basis), budget);
    ASSERT_TRUE(agrees) << words;
    for (std::size_t j = 0; j < 186; ++j) EXPECT_EQ((*agrees)[j], j >= 90);
  }
}

/// (k - d - 1) / 2 liars are corrected, whatever they say: also where the complete search ends without a
/// result (two errors alike, so that the rank does not tell the liars).
TEST(Locate, TheLocatorWorksAfterASearchThatWasTooMuch) {
  auto engine = pirx::testing::seeded_engine(34);
  EngineSource rng{engine};
  for (const auto& [k, d, liars] : {std::tuple{31u, 12u, 9u}, {38u, 25u, 6u}, {42u, 31u, 5u}}) {
    Case<gf2e::Gf2_8> c({}, k, d, 40, engine);
    for (std::size_t w = 0; w < 40; ++w) {
      for (std::size_t j = 1; j < liars; ++j) {
        const auto error = static_cast<std::uint8_t>(pirx::testing::random_element(c.f, rng) | 1);
        c.add(j, w, error);
        if (j == 1) c.add(0, w, error);
      }
    }
    const RoundWords<gf2e::Gf2_8> rounds[] = {c.round()};
    const auto verdict = locate(strassen::Engine<gf2e::Gf2_8>({}), std::span<const std::uint8_t>(c.x), d,
                                std::span<const RoundWords<gf2e::Gf2_8>>(rounds), std::nullopt)
                             .value();
    ASSERT_EQ(verdict.status, DecodeStatus::kOk) << "k=" << k;
    EXPECT_TRUE(verdict.rounds[0]->proven);
    for (std::size_t j = 0; j < k; ++j) EXPECT_EQ(verdict.rounds[0]->agrees[j], j >= liars);
    if (kSlow) return;
  }
}

TEST(Locate, FindsManyLiarsAmongManyServers) {
  auto engine = pirx::testing::seeded_engine(32);
  EngineSource rng{engine};
  // Too many subsets for a complete search: rank 1, so the locator; 90 liars of 200, d = 10.
  Case<gf2e::Gf2_8> c({}, 200, 10, 1, engine);
  auto servers = c.rows();
  std::shuffle(servers.begin(), servers.end(), engine);
  for (std::size_t n = 0; n < 90; ++n)
    c.add(servers[n], 0, static_cast<std::uint8_t>(pirx::testing::random_element(c.f, rng) | 1));
  const RoundWords<gf2e::Gf2_8> rounds[] = {c.round()};
  const auto verdict = locate(strassen::Engine<gf2e::Gf2_8>({}), std::span<const std::uint8_t>(c.x), 10,
                              std::span<const RoundWords<gf2e::Gf2_8>>(rounds), std::nullopt)
                           .value();
  ASSERT_EQ(verdict.status, DecodeStatus::kOk);
  for (std::size_t j = 0; j < 200; ++j) EXPECT_EQ(verdict.rounds[0]->agrees[j], !c.lied(j));
  EXPECT_TRUE(verdict.rounds[0]->proven);
  EXPECT_EQ(verdict.rounds[0]->bound, 110u + 1 - 10 - 2);
}

/// Five of nine agree on a polynomial of their own in one round, which leaves several answers. In another
/// round they are proven liars; without them the first is decided, too.
TEST(Locate, ErasesAProvenLiarEverywhere) {
  using F = gf2e::Gf2_16;
  auto engine = pirx::testing::seeded_engine(33);
  EngineSource rng{engine};
  Case<F> first({}, 9, 2, 20, engine), second({}, 9, 2, 20, engine);
  for (std::size_t w = 0; w < 20; ++w) {
    const auto shift = static_cast<std::uint16_t>(pirx::testing::random_element(first.f, rng) | 1);
    for (std::size_t j = 0; j < 5; ++j) {
      first.add(j, w, shift);
      second.add(j, w, pirx::testing::random_element(second.f, rng));
    }
  }
  const std::span<const std::uint16_t> x(first.x);
  const strassen::Engine<F> product({});
  const RoundWords<F> rounds[] = {first.round(), second.round()};
  const auto alone = locate(product, x, 2, std::span<const RoundWords<F>>(rounds, 1), 5u).value();
  EXPECT_EQ(alone.status, DecodeStatus::kNeedMoreQueries);
  EXPECT_GE(alone.candidates.size(), 2u);
  const auto both = locate(product, x, 2, std::span<const RoundWords<F>>(rounds), 5u).value();
  EXPECT_EQ(both.status, DecodeStatus::kOk);
  for (const auto& decided : both.rounds) {
    ASSERT_TRUE(decided && decided->proven);
    EXPECT_EQ(decided->bound, 5u);
    for (std::size_t j = 0; j < 9; ++j) EXPECT_EQ(decided->agrees[j], j >= 5);
  }
}

/// A search that would need much memory is not begun.
TEST(CompleteSearch, KeepsLittle) {
  const gf2e::Gf2_16 f;
  std::vector<std::uint16_t> x;
  for (std::uint16_t j = 1; j <= 1024; ++j) x.push_back(j);
  const std::vector<Word<gf2e::Gf2_16>> words(10, Word<gf2e::Gf2_16>(1024));
  Budget budget;
  EXPECT_FALSE(complete_search(f, std::span<const std::uint16_t>(x), 500,
                               std::span<const Word<gf2e::Gf2_16>>(words), 1, budget,
                               [](const std::vector<bool>&) { return true; }));
}

TEST(Budget, EndsWhenTheWorkIsToStop) {
  int asked = 0;
  const Stop stop = [&] { return ++asked == 3; };
  Budget budget(std::uint64_t{1} << 40, &stop);
  std::uint64_t spent = 0;
  while (budget.spend(100)) spent += 100;
  EXPECT_EQ(asked, 3);
  EXPECT_LT(spent, std::uint64_t{1} << 18);
  EXPECT_FALSE(budget.spend(1)) << "for good";
}

TEST(Budget, CountsDown) {
  Budget budget(10);
  EXPECT_TRUE(budget.spend(9));
  EXPECT_FALSE(budget.spend(2));
  EXPECT_FALSE(budget.spend(0));
  EXPECT_EQ(binomial(24, 9), 1'307'504u);
  EXPECT_EQ(binomial(5, 0), 1u);
  EXPECT_EQ(binomial(1000, 500), std::uint64_t{1} << 63);
  EXPECT_EQ(subsets_to_search(8, 14), 817'190u);
}

}  // namespace
}  // namespace pirx::itpir::goldberg::decoding
