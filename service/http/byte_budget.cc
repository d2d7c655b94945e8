// SPDX-License-Identifier: Apache-2.0
// Counts bytes, and gives memory back to the system. A heap keeps what is freed in it. Without giving it
// back, a crowd that fills the limit and leaves would leave that much memory behind.
#include "byte_budget.h"

#include <malloc.h>

#include <algorithm>

namespace pirx::http {

std::size_t ByteBudget::free() const noexcept {
  const auto here = limit_ - used_;
  return whole_ == nullptr ? here : std::min(here, whole_->free());
}

bool ByteBudget::take(std::size_t count, std::size_t held) noexcept {
  auto used = used_.load();
  if (by_client_) {
    const auto& [others, spared] = client_;
    const bool beside = others != nullptr && (!spared || (held == 0 && used + count > *spared));
    const auto room = whole_->free() + held, mine = used + (beside ? others->used() : 0);
    if (mine > room || count > room - mine) return false;
    const std::size_t small = whole_->small_, left = room - held - std::min(count, room - held);
    const bool first_small = used == held && held + count <= small;
    if (!first_small && left < std::min(mine + count, kSmallOnes * small)) return false;
  }
  do {
    if (count > limit_ - used) return false;
  } while (!used_.compare_exchange_weak(used, used + count));
  if (whole_ != nullptr) {
    if (whole_->take(count, held)) return true;
    used_ -= count;
    return false;
  }
  used += count;
  for (auto highest = highest_.load(); highest < used && !highest_.compare_exchange_weak(highest, used);) {
  }
  return true;
}

void ByteBudget::give(std::size_t count) noexcept {
  const auto used = used_.fetch_sub(count) - count;
  if (whole_ != nullptr) return whole_->give(count);
  auto highest = highest_.load();
  if (highest <= used + slack(limit_)) return;
  // It walks through the whole heap: whoever takes and gives without end has a tenth of the time for that.
  // What is left then goes with a later one.
  const auto start = std::chrono::steady_clock::now();
  if (start < next_trim_.load() || !highest_.compare_exchange_strong(highest, used)) return;
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  const auto end = std::chrono::steady_clock::now();
  next_trim_ = end + 9 * (end - start);
}

}  // namespace pirx::http
