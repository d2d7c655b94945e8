// A ceiling on the bytes of bodies held at once, and the leases that keep to it.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace pirx::net {

class ByteBudget {
 public:
  explicit ByteBudget(std::size_t limit) noexcept : limit_(limit) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;
  std::size_t used() const noexcept { return used_; }

 private:
  friend class ByteLease;
  bool take(std::size_t count) noexcept {
    auto used = used_.load();
    do {
      if (count > limit_ - used) return false;
    } while (!used_.compare_exchange_weak(used, used + count));
    return true;
  }
  void give(std::size_t count) noexcept { used_ -= count; }

  const std::size_t limit_;
  std::atomic<std::size_t> used_{0};  ///< never above limit_
};

/// A part of a budget, given back on destruction.
class ByteLease {
 public:
  ByteLease() = default;
  explicit ByteLease(ByteBudget& budget) noexcept : budget_(&budget) {}
  ByteLease(ByteLease&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), held_(std::exchange(other.held_, 0)) {}
  ByteLease& operator=(ByteLease&& other) noexcept {
    ByteLease old(std::move(other));
    std::swap(budget_, old.budget_);
    std::swap(held_, old.held_);
    return *this;
  }
  ~ByteLease() {
    if (budget_ != nullptr) budget_->give(held_);
  }
  std::size_t held() const noexcept { return held_; }
  /// Makes the lease `size` bytes; false, and nothing changed, when the budget does not have them. Without a
  /// budget every size is granted.
  bool resize(std::size_t size) noexcept {
    if (budget_ != nullptr) {
      if (size > held_ && !budget_->take(size - held_)) return false;
      if (size < held_) budget_->give(held_ - size);
    }
    held_ = size;
    return true;
  }

 private:
  ByteBudget* budget_ = nullptr;
  std::size_t held_ = 0;
};

}  // namespace pirx::net
