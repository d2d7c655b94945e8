// SPDX-License-Identifier: Apache-2.0
// The decoder against brute force: any replies over a field of eleven elements, and every set of servers
// tried by Lagrange's formula. For more servers than that allows, over 97 elements, the common locator
// against what it is: the least recurrence, by Gaussian elimination.
#include <optional>

#include "fuzz.h"
#include "itpir/agreements.h"
#include "support/tiny_engine.h"

namespace pirx::fuzz {
namespace {

using namespace itpir::goldberg::decoding;
using Set = std::vector<bool>;
using Few = testing::TinyPrime<11>;
using Many = testing::TinyPrime<97>;
using itpir::goldberg::testing::Replies;

template <class F>
struct Lies {
  Replies<F> replies;
  Set lied;
};

/// On input the script has the shape, then polynomials, then errors.
template <class F>
Lies<F> lies_of(Script& script, std::size_t least, std::size_t most) {
  const std::size_t k = least + script.byte() % (most - least + 1), degree = script.byte() % (k - 1),
                    words = 1 + script.byte() % 4;
  Lies<F> out{{F(), k, degree, words}, Set(k)};
  const F f;
  const auto element = [&] { return f.from_label(script.byte() % f.size_limit()); };
  auto& Y = out.replies.Y;
  for (std::size_t w = 0; w < words; ++w) {
    std::vector<typename F::Elem> coefficients(degree + 1);
    for (auto& c : coefficients) c = element();
    for (std::size_t j = 0; j < k; ++j) {
      for (std::size_t c = coefficients.size(); c-- > 0;) {
        Y.at(j, w) = f.add(f.mul(Y.at(j, w), out.replies.x[j]), coefficients[c]);
      }
    }
  }
  while (!script.empty()) {
    const auto server = script.byte() % k, word = script.byte() % words;
    out.replies.add(server, word, element());
    out.lied[server] = true;  // perhaps not, if errors cancel: then there are fewer liars than counted
  }
  return out;
}

std::vector<Set> search(const Replies<Few>& replies, std::span<const Word<Few>> words, std::size_t liars) {
  std::vector<Set> found;
  Budget budget;
  expect(
      complete_search(replies.f, std::span<const Few::Elem>(replies.x), replies.degree, words, liars, budget,
                      [&](const Set& agrees) {
                        found.push_back(agrees);
                        return true;
                      }),
      "a small search ends");
  std::sort(found.begin(), found.end());
  return found;
}

/// Brings rows to echelon form, and gives their rank and a vector that is orthogonal to all, if there is one.
template <class F>
std::pair<std::size_t, std::vector<typename F::Elem>> eliminate(
    const F& f, std::vector<std::vector<typename F::Elem>> rows, std::size_t size) {
  std::vector<std::size_t> pivots;
  std::optional<std::size_t> free;
  for (std::size_t c = 0; c < size; ++c) {
    const std::size_t rank = pivots.size();
    std::size_t r = rank;
    while (r < rows.size() && f.equal(rows[r][c], f.zero())) ++r;
    if (r == rows.size()) {
      free = c;
      continue;
    }
    std::swap(rows[rank], rows[r]);
    const auto inverse = f.inv(rows[rank][c]);
    for (auto& value : rows[rank]) value = f.mul(value, inverse);
    for (std::size_t other = 0; other < rows.size(); ++other) {
      if (other == rank) continue;
      const auto factor = rows[other][c];
      for (std::size_t i = 0; i < size; ++i)
        rows[other][i] = f.sub(rows[other][i], f.mul(factor, rows[rank][i]));
    }
    pivots.push_back(c);
  }
  if (!free) return {pivots.size(), {}};
  std::vector<typename F::Elem> kernel(size, f.zero());
  kernel[*free] = f.one();
  for (std::size_t i = 0; i < pivots.size(); ++i) kernel[pivots[i]] = f.sub(f.zero(), rows[i][*free]);
  return {pivots.size(), kernel};
}

/// What common_locator() finds, by its definition.
template <class F>
std::optional<Set> least_locator(const Replies<F>& replies, std::span<const Word<F>> words) {
  using Elem = typename F::Elem;
  const F& f = replies.f;
  const std::size_t k = replies.k(), redundant = k - replies.degree - 1;
  std::vector<std::vector<Elem>> syndromes;
  for (const auto& word : words) {
    auto& s = syndromes.emplace_back(redundant, f.zero());
    for (std::size_t j = 0; j < k; ++j) {
      auto term = word[j];
      for (std::size_t i = 0; i < k; ++i) {
        if (i != j) term = f.mul(term, f.inv(f.sub(replies.x[j], replies.x[i])));
      }
      for (std::size_t c = 0; c < redundant; ++c, term = f.mul(term, replies.x[j])) s[c] = f.add(s[c], term);
    }
  }
  for (std::size_t e = 1; e < redundant; ++e) {
    std::vector<std::vector<Elem>> windows;
    for (const auto& s : syndromes) {
      for (auto from = s.begin(); s.end() - from > static_cast<std::ptrdiff_t>(e); ++from)
        windows.emplace_back(from, from + static_cast<std::ptrdiff_t>(e) + 1);
    }
    const auto [rank, locator] = eliminate(f, windows, e + 1);
    if (rank == e + 1) continue;
    Set agrees(k);
    for (std::size_t j = 0; j < k; ++j) {
      auto value = f.zero();
      for (std::size_t c = e + 1; c-- > 0;) value = f.add(f.mul(value, replies.x[j]), locator[c]);
      agrees[j] = !f.equal(value, f.zero());
    }
    const auto roots = static_cast<std::size_t>(std::count(agrees.begin(), agrees.end(), false));
    return rank == e && roots == e ? std::optional(agrees) : std::nullopt;
  }
  return std::nullopt;
}

/// What locate() says of these replies is true as far as it is proven.
template <class F>
void check_locate(const Lies<F>& lies, const Reduction<F>& reduction, std::optional<unsigned> declared) {
  const auto& replies = lies.replies;
  const strassen::Engine<F> engine(replies.f);
  const RoundWords<F> round{replies.rows(), reduction.basis};
  const auto verdict = locate(engine, std::span<const typename F::Elem>(replies.x), replies.degree,
                              std::span(&round, 1), declared);
  if (!verdict || !verdict->rounds.at(0)) return;
  const auto& agreement = *verdict->rounds[0];
  expect(replies.consistent(agreement.agrees), "an agreement is one");
  const auto liars = static_cast<std::size_t>(std::count(lies.lied.begin(), lies.lied.end(), true));
  if (!agreement.proven || liars > agreement.bound) return;
  for (std::size_t j = 0; j < replies.k(); ++j)
    expect(agreement.agrees[j] || lies.lied[j], "a proven agreement has every honest server");
}

}  // namespace

PIRX_FUZZ(decoder, [] {
  return Seeds{
      from_hex("0401010102030405010602").value(), from_hex("0500020102030405060708090a1003210332").value(),
      from_hex("05010301020304050607080900011101200531073204").value(), from_hex("0302000102").value()};
}) {
  Script script(input);
  const auto lies = lies_of<Few>(script, 3, 8);
  const auto& replies = lies.replies;
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
  for (const auto declared :
       {std::optional<unsigned>(), std::optional<unsigned>(1), std::optional<unsigned>(4)})
    check_locate(lies, reduction, declared);
}

PIRX_FUZZ(locator, [] {
  // Two liars of eleven with one word, seven of 32 with two, six of twenty with one.
  return Seeds{from_hex("020200010203030005070004").value(),
               from_hex("1704010102030405060708091001000301015a03000803015904000d0401560900120901510f00170f01"
                        "4a16001c1601411f00211f0136")
                   .value(),
               from_hex("0b0600010203040506070000010200030500060700080b000c130014").value()};
}) {
  Script script(input);
  const auto lies = lies_of<Many>(script, 9, 32);
  const auto& replies = lies.replies;
  const std::span<const Many::Elem> x(replies.x);
  const auto reduction = replies.reduced();
  const std::span<const Word<Many>> basis(reduction.basis);
  if (basis.empty()) return;
  Budget budget;
  const auto located = common_locator(replies.f, x, replies.degree, basis, budget);
  expect(located == least_locator(replies, basis), "the locator is the least one");
  if (located) expect(replies.consistent(*located), "whom the locator leaves agree");
  const auto most = replies.k() - std::min(replies.k(), replies.degree + 2);
  // Only what needs the locator: searches are for the other target, and slow here.
  if (subsets_to_search(replies.degree, most) <= kMaxSubsets) return;
  for (const auto declared : {std::size_t{1}, most})
    check_locate(lies, reduction, static_cast<unsigned>(declared));
}

}  // namespace pirx::fuzz
