// SPDX-License-Identifier: Apache-2.0
// What a server computes ahead of all queries for a block of d columns: the packing matrix H and two masks
// (specification, section 3; InspiRING of InsPIRe compiled to a matrix).
#pragma once

#include <functional>

#include "cpir/inspire/chains.h"
#include "cpir/ring/ring.h"
#include "pirx/base/buffer.h"
#include "pirx/cpir/inspire/common.h"

namespace pirx::cpir::inspire {

/// Writes the words of columns [first, first + count) of a row: count * word_bytes() bytes, little-endian.
using ReadWords =
    std::function<void(std::size_t row, std::size_t first, std::size_t count, std::byte* words)>;

/// The memory in which one thread builds block after block.
class BlockScratch {
 private:
  friend class BlockBuilder;
  AlignedBuffer rows_;  ///< the Rows of a block, and before them the data's columns
  std::vector<std::uint16_t> order_;
  Polynomials workspace_;  ///< for the transforms of one column
  ChainScratch chain_;
  std::vector<float> squares_;
};

class BlockBuilder {
 public:
  /// Expands A_v and w_j. ResourceExhausted: no memory. On input the ring is of params.d().
  static Result<BlockBuilder> create(const Params& params, const Ring& ring, int threads);
  /// The same with polynomials from elsewhere: writes the transform of number i to `slots`. Thread-safe.
  using DrawMask = std::function<void(std::uint64_t i, std::uint32_t* slots)>;
  static Result<BlockBuilder> create(const Params& params, const Ring& ring, const DrawMask& query_mask,
                                     const DrawMask& key_mask, int threads);

  /// What a block is made of.
  struct Block {
    /// The masks as they stand in a message, params.masks_bytes() bytes.
    MutableByteSpan masks;
    /// H transposed: l d rows of params.columns_of(block) entries of set().packing_bytes bytes,
    /// little-endian, two's complement. Row j d + n holds, for every column k, the factor of coefficient n of
    /// key polynomial j.
    MutableByteSpan packing;
  };
  /// Builds a block. Thread-safe; each thread has its own scratch. Internal: an entry of H does not fit, or
  /// the variance of a word is so large that the failure bound of the parameters would be missed (try another
  /// salt). ResourceExhausted: no memory.
  Result<void> build(std::size_t block, const ReadWords& words, BlockScratch& scratch,
                     const Block& out) const;
  /// The scratch of one thread, and its bytes.
  Result<BlockScratch> scratch() const;
  static std::uint64_t scratch_bytes(const Params& params) noexcept;

 private:
  BlockBuilder(Params params, const Ring& ring) : params_(std::move(params)), ring_(&ring) {}
  Params params_;
  const Ring* ring_;
  Polynomials query_masks_;  ///< tau_(-1)(A_v) / d, as transforms in Montgomery form
  KeyMasks key_masks_;
};

}  // namespace pirx::cpir::inspire
