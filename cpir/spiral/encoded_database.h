// The database as the server multiplies it: transforms of its polynomials in Montgomery's form, in memory or
// in a mapped file.
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
  /// Maps `file`, after having made it from the items if it does not exist or was made from another
  /// database or for another plan. InvalidArgument: something else has that name. ResourceExhausted,
  /// Unavailable, DataLoss.
  static Result<EncodedDatabase> open(const Params& params, const Items& items,
                                      const std::filesystem::path& file, int threads,
                                      const Progress& progress);
  EncodedDatabase(EncodedDatabase&& other) noexcept;
  EncodedDatabase& operator=(EncodedDatabase&&) = delete;
  ~EncodedDatabase();

  /// The slots of a database, item by item. It outlives what is returned.
  static Items items_of(const Params& params, const database::Database& database);

  const std::uint64_t* words() const noexcept { return words_; }

 private:
  EncodedDatabase() = default;
  AlignedBuffer buffer_;
  std::span<const std::byte> map_;
  const std::uint64_t* words_ = nullptr;
};

}  // namespace pirx::cpir::spiral
