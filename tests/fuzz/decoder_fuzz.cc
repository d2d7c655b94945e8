// SPDX-License-Identifier: Apache-2.0
// The decoder against brute force: any replies over a field of eleven elements, and every set of servers
// tried by Lagrange's formula.
#include <optional>

#include "fuzz.h"
#include "itpir/agreements.h"
#include "support/tiny_engine.h"

namespace pirx::fuzz {
namespace {

using namespace itpir::goldberg::decoding;
using F = testing::TinyPrime<11>;
using Elem = F::Elem;
using Set = std::vector<bool>;
using Replies = itpir::goldberg::testing::Replies<F>;

struct Lies {
  Replies replies;
  Set lied;
};

/// On input the script has the shape, then polynomials, then errors.
Lies lies_of(Script& script) {
  const std::size_t k = 3 + script.byte() % 6, degree = script.byte() % (k - 1),
                    words = 1 + script.byte() % 4;
  Lies out{{F(), k, degree, words}, Set(k)};
  const F f;
  auto& Y = out.replies.Y;
  for (std::size_t w = 0; w < words; ++w) {
    std::vector<Elem> coefficients(degree + 1);
    for (auto& c : coefficients) c = f.from_label(script.byte() % 11);
    for (std::size_t j = 0; j < k; ++j) {
      for (std::size_t c = coefficients.size(); c-- > 0;) {
        Y.at(j, w) = f.add(f.mul(Y.at(j, w), out.replies.x[j]), coefficients[c]);
      }
    }
  }
  while (!script.empty()) {
    const auto place = script.byte();
    const auto error = f.from_label(script.byte() % 11);
    out.replies.add(place % k, place / 16 % words, error);
    out.lied[place % k] = true;  // perhaps not, if errors cancel: then there are fewer liars than counted
  }
  return out;
}

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
  const auto [replies, lied] = lies_of(script);
  const strassen::Engine<F> engine(replies.f);
  const auto words = replies.words();
  const auto reduction = replies.reduced();
  for (std::size_t liars = 0; liars + replies.degree + 1 <= replies.k(); ++liars) {
    const auto truth = replies.agreements(replies.k() - liars);
    expect(search(replies, words, liars) == truth, "the search finds what trying every set finds");
    expect(search(replies, reduction.basis, liars) == truth, "the reduction keeps every agreement");
  }
  if (const auto agrees = metzner_kapturowski(replies.f, reduction)) {
    expect(replies.consistent(*agrees), "who is left agrees");
  }
  const auto liars = static_cast<std::size_t>(std::count(lied.begin(), lied.end(), true));
  const RoundWords<F> round{replies.rows(), reduction.basis};
  for (const auto declared :
       {std::optional<unsigned>(), std::optional<unsigned>(1), std::optional<unsigned>(4)}) {
    const auto verdict =
        locate(engine, std::span<const Elem>(replies.x), replies.degree, std::span(&round, 1), declared);
    if (!verdict) continue;
    if (!verdict->rounds.at(0)) continue;
    const auto& agreement = *verdict->rounds[0];
    expect(replies.consistent(agreement.agrees), "an agreement is one");
    if (!agreement.proven || liars > agreement.bound) continue;
    for (std::size_t j = 0; j < replies.k(); ++j) {
      expect(agreement.agrees[j] || lied[j], "a proven agreement has every honest server");
    }
  }
}

}  // namespace pirx::fuzz
