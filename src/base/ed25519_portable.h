// SPDX-License-Identifier: Apache-2.0
// Checks Ed25519 signatures (RFC 8032) in C++ only, for a client where there is no OpenSSL (a browser):
// SHA-512, the field, the curve and the equation, slow and short. It handles public data, so its time depends
// on that. It cannot sign. Headers only, so that the test can hold it against OpenSSL.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "pirx/base/ed25519.h"

namespace pirx::portable {

/// SHA-512 (FIPS 180-4) of bytes that come in pieces.
class Sha512 {
 public:
  void update(ByteSpan bytes) {
    for (const auto byte : bytes) {
      block_[length_++ % block_.size()] = byte;
      if (length_ % block_.size() == 0) compress();
    }
  }

  std::array<std::byte, 64> finish() {
    const std::uint64_t bits = length_ * 8;
    const std::byte one{0x80}, zero{0};
    update({&one, 1});
    while (length_ % block_.size() != 112) update({&zero, 1});
    std::array<std::byte, 16> size{};
    for (unsigned i = 0; i < 8; ++i) size[8 + i] = static_cast<std::byte>(bits >> (56 - 8 * i));
    update(size);
    std::array<std::byte, 64> digest;
    for (unsigned i = 0; i < 64; ++i) digest[i] = static_cast<std::byte>(state_[i / 8] >> (56 - 8 * (i % 8)));
    return digest;
  }

 private:
  using U64 = std::uint64_t;

