// SPDX-License-Identifier: Apache-2.0
// SHA-256, SHA-512, AES and AES-256 in counter mode, in C++ only, for a client where there is no OpenSSL (a
// browser). No branch and no address depends on what is hashed, on a key or on a stream. Headers only, so
// that the test can hold them against OpenSSL. docs/decisions/0015-a-client-in-a-browser.md says why this is
// ours.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "pirx/base/bytes.h"
#include "pirx/base/secret_memory.h"

namespace pirx::portable {

/// The first 64 bits of the fractions of the cube roots of the first 80 primes. SHA-256 takes half of them.
inline constexpr std::array<std::uint64_t, 80> kCubeRoots = {
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc, 0x3956c25bf348b538,
    0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118, 0xd807aa98a3030242, 0x12835b0145706fbe,
    0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2, 0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235,
    0xc19bf174cf692694, 0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5, 0x983e5152ee66dfab,
    0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4, 0xc6e00bf33da88fc2, 0xd5a79147930aa725,
    0x06ca6351e003826f, 0x142929670a0e6e70, 0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed,
    0x53380d139d95b3df, 0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30, 0xd192e819d6ef5218,
    0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8, 0x19a4c116b8d2d0c8, 0x1e376c085141ab53,
    0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8, 0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373,
    0x682e6ff3d6b2b8a3, 0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b, 0xca273eceea26619c,
    0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178, 0x06f067aa72176fba, 0x0a637dc5a2c898a6,
    0x113f9804bef90dae, 0x1b710b35131c471b, 0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc,
    0x431d67c49c100d4c, 0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817,
};
/// Likewise of the square roots of the first 8.
inline constexpr std::array<std::uint64_t, 8> kSquareRoots = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

/// As many of these bits as a word has.
template <class Word, std::size_t kCount>
constexpr std::array<Word, kCount> first_bits(std::span<const std::uint64_t> fractions) {
  std::array<Word, kCount> words{};
  for (std::size_t i = 0; i < kCount; ++i)
    words[i] = static_cast<Word>(fractions[i] >> (64 - 8 * sizeof(Word)));
  return words;
}

/// SHA-256 or SHA-512 (FIPS 180-4), by the length of its words, of bytes that come in pieces.
template <class Word>
class Sha2 {
 public:
  ~Sha2() { secure_wipe(this, sizeof *this); }

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

  std::array<std::byte, 8 * sizeof(Word)> finish() {
    const std::uint64_t bits = length_ * 8;
    const std::byte one{0x80}, zero{0};
    update({&one, 1});
    std::array<std::byte, 2 * sizeof(Word)> size{};
    while (length_ % block_.size() != block_.size() - size.size()) update({&zero, 1});
    for (unsigned i = 0; i < 8; ++i) size[size.size() - 1 - i] = static_cast<std::byte>(bits >> (8 * i));
    update(size);
    std::array<std::byte, 8 * sizeof(Word)> digest;
    for (std::size_t i = 0; i < digest.size(); ++i) {
      digest[i] = static_cast<std::byte>(state_[i / sizeof(Word)] >> (kBits - 8 - 8 * (i % sizeof(Word))));
    }
    return digest;
  }

 private:
  static constexpr std::size_t kBits = 8 * sizeof(Word), kRounds = kBits == 64 ? 80 : 64;
  /// What turns words: two rotations and a shift, twice, in the schedule; three rotations, twice, in a round.
  static constexpr auto kTurns = kBits == 64 ? std::array{1, 8, 7, 19, 61, 6, 14, 18, 41, 28, 34, 39}
                                             : std::array{7, 18, 3, 17, 19, 10, 6, 11, 25, 2, 13, 22};
  static constexpr auto kAdded = first_bits<Word, kRounds>(kCubeRoots);

  void compress() {
    std::array<Word, kRounds> w;
    for (std::size_t i = 0; i < 16; ++i) {
      w[i] = 0;
      for (std::size_t k = 0; k < sizeof(Word); ++k) {
        w[i] = w[i] << 8 | static_cast<Word>(block_[sizeof(Word) * i + k]);
      }
    }
    const auto mix = [](Word x, int a, int b, Word c) { return std::rotr(x, a) ^ std::rotr(x, b) ^ c; };
    constexpr auto& by = kTurns;
    for (std::size_t i = 16; i < kRounds; ++i) {
      const Word early = w[i - 15], late = w[i - 2];
      w[i] = w[i - 16] + mix(early, by[0], by[1], early >> by[2]) + w[i - 7] +
             mix(late, by[3], by[4], late >> by[5]);
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (std::size_t i = 0; i < kRounds; ++i) {
      const Word t = h + mix(e, by[6], by[7], std::rotr(e, by[8])) + ((e & f) ^ (~e & g)) + kAdded[i] + w[i];
      const Word u = mix(a, by[9], by[10], std::rotr(a, by[11])) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t, d = c, c = b, b = a, a = t + u;
    }
    const std::array<Word, 8> added{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state_[i] += added[i];
    secure_wipe(w.data(), sizeof w);
  }

  std::array<Word, 8> state_ = first_bits<Word, 8>(kSquareRoots);
  std::array<std::byte, 16 * sizeof(Word)> block_;
  std::uint64_t length_ = 0;
};
using Sha256 = Sha2<std::uint32_t>;
using Sha512 = Sha2<std::uint64_t>;

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
