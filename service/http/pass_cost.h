// SPDX-License-Identifier: Apache-2.0
// Predicts how long a pass over a database takes, from the passes before it. A pass takes the same time
// whatever its queries ask for: a constant part, and a part for each query. So a straight line through
// (queries, seconds) predicts it, which goes through the mean of the last passes. Old passes count less and
// less, because machines get busy and databases are replaced.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

namespace pirx::http {

/// Not thread-safe.
class PassCost {
 public:
  void learn(std::size_t queries, double seconds) noexcept {
    const auto q = static_cast<double>(queries);
    // Less time than any rising line explains: the machine is faster than it was, or a pass before was an
    // exception. A line through both would be flat, and say that few queries take as long as many.
    if (passes_ > 0 && seconds < std::min({kFaster * at(q), t_ / passes_, t_ / q_ * q})) {
      passes_ = q_ = t_ = qq_ = qt_ = 0;
      added_.reset();
    }
    const PassCost before = *this;
    // The machine may have stood still meanwhile, so that one such pass alone says nothing.
    const bool known = added_ || (passes_ > 0 && q * passes_ <= q_);
    stood_still_ = known && !stood_still_ && seconds > kStill * before.at(q);
    if (stood_still_) return;
    for (double* sum : {&passes_, &q_, &t_, &qq_, &qt_}) *sum *= kMemory;
    passes_ += 1;
    q_ += q;
    t_ += seconds;
    qq_ += q * q;
    qt_ += q * seconds;
    for (double* room : {&room_, &room_of_one_}) {
      *room = std::min(std::max(1.05 * *room, 2 * q >= *room ? 1.5 * q : 0), kAll);
    }
    const double mean = q_ / passes_, t = t_ / passes_, spread = qq_ / passes_ - mean * mean;
    // What was known is scaled to how fast the machine is now.
    if (const double then = before.at(mean); added_ && then > 0) *added_ *= t / then;
    // The more alike passes are in size, the less they say of what a query adds: differences are noise.
    if (spread < kLeastSpread * mean * mean) {
      hope_ *= kHope;
      return;
    }
    const double added = std::clamp((qt_ / passes_ - mean * t) / spread, 0.0, t / mean);
    const double weight = added_ ? spread / (spread + mean * mean) : 1;
    added_ = weight * added + (1 - weight) * added_.value_or(0);
    hope_ = *added_ > 0 ? std::min(1.0, added / *added_) : 1;  // what passes of late say
  }

  /// A pass was stopped after so many seconds. How long it takes is not known, so the line does not change: a
  /// point too low, far to the right, would make fewer queries look as long as more.
  void note_stopped(std::size_t queries, double seconds) noexcept {
    hope_ = 1;
    if (predict(queries) > seconds) return;
    room_ = static_cast<double>(queries) / 2;
    if (stood_still_ || passes_ == 0) room_of_one_ = room_;
    stood_still_ = !stood_still_;
  }

  /// Seconds of a pass of so many queries; 0 before the first pass.
  double predict(std::size_t queries) const noexcept { return at(static_cast<double>(queries)); }

  /// Half as many as in a pass that took longer than predicted and was stopped, and more with each that is
  /// not.
  std::size_t room() const noexcept { return static_cast<std::size_t>(room_); }
  /// The same for one request, after two such passes, or one before any other.
  std::size_t room_of_one() const noexcept { return static_cast<std::size_t>(room_of_one_); }

  /// As predict(), but the longer all passes have been alike in size, the less are more queries believed to
  /// add, for up to twice as many. Otherwise passes that are cut for a wrong belief would never correct it.
  double predict_hopefully(std::size_t queries) const noexcept {
    const double q = passes_ == 0 ? 0 : q_ / passes_, more = static_cast<double>(queries) - q;
    return predict(queries) - (1 - hope_) * added_.value_or(0) * std::clamp(more, 0.0, q);
  }

 private:
  double at(double queries) const noexcept {
    if (passes_ == 0) return 0;
    const double q = q_ / passes_, t = t_ / passes_;
    if (added_) return t + *added_ * (queries - q);
    // Before passes of different sizes, hopefully: too little stops a pass or sends one batch out late, too
    // much refuses a crowd that comes to an idle server, and makes passes that never grow.
    return t + t / q * (queries - q) / (queries > q ? 8 : 1);
  }

  static constexpr double kMemory = 0.9;            ///< what a pass counts for after the next one
  static constexpr double kLeastSpread = 1.0 / 16;  ///< variance over the square of the mean
  static constexpr double kStill = 8;               ///< times what is predicted
  static constexpr double kFaster = 0.4;            ///< times what is predicted; cheap queries take half
  static constexpr double kAll = 1e9;               ///< queries; as many as one likes
  static constexpr double kHope = 0.99;  ///< of what was believed, after another pass like those before
  double passes_ = 0, q_ = 0, t_ = 0, qq_ = 0, qt_ = 0;
  std::optional<double> added_;  ///< seconds for each query
  double hope_ = 1;              ///< the part of that which more queries than of late are taken to add
  double room_ = kAll, room_of_one_ = kAll;
  bool stood_still_ = false;  ///< perhaps, in the last pass
};

}  // namespace pirx::http
