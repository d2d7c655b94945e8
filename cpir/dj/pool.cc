// A vector under a lock. Slow work is done outside the lock.
#include "pirx/cpir/dj/pool.h"

#include <new>

namespace pirx::cpir::dj {

Result<void> Pool::fill(std::size_t count, Rng& rng) {
  try {
    while (size() < count) {
      auto blinding = client_->blind(rng);
      const std::lock_guard lock(mutex_);
      blindings_.push_back(std::move(blinding));
    }
    return {};
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kResourceExhausted,
                "no memory for coins of more queries: the pool has those of " + std::to_string(size()));
  }
}

std::size_t Pool::size() const {
  const std::lock_guard lock(mutex_);
  return blindings_.size();
}

std::optional<Blinding> Pool::take() {
  const std::lock_guard lock(mutex_);
  if (blindings_.empty()) return std::nullopt;
  std::optional<Blinding> blinding(std::move(blindings_.back()));
  blindings_.pop_back();
  return blinding;
}

}  // namespace pirx::cpir::dj
