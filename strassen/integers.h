// SPDX-License-Identifier: Apache-2.0
// R = Q * D over the integers modulo 2^(8n), n <= 8: D is a matrix of small signed words, which is packed
// once into planes of bytes; Q holds numbers modulo 2^(8n), which are cut into balanced digits of a byte. The
// products of bytes are those of fp::IntegerKernels (src/fp/integer_kernels.h).
#pragma once

#include <cstdint>
#include <span>

#include "pirx/base/buffer.h"
#include "src/fp/integer_kernels.h"

namespace pirx::strassen {

/// The fastest kernels that this process may use.
const fp::IntegerKernels& integer_kernels() noexcept;

/// rows x columns words of `word_bytes` bytes, 1 to 4: little-endian, two's complement.
struct IntegerShape {
  std::size_t rows = 0, columns = 0;
  unsigned word_bytes = 1;
};

/// The bytes of a packed matrix: its rows rounded up to whole blocks of 64, its columns to panels of 16. A
/// multiple of 64.
std::uint64_t packed_bytes(const IntegerShape& shape) noexcept;

/// Packs rows [first, first + count) of all columns. `words` points at the first of them; rows lie `stride`
/// bytes apart. `first` is a multiple of 64; `count` too, or the rows reach the end (rows after it become
/// zero words). On input `packed` has packed_bytes(shape) bytes and is aligned to 64.
void pack_integers(const IntegerShape& shape, const std::byte* words, std::size_t stride, std::size_t first,
                   std::size_t count, std::byte* packed,
                   const fp::IntegerKernels& kernels = integer_kernels()) noexcept;

/// The digits of the numbers of many queries, laid out for the kernels. Secret-independent in time.
class IntegerQueries {
 public:
  /// `count` queries of `rows` numbers modulo 2^(8 bytes), all zero. ResourceExhausted: no memory.
  static Result<IntegerQueries> create(std::size_t count, std::size_t rows, unsigned bytes,
                                       const fp::IntegerKernels& kernels = integer_kernels());
  /// The memory that create() takes.
  static std::uint64_t memory(std::size_t count, std::size_t rows, unsigned bytes,
                              const fp::IntegerKernels& kernels = integer_kernels()) noexcept;
  /// Sets the numbers of query k; those of other queries may be set at the same time. numbers.size() is rows.
  void set(std::size_t k, std::span<const std::uint64_t> numbers) noexcept;

  std::size_t count() const noexcept { return count_; }
  unsigned bytes() const noexcept { return bytes_; }

 private:
  friend class IntegerPass;
  friend std::size_t multiply_scratch_bytes(const IntegerShape&, const IntegerQueries&, std::size_t) noexcept;
  /// How the digits lie: chunks of rows, groups of queries, blocks of 64 rows.
  struct Layout {
    Layout(std::size_t count, std::size_t rows, unsigned bytes, const fp::IntegerKernels& kernels) noexcept;
    std::size_t blocks_of(std::size_t chunk) const noexcept;
    std::size_t group_bytes(std::size_t chunk) const noexcept { return blocks_of(chunk) * block_bytes; }
    std::size_t offset(std::size_t chunk) const noexcept {
      return chunk * chunk_blocks * groups * block_bytes;
    }
    std::size_t digits = 0;               ///< bytes of a number, rounded up to 4, 6 or 8
    std::size_t groups = 0, queries = 0;  ///< groups, and queries of a group
    std::size_t blocks = 0, chunk_blocks = 0, chunks = 0;
    std::size_t block_bytes = 0;  ///< a block of a group
  };
  IntegerQueries(std::size_t count, std::size_t rows, unsigned bytes, const fp::IntegerKernels& kernels)
      : count_(count), rows_(rows), bytes_(bytes), kernels_(&kernels), layout_(count, rows, bytes, kernels) {}
  std::uint64_t* sums() noexcept { return reinterpret_cast<std::uint64_t*>(sums_.data()); }
  const std::uint64_t* sums() const noexcept { return reinterpret_cast<const std::uint64_t*>(sums_.data()); }

  std::size_t count_ = 0, rows_ = 0;
  unsigned bytes_ = 0;
  const fp::IntegerKernels* kernels_ = nullptr;
  Layout layout_;
  AlignedBuffer digits_;
  AlignedBuffer sums_;  ///< of each query's numbers
};

/// The scratch bytes of multiply_integers for up to `columns` columns.
std::size_t multiply_scratch_bytes(const IntegerShape& shape, const IntegerQueries& queries,
                                   std::size_t columns) noexcept;

/// out[k * stride + j] = sum over i of number i of query k times the word in row i, column first + j, modulo
/// 2^(8 queries.bytes()), for every query and `columns` columns. `first` is a multiple of 16. Uses one
/// thread: callers share out the columns. No branch and no address depends on a number or a word.
void multiply_integers(const IntegerShape& shape, const std::byte* packed, const IntegerQueries& queries,
                       std::size_t first, std::size_t columns, std::uint64_t* out, std::size_t stride,
                       MutableByteSpan scratch);

}  // namespace pirx::strassen
