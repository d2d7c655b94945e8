// The database as the server multiplies it: transforms of its polynomials in Montgomery's form.
//
// Word (P, z, j, i, s), in this order, s fastest: slot 8z + s of polynomial P of the item in row i and column
// j, modulo q1 in the low half and q2 in the high half. One pass reads it from front to back.
#pragma once

#include <filesystem>
#include <functional>
#include <span>

#include "pirx/base/buffer.h"
#include "pirx/cpir/spiral/common.h"
#include "pirx/database/database.h"
#include "ring.h"

namespace pirx::cpir::spiral {

class EncodedDatabase {
 public:
  /// Called now and then, from any thread, one call at a time: items done, items in all.
  using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;
  /// Fills the bytes of an item.
  using Items = std::function<void(std::uint64_t item, MutableByteSpan out)>;
  /// Encodes in memory. ResourceExhausted.
  static Result<EncodedDatabase> create(const Params& params, const Items& items, int threads,
                                        const Progress& progress);
  /// The same, read from `file` (docs/prepared_format.md) if that holds this encoding, and kept there if it
  /// does not. `note` is told in a line for people what happened.
  static Result<EncodedDatabase> create(const Params& params, const Items& items,
                                        const std::filesystem::path& file, int threads,
                                        const Progress& progress,
                                        const std::function<void(const std::string&)>& note);
  /// The slots of a database, item by item. It outlives what is returned.
  static Items items_of(const Params& params, const database::Database& database);

  const std::uint64_t* words() const noexcept {
    return reinterpret_cast<const std::uint64_t*>(buffer_.data());
  }

 private:
  EncodedDatabase() = default;
  AlignedBuffer buffer_;
};

}  // namespace pirx::cpir::spiral
