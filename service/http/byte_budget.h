// SPDX-License-Identifier: Apache-2.0
// Limits the bytes that connections, bodies and computing hold at the same time. Whoever wants memory
// takes a lease of the budget.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

namespace pirx::http {

class ByteBudget {
 public:
  /// Where `whole` is given this is a part of it: what is taken here is taken there, too.
  explicit ByteBudget(std::size_t limit, ByteBudget* whole = nullptr) noexcept
      : limit_(limit), whole_(whole) {}
  /// What one client may take of `whole`: a lease is granted where it and all the client's others together
  /// are no more than would be free without it. So a client's first lease can have all that is free but what
  /// small ones keep, one client alone comes to hold about half, and k greedy clients leave as much as the
  /// last of them holds.
  /// `beside` is another budget of this client: what it holds there counts as held here, too. With `spared`
  /// that is so only where a new lease would bring this budget above so many bytes.
  struct Client {
    const ByteBudget* beside = nullptr;
    std::optional<std::size_t> spared = {};
  };
  ByteBudget(Client client, ByteBudget& whole) noexcept
      : limit_(whole.limit_), whole_(&whole), client_(client), by_client_(true) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;
  std::size_t limit() const noexcept { return limit_; }
  std::size_t used() const noexcept { return used_; }
  /// A limit's part that may lie unused in the heap, and that is for connections only: a sixteenth.
  static constexpr std::size_t slack(std::size_t limit) noexcept { return limit / 16; }
  /// While less is free than kSmallOnes small leases take, a client is granted no more than stays free after
  /// it. So four greedy clients leave room for one small lease, which a client that has none always gets.
  static constexpr std::size_t kSmallOnes = 14;
  /// Leases of up to so many bytes are small. A call with less than an earlier one changes nothing.
  void keep_small(std::size_t bytes) noexcept { small_ = std::max(small_.load(), bytes); }

 private:
  friend class ByteLease;
  /// For a lease that holds `held` bytes so far.
  bool take(std::size_t count, std::size_t held) noexcept;
  std::size_t free() const noexcept;
  /// When much less is used of the whole than there was, what the heap has free goes back to the system.
  void give(std::size_t count) noexcept;

  const std::size_t limit_;
  ByteBudget* const whole_;
  const Client client_ = {};
  const bool by_client_ = false;
  std::atomic<std::size_t> small_{0};
  std::atomic<std::size_t> used_{0};     ///< never above limit_
  std::atomic<std::size_t> highest_{0};  ///< that used_ was since the heap was trimmed
  std::atomic<std::chrono::steady_clock::time_point> next_trim_{};
};

/// A part of a budget, given back on destruction.
class ByteLease {
 public:
  ByteLease() = default;
  explicit ByteLease(ByteBudget& budget) noexcept : budget_(std::shared_ptr<void>(), &budget) {}
  explicit ByteLease(std::shared_ptr<ByteBudget> budget) noexcept : budget_(std::move(budget)) {}
  ByteLease(ByteLease&& other) noexcept
      : budget_(std::move(other.budget_)), held_(std::exchange(other.held_, 0)) {}
  ByteLease& operator=(ByteLease&& other) noexcept {
    ByteLease old(std::move(other));
    std::swap(budget_, old.budget_);
    std::swap(held_, old.held_);
    return *this;
  }
  ~ByteLease() {
    if (budget_ != nullptr && held_ > 0) budget_->give(held_);
  }
  std::size_t held() const noexcept { return held_; }
  /// Makes the lease `size` bytes; false, and nothing changed, when the budget does not have them. Without a
  /// budget every size is granted.
  bool resize(std::size_t size) noexcept {
    if (budget_ != nullptr) {
      if (size > held_ && !budget_->take(size - held_, held_)) return false;
      if (size < held_) budget_->give(held_ - size);
    }
    held_ = size;
    return true;
  }

 private:
  std::shared_ptr<ByteBudget> budget_;
  std::size_t held_ = 0;
};

}  // namespace pirx::http
