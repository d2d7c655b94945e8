// SPDX-License-Identifier: Apache-2.0
// InputStream: the bytes of a file or pipe, unpacked when they are gzip or zstd.
#pragma once

#include <memory>

#include "src/base/file.h"

namespace pirx::database {

/// Opens a file or pipe to read it to its end. /dev/stdin is standard input itself, from where it stands: it
/// is not opened anew. The status has the size of what is left to read.
Result<OpenedFile> open_input(const std::filesystem::path& file);

/// Unpacks one kind of compressed data, piece by piece.
class Unpacker {
 public:
  virtual ~Unpacker() = default;
  /// Unpacks from the front of `in`, which it shortens, to the front of `out`, and gives how much it wrote.
  /// DataLoss: the data is damaged. ResourceExhausted: it takes too much memory to unpack.
  virtual Result<std::size_t> unpack(ByteSpan& in, MutableByteSpan out) = 0;
  /// Whether the data may end here.
  virtual bool whole() const noexcept = 0;
};

class InputStream {
 public:
  /// What is packed is known by its first bytes. DataLoss: the name ends with .gz or .zst, and it is not.
  static Result<InputStream> open(const std::filesystem::path& file);
  /// Fills `out`; gives less than its size only at the end. DataLoss names file and byte: packed data is
  /// damaged or cut off; or check_unchanged(), at the end. However much a packed byte stands for, no more
  /// than `out` is unpacked.
  Result<std::size_t> read(MutableByteSpan out);
  /// Bytes of the file that were read, and all that it has; 0 for pipes.
  std::uint64_t consumed() const noexcept { return consumed_; }
  std::uint64_t total() const noexcept { return S_ISREG(opened_.status.st_mode) ? opened_.bytes() : 0; }
  /// What the bytes that were read may become, as text and as a database; no bound if they are not packed.
  std::uint64_t most() const noexcept;

 private:
  InputStream(std::filesystem::path file, OpenedFile opened)
      : file_(std::move(file)), opened_(std::move(opened)) {}
  Result<void> fill();
  tl::unexpected<Error> fail_here(const Error& error) const;

  std::filesystem::path file_;
  OpenedFile opened_;
  std::unique_ptr<Unpacker> unpacker_;  ///< none: the bytes are as they are in the file
  Bytes packed_;
  std::size_t used_ = 0;  ///< of packed_
  std::uint64_t consumed_ = 0, unpacked_ = 0;
};

}  // namespace pirx::database
