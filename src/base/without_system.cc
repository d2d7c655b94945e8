// SPDX-License-Identifier: Apache-2.0
// What of src/base needs an operating system, where there is none (a browser): memory is the heap's, there
// are no files, and nobody forks.
#include <cstring>

#include "pirx/base/buffer.h"
#include "pirx/base/small_file.h"
#include "process.h"

namespace pirx {

std::uint64_t process_token() noexcept { return 1; }

void secure_wipe(void* data, std::size_t size) noexcept {
  if (size != 0) explicit_bzero(data, size);
}

void* secret_allocate(std::size_t size) { return ::operator new(size, std::align_val_t(64)); }

void secret_free(void* memory, std::size_t size) noexcept {
  secure_wipe(memory, size);
  ::operator delete(memory, std::align_val_t(64));
}

Result<AlignedBuffer> AlignedBuffer::create(std::uint64_t size) {
  AlignedBuffer buffer;
  if (size == 0) return buffer;
  if (size >= std::uint64_t{1} << 31) {
    return fail(ErrorCode::kResourceExhausted, std::to_string(size) + " bytes of memory are not to be had");
  }
  size = round_up(size, 64);
  buffer.data_ = static_cast<std::byte*>(secret_allocate(static_cast<std::size_t>(size)));
  std::memset(buffer.data_, 0, static_cast<std::size_t>(size));
  buffer.size_ = size;
  return buffer;
}

AlignedBuffer::~AlignedBuffer() {
  if (data_ != nullptr) secret_free(data_, static_cast<std::size_t>(size_));
}

Result<std::string> read_file(const std::filesystem::path&, std::size_t, std::string_view what, bool) {
  return fail(ErrorCode::kUnavailable, std::string(what) + ": there are no files here; give its text");
}

void make_folders(const std::filesystem::path&) noexcept {}

Result<std::filesystem::path> behind_links(const std::filesystem::path& path) { return path; }

Result<void> replace_file(const std::filesystem::path&, std::string_view, unsigned) {
  return fail(ErrorCode::kUnavailable, "there are no files here");
}

}  // namespace pirx
