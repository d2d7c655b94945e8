// SPDX-License-Identifier: Apache-2.0
// Limits of the work that a plan may ask of a client.
#pragma once

#include <chrono>
#include <cstdint>

#include "pirx/protocol/plan.h"

namespace pirx::client {

/// The most that a plan may ask of a client. A plan is a few bytes that a server or a file chooses.
struct WorkLimits {
  /// Bytes of a query and its replies, and of keys. A query may have one message for each MiB of this.
  std::uint64_t bytes = std::uint64_t{256} << 20;
  std::uint64_t memory = std::uint64_t{1} << 30;  ///< for these, and for the rows of all queries
  /// The time of one core for a query, with what is done once, such as making keys.
  std::chrono::milliseconds time{60'000};
};

/// How long a client waits for each round if nobody says how long: 10 s, or 10 minutes for a single server,
/// which may compute for long.
std::chrono::milliseconds usual_deadline(const Plan& plan);

/// How many queries look up so many records.
std::size_t queries_of(const Plan& plan, std::size_t wishes);

/// Checks before anything is done that `queries` queries of a plan stay within the limits, and that one of
/// them takes the client no longer than `deadline`. Sizes are exact; times are those of a model that is right
/// within a factor of four. ResourceExhausted names the limit, and what raises it in `pirx get`.
Result<void> check_work(const Work& work, std::size_t queries, const WorkLimits& limits,
                        std::chrono::milliseconds deadline);

/// `rounds` of queries, or as many as fit the memory: what each of them takes is held until the last has been
/// decoded. At least 1. For a plan with several servers that check_work found to be within the limits.
unsigned rounds_within(const Work& work, std::size_t queries, const WorkLimits& limits, unsigned rounds);

}  // namespace pirx::client
