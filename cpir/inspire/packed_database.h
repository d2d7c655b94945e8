// SPDX-License-Identifier: Apache-2.0
// What the server multiplies queries with: the words of the database, packed for the engine, and for each
// block of columns a packing matrix H and two masks.
#pragma once

#include <functional>

#include "pirx/base/buffer.h"
#include "pirx/cpir/inspire/server.h"
#include "strassen/integers.h"

namespace pirx::cpir::inspire {

class PackedDatabase {
 public:
  /// On input `params` has no digests of masks. Its salt is used unless the prepared file has one. params()
  /// of the result has both. ResourceExhausted, Internal: as make_inspire_server().
  static Result<PackedDatabase> create(Params params, const database::Database& database, int threads,
                                       const std::string& file,
                                       const std::function<void(const std::string&)>& note);

  const Params& params() const noexcept { return params_; }
  /// The shapes of a block's words and of its H, which are packed at words(block) and packing(block).
  strassen::IntegerShape words_shape(std::size_t block) const noexcept;
  strassen::IntegerShape packing_shape(std::size_t block) const noexcept;
  const std::byte* words(std::size_t block) const noexcept { return words_.data() + block * words_bytes_; }
  const std::byte* packing(std::size_t block) const noexcept;
  /// As they stand in a message.
  ByteSpan masks(std::size_t block) const noexcept;

 private:
  explicit PackedDatabase(Params params) : params_(std::move(params)) {}
  Result<void> build_blocks(const database::Database& database, int threads, const std::string& file,
                            const std::function<void(const std::string&)>& note);
  MutableByteSpan part(std::size_t block) noexcept;

  Params params_;
  std::uint64_t words_bytes_ = 0, part_bytes_ = 0;
  AlignedBuffer words_;
  AlignedBuffer parts_;
};

/// The memory that a server with these parameters takes, and in addition while it prepares with so many
/// threads.
std::uint64_t packed_database_bytes(const Params& params) noexcept;
std::uint64_t preparation_bytes(const Params& params, int threads) noexcept;

}  // namespace pirx::cpir::inspire
