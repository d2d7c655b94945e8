// SPDX-License-Identifier: Apache-2.0
// ContentWriter: writes the content of every database file. Rows, key index and padding go out in order.
// The checksums of the chunks are computed on the way and written last.
#pragma once

#include "layout.h"
#include "replacement.h"

namespace pirx::database {

/// Writes the content of a file from kPageBytes on, chunk by chunk, and keeps the chunks' checksums. File,
/// layout and progress stay where they are while it lives.
class ContentWriter {
 public:
  ContentWriter(const TemporaryFile& file, const Layout& layout, const Progress& progress)
      : file_(file), layout_(layout), progress_(progress), chunk_(kChunkBytes) {}

  Result<void> append(ByteSpan bytes);
  template <class T>
  Result<void> put(T value) {
    return append(std::as_bytes(std::span(&value, 1)));
  }
  /// Zeros up to `offset` of the file.
  Result<void> pad_to(std::uint64_t offset);
  std::uint64_t at() const noexcept { return written_ + used_; }
  /// Writes the last chunk and the checksum section behind it, which it returns.
  Result<Bytes> finish();

 private:
  Result<void> advance(std::size_t count);
  Result<void> write_chunk();

  const TemporaryFile& file_;
  const Layout& layout_;
  const Progress& progress_;
  Bytes chunk_, checksums_;
  std::size_t used_ = 0;
  std::uint64_t written_ = kPageBytes;
};

}  // namespace pirx::database
