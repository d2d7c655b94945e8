// SPDX-License-Identifier: Apache-2.0
// The decoder against brute force: any replies over a field of eleven elements, and every set of servers
// tried by Lagrange's formula.
#include <bit>
#include <numeric>
#include <optional>

#include "fuzz.h"
#include "itpir/goldberg/decoding/locate.h"
#include "support/tiny_engine.h"

namespace pirx::fuzz {
namespace {

using namespace itpir::goldberg::decoding;
using F = testing::TinyPrime<11>;
using Elem = F::Elem;
using Set = std::vector<bool>;

/// Replies of k servers at 1, ..., k, and those that lied.
struct Replies {
  F f;
  std::size_t k, degree;
  std::vector<Elem> x, ones;
  matrix::Matrix<Elem> Y;
  Set lied;

  /// On input the script has the shape, then polynomials, then errors.
  explicit Replies(Script& script)
      : k(3 + script.byte() % 6), degree(script.byte() % (k - 1)), ones(k, 1), lied(k, false) {
    const std::size_t words = 1 + script.byte() % 4;
    Y = matrix::Matrix<Elem>::create(k, words).value();
    for (std::size_t j = 1; j <= k; ++j) x.push_back(f.from_label(j));
    for (std::size_t w = 0; w < words; ++w) {
      std::vector<Elem> coefficients(degree + 1);
      for (auto& c : coefficients) c = f.from_label(script.byte() % 11);
      for (std::size_t j = 0; j < k; ++j) {
        for (std::size_t c = coefficients.size(); c-- > 0;) {
          Y.at(j, w) = f.add(f.mul(Y.at(j, w), x[j]), coefficients[c]);
        }
      }
    }
    while (!script.empty()) {
      const auto place = script.byte();
      const auto error = f.from_label(script.byte() % 11);
      const auto j = place % k;
      Y.at(j, place / 16 % words) = f.add(Y.at(j, place / 16 % words), error);
      lied[j] = true;  // perhaps not, if errors cancel: then there are fewer liars than counted
    }
  }
  std::vector<std::size_t> rows() const {
    std::vector<std::size_t> all(k);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }
  /// Whether these servers lie on one polynomial in every word.
  bool consistent(const Set& agrees) const {
    std::vector<std::size_t> members;
    for (std::size_t j = 0; j < k; ++j) {
      if (agrees[j]) members.push_back(j);
    }
    for (std::size_t m = degree + 1; m < members.size(); ++m) {
      for (std::size_t w = 0; w < Y.cols(); ++w) {
        Elem sum = 0;
        for (std::size_t i = 0; i <= degree; ++i) {
          Elem term = Y.at(members[i], w);
          for (std::size_t n = 0; n <= degree; ++n) {
            if (n == i) continue;
            term = f.mul(term, f.sub(x[members[m]], x[members[n]]));
            term = f.mul(term, f.inv(f.sub(x[members[i]], x[members[n]])));
          }
          sum = f.add(sum, term);
        }
        if (sum != Y.at(members[m], w)) return false;
      }
    }
    return true;
  }
  /// All maximal consistent sets of at least so many servers.
  std::vector<Set> agreements(std::size_t least) const {
    std::vector<Set> all;
    for (std::size_t size = k; size >= std::max(least, degree + 1); --size) {
      for (std::size_t mask = 0; mask < (std::size_t{1} << k); ++mask) {
        if (static_cast<std::size_t>(std::popcount(mask)) != size) continue;
        Set agrees(k);
        for (std::size_t j = 0; j < k; ++j) agrees[j] = (mask >> j & 1) != 0;
        const bool inside = std::any_of(all.begin(), all.end(), [&](const Set& larger) {
          for (std::size_t j = 0; j < k; ++j) {
            if (agrees[j] && !larger[j]) return false;
          }
          return true;
        });
        if (!inside && consistent(agrees)) all.push_back(agrees);
      }
    }
    std::sort(all.begin(), all.end());
    return all;
  }
};

std::vector<Set> search(const Replies& replies, std::span<const Word<F>> words, std::size_t liars) {
  std::vector<Set> found;
  Budget budget;
  expect(complete_search(replies.f, std::span<const Elem>(replies.x), replies.degree, words, liars, budget,
                         [&](const Set& agrees) {
                           found.push_back(agrees);
                           return true;
                         }),
         "a small search ends");
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

PIRX_FUZZ(decoder, [] {
  return Seeds{
      from_hex("0401010102030405010602").value(), from_hex("0500020102030405060708090a1003210332").value(),
      from_hex("05010301020304050607080900011101200531073204").value(), from_hex("0302000102").value()};
}) {
  Script script(input);
  const Replies replies(script);
  const auto rows = replies.rows();
  const QueryReplies<F> query{replies.Y.view(), replies.ones, replies.ones};
  const strassen::Engine<F> engine(replies.f);
  std::vector<Word<F>> words;
  for (std::size_t w = 0; w < replies.Y.cols(); ++w) words.push_back(word_at(replies.f, query, rows, w));
  const auto reduction = reduce(engine, std::span<const Elem>(replies.x), replies.degree,
                                std::span<const std::size_t>(rows), std::span(&query, 1))
                             .value();
  for (std::size_t liars = 0; liars + replies.degree + 1 <= replies.k; ++liars) {
    const auto truth = replies.agreements(replies.k - liars);
    expect(search(replies, words, liars) == truth, "the search finds what trying every set finds");
    expect(search(replies, reduction.basis, liars) == truth, "the reduction keeps every agreement");
  }
  if (const auto agrees = metzner_kapturowski(replies.f, reduction)) {
    expect(replies.consistent(*agrees), "who is left agrees");
  }
  const auto liars = static_cast<std::size_t>(std::count(replies.lied.begin(), replies.lied.end(), true));
  const RoundWords<F> round{rows, reduction.basis};
  for (const auto declared :
       {std::optional<unsigned>(), std::optional<unsigned>(1), std::optional<unsigned>(4)}) {
    const auto verdict =
        locate(engine, std::span<const Elem>(replies.x), replies.degree, std::span(&round, 1), declared);
    if (!verdict) continue;
    if (!verdict->rounds.at(0)) continue;
    const auto& agreement = *verdict->rounds[0];
    expect(replies.consistent(agreement.agrees), "an agreement is one");
    if (!agreement.proven || liars > agreement.bound) continue;
    for (std::size_t j = 0; j < replies.k; ++j) {
      expect(agreement.agrees[j] || replies.lied[j], "a proven agreement has every honest server");
    }
  }
}

}  // namespace pirx::fuzz
