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
  return shape.words * shape.sum_bytes > shape.elems_bytes(shape.rows) ? Split::kColumns : Split::kRows;
}

Part part_of(const Product& whole, Split split, int ranks, int rank) {
  PIRX_CHECK(split != Split::kAuto && 0 <= rank && rank < ranks);
  const auto all = static_cast<std::size_t>(ranks), mine = static_cast<std::size_t>(rank);
  // In units, of which the last may not be whole.
  const auto cut = [all, mine](std::size_t& first, std::size_t& count, std::size_t unit) {
    const std::size_t units = count / unit + (count % unit != 0), each = units / all, larger = units % all;
    first = std::min(count, (mine * each + std::min(mine, larger)) * unit);
    count = std::min(count - first, (each + (mine < larger ? 1 : 0)) * unit);
  };
  Part part{0, whole.rows, 0, whole.words};
  if (split == Split::kRows) {
    cut(part.first_row, part.rows, whole.row_unit());
  } else {
    cut(part.first_word, part.words, 1);
  }
  return part;
}

}  // namespace pirx::shards
