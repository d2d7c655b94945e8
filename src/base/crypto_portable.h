// SPDX-License-Identifier: Apache-2.0
// SHA-256, AES and AES-256 in counter mode, in C++ only, for a client where there is no OpenSSL (a browser).
// No branch and no address depends on what is hashed, on a key or on a stream. Headers only, so that the test
// can hold them against OpenSSL. docs/decisions/0015-a-client-in-a-browser.md says why this is ours.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "pirx/base/bytes.h"
#include "pirx/base/secret_memory.h"

namespace pirx::portable {

/// The first 32 bits of the fractions of the square or cube roots of the first primes, as the standard
/// defines its constants: the largest root of a number that is prime * 2^(32 * power) or less.
template <std::size_t kCount>
constexpr std::array<std::uint32_t, kCount> root_fractions(unsigned power) {
  std::array<std::uint32_t, kCount> fractions{};
  std::size_t found = 0;
  for (std::uint64_t n = 2; found < kCount; ++n) {
    bool prime = true;
    for (std::uint64_t d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
    if (!prime) continue;
    __extension__ using Wide = unsigned __int128;
    std::uint64_t root = 0;
    for (int bit = 36; bit >= 0; --bit) {
      const std::uint64_t tried = root | std::uint64_t{1} << bit;
      const Wide square = Wide{tried} * tried;
      const bool fits = power == 2 ? square <= Wide{n} << 64 : square <= (Wide{n} << 96) / tried;
      if (fits) root = tried;
    }
    fractions[found++] = static_cast<std::uint32_t>(root);
  }
  return fractions;
}

/// SHA-256 (FIPS 180-4) of bytes that come in pieces.
class Sha256 {
 public:
  ~Sha256() { secure_wipe(this, sizeof *this); }

  void update(ByteSpan bytes) {
    while (!bytes.empty()) {
      const std::size_t used = length_ % block_.size();
      const auto part = bytes.first(std::min(bytes.size(), block_.size() - used));
      std::copy(part.begin(), part.end(), block_.begin() + static_cast<std::ptrdiff_t>(used));
      length_ += part.size();
      bytes = bytes.subspan(part.size());
      if (length_ % block_.size() == 0) compress();
    }
  }

  std::array<std::byte, 32> finish() {
    const std::uint64_t bits = length_ * 8;
    const std::byte one{0x80}, zero{0};
    update({&one, 1});
    while (length_ % block_.size() != 56) update({&zero, 1});
    std::array<std::byte, 8> size;
    for (unsigned i = 0; i < 8; ++i) size[i] = static_cast<std::byte>(bits >> (56 - 8 * i));
    update(size);
    std::array<std::byte, 32> digest;
    for (unsigned i = 0; i < 32; ++i) digest[i] = static_cast<std::byte>(state_[i / 4] >> (24 - 8 * (i % 4)));
    return digest;
  }

 private:
  using U32 = std::uint32_t;

  static constexpr auto kStart = root_fractions<8>(2);
  static constexpr auto kRounds = root_fractions<64>(3);

  void compress() {
    std::array<U32, 64> w;
    for (unsigned i = 0; i < 16; ++i) {
      w[i] = 0;
      for (unsigned k = 0; k < 4; ++k) w[i] = w[i] << 8 | static_cast<U32>(block_[4 * i + k]);
    }
    const auto mix = [](U32 x, int a, int b, U32 c) { return std::rotr(x, a) ^ std::rotr(x, b) ^ c; };
    for (unsigned i = 16; i < 64; ++i) {
      const U32 early = w[i - 15], late = w[i - 2];
      w[i] = w[i - 16] + mix(early, 7, 18, early >> 3) + w[i - 7] + mix(late, 17, 19, late >> 10);
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (unsigned i = 0; i < 64; ++i) {
      const U32 t = h + mix(e, 6, 11, std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + kRounds[i] + w[i];
      const U32 u = mix(a, 2, 13, std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t, d = c, c = b, b = a, a = t + u;
    }
    const std::array<U32, 8> added{a, b, c, d, e, f, g, h};
    for (unsigned i = 0; i < 8; ++i) state_[i] += added[i];
    secure_wipe(w.data(), sizeof w);
  }

  std::array<U32, 8> state_ = kStart;
  std::array<std::byte, 64> block_;
  std::uint64_t length_ = 0;
};

/// AES (FIPS 197) under a key of 16 or 32 bytes. Eight blocks are computed at once, in bit slices: bit b of
/// byte p of slice i is bit i of byte p of block b.
template <std::size_t kKeyBytes>
class Aes {
 public:
  static constexpr std::size_t kBatchBytes = 128;  ///< eight blocks

  explicit Aes(std::span<const std::byte, kKeyBytes> key) {
    std::array<std::uint8_t, 16 * (kRounds + 1)> words;
    std::transform(key.begin(), key.end(), words.begin(),
                   [](std::byte b) { return static_cast<std::uint8_t>(b); });
    std::uint8_t round = 1;
    for (std::size_t at = kKeyBytes; at < words.size(); at += 4) {
      std::array<std::uint8_t, 4> last;
      std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(at - 4), 4, last.begin());
      const bool first = at % kKeyBytes == 0;
      if (first) std::rotate(last.begin(), last.begin() + 1, last.end());
      if (at % 16 == 0) substitute_word(last);
      if (first) last[0] ^= round, round = static_cast<std::uint8_t>(round << 1 ^ (round >> 7) * 0x1b);
      for (std::size_t k = 0; k < 4; ++k) words[at + k] = words[at - kKeyBytes + k] ^ last[k];
    }
    for (std::size_t r = 0; r <= kRounds; ++r) {
      for (unsigned i = 0; i < 8; ++i) {
        for (unsigned p = 0; p < 16; ++p) {
          keys_[r][i][p] = static_cast<std::uint8_t>(-((words[16 * r + p] >> i) & 1));
        }
      }
    }
    secure_wipe(words.data(), sizeof words);
  }
  ~Aes() { secure_wipe(this, sizeof *this); }

  /// out = the encryptions of eight blocks, which may lie in the same place.
  void encrypt(std::span<const std::byte, kBatchBytes> in, std::span<std::byte, kBatchBytes> out) const {
    Slices x{};
    for (unsigned p = 0; p < 16; ++p) {
      std::uint64_t bytes = 0;
      for (unsigned b = 0; b < 8; ++b) bytes |= std::to_integer<std::uint64_t>(in[16 * b + p]) << (8 * b);
      bytes = transpose(bytes);
      for (unsigned i = 0; i < 8; ++i) x[i][p] = static_cast<std::uint8_t>(bytes >> (8 * i));
    }
    add_key(x, 0);
    for (std::size_t round = 1; round <= kRounds; ++round) {
      x = substitute(x);
      for (auto& slice : x) slice = shift_rows(slice);
      if (round < kRounds) x = mix_columns(x);
      add_key(x, round);
    }
    for (unsigned p = 0; p < 16; ++p) {
      std::uint64_t bytes = 0;
      for (unsigned i = 0; i < 8; ++i) bytes |= std::uint64_t{x[i][p]} << (8 * i);
      bytes = transpose(bytes);
      for (unsigned b = 0; b < 8; ++b) out[16 * b + p] = static_cast<std::byte>(bytes >> (8 * b));
    }
  }

 private:
  static constexpr std::size_t kRounds = kKeyBytes / 4 + 6;
  typedef std::uint8_t Bytes16 __attribute__((vector_size(16)));
  using Slices = std::array<Bytes16, 8>;

  /// The product of field elements modulo x^8 + x^4 + x^3 + x + 1, in every place.
  static Slices multiply(const Slices& a, const Slices& b) {
    std::array<Bytes16, 15> product{};
    for (unsigned i = 0; i < 8; ++i) {
      for (unsigned j = 0; j < 8; ++j) product[i + j] ^= a[i] & b[j];
    }
    return reduce(product);
  }
  static Slices square(const Slices& a) {
    std::array<Bytes16, 15> product{};
    for (unsigned i = 0; i < 8; ++i) product[2 * i] = a[i];
    return reduce(product);
  }
  static Slices reduce(std::array<Bytes16, 15>& x) {
    for (unsigned i = 14; i >= 8; --i) {
      for (const unsigned down : {8u, 7u, 5u, 4u}) x[i - down] ^= x[i];
    }
    Slices low;
    std::copy_n(x.begin(), 8, low.begin());
    return low;
  }

  /// The S-box: the inverse, which is the 254th power, then an affine map.
  static Slices substitute(const Slices& x) {
    const Slices x2 = square(x), x3 = multiply(x2, x), x12 = square(square(x3)), x15 = multiply(x12, x3);
    const Slices x240 = square(square(square(square(x15))));
    const Slices inverse = multiply(multiply(x240, x12), x2);
    Slices y;
    for (unsigned i = 0; i < 8; ++i) {
      y[i] = inverse[i];
      for (unsigned k = 4; k < 8; ++k) y[i] ^= inverse[(i + k) % 8];
      if ((0x63u >> i) & 1) y[i] = ~y[i];
    }
    return y;
  }

  /// The S-box of four bytes, for the key schedule.
  static void substitute_word(std::array<std::uint8_t, 4>& word) {
    Slices x{};
    for (unsigned i = 0; i < 8; ++i) {
      for (unsigned p = 0; p < 4; ++p) x[i][p] = (word[p] >> i) & 1;
    }
    x = substitute(x);
    for (unsigned p = 0; p < 4; ++p) {
      word[p] = 0;
      for (unsigned i = 0; i < 8; ++i) word[p] |= static_cast<std::uint8_t>((x[i][p] & 1) << i);
    }
  }

  static Bytes16 shift_rows(Bytes16 x) {
    return __builtin_shufflevector(x, x, 0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11);
  }
  /// Each column's bytes, one place up.
  static Bytes16 next_row(Bytes16 x) {
    return __builtin_shufflevector(x, x, 1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12);
  }
  /// Each byte a of a column becomes 2a + 3b + c + d = 2(a + b) + b + (c + d), with those below it.
  static Slices mix_columns(const Slices& x) {
    Slices sums, mixed;
    for (unsigned i = 0; i < 8; ++i) sums[i] = x[i] ^ next_row(x[i]);
    for (unsigned i = 0; i < 8; ++i) {
      mixed[i] = next_row(x[i]) ^ next_row(next_row(sums[i]));
      if (i > 0) mixed[i] ^= sums[i - 1];
      if (i == 1 || i == 3 || i == 4 || i == 0) mixed[i] ^= sums[7];
    }
    return mixed;
  }
  void add_key(Slices& x, std::size_t round) const {
    for (unsigned i = 0; i < 8; ++i) x[i] ^= keys_[round][i];
  }

  /// Bit j of byte i of the result is bit i of byte j.
  static std::uint64_t transpose(std::uint64_t x) {
    const auto swap = [&x](unsigned shift, std::uint64_t mask) {
      const std::uint64_t change = (x ^ (x >> shift)) & mask;
      x ^= change ^ (change << shift);
    };
    swap(7, 0x00aa00aa00aa00aa);
    swap(14, 0x0000cccc0000cccc);
    swap(28, 0x00000000f0f0f0f0);
    return x;
  }

  std::array<Slices, kRounds + 1> keys_;
};

/// The key stream of AES-256 in counter mode, with big-endian counter blocks from zero up.
class AesCounter {
 public:
  explicit AesCounter(std::span<const std::byte, 32> key) : aes_(key) {}
  ~AesCounter() { secure_wipe(this, sizeof *this); }

  void fill(MutableByteSpan out) {
    while (!out.empty()) {
      if (left_ == 0) make_blocks();
      const auto part = out.first(std::min(out.size(), left_));
      std::copy_n(stream_.end() - static_cast<std::ptrdiff_t>(left_), part.size(), part.begin());
      left_ -= part.size();
      out = out.subspan(part.size());
    }
  }

 private:
  void make_blocks() {
    stream_.fill(std::byte{0});
    for (unsigned b = 0; b < 8; ++b, ++counter_) {
      for (unsigned p = 0; p < 8; ++p) stream_[16 * b + 15 - p] = static_cast<std::byte>(counter_ >> (8 * p));
    }
    aes_.encrypt(stream_, stream_);
    left_ = stream_.size();
  }

  Aes<32> aes_;
  std::array<std::byte, Aes<32>::kBatchBytes> stream_;
  std::size_t left_ = 0;  ///< bytes at the end of `stream_` that nobody has drawn
  std::uint64_t counter_ = 0;
};

}  // namespace pirx::portable
