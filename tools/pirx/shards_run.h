// pirx serve --shards: one server out of the processes of an MPI run. Rank 0 listens and answers, the others
// hold their parts of the database and compute.
#pragma once

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

/// Runs `serve` as one of the ranks, with the World that they share: nullptr without --shards. A rank that
/// fails says why and ends the whole run: whoever watches over mpirun starts it again. Signals that stop the
/// server are blocked.
Result<void> with_world(const ShardArguments& arguments,
                        const std::function<Result<void>(shards::World*)>& serve);

/// What pirx serve does differently as one of several ranks.
class ShardsRun {
 public:
  /// `world` must outlive it. InvalidArgument: what cannot be done with shards.
  static Result<std::unique_ptr<ShardsRun>> start(const shards::World& world, const ShardArguments& arguments,
                                                  const DatabaseSettings& settings, Log log);
  bool answers() const noexcept { return world_.rank() == 0; }
  /// For OpenContext.
  Spread spread() { return shards_->spread(); }
  /// Once the database is open: waits for all ranks and compares what they hold.
  Result<void> agree(const Served& served);
  /// Ranks but 0: computes until rank 0 leaves. After SIGTERM or SIGINT it is given `patience` for that.
  Result<void> work(std::chrono::milliseconds patience);
  /// Rank 0: `stop` is called once when a rank is lost, at once if one is already.
  void when_lost(std::function<void()> stop);
  /// Rank 0, after the server has ended with `done`: sends the others home. Unavailable: one was lost.
  Result<void> end(Result<void> done);

 private:
  ShardsRun(const shards::World& world, Log log) : world_(world), log_(std::move(log)) {}
  void lose(const Error& error);

  const shards::World& world_;
  const Log log_;
  std::mutex mutex_;
  bool lost_ = false;
  std::function<void()> stop_;
  std::unique_ptr<shards::Shards> shards_;  ///< last: its thread calls lose()
};

}  // namespace pirx::cli
