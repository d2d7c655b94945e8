// SPDX-License-Identifier: Apache-2.0
// Positions that the database does not have: what a server sees must not tell them from others, as it may
// claim to have fewer records than it told this client before.
#pragma once

#include <span>

#include "pirx/base/secret.h"
#include "pirx/database/geometry.h"
#include "src/base/constant_time.h"

namespace pirx::database {

/// The positions to ask for: those given, and 0 in place of those that there are no records for. Constant
/// time.
inline SecretVector<std::uint64_t> with_stand_ins(std::span<const std::uint64_t> records,
                                                  const Geometry& geometry) {
  SecretVector<std::uint64_t> positions(records);
  for (auto& position : positions.expose()) position &= mask_less(position, geometry.records());
  return positions;
}

/// InvalidArgument: the database is keyed.
inline Result<void> check_by_position(const Geometry& geometry) {
  if (!geometry.keyed()) return {};
  return invalid("the database is keyed: its records have no positions, ask for them by key");
}

/// OutOfRange if with_stand_ins() replaced one. For when all was sent.
inline Result<void> check_in_range(std::span<const std::uint64_t> records, const Geometry& geometry) {
  std::uint64_t beyond = 0;
  for (const auto record : records) beyond |= ~mask_less(record, geometry.records());
  if (!reveal(beyond)) return {};
  return fail(ErrorCode::kOutOfRange, "no such record: the database has " +
                                          std::to_string(geometry.records()) + " records, numbered from 0");
}

}  // namespace pirx::database
