// SPDX-License-Identifier: Apache-2.0
// The database in the form that the server multiplies: transforms of its polynomials in Montgomery form.
//
// Words are in the order (P, z, j, i, s), with s fastest. Word (P, z, j, i, s) is slot 8z + s of polynomial P
// of the item in row i and column j: modulo q1 in the low half, modulo q2 in the high half. A pass reads all
// words once, in this order.
#pragma once

#include <filesystem>
#include <functional>

#include "cpir/ring/ring.h"
#include "pirx/base/buffer.h"
#include "pirx/cpir/spiral/common.h"
#include "pirx/database/database.h"

namespace pirx::cpir::spiral {

class EncodedDatabase {
 public:
  /// Fills in the bytes of an item.
  using Items = std::function<void(std::uint64_t item, MutableByteSpan out)>;
  /// Reads the encoding from `file` (docs/prepared_format.md) if it holds this encoding; otherwise encodes
  /// and writes it there, if `check` finds the items sound, and calls `note` with a line for people that says
  /// what happened. An empty name: encodes in memory alone. ResourceExhausted: no memory. Errors of `check`.
  static Result<EncodedDatabase> create(const Params& params, const Items& items, int threads,
                                        const std::filesystem::path& file = {},
                                        const std::function<void(const std::string&)>& note = nullptr,
                                        const std::function<Result<void>()>& check = nullptr);
  /// The items of a database. The database must outlive the result.
  static Items items_of(const Params& params, const database::Database& database);

  const std::uint64_t* words() const noexcept {
    return reinterpret_cast<const std::uint64_t*>(buffer_.data());
  }

 private:
  EncodedDatabase() = default;
  AlignedBuffer buffer_;
};

}  // namespace pirx::cpir::spiral
