// SPDX-License-Identifier: Apache-2.0
// Arithmetic of the shipped fields and the kernels that clients use. Prime fields of other sizes compute with
// NTL, which is not constant time: docs/constant_time.md.
#include "cases.h"
#include "pirx/batchcodes/fields.h"
#include "pirx/batchcodes/lagrange.h"
#include "pirx/strassen/engine.h"

namespace pirx::constant_time {
namespace {

using checkmem::hidden;
using checkmem::hide;

/// Shares, coordinates and blinding factors, as the client computes with them.
template <class F>
bool arithmetic(const F& f) {
  using Elem = typename F::Elem;
  std::vector<Elem> x;
  for (std::uint64_t label = 3; label < 9; ++label) x.push_back(f.from_label(label));
  hide(x);
  auto inverses = x;
  batchcodes::invert_all(f, std::span<Elem>(inverses));
  const auto one = f.mul(inverses[2], x[2]);
  const auto W =
      batchcodes::lagrange_matrix<F>(f, std::span<const Elem>(x).first(4), std::span<const Elem>(x).last(2))
          .value();
  std::vector<std::byte> encoded(f.elem_bytes());
  f.encode_elem(W.at(1, 2), encoded.data());
  Elem decoded = f.zero();
  const bool valid = f.decode_elem(encoded.data(), decoded);
  bool good = hidden(one) && hidden(f.add(x[0], x[1])) && hidden(f.sub(x[0], x[1])) && hidden(encoded) &&
              hidden(decoded) && !f.equal(f.zero(), f.one());
  checkmem::show(valid);
  checkmem::show(one);
  return good && valid && f.equal(one, f.one());
}

/// Rows of shares and of replies: products, sums, and words as bytes.
template <class F>
bool kernels(const F& f) {
  using Sum = typename F::Sum;
  constexpr std::size_t kRows = 5, kWords = 100;
  const strassen::Engine<F> engine(f);
  std::vector<typename F::Elem> scalars;
  for (std::uint64_t label = 2; label < 2 + kRows; ++label) scalars.push_back(f.from_label(label));
  std::vector<Sum> rows(kRows * kWords), product(kWords), twice(kWords);
  std::vector<std::byte> words(rows.size() * f.word_bytes()), out(kWords * f.word_bytes());
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::byte>(29 * i);
  hide(words);
  hide(scalars);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = f.load_word(words.data() + i * f.word_bytes());
  engine.kernels().muladd_sums(f, 1, kRows, kWords, scalars.data(), kRows, rows.data(), kWords,
                               product.data(), kWords);
  engine.kernels().add(f, kWords, product.data(), product.data(), twice.data());
  engine.kernels().sub(f, kWords, twice.data(), rows.data(), twice.data());
  bool good = true;
  for (std::size_t i = 0; i < kWords; ++i) good &= f.store_word(twice[i], out.data() + i * f.word_bytes());
  static_cast<void>(good);  // secret
  return hidden(product) && hidden(out);
}

}  // namespace

void add_field_cases(std::vector<Case>& cases) {
  const auto add = [&](const FieldTag& tag) {
    cases.push_back({"fields: arithmetic of " + tag.name(), "elements", [tag] {
                       return *batchcodes::with_field(
                           tag, [](const auto& f) -> Result<bool> { return arithmetic(f); });
                     }});
    cases.push_back({"fields: kernels of " + tag.name(), "scalars, words", [tag] {
                       return *batchcodes::with_field(
                           tag, [](const auto& f) -> Result<bool> { return kernels(f); });
                     }});
  };
  for (const auto& tag : {kTagGf2_8, kTagGf2_16, kTagW160, kTagW48}) add(tag);
}

}  // namespace pirx::constant_time
