// SPDX-License-Identifier: Apache-2.0
// Clients' keys by their SHA-256, in bounded memory that clients share fairly.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "pirx/base/sha256.h"
#include "public_keys.h"

namespace pirx::cpir::spiral {

/// Thread-safe. If the memory is full, the sender with the most keys loses those that were not used for the
/// longest time. So a sender of many keys cannot displace those of a sender with few. Keys that a computation
/// uses stay in memory until it ends, even beyond the bound.
class KeyStore {
 public:
  /// Has room for `capacity` clients, at least one.
  explicit KeyStore(std::size_t capacity) : capacity_(capacity) {}
  /// Adds keys. Keys that are already held keep their first sender, whoever else sends them.
  void put(const Digest& name, std::shared_ptr<const PublicKeys> keys, std::string_view sender) {
    std::string owner(sender);
    const std::lock_guard lock(mutex_);
    if (const auto found = held_.find(name); found != held_.end()) {
      found->second.used = ++clock_;
      return;
    }
    // Makes room first: if memory runs out in between, no more keys are held than the capacity.
    if (held_.size() >= capacity_) held_.erase(least_missed(owner));
    held_.emplace(name, Entry{std::move(keys), std::move(owner), ++clock_});
  }
  /// Null if the keys are not held.
  std::shared_ptr<const PublicKeys> get(const Digest& name) {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(name);
    if (found == held_.end()) return nullptr;
    found->second.used = ++clock_;
    return found->second.keys;
  }

 private:
  struct Entry {
    std::shared_ptr<const PublicKeys> keys;
    std::string sender;
    std::uint64_t used = 0;
  };
  /// The entry to drop when `sender` adds one.
  std::map<Digest, Entry>::iterator least_missed(std::string_view sender) {
    std::map<std::string_view, std::size_t> counts;
    std::size_t most = ++counts[sender];
    for (const auto& [name, entry] : held_) most = std::max(most, ++counts[entry.sender]);
    auto out = held_.end();
    for (auto it = held_.begin(); it != held_.end(); ++it) {
      if (counts[it->second.sender] == most && (out == held_.end() || it->second.used < out->second.used))
        out = it;
    }
    return out;
  }

  std::mutex mutex_;
  std::size_t capacity_;
  std::uint64_t clock_ = 0;
  std::map<Digest, Entry> held_;
};

}  // namespace pirx::cpir::spiral
