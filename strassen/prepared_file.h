// The side file that keeps a database's planes between runs of a server (docs/prepared_format.md). It knows
// bytes and what they were made from, not what they mean.
#pragma once

#include <filesystem>
#include <span>

#include "pirx/strassen/engine.h"
#include "src/base/file.h"

namespace pirx::strassen {

/// What a side file was made from and how it lies in it. A reader wants all of it to be as it expects.
struct PreparedLabel {
  FieldTag field;
  std::uint64_t planes = 0;  ///< of a group of rows (pirx/base/sliced_kernels.h)
  std::uint64_t rows = 0, row_bytes = 0;
  PreparedOrigin origin;
  std::uint32_t depth = 0;  ///< levels of Strassen that are stored
  std::uint32_t parts = 1;  ///< matrices in planes, all of one size
  std::uint64_t part_bytes = 0;

  /// Length of the file; saturated.
  std::uint64_t file_bytes() const noexcept;
};

/// Replaces `file` as a whole or leaves it as it was; only its owner may read it. `parts`: label.parts spans
/// of label.part_bytes bytes. InvalidArgument when something that is no side file has that name,
/// ResourceExhausted when the disk is full, Unavailable.
Result<void> write_prepared_file(const std::filesystem::path& file, const PreparedLabel& label,
                                 std::span<const ByteSpan> parts, int threads);

/// A side file that has been opened and is what was expected, but for the planes themselves.
class PreparedFile {
 public:
  /// Unavailable: cannot be opened. DataLoss: foreign, of another format version, truncated or damaged.
  /// InvalidArgument: made from another database, for another field, shape, order of planes or depth.
  static Result<PreparedFile> open(const std::filesystem::path& file, const PreparedLabel& expected);
  /// Fills `parts`, as many and as long as the label says. DataLoss when a checksum does not match.
  Result<void> read(std::span<const MutableByteSpan> parts, int threads) const;

 private:
  PreparedFile(Fd fd, std::filesystem::path file, const PreparedLabel& label, Bytes checksums)
      : fd_(std::move(fd)), file_(std::move(file)), label_(label), checksums_(std::move(checksums)) {}
  Fd fd_;
  std::filesystem::path file_;
  PreparedLabel label_;
  Bytes checksums_;
};

}  // namespace pirx::strassen
