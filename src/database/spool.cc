// SPDX-License-Identifier: Apache-2.0
// Appends to a scratch file and reads it back, both through a buffer.
#include "spool.h"

#include <unistd.h>

#include <algorithm>

namespace pirx::database {
namespace {

constexpr std::size_t kSpoolBufferBytes = std::size_t{1} << 20;

}  // namespace

Result<Spool> Spool::create(const std::filesystem::path& target) {
  PIRX_ASSIGN(NamedFd named, create_named(target, kSpoolMark, 0600));
  ::unlink(named.path.c_str());
  return Spool(std::move(named.fd), std::move(named.path));
}

Result<void> Spool::append(ByteSpan bytes) {
  if (buffer_.size() + bytes.size() > kSpoolBufferBytes) PIRX_TRY(flush());
  if (bytes.size() > kSpoolBufferBytes) {
    PIRX_TRY(write_at(fd_.get(), written_, bytes, path_));
    written_ += bytes.size();
    return {};
  }
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  return {};
}

Result<void> Spool::flush() {
  PIRX_TRY(write_at(fd_.get(), written_, buffer_, path_));
  written_ += buffer_.size();
  buffer_.clear();
  return {};
}

Result<void> SpoolReader::read(MutableByteSpan out) {
  const std::size_t ready = std::min(out.size(), buffer_.size() - used_);
  std::copy_n(buffer_.begin() + static_cast<std::ptrdiff_t>(used_), ready, out.begin());
  used_ += ready;
  out = out.subspan(ready);
  if (out.empty()) return {};
  PIRX_CHECK(out.size() <= end_ - at_);
  if (out.size() >= buffer_bytes_) {
    PIRX_TRY(read_at(spool_->fd(), at_, out, spool_->path()));
    at_ += out.size();
    return {};
  }
  buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(buffer_bytes_, end_ - at_)));
  PIRX_TRY(read_at(spool_->fd(), at_, buffer_, spool_->path()));
  at_ += buffer_.size();
  std::copy_n(buffer_.begin(), out.size(), out.begin());
  used_ = out.size();
  return {};
}

void SpoolReader::skip(std::uint64_t count) {
  const std::uint64_t ready = std::min<std::uint64_t>(count, buffer_.size() - used_);
  used_ += ready;
  at_ += count - ready;
  PIRX_CHECK(at_ <= end_);
}

}  // namespace pirx::database
