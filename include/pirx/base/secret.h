// SPDX-License-Identifier: Apache-2.0
// Types that hold secrets. They are wiped when they are destroyed, moved from or overwritten, and cannot be
// copied or printed.
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include "pirx/base/bytes.h"

namespace pirx {

/// One trivially copyable secret value. Move-only; the source of a move is wiped.
template <class T>
class Secret {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Secret() = default;
  explicit Secret(const T& value) : value_(value) {}
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  Secret(Secret&& other) noexcept : value_(other.value_) { secure_wipe(&other.value_, sizeof value_); }
  Secret& operator=(Secret&& other) noexcept {
    if (this != &other) {
      value_ = other.value_;
      secure_wipe(&other.value_, sizeof value_);
    }
    return *this;
  }
  ~Secret() { secure_wipe(&value_, sizeof value_); }
  /// The value. Search for this name to find every use of a secret.
  const T& expose() const noexcept { return value_; }
  T& expose() noexcept { return value_; }

 private:
  T value_{};
};

/// A fixed-length array of secrets, wiped on destruction and left out of core dumps. Move-only.
template <class T>
class SecretVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SecretVector() = default;
  explicit SecretVector(std::size_t size) : values_(size) {}
  explicit SecretVector(std::span<const T> values) : values_(values.begin(), values.end()) {}
  SecretVector(const SecretVector&) = delete;
  SecretVector& operator=(const SecretVector&) = delete;
  SecretVector(SecretVector&& other) noexcept = default;
  SecretVector& operator=(SecretVector&& other) noexcept = default;
  std::size_t size() const noexcept { return values_.size(); }
  std::span<const T> expose() const noexcept { return values_; }
  std::span<T> expose() noexcept { return values_; }

 private:
  std::vector<T, SecretAllocator<T>> values_;
};

}  // namespace pirx
