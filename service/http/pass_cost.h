// SPDX-License-Identifier: Apache-2.0
// Predicts how long a pass over a database takes, from the passes before it. A pass takes the same time
// whatever its queries ask for: a constant part, and a part for each query. So a straight line through
// (queries, seconds) predicts it, scaled to how fast the machine is just now. Old passes count less and less,
// because machines get busy and databases are replaced.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

namespace pirx::http {

/// Not thread-safe.
class PassCost {
 public:
  using Clock = std::chrono::steady_clock;

  void learn(std::size_t queries, double seconds, Clock::time_point now = {}) noexcept {
    const auto q = static_cast<double>(queries);
    for (double* sum : {&passes_, &q_, &t_, &qq_, &qt_}) *sum *= kMemory;
    passes_ += 1;
    q_ += q;
    t_ += seconds;
    qq_ += q * q;
    qt_ += q * seconds;
    if (2 * q >= largest_.queries || now - largest_.at > kRemembered) largest_ = {q, seconds, now};
    if (q >= done_.queries || now - done_.at > kRemembered) done_ = {q, seconds, now};
    if (stopped_at_ && now - *stopped_at_ > kRemembered) stopped_at_.reset();
    // Passes of about one size say nothing of what a query adds: differences in their times are noise.
    const double mean = q_ / passes_, t = t_ / passes_, spread = qq_ / passes_ - mean * mean;
    if (spread >= kLeastSpread * mean * mean) {
      const double added = std::clamp((qt_ / passes_ - mean * t) / spread, 0.0, t / mean);
      line_ = {t - added * mean, added};
    }
  }

  /// A pass was stopped, as it took too long.
  void note_stopped(std::size_t queries, Clock::time_point now) noexcept {
    const auto q = static_cast<double>(queries);
    if (q > done_.queries && q <= 2 * done_.queries) stopped_at_ = now;
  }

  /// Whether the passes so far had twice as many queries or more, all about equally many. Then predict() says
  /// how long those took, which may be far too much for so few.
  bool knows_only_larger(std::size_t queries) const noexcept {
    return passes_ > 0 && !line_ && 2 * static_cast<double>(queries) <= q_ / passes_;
  }

  /// Seconds of a pass of so many queries; 0 before the first pass.
  double predict(std::size_t queries) const noexcept {
    if (passes_ == 0) return 0;
    const double q = q_ / passes_, t = t_ / passes_;
    const auto wanted = static_cast<double>(queries);
    // Before passes of different sizes, fewer queries cost as much as these, and more of them an eighth of
    // the proportion: too little sends one batch out late, too much refuses a crowd that comes to an idle
    // server for nothing.
    if (!line_) return t + (wanted > q ? t / q / 8 * (wanted - q) : 0);
    const double then = line_->at(q);
    return then > 0 ? t / then * line_->at(wanted) : t;
  }

  /// As predict(), but in proportion for fewer queries than in any pass so far.
  double predict_hopefully(std::size_t queries) const noexcept {
    const double part = static_cast<double>(queries) * passes_;
    return predict(queries) * (line_ || part >= q_ ? 1 : part / q_);
  }

  /// At least predict(), and what the largest pass of the last ten minutes says: less than it in proportion
  /// between the passes of late and that one, more than it in proportion to the queries. How long small
  /// passes take says little about what so many queries add. But for up to twice as many as any
  /// of these passes had, predict() is believed, unless it does not know what a query adds and a pass of so
  /// many was stopped: passes that take more than half of what they may would otherwise never become larger.
  double predict_carefully(std::size_t queries) const noexcept {
    const double line = predict(queries);
    if (passes_ == 0) return line;
    const double q = q_ / passes_, t = t_ / passes_, wanted = static_cast<double>(queries);
    if (wanted >= largest_.queries) {
      const bool believed = wanted <= 2 * done_.queries && (line_ || !stopped_at_);
      const double more = believed ? 1 : wanted / largest_.queries;
      return std::max(line, largest_.seconds * more);
    }
    if (wanted <= q) return line;
    return std::max(line, t + (largest_.seconds - t) * (wanted - q) / (largest_.queries - q));
  }

 private:
  struct Line {
    double constant, added;  ///< seconds: of a pass, and of each of its queries
    double at(double queries) const noexcept { return constant + added * queries; }
  };

  struct Pass {
    double queries, seconds;
    Clock::time_point at;
  };

  static constexpr double kMemory = 0.9;            ///< what a pass counts for after the next one
  static constexpr double kLeastSpread = 1.0 / 16;  ///< variance over the square of the mean
  static constexpr std::chrono::minutes kRemembered{10};
  Pass largest_{};  ///< of late; one that is half as large or more is in its place
  Pass done_{};     ///< the largest of late
  std::optional<Clock::time_point> stopped_at_;  ///< of late, one of up to twice as many as done_
  double passes_ = 0, q_ = 0, t_ = 0, qq_ = 0, qt_ = 0;
  std::optional<Line> line_;  ///< of the last passes of different sizes
};

}  // namespace pirx::http
