// SPDX-License-Identifier: Apache-2.0
// `pirx serve --shards`: one server made of the processes of an MPI run. Rank 0 listens and answers; the
// other ranks hold their parts of the database and compute.
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "pirx/shards/shards.h"
#include "serve_log.h"
#include "served_database.h"

namespace pirx::cli {

struct ShardArguments {
  bool on = false;
  std::string split = "auto";
  std::chrono::microseconds timeout{10'000'000};
};

/// SIGINT, SIGTERM and SIGHUP.
sigset_t stopping_signals();

/// Runs `serve` as one of the ranks, with the World that they share; nullptr without --shards. A rank that
/// fails says why and ends the whole run, so that whatever watches mpirun can start it again. Signals that
/// stop the server are blocked.
Result<void> with_world(const ShardArguments& arguments,
                        const std::function<Result<void>(shards::World*)>& serve);

/// The differences between `pirx serve` on one of several ranks and on its own.
class ShardsRun {
 public:
  /// On input `world` outlives the result. InvalidArgument: an option cannot be combined with shards.
  static Result<std::unique_ptr<ShardsRun>> start(const shards::World& world, const ShardArguments& arguments,
                                                  const DatabaseSettings& settings, Log log);
  bool answers() const noexcept { return world_.rank() == 0; }
  /// The value for OpenContext.
  Spread spread() { return shards_->spread(); }
  /// After the database is opened: waits for all ranks and compares what they hold.
  Result<void> agree(const Served& served);
  /// On ranks other than 0: computes until rank 0 leaves. After SIGTERM or SIGINT it waits at most `patience`
  /// for that.
  Result<void> work(std::chrono::milliseconds patience);
  /// On rank 0: `stop` is called once when a rank is lost, or at once if one is lost already.
  void when_lost(std::function<void()> stop);
  /// On rank 0, after the server has ended with `done`: releases the other ranks. Unavailable: a rank was
  /// lost.
  Result<void> end(Result<void> done);

 private:
  ShardsRun(const shards::World& world, Log log) : world_(world), log_(std::move(log)) {}
  void lose(const Error& error);

  const shards::World& world_;
  const Log log_;
  std::mutex mutex_;
  bool lost_ = false;
  std::function<void()> stop_;
  std::unique_ptr<shards::Shards> shards_;  ///< last member: its thread calls lose()
};

}  // namespace pirx::cli
