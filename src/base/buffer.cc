// SPDX-License-Identifier: Apache-2.0
// Takes aligned, zeroed memory from the kernel, so that a large buffer costs nothing until it is used.
#include "pirx/base/buffer.h"

#include <sys/mman.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace pirx {
namespace {

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
// Smaller buffers do not get pages of their own, because huge pages would not pay.
constexpr std::uint64_t kMapFrom = std::uint64_t{4} << 20;

// A process with less memory than this gets no note, because heaps and stacks always have some MiB in small
// pages.
constexpr std::uint64_t kTellingKib = std::uint64_t{64} << 10;

bool mapped(std::uint64_t size) noexcept { return size >= kMapFrom; }

/// The number after `name` at the start of a line ("AnonHugePages: 2048 kB"), if there is one.
std::optional<std::uint64_t> kib_of(std::string_view usage, std::string_view name) {
  for (std::size_t at = usage.find(name); at != std::string_view::npos; at = usage.find(name, at + 1)) {
    if (at > 0 && usage[at - 1] != '\n') continue;
    std::string_view rest = usage.substr(at + name.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    std::uint64_t value = 0;
    if (std::from_chars(rest.data(), rest.data() + rest.size(), value).ec == std::errc()) return value;
  }
  return std::nullopt;
}

std::string text_of(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

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
    madvise(memory, size, MADV_DONTDUMP);
    buffer.data_ = static_cast<std::byte*>(memory);
  } else {
    try {
      buffer.data_ = static_cast<std::byte*>(secret_allocate(size));
    } catch (const std::bad_alloc&) {
      return too_large();
    }
    std::memset(buffer.data_, 0, size);
  }
  buffer.size_ = size;
  return buffer;
}

AlignedBuffer::~AlignedBuffer() {
  if (data_ == nullptr) return;
  if (mapped(size_)) {
    munmap(data_, size_);
  } else {
    secret_free(data_, size_);
  }
}

std::string huge_page_note(std::string_view enabled, std::string_view usage) {
  if (enabled.find("[never]") != std::string_view::npos) {
    return "transparent huge pages are 'never': the engine is about a third slower; as root: echo madvise > "
           "/sys/kernel/mm/transparent_hugepage/enabled";
  }
  const auto all = kib_of(usage, "Anonymous:"), huge = kib_of(usage, "AnonHugePages:");
  if (!all || !huge || *all < kTellingKib || *huge >= *all / 2) return {};
  return "only " + std::to_string(*huge >> 10) + " of " + std::to_string(*all >> 10) +
         " MiB of memory lie in huge pages: the engine is up to a third slower; memory may be fragmented "
         "(as root: echo 1 > /proc/sys/vm/compact_memory, then start again) or huge pages be off for this "
         "process";
}

std::string huge_page_note() {
  return huge_page_note(text_of("/sys/kernel/mm/transparent_hugepage/enabled"),
                        text_of("/proc/self/smaps_rollup"));
}

}  // namespace pirx
