// What the engine is measured against, in the same run: passes over memory, and multiplication by table
// look-up.
#pragma once

#include <cstring>
#include <vector>

#include "pirx/base/cpu.h"
#include "pirx/base/matrix.h"
#include "pirx/gf2e/gf2_8.h"

namespace pirx::bench {

namespace detail {

using Vec128 __attribute__((vector_size(16))) = std::uint64_t;
using Vec256 __attribute__((vector_size(32))) = std::uint64_t;
using Vec512 __attribute__((vector_size(64))) = std::uint64_t;

/// The sum of all 64-bit words, four vectors under way at a time.
template <class Vec>
__attribute__((always_inline)) inline std::uint64_t sum_words(const std::byte* from, std::size_t bytes) {
  Vec sums[4] = {};
  for (std::size_t at = 0; at + sizeof sums <= bytes; at += sizeof sums) {
    for (std::size_t i = 0; i < 4; ++i) {
      Vec v;
      std::memcpy(&v, from + at + i * sizeof v, sizeof v);
      sums[i] += v;
    }
  }
  std::uint64_t words[sizeof sums / 8];
  std::memcpy(words, sums, sizeof sums);
  std::uint64_t total = 0;
  for (const std::uint64_t word : words) total += word;
  return total;
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) inline std::uint64_t sum_words_512(const std::byte* from,
                                                                      std::size_t bytes) {
  return sum_words<Vec512>(from, bytes);
}
__attribute__((target("avx2"))) inline std::uint64_t sum_words_256(const std::byte* from, std::size_t bytes) {
  return sum_words<Vec256>(from, bytes);
}
#endif

}  // namespace detail

/// Reads `bytes` bytes once with the widest loads of this machine, on one thread, but for the last bytes %
/// 256.
inline std::uint64_t read_memory(const std::byte* from, std::size_t bytes) {
#if defined(__x86_64__)
  if ((detected_cpu_features() & kCpuAvx512) != 0) return detail::sum_words_512(from, bytes);
  if ((detected_cpu_features() & kCpuAvx2) != 0) return detail::sum_words_256(from, bytes);
#endif
  return detail::sum_words<detail::Vec128>(from, bytes);
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

/// GF(2^8) as Percy++ 1.0 and paper 000 multiply: a 64 KiB table of all products, the database 8 bytes at a
/// time.
class TableProduct {
 public:
  explicit TableProduct(const gf2e::Gf2_8& f) : table_(256 * 256) {
    for (unsigned a = 0; a < 256; ++a) {
      for (unsigned b = 0; b < 256; ++b) {
        table_[256 * a + b] = f.mul(static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(b));
      }
    }
  }
  /// R = Q * D; D has a multiple of 8 columns.
  void multiply(matrix::ConstView<std::uint8_t> Q, matrix::ConstView<std::byte> D,
                matrix::View<std::uint8_t> R) const {
    for (std::size_t i = 0; i < R.rows; ++i) std::memset(R.row(i), 0, R.cols);
    for (std::size_t k = 0; k < D.rows; ++k) {
      for (std::size_t i = 0; i < Q.rows; ++i) {
        const std::uint8_t* products = table_.data() + std::size_t{256} * Q.at(i, k);
        for (std::size_t j = 0; j < D.cols; j += 8) {
          const auto word = load_le<std::uint64_t>(D.row(k) + j);
          std::uint64_t product = products[word & 0xff];
          for (unsigned shift = 8; shift < 64; shift += 8) {
            product |= std::uint64_t{products[(word >> shift) & 0xff]} << shift;
          }
          store_le(R.row(i) + j, load_le<std::uint64_t>(R.row(i) + j) ^ product);
        }
      }
    }
  }

 private:
  std::vector<std::uint8_t> table_;
};

}  // namespace pirx::bench
