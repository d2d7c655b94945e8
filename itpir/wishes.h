// Plans which query vector fetches which wanted row. Query and decode both make this plan, and must make
// the same one.
#pragma once

#include "pirx/itpir/client.h"

namespace pirx::itpir {

/// What a query asks for: the indices of records, or those of rows, kSummedRows for each sum. Secret.
struct Wishes {
  QueryKind kind = QueryKind::kRecords;
  SecretVector<std::uint64_t> indices;

  std::size_t size() const noexcept {
    return indices.size() / (kind == QueryKind::kRowSums ? kSummedRows : 1);
  }
};

/// Where in its row lies what is wanted of it.
struct SlotBytes {
  std::uint64_t offset, bytes;
};
/// Of the i-th sum: its slot where the caller reads sums (DecodeOptions::sums), else all of the row.
SlotBytes slot_of_sum(const database::Geometry& geometry, const DecodeOptions& options, std::size_t i);

/// Whether there is evidence for records that replies do not prove, beside digests that are known to be
/// right: the caller's, or else the digests that the caller reads in sums.
bool speaks_for(const DecodeOptions& options, QueryKind kind, std::span<const Bytes> records);

/// Slots of a plan that one wish takes, to be added after decoding: kSummedRows where the rows of a sum lie
/// at different coordinates, otherwise 1.
std::size_t slots_per_wish(const batchcodes::Encoding& encoding, QueryKind kind) noexcept;

/// Query vectors for so many wishes, the same number whatever they are: q slots are filled in each where any
/// q rows fit together; else a vector has a single one in the worst case. 2^64 - 1 when that overflows.
std::uint64_t query_vectors(const batchcodes::Encoding& encoding, const database::Geometry& geometry,
                            QueryKind kind, std::uint64_t wishes) noexcept;

/// Which slot of which query vector is for which wish: wish k's slots are at place(k n) and the n - 1 behind
/// it, n = slots_per_wish. OutOfRange: no such record or row. InvalidArgument: none, or more than fit a plan.
Result<batchcodes::BatchPlan> plan_wishes(const batchcodes::Encoding& encoding,
                                          const database::Geometry& geometry, const Wishes& wishes);

}  // namespace pirx::itpir
