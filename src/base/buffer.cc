// Aligned, zeroed memory straight from the kernel, so that large buffers cost nothing until touched.
#include "pirx/base/buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <string>
#include <utility>

namespace pirx {
namespace {

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
// Below this a buffer comes from the heap: mapping pages for a few bytes would be slower.
constexpr std::uint64_t kMapFrom = std::uint64_t{4} << 20;

bool mapped(std::uint64_t size) noexcept { return size >= kMapFrom; }

}  // namespace

Result<AlignedBuffer> AlignedBuffer::create(std::uint64_t size) {
  AlignedBuffer buffer;
  if (size == 0) return buffer;
  const auto too_large = [&] {
    return fail(ErrorCode::kResourceExhausted, std::to_string(size) + " bytes of memory are not to be had");
  };
  if (size > (std::uint64_t{1} << 62)) return too_large();
  size = round_up(size, 64);  // before the choice: the destructor makes it again from the rounded size
  if (mapped(size)) {
    size = round_up(size, kHugePage);
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return too_large();
    madvise(memory, size, MADV_HUGEPAGE);  // advice: the buffer works without it
    buffer.data_ = static_cast<std::byte*>(memory);
  } else {
    void* memory = std::aligned_alloc(64, size);
    if (memory == nullptr) return too_large();
    std::memset(memory, 0, size);
    buffer.data_ = static_cast<std::byte*>(memory);
  }
  buffer.size_ = size;
  return buffer;
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

AlignedBuffer::~AlignedBuffer() {
  if (data_ == nullptr) return;
  if (mapped(size_)) {
    munmap(data_, size_);
  } else {
    std::free(data_);
  }
}

}  // namespace pirx
