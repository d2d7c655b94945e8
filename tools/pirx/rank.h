// SPDX-License-Identifier: Apache-2.0
// What `serve` needs in order to be one of the processes of an MPI run: one server made of all of them. Rank
// 0 listens and answers; the other ranks hold their parts of the database and compute. The program pirx-ranks
// has them, pirx has not, so that it does not need MPI.
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <string>

#include "serve_log.h"
#include "served_database.h"

namespace pirx::cli {

/// The differences between `serve` on one of several ranks and on its own.
class Rank {
 public:
  virtual ~Rank() = default;
  virtual bool answers() const noexcept = 0;
  /// The value for OpenContext.
  virtual Spread spread() = 0;
  /// After the database is opened: waits for all ranks and compares what they hold.
  virtual Result<void> agree(const Served& served) = 0;
  /// On ranks other than 0: computes until rank 0 leaves. After SIGTERM or SIGINT it waits at most `patience`
  /// for that.
  virtual Result<void> work(std::chrono::milliseconds patience) = 0;
  /// On rank 0: `stop` is called once when a rank is lost, or at once if one is lost already.
  virtual void when_lost(std::function<void()> stop) = 0;
  /// On rank 0, after the server has ended with `done`: releases the other ranks. Unavailable: a rank was
  /// lost.
  virtual Result<void> end(Result<void> done) = 0;
};

struct RankArguments {
  std::string split = "auto";
  std::chrono::microseconds timeout{10'000'000};
};

/// InvalidArgument: an option cannot be combined with ranks.
using StartRank = std::function<Result<std::unique_ptr<Rank>>(const DatabaseSettings& settings, Log log)>;

/// Runs `serve` as one of the ranks. A rank that fails says why and ends the whole run, so that whatever
/// watches mpirun can start it again. Signals that stop the server are blocked.
using WithRanks = Result<void> (*)(const RankArguments& arguments,
                                   const std::function<Result<void>(const StartRank& start)>& serve);

/// SIGINT, SIGTERM and SIGHUP.
sigset_t stopping_signals();

}  // namespace pirx::cli
