// SPDX-License-Identifier: Apache-2.0
// Cuts a database into parts of equal size, and chooses the cut that moves fewer bytes.
#include "pirx/shards/split.h"

namespace pirx::shards {

Result<Split> parse_split(const std::string& text) {
  for (const auto split : {Split::kAuto, Split::kRows, Split::kColumns}) {
    if (text == split_name(split)) return split;
  }
  return invalid("a database is split by 'rows', by 'columns' or as 'auto' finds better, not by '" + text +
                 "'");
}

std::string split_name(Split split) {
  return split == Split::kRows ? "rows" : split == Split::kColumns ? "columns" : "auto";
}

Split choose_split(Split wanted, const Product& shape) noexcept {
  if (wanted != Split::kAuto) return wanted;
  return shape.words * shape.sum_bytes > shape.rows * shape.elem_bytes ? Split::kColumns : Split::kRows;
}

Part part_of(const Product& whole, Split split, int ranks, int rank) {
  PIRX_CHECK(split != Split::kAuto && 0 <= rank && rank < ranks);
  const auto all = static_cast<std::size_t>(ranks), mine = static_cast<std::size_t>(rank);
  const auto cut = [all, mine](std::size_t& first, std::size_t& count) {
    const std::size_t each = count / all, larger = count % all;
    first += mine * each + std::min(mine, larger);
    count = each + (mine < larger ? 1 : 0);
  };
  Part part{0, whole.rows, 0, whole.words};
  if (split == Split::kRows) {
    cut(part.first_row, part.rows);
  } else {
    cut(part.first_word, part.words);
  }
  return part;
}

}  // namespace pirx::shards
