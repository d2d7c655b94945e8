// SPDX-License-Identifier: Apache-2.0
// Plans which query vector fetches which wanted row. Query and decode both make this plan, and must make
// the same one.
#pragma once

#include "pirx/batchcodes/encoding.h"
#include "pirx/itpir/client_interface.h"

namespace pirx::itpir::goldberg {

/// The number of slots that one wish takes, and that are added up after decoding: kSummedRows if the rows of
/// a sum lie at different coordinates, otherwise 1.
std::size_t slots_per_wish(const batchcodes::Encoding& encoding, QueryKind kind) noexcept;

/// The number of query vectors for so many wishes, whatever these are. A vector fetches q slots if any q rows
/// fit together (Encoding::collision_free), otherwise only one is certain. 2^64 - 1 on overflow.
std::uint64_t query_vectors(const batchcodes::Encoding& encoding, const database::Geometry& geometry,
                            QueryKind kind, std::uint64_t wishes) noexcept;

/// Which slot of which query vector is for which wish: wish k's slots are at place(k n) and the n - 1 behind
/// it, n = slots_per_wish. OutOfRange: no such record or row. InvalidArgument: none, or more than fit a plan.
Result<batchcodes::BatchPlan> plan_wishes(const batchcodes::Encoding& encoding,
                                          const database::Geometry& geometry, const Wishes& wishes);

}  // namespace pirx::itpir::goldberg
