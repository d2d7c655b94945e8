// SPDX-License-Identifier: Apache-2.0
// A plain read of memory, with which the engine's passes are compared.
#pragma once

#include <cstring>

#include "pirx/base/cpu.h"

namespace pirx::bench {

namespace detail {

using Vector __attribute__((vector_size(64))) = std::uint64_t;

/// The sum of all 64-bit words, two vectors under way at a time. Compilers make of a vector the widest ones
/// that they may use.
__attribute__((always_inline)) inline std::uint64_t sum_words(const std::byte* from, std::size_t bytes) {
  Vector sums[2] = {};
  for (std::size_t at = 0; at + sizeof sums <= bytes; at += sizeof sums) {
    for (std::size_t i = 0; i < 2; ++i) {
      Vector v;
      std::memcpy(&v, from + at + i * sizeof v, sizeof v);
      sums[i] += v;
    }
  }
  const Vector both = sums[0] + sums[1];
  std::uint64_t total = 0;
  for (int i = 0; i < 8; ++i) total += both[i];
  return total;
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) inline std::uint64_t sum_words_512(const std::byte* from,
                                                                      std::size_t bytes) {
  return sum_words(from, bytes);
}
__attribute__((target("avx2"))) inline std::uint64_t sum_words_256(const std::byte* from, std::size_t bytes) {
  return sum_words(from, bytes);
}
#endif

}  // namespace detail

/// Reads `bytes` bytes once with the widest loads of this machine, on one thread, but for the last bytes %
/// 128.
inline std::uint64_t read_memory(const std::byte* from, std::size_t bytes) {
#if defined(__x86_64__)
  if ((detected_cpu_features() & kCpuAvx512) != 0) return detail::sum_words_512(from, bytes);
  if ((detected_cpu_features() & kCpuAvx2) != 0) return detail::sum_words_256(from, bytes);
#endif
  return detail::sum_words(from, bytes);
}

/// The same on several threads, an equal part each.
inline std::uint64_t read_memory(const std::byte* from, std::size_t bytes, int threads) {
  if (threads <= 1) return read_memory(from, bytes);
  const std::size_t part = bytes / static_cast<std::size_t>(threads) / 256 * 256;
  std::uint64_t total = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : total)
  for (int i = 0; i < threads; ++i) total += read_memory(from + static_cast<std::size_t>(i) * part, part);
  return total;
}

}  // namespace pirx::bench
