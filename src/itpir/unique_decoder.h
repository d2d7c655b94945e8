// Unique decoding of whole replies by peeling: correct one word, drop the servers found wrong, check all
// words again. What a fuller decoder would replace: replies in, the servers that tell the truth out.
#pragma once

#include <numeric>

#include "interpolation.h"
#include "word_decoder.h"

namespace pirx::itpir {

/// For each of the k servers whether it agrees, in every word, with the one code word matrix that all but
/// floor((k - degree - 1) / 2) servers agree with; nothing when there is none. k > degree.
///
/// If no more than that many servers lied it is theirs who told the truth: a word is corrected within its own
/// radius, which covers the liars left, so only liars are dropped; and any set that meets the bound shares
/// degree + 1 honest servers with the honest ones. Cost: one comparison and one word decoded per liar that a
/// word exposes, at most.
template <SharingField F>
Result<std::optional<std::vector<bool>>> decode_unique(const strassen::Engine<F>& engine,
                                                       const ReplyWords<F>& words) {
  using Elem = typename F::Elem;
  const std::size_t k = words.Y.rows, radius = (k - words.degree - 1) / 2;
  std::vector<std::size_t> active(k);
  std::iota(active.begin(), active.end(), std::size_t{0});
  while (k - active.size() <= radius) {
    PIRX_ASSIGN(const auto polynomials, Interpolation<F>::create(engine, words, active));
    PIRX_ASSIGN(const auto comparison,
                polynomials.compare(std::span(active).subspan(words.degree + 1), true));
    if (!comparison.column) {
      std::vector<bool> agrees(k, false);
      for (const auto server : active) agrees[server] = true;
      return agrees;
    }
    std::vector<Elem> x, y;
    for (const auto server : active) {
      x.push_back(words.x[server]);
      y.push_back(words.Y.at(server, *comparison.column));
    }
    const auto wrong =
        decode_word(engine.field(), std::span<const Elem>(x), std::span<const Elem>(y), words.degree);
    if (!wrong) break;
    PIRX_CHECK(!wrong->empty());
    for (auto i = wrong->rbegin(); i != wrong->rend(); ++i) {
      active.erase(active.begin() + static_cast<std::ptrdiff_t>(*i));
    }
  }
  return std::nullopt;
}

}  // namespace pirx::itpir
