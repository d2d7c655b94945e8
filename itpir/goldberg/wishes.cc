// SPDX-License-Identifier: Apache-2.0
// Turns wanted rows into a plan. Its shape depends only on how many rows are wanted.
#include "wishes.h"

#include "pirx/base/buffer.h"

namespace pirx::itpir::goldberg {

std::size_t slots_per_wish(const batchcodes::Encoding& encoding, QueryKind kind) noexcept {
  return kind == QueryKind::kRowSums && encoding.has_data_coordinates() ? kSummedRows : 1;
}

std::uint64_t query_vectors(const batchcodes::Encoding& encoding, const database::Geometry& geometry,
                            QueryKind kind, std::uint64_t wishes) noexcept {
  const auto slots = checked_mul(wishes, std::uint64_t{slots_per_wish(encoding, kind)});
  if (!slots) return ~std::uint64_t{0};
  const std::uint64_t q = encoding.collision_free(geometry.rows()) ? encoding.spec().ramp : 1;
  return div_up(*slots, q);
}

Result<batchcodes::BatchPlan> plan_wishes(const batchcodes::Encoding& encoding,
                                          const database::Geometry& geometry, const Wishes& wishes) {
  const auto queries =
      static_cast<std::size_t>(query_vectors(encoding, geometry, wishes.kind, wishes.size()));
  if (wishes.kind == QueryKind::kRowSums) {
    const std::size_t addends = encoding.has_data_coordinates() ? 1 : kSummedRows;
    return plan_batch(encoding, geometry.rows(), wishes.indices.expose(), queries, addends);
  }
  SecretVector<std::uint64_t> rows(wishes.indices.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    PIRX_ASSIGN(const auto location, geometry.locate(wishes.indices.expose()[i]));
    rows.expose()[i] = location.row;
  }
  return plan_batch(encoding, geometry.rows(), std::as_const(rows).expose(), queries);
}

}  // namespace pirx::itpir::goldberg
