// A vector under a lock. Slow work is done outside the lock.
#include "pirx/cpir/dj/pool.h"

#include <algorithm>
#include <new>

#include "src/base/process.h"

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
  const auto process = process_token();
  return static_cast<std::size_t>(std::count_if(blindings_.begin(), blindings_.end(),
                                                [&](const auto& one) { return one.process_ == process; }));
}

std::optional<Blinding> Pool::take() {
  const std::lock_guard lock(mutex_);
  std::erase_if(blindings_, [process = process_token()](const auto& one) { return one.process_ != process; });
  if (blindings_.empty()) return std::nullopt;
  std::optional<Blinding> blinding(std::move(blindings_.back()));
  blindings_.pop_back();
  return blinding;
}

}  // namespace pirx::cpir::dj
