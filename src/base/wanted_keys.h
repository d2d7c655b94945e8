// SPDX-License-Identifier: Apache-2.0
// Keys of records that are wanted: secrets.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pirx/base/secret_memory.h"

namespace pirx {

/// Copies of keys, wiped on destruction.
class WantedKeys {
 public:
  WantedKeys() = default;
  template <class Text>
  explicit WantedKeys(std::span<Text> keys) : keys_(keys.begin(), keys.end()) {}
  WantedKeys(WantedKeys&&) noexcept = default;
  WantedKeys& operator=(WantedKeys&&) = delete;
  ~WantedKeys() {
    for (auto& key : keys_) secure_wipe(key.data(), key.size());
  }
  std::size_t size() const noexcept { return keys_.size(); }
  const std::string& operator[](std::size_t i) const { return keys_[i]; }
  std::span<const std::string> expose() const noexcept { return keys_; }

 private:
  std::vector<std::string> keys_;
};

}  // namespace pirx
