// SPDX-License-Identifier: Apache-2.0
// How a database is cut into the parts that the ranks of a run hold: by rows, with partial answers that are
// added up, or by columns, with answers that are put side by side.
#pragma once

#include <string>

#include "pirx/protocol/product.h"

namespace pirx::shards {

enum class Split : std::uint8_t {
  kAuto,     ///< the one that moves fewer bytes
  kRows,     ///< each rank gets its columns of the queries; the answers are added up
  kColumns,  ///< each rank gets the whole queries; the answers are put side by side
};

/// Reads "auto", "rows" or "columns". InvalidArgument: another text.
Result<Split> parse_split(const std::string& text);
/// The name that parse_split() reads.
std::string split_name(Split split);

/// Replaces kAuto by rows, or by columns if a row of sums is longer than a query vector. With rows a query of
/// r elements crosses the network once, and a row of s sums ranks - 1 times; with columns it is the other way
/// round.
Split choose_split(Split wanted, const Product& shape) noexcept;

/// The part of rank `rank` of `ranks`. The parts cover the whole in the order of the ranks, and their sizes
/// differ by at most one. If there are fewer rows or words than ranks, some parts are empty. `split` must not
/// be kAuto.
Part part_of(const Product& whole, Split split, int ranks, int rank);

}  // namespace pirx::shards
