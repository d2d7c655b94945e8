// SPDX-License-Identifier: Apache-2.0
// pirx-ranks: `serve` in the processes of an MPI run. It is a program of its own, so that pirx does not need
// MPI.
#include <csignal>
#include <cstdio>
#include <mutex>
#include <optional>

#include "pirx/shards/shards.h"
#include "tools/pirx/cli.h"
#include "tools/pirx/rank.h"

namespace pirx::cli {
namespace {

/// What a database holds, as the ranks compare it.
Bytes content_of(const database::Database& database) {
  const auto version = database.content_version();
  Writer writer;
  writer.put_bytes(version.identity);
  writer.put(version.epoch);
  return std::move(writer).take();
}

class ShardsRun final : public Rank {
 public:
  /// On input `world` outlives the result. InvalidArgument: an option cannot be combined with shards.
  static Result<std::unique_ptr<Rank>> start(const shards::World& world, const RankArguments& arguments,
                                             const DatabaseSettings& settings, Log log);
  bool answers() const noexcept override { return world_.rank() == 0; }
  Spread spread() override { return shards_->spread(); }
  Result<void> agree(const Served& served) override;
  Result<void> work(std::chrono::milliseconds patience) override;
  void when_lost(std::function<void()> stop) override;
  Result<void> end(Result<void> done) override;

 private:
  ShardsRun(const shards::World& world, Log log) : world_(world), log_(std::move(log)) {}
  void lose(const Error& error);

  const shards::World& world_;
  const Log log_;
  std::shared_ptr<SoundServer> server_;  ///< of this rank's part
  std::mutex mutex_;
  bool lost_ = false;
  std::function<void()> stop_;
  std::unique_ptr<shards::Shards> shards_;  ///< last member: its thread calls lose()
};

Result<std::unique_ptr<Rank>> ShardsRun::start(const shards::World& world, const RankArguments& arguments,
                                               const DatabaseSettings& settings, Log log) {
  PIRX_ASSIGN(const auto split, shards::parse_split(arguments.split));
  auto run = std::unique_ptr<ShardsRun>(new ShardsRun(world, std::move(log)));
  shards::Options options{.split = split,
                          .timeout = std::chrono::ceil<std::chrono::milliseconds>(arguments.timeout)};
  options.note = [&self = *run, name = settings.name](const std::string& note) {
    http::LogEvent event{.event = "shards", .text = {{"note", note}}, .numbers = {}};
    if (!name.empty()) event.text.emplace_back("database", name);
    self.log_(event);
  };
  options.lost = [&self = *run](const Error& error) { self.lose(error); };
  PIRX_ASSIGN(run->shards_, shards::Shards::create(world, std::move(options)));
  return std::unique_ptr<Rank>(std::move(run));
}

Result<void> ShardsRun::agree(const Served& served) {
  server_ = served.server;
  return shards_->agree(*served.server, content_of(*served.database));
}

Result<void> ShardsRun::work(std::chrono::milliseconds patience) {
  // Rank 0 gets the signals as well, ends with what is in flight answered, and then sends this rank home.
  using Steady = std::chrono::steady_clock;
  std::optional<Steady::time_point> end;
  return shards_->work(
      [&end, patience, signals = stopping_signals()] {
        const timespec at_once{};
        const int signal = sigtimedwait(&signals, nullptr, &at_once);
        if (!end && (signal == SIGTERM || signal == SIGINT)) end = Steady::now() + patience;
        return end && Steady::now() > *end;
      },
      [this] { return server_->still_sound(); });
}

void ShardsRun::when_lost(std::function<void()> stop) {
  const std::lock_guard lock(mutex_);
  if (lost_) stop();
  stop_ = std::move(stop);
}

void ShardsRun::lose(const Error& error) {
  log_({.event = "shard_lost",
        .text = {{"code", std::string(error_code_name(error.code()))}, {"reason", error.message()}},
        .numbers = {}});
  const std::lock_guard lock(mutex_);
  lost_ = true;
  if (stop_) stop_();
}

Result<void> ShardsRun::end(Result<void> done) {
  {
    const std::lock_guard lock(mutex_);
    stop_ = nullptr;
  }
  if (auto lost = shards_->lost()) return tl::unexpected(std::move(*lost));
  PIRX_TRY(shards_->leave());
  return done;
}

Result<void> with_world(const RankArguments& arguments,
                        const std::function<Result<void>(const StartRank&)>& serve) {
  const sigset_t signals = stopping_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before MPI starts threads, which inherit it
  PIRX_ASSIGN(const auto world, shards::World::create());
  const auto done = serve([&](const DatabaseSettings& settings, Log log) {
    return ShardsRun::start(*world, arguments, settings, std::move(log));
  });
  if (done) {
    world->finish();
    return {};
  }
  std::fprintf(stderr, "pirx-ranks: rank %d: %s\n", world->rank(), done.error().to_string().c_str());
  world->abort(exit_code(done.error()));
}

}  // namespace
}  // namespace pirx::cli

int main(int argc, char** argv) {
  pirx::cli::fill_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);  // so that a write beyond the limit on file sizes fails with an error
  CLI::App app;
  pirx::cli::add_ranks_commands(app, pirx::cli::with_world);
  if (const auto code = pirx::cli::parse(app, argc, argv)) return *code;
  return pirx::cli::report(app, pirx::cli::chosen_action()());
}
