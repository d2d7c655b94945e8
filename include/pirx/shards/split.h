// How a database is cut into the parts that the ranks of a run hold: by rows, whose partial answers are added
// up, or by columns, whose answers are put side by side.
#pragma once

#include <string>

#include "pirx/protocol/product.h"

namespace pirx::shards {

enum class Split : std::uint8_t {
  kAuto,     ///< what moves fewer bytes
  kRows,     ///< each rank gets its columns of the queries; the answers are summed
  kColumns,  ///< each rank gets the whole queries; the answers lie side by side
};

/// "auto", "rows" or "columns". InvalidArgument.
Result<Split> parse_split(const std::string& text);
/// The name that parse_split() reads.
std::string split_name(Split split);

/// kAuto resolved for a product: rows unless a row of sums is longer than a query vector. With rows a query
/// of r elements crosses the network once and a row of s sums ranks - 1 times, with columns the other way
/// round.
Split choose_split(Split wanted, const Product& shape) noexcept;

/// What rank `rank` of `ranks` holds: parts of sizes that differ by at most one, in the order of the ranks,
/// that cover the whole. Empty where there are fewer rows or words than ranks. `split` is not kAuto.
Part part_of(const Product& whole, Split split, int ranks, int rank);

}  // namespace pirx::shards
