// SPDX-License-Identifier: Apache-2.0
// Checks Ed25519 signatures (RFC 8032) in C++ only, for a client where there is no OpenSSL (a browser): the
// field, the curve and the equation, slow and short. It handles public data, so its time depends on that. It
// cannot sign. Headers only, so that the test can hold it against OpenSSL.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "pirx/base/ed25519.h"
#include "src/base/crypto_portable.h"

namespace pirx::portable {

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