  /// The first 64 bits of the fractions of the cube roots of the first 80 primes.
  static constexpr std::array<U64, 80> kRounds = {
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

  void compress() {
    std::array<U64, 80> w;
    for (unsigned i = 0; i < 16; ++i) {
      w[i] = 0;
      for (unsigned k = 0; k < 8; ++k) w[i] = w[i] << 8 | static_cast<U64>(block_[8 * i + k]);
    }
    const auto mix = [](U64 x, int a, int b, U64 c) { return std::rotr(x, a) ^ std::rotr(x, b) ^ c; };
    for (unsigned i = 16; i < 80; ++i) {
      const U64 early = w[i - 15], late = w[i - 2];
      w[i] = w[i - 16] + mix(early, 1, 8, early >> 7) + w[i - 7] + mix(late, 19, 61, late >> 6);
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (unsigned i = 0; i < 80; ++i) {
      const U64 t = h + mix(e, 14, 18, std::rotr(e, 41)) + ((e & f) ^ (~e & g)) + kRounds[i] + w[i];
      const U64 u = mix(a, 28, 34, std::rotr(a, 39)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t, d = c, c = b, b = a, a = t + u;
    }
    const std::array<U64, 8> added{a, b, c, d, e, f, g, h};
    for (unsigned i = 0; i < 8; ++i) state_[i] += added[i];
  }

  /// Likewise of the square roots of the first 8.
  std::array<U64, 8> state_ = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                               0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                               0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
  std::array<std::byte, 128> block_{};
  std::uint64_t length_ = 0;
};

/// A number modulo p = 2^255 - 19: the sum of limb[i] * 2^(16 i). Limbs are signed. After a product they lie
/// between 0 and 2^16, but for the first one, which may be up to 38 beyond; after a sum or difference of two
/// such, within 2^18, which a product may be made of.
class Modulo25519 {
 public:
  Modulo25519() = default;
  explicit Modulo25519(unsigned small) { limb_[0] = small; }
  /// The number of 32 bytes without their highest bit.
  explicit Modulo25519(std::span<const std::byte, 32> bytes) {
    for (unsigned i = 0; i < 16; ++i) limb_[i] = load_le<std::uint16_t>(&bytes[2 * i]);
    limb_[15] &= 0x7fff;
  }

  friend Modulo25519 operator+(Modulo25519 a, const Modulo25519& b) {
    for (unsigned i = 0; i < 16; ++i) a.limb_[i] += b.limb_[i];
    return a;
  }
  friend Modulo25519 operator-(Modulo25519 a, const Modulo25519& b) {
    for (unsigned i = 0; i < 16; ++i) a.limb_[i] -= b.limb_[i];
    return a;
  }
  friend Modulo25519 operator*(const Modulo25519& a, const Modulo25519& b) {
    std::array<std::int64_t, 31> sums{};
    for (unsigned i = 0; i < 16; ++i) {
      for (unsigned k = 0; k < 16; ++k) sums[i + k] += a.limb_[i] * b.limb_[k];
    }
    Modulo25519 product;  // 2^256 is 38
    for (unsigned i = 0; i < 16; ++i) product.limb_[i] = sums[i] + (i < 15 ? 38 * sums[i + 16] : 0);
    product.carry();
    product.carry();
    return product;
  }
  friend bool operator==(const Modulo25519& a, const Modulo25519& b) { return a.bytes() == b.bytes(); }

  /// The power 2^bits - less, where less is at least 1 and below 2^16, and bits at least 16.
  Modulo25519 power(unsigned bits, std::uint32_t less) const {
    Modulo25519 result(1);
    for (unsigned i = bits; i-- > 0;) {
      result = result * result;
      if (i >= 16 || (((0x10000 - less) >> i) & 1) != 0) result = result * *this;
    }
    return result;
  }
  Modulo25519 inverse() const { return power(255, 21); }

  /// The number below p in 32 bytes.
  std::array<std::byte, 32> bytes() const {
    Modulo25519 t = *this;
    for (int i = 0; i < 3; ++i) t.carry();  // now it is below 2^256
    for (int i = 0; i < 2; ++i) {
      Modulo25519 less = t;  // t - p, unless that is negative
      less.limb_[0] -= 0xffed;
      less.limb_[15] -= 0x7fff;
      for (unsigned k = 0; k < 15; ++k) {
        if (k > 0) less.limb_[k] -= 0xffff;
        less.limb_[k + 1] += less.limb_[k] >> 16;
        less.limb_[k] &= 0xffff;
      }
      if (less.limb_[15] >= 0) t = less;
    }
    std::array<std::byte, 32> bytes;
    for (unsigned i = 0; i < 16; ++i) store_le(&bytes[2 * i], static_cast<std::uint16_t>(t.limb_[i]));
    return bytes;
  }

 private:
  void carry() {
    for (unsigned i = 0; i < 16; ++i) {
      const std::int64_t high = limb_[i] >> 16;
      limb_[i] &= 0xffff;
      limb_[(i + 1) % 16] += i == 15 ? 38 * high : high;
    }
  }
  std::array<std::int64_t, 16> limb_{};
};

/// A point (X/Z, Y/Z) of the curve -x^2 + y^2 = 1 + d x^2 y^2, with T = XY/Z.
class Point25519 {
 public:
  using F = Modulo25519;
  /// The neutral point.
  Point25519() = default;
  /// The point with this y and this lowest bit of x (RFC 8032, section 5.1.3). Nothing: there is none.
  static std::optional<Point25519> create(const F& y, bool odd) {
    const F one(1), u = y * y - one, v = d() * y * y + one;
    const F v3 = v * v * v;
    F x = u * v3 * (u * v3 * v3 * v).power(252, 3);  // of u^3 v^3 (u v^7)^((p-5)/8)
    if (const F vxx = v * x * x; !(vxx == u)) {
      if (!(vxx == F() - u)) return std::nullopt;
      x = x * F(2).power(253, 5);  // the square root of -1
    }
    if (is_odd(x) != odd) x = F() - x;
    Point25519 point;
    point.x_ = x, point.y_ = y, point.t_ = x * y;
    return point;
  }
  /// The point with y = 4/5 and an even x.
  static Point25519 base() { return *create(F(4) * F(5).inverse(), false); }

  /// RFC 8032, section 5.1.4: right for any two points.
  friend Point25519 operator+(const Point25519& p, const Point25519& q) {
    const F a = (p.y_ - p.x_) * (q.y_ - q.x_), b = (p.y_ + p.x_) * (q.y_ + q.x_);
    const F c = p.t_ * q.t_ * (d() + d()), zz = p.z_ * q.z_;
    const F e = b - a, f = zz + zz - c, g = zz + zz + c, h = b + a;
    Point25519 sum;
    sum.x_ = e * f, sum.y_ = g * h, sum.z_ = f * g, sum.t_ = e * h;
    return sum;
  }
  Point25519 negative() const {
    Point25519 point = *this;
    point.x_ = F() - x_, point.t_ = F() - t_;
    return point;
  }
  std::array<std::byte, 32> bytes() const {
    const F inverse = z_.inverse();
    auto bytes = (y_ * inverse).bytes();
    if (is_odd(x_ * inverse)) bytes[31] |= std::byte{0x80};
    return bytes;
  }

 private:
  static const F& d() {
    static const F value = (F() - F(121665)) * F(121666).inverse();
    return value;
  }
  static bool is_odd(const F& x) { return (x.bytes()[0] & std::byte{1}) != std::byte{0}; }
  F x_, y_{1}, z_{1}, t_;
};

/// A number below 2^256, the lowest 64 bits first.
using Number256 = std::array<std::uint64_t, 4>;
/// The number of points in the group that the base generates.
inline constexpr Number256 kOrder25519 = {0x5812631a5cf5d3ed, 0x14def9dea2f79cd6, 0, 0x1000000000000000};

inline bool below(const Number256& a, const Number256& b) {
  return std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend());
}
inline bool bit_of(const Number256& number, unsigned i) { return ((number[i / 64] >> (i % 64)) & 1) != 0; }

/// A number of 64 bytes modulo the order.
inline Number256 modulo_order(std::span<const std::byte, 64> bytes) {
  Number256 rest{};
  for (unsigned i = 512; i-- > 0;) {
    for (unsigned k = 4; k-- > 0;) rest[k] = rest[k] << 1 | (k > 0 ? rest[k - 1] >> 63 : 0);
    rest[0] |= std::to_integer<unsigned>(bytes[i / 8] >> (i % 8)) & 1;
    if (below(rest, kOrder25519)) continue;
    for (unsigned k = 0, borrow = 0; k < 4; ++k) {
      const auto from = rest[k];
      rest[k] -= kOrder25519[k] + borrow;
      borrow = from < kOrder25519[k] || (borrow != 0 && from == kOrder25519[k]) ? 1 : 0;
    }
  }
  return rest;
}

/// ed25519::verify() for bytes that are is_key(): S is below the order, and R is, byte for byte, S times the
/// base less SHA-512(R, key, message) times the key.
inline bool verify_ed25519(const ed25519::PublicKey& key, ByteSpan message,
                           const ed25519::Signature& signature) {
  const auto r = ByteSpan(signature).first<32>(), s_bytes = ByteSpan(signature).last<32>();
  Number256 s;
  for (unsigned i = 0; i < 4; ++i) s[i] = load_le<std::uint64_t>(&s_bytes[8 * i]);
  if (!below(s, kOrder25519)) return false;
  const auto a = Point25519::create(Modulo25519(key), (key[31] & std::byte{0x80}) != std::byte{0});
  if (!a) return false;
  Sha512 hash;
  hash.update(r);
  hash.update(key);
  hash.update(message);
  const auto k = modulo_order(hash.finish());
  const Point25519 base = Point25519::base(), minus_a = a->negative();
  Point25519 sum;
  for (unsigned i = 256; i-- > 0;) {
    sum = sum + sum;
    if (bit_of(s, i)) sum = sum + base;
    if (bit_of(k, i)) sum = sum + minus_a;
  }
  const auto found = sum.bytes();
  return std::equal(found.begin(), found.end(), r.begin());
}

}  // namespace pirx::portable
