// SPDX-License-Identifier: Apache-2.0
// The input of the decoder. A reply to one query vector is a row of words. In each column, after blinding
// is taken out, the replies of the honest servers are the values of one polynomial of degree at most d at
// their coordinates. The same servers lie in all columns of a round.
#pragma once

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "itpir/goldberg/vectors.h"
#include "pirx/base/stop.h"
#include "pirx/strassen/engine.h"

namespace pirx::itpir::goldberg::decoding {

/// The replies to one query vector. Row r of Y is blinding[r] times the reply proper; unblinding has the
/// inverses.
/// `stop`, if any, ends passes over them.
template <SharingField F>
struct QueryReplies {
  matrix::ConstView<typename F::Sum> Y;
  std::span<const typename F::Elem> blinding, unblinding;
  const Stop* stop = nullptr;
};

/// Undecodable once `stop` returns true. Where servers lie, how long decoding takes may depend on what is
/// wanted. So this is not Unavailable, after which programs may ask again (SECURITY.md).
inline Result<void> check_stop(const Stop* stop) {
  if (stop == nullptr || !*stop || !(*stop)()) return {};
  return fail(ErrorCode::kUndecodable, "the replies were not decoded in time");
}

/// One value per row: a column of Y, taken out of its blinding. Zero in rows that nobody looks at.
template <SharingField F>
using Word = std::vector<typename F::Elem>;

template <SharingField F>
Word<F> word_at(const F& f, const QueryReplies<F>& query, std::span<const std::size_t> rows,
                std::size_t column) {
  Word<F> word(query.Y.rows, f.zero());
  for (const auto r : rows) word[r] = f.mul(query.unblinding[r], query.Y.at(r, column));
  return word;
}

}  // namespace pirx::itpir::goldberg::decoding
