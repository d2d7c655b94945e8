// SPDX-License-Identifier: Apache-2.0
// This process's memory as a core dump has it: what lies in it, and what a dump leaves out.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "pirx/base/bytes.h"

namespace pirx::testing {

/// Eight bytes each of what must not be found, kept in another form than they have.
class Canaries {
 public:
  /// Takes 8 bytes here and there, beginning with the first.
  void add(ByteSpan secret) {
    for (std::size_t at = 0; at + 8 <= secret.size(); at += 64 + secret.size() / 64) {
      std::uint64_t word = 0;  // byte by byte: the eight in a row would stay on the stack
      for (std::size_t i = 8; i > 0; --i)
        word = word << 8 | std::to_integer<std::uint8_t>(~secret[at + i - 1]);
      masked_.push_back(word);
      hint_[masked_.back() & 0xffff] = true;
    }
  }
  std::size_t size() const { return masked_.size(); }
  /// Whether one of them lies at `at`.
  bool is_at(const unsigned char* at) const {
    const auto word = ~load_le<std::uint64_t>(at);
    if (!hint_[word & 0xffff]) return false;
    for (const auto one : masked_) {
      if (one == word) return true;
    }
    return false;
  }

 private:
  std::vector<std::uint64_t> masked_;
  std::vector<bool> hint_ = std::vector<bool>(0x10000);
};

/// Calls `visit` with every private writable part of memory, in pieces that overlap by `overlap` bytes.
inline void for_own_memory(std::size_t overlap,
                           const std::function<void(const unsigned char* data, std::size_t size)>& visit) {
  static unsigned char piece[std::size_t{1} << 20];
  std::ifstream maps("/proc/self/maps");
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    char flags[5] = {};
    if (std::sscanf(line.c_str(), "%llx-%llx %4s", &begin, &end, flags) != 3) continue;
    if (std::string(flags) != "rw-p") continue;
    while (begin < end) {
      const auto got = pread(memory, piece, std::min<unsigned long long>(end - begin, sizeof piece),
                             static_cast<off_t>(begin));
      if (got <= 0) break;
      visit(piece, static_cast<std::size_t>(got));
      begin += static_cast<unsigned long long>(got);
      if (begin < end) begin -= overlap;
    }
  }
  std::memset(piece, 0, sizeof piece);
  close(memory);
}

/// Places in this process's memory where one of the canaries lies.
inline std::size_t copies_in_memory(const Canaries& canaries) {
  std::size_t copies = 0;
  for_own_memory(7, [&](const unsigned char* data, std::size_t size) {
    for (std::size_t i = 0; i + 8 <= size; ++i) copies += canaries.is_at(data + i);
  });
  return copies;
}

/// Whether a core dump leaves the page of `at` out.
inline bool is_left_out_of_dumps(const void* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  std::ifstream smaps("/proc/self/smaps");
  bool here = false;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long long begin = 0, end = 0;
    char flags[5] = {};
    if (std::sscanf(line.c_str(), "%llx-%llx %4s ", &begin, &end, flags) == 3) {
      here = begin <= address && address < end;
    } else if (here && line.rfind("VmFlags:", 0) == 0) {
      return line.find(" dd") != std::string::npos;
    }
  }
  return false;
}

/// Whether this system tells about dumps at all (Linux with CONFIG_PROC_PAGE_MONITOR).
inline bool dumps_are_told() {
  std::ifstream smaps("/proc/self/smaps");
  for (std::string line; std::getline(smaps, line);) {
    if (line.rfind("VmFlags:", 0) == 0) return true;
  }
  return false;
}

/// Sanitizers keep freed memory, and their shadow is too large to search.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace pirx::testing
