// SPDX-License-Identifier: Apache-2.0
// Scratch files of a build, which are written once and read back in order.
#pragma once

#include "src/base/file.h"

namespace pirx::database {

/// A nameless scratch file beside the target (`TARGET.spool-PID-N` for the instant between its creation and
/// its removal), appended to through a buffer and then read back.
class Spool {
 public:
  static Result<Spool> create(const std::filesystem::path& target);
  Result<void> append(ByteSpan bytes);
  /// Writes what is buffered; before reading.
  Result<void> flush();
  std::uint64_t size() const noexcept { return written_ + buffer_.size(); }
  int fd() const noexcept { return fd_.get(); }
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  Spool(Fd fd, std::filesystem::path path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Fd fd_;
  std::filesystem::path path_;
  Bytes buffer_;
  std::uint64_t written_ = 0;
};

/// Reads [begin, end) of a flushed spool in order.
class SpoolReader {
 public:
  static constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
  SpoolReader(const Spool& spool, std::uint64_t begin, std::uint64_t end,
              std::size_t buffer_bytes = kBufferBytes)
      : spool_(&spool), at_(begin), end_(end), buffer_bytes_(buffer_bytes) {}
  bool done() const noexcept { return at_ == end_ && used_ == buffer_.size(); }
  Result<void> read(MutableByteSpan out);
  /// Passes over the next bytes, without reading those that are not in its buffer yet.
  void skip(std::uint64_t count);
  template <class T>
  Result<T> get() {
    T value;
    PIRX_TRY(read(std::as_writable_bytes(std::span(&value, 1))));
    return value;
  }

 private:
  const Spool* spool_;
  std::uint64_t at_, end_;
  std::size_t buffer_bytes_, used_ = 0;
  Bytes buffer_;
};

}  // namespace pirx::database
