// SPDX-License-Identifier: Apache-2.0
// PreparedFile: keeps what a protocol prepared from a database between runs of a server
// (docs/prepared_format.md). It knows the bytes and what they were made from, but not what they mean.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "pirx/database/geometry.h"
#include "src/base/file.h"

namespace pirx::database {

/// What was prepared, and from what. A reader wants all of it to be as it expects.
struct PreparedLabel {
  Version version;          ///< of the database that it was made from
  std::string layout;       ///< says in words how the parts lie: "planes of gf2_8, ...", at most 3 KiB
  std::uint32_t parts = 1;  ///< all of one size
  std::uint64_t part_bytes = 0;

  /// Length of the file; saturated.
  std::uint64_t file_bytes() const noexcept;
};

/// Replaces `file` as a whole or leaves it as it was; only its owner may read it. `parts`: label.parts spans
/// of label.part_bytes bytes. InvalidArgument: something that is no prepared file has that name.
/// ResourceExhausted: the disk is full. Unavailable.
Result<void> write_prepared_file(const std::filesystem::path& file, const PreparedLabel& label,
                                 std::span<const ByteSpan> parts, int threads);

/// A prepared file that has been opened and is what was expected, except for the parts themselves.
class PreparedFile {
 public:
  /// Unavailable: cannot be opened. DataLoss: foreign, of another format version, truncated or damaged.
  /// InvalidArgument: made from another database, or laid out in another way.
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

/// Fills `parts` from `file` where that holds what the label says; else calls `make`, which fills them, and
/// keeps them in `file`. A file that cannot be read or written costs time, never the server: `note` is told
/// in a line for people what happened. Errors of `make`.
Result<void> read_or_prepare(const std::filesystem::path& file, const PreparedLabel& label,
                             std::span<const MutableByteSpan> parts, int threads,
                             const std::function<Result<void>()>& make,
                             const std::function<void(const std::string&)>& note);

}  // namespace pirx::database
