// SPDX-License-Identifier: Apache-2.0
// Writes chunks and their checksums.
#include "content_writer.h"

#include <fcntl.h>

#include <algorithm>

namespace pirx::database {
Result<void> ContentWriter::append(ByteSpan bytes) {
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), chunk_.size() - used_);
    std::memcpy(chunk_.data() + used_, bytes.data(), count);
    PIRX_TRY(advance(count));
    bytes = bytes.subspan(count);
  }
  return {};
}

Result<void> ContentWriter::pad_to(std::uint64_t offset) {
  while (at() < offset) {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(offset - at(), chunk_.size() - used_));
    std::memset(chunk_.data() + used_, 0, count);
    PIRX_TRY(advance(count));
  }
  return {};
}

Result<Bytes> ContentWriter::finish() {
  PIRX_TRY(pad_to(layout_.checksums.offset));
  if (used_ != 0) PIRX_TRY(write_chunk());
  PIRX_CHECK(written_ == layout_.checksums.offset && checksums_.size() == layout_.checksums.length);
  PIRX_TRY(write_at(file_.fd(), written_, checksums_, file_.path()));
  return std::move(checksums_);
}

Result<void> ContentWriter::advance(std::size_t count) {
  used_ += count;
  return used_ == chunk_.size() ? write_chunk() : Result<void>();
}

Result<void> ContentWriter::write_chunk() {
  const ByteSpan bytes = ByteSpan(chunk_).first(used_);
  const Digest digest = sha256(bytes);
  checksums_.insert(checksums_.end(), digest.begin(), digest.end());
  PIRX_TRY(write_at(file_.fd(), written_, bytes, file_.path()));
  // A hint: the disk works while the next chunk is made, and the sync at the end is short.
  static_cast<void>(::sync_file_range(file_.fd(), static_cast<off_t>(written_), static_cast<off_t>(used_),
                                      SYNC_FILE_RANGE_WRITE));
  written_ += used_;
  used_ = 0;
  if (progress_) progress_(written_, layout_.file_bytes());
  return {};
}

}  // namespace pirx::database
