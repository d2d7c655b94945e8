// SPDX-License-Identifier: Apache-2.0
// Writer and Reader of little-endian messages. Every length is checked before memory is allocated for it.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <string>

#include "pirx/base/bytes.h"

namespace pirx {

class Writer {
 public:
  /// Reserves room for `expected` bytes.
  explicit Writer(std::size_t expected = 0) { bytes_.reserve(expected); }
  template <std::unsigned_integral T>
  void put(T value) {
    const auto at = bytes_.size();
    bytes_.resize(at + sizeof value);
    store_le(bytes_.data() + at, value);
  }
  void put_bytes(ByteSpan bytes);
  /// Appends `count` zero bytes and returns them, so that the caller fills them in. The span is valid until
  /// the next call.
  MutableByteSpan extend(std::size_t count);
  Bytes take() && { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

class Reader {
 public:
  /// `what` names the message in errors ("query", "database header").
  Reader(ByteSpan bytes, std::string what) : bytes_(bytes), what_(std::move(what)) {}
  /// The next value. DataLoss: too few bytes are left.
  template <std::unsigned_integral T>
  Result<T> get() {
    if (bytes_.size() < sizeof(T)) return too_short(sizeof(T));
    const T value = load_le<T>(bytes_.data());
    bytes_ = bytes_.subspan(sizeof(T));
    return value;
  }
  /// The next bytes, as many as `array` has: a digest, a seed.
  template <std::size_t N>
  Result<void> read(std::array<std::byte, N>& array) {
    PIRX_ASSIGN(const ByteSpan bytes, get_bytes(N));
    std::copy(bytes.begin(), bytes.end(), array.begin());
    return {};
  }
  /// The next `count` bytes, borrowed from the input. DataLoss: too few bytes are left.
  Result<ByteSpan> get_bytes(std::uint64_t count);
  std::size_t remaining() const noexcept { return bytes_.size(); }
  /// DataLoss: there are bytes left over.
  Result<void> expect_end() const;

 private:
  tl::unexpected<Error> too_short(std::uint64_t wanted) const;
  ByteSpan bytes_;
  std::string what_;
};

}  // namespace pirx
