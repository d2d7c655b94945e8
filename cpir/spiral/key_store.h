// Keys of clients by their SHA-256, in bounded memory: the longest unused go first.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "pirx/base/sha256.h"
#include "public_keys.h"

namespace pirx::cpir::spiral {

/// Thread-safe. Keys that a computation holds stay alive until it ends, beyond the bound.
class KeyStore {
 public:
  /// Room for `capacity` clients, at least one.
  explicit KeyStore(std::size_t capacity) : capacity_(capacity) {}
  void put(const Digest& name, std::shared_ptr<const PublicKeys> keys) {
    const std::lock_guard lock(mutex_);
    held_[name] = {std::move(keys), ++clock_};
    if (held_.size() <= capacity_) return;
    auto oldest = held_.begin();
    for (auto it = held_.begin(); it != held_.end(); ++it) {
      if (it->second.used < oldest->second.used) oldest = it;
    }
    held_.erase(oldest);
  }
  /// Null when they are not held.
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
    std::uint64_t used = 0;
  };
  std::mutex mutex_;
  std::size_t capacity_;
  std::uint64_t clock_ = 0;
  std::map<Digest, Entry> held_;
};

}  // namespace pirx::cpir::spiral
