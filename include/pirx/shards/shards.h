// One server half spread over the processes of an MPI run (docs/beyond_one_machine.md): every rank holds a
// part of the database, rank 0 answers. In a program that was built without MPI everything here is refused.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "pirx/protocol.h"
#include "pirx/shards/split.h"

namespace pirx::shards {

/// Whether this program was built with MPI (PIRX_MPI).
bool built_with_mpi() noexcept;

/// MPI's life in this process: at most one, made before any thread that uses shards.
class World {
 public:
  /// MPI_Init_thread with MPI_THREAD_SERIALIZED; errors are returned from then on. Block signals before: MPI
  /// starts threads. InvalidArgument: built without MPI, or started alone instead of by mpirun -n N.
  /// Unavailable: MPI does not start, or knows no such threads.
  static Result<std::unique_ptr<World>> create();
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() = default;
  int rank() const noexcept { return rank_; }
  int ranks() const noexcept { return ranks_; }
  /// The end of a run in which nothing was lost: every rank calls it, once its Shards are gone.
  void finish() noexcept;
  /// The end of any other: takes all ranks along.
  [[noreturn]] void abort(int exit_code) noexcept;

 private:
  World(int rank, int ranks) : rank_(rank), ranks_(ranks) {}
  int rank_, ranks_;
};

struct Options {
  Split split = Split::kAuto;
  /// A rank is lost when rank 0 has waited for it so long beyond what its work may take: four times as long
  /// as rank 0 took for its own part, and 50 MB of messages a second.
  std::chrono::milliseconds timeout{10'000};
  /// Rank 0 looks after idle ranks so often; zero: never.
  std::chrono::milliseconds ping{2'000};
  /// Of queries or of sums in one pass, but at least one query: more are answered in several. Rank 0's
  /// counts.
  std::size_t max_pass_bytes = std::size_t{1} << 30;
  /// Told on rank 0, in lines for people, who holds what and whom it waits for; may be empty.
  std::function<void(const std::string&)> note = nullptr;
  /// Told once, from any thread of rank 0, that a rank is lost; may be empty. Must not call the Shards.
  std::function<void(const Error&)> lost = nullptr;
};

/// The ranks' common life over one database. Every rank makes one, opens the same server half with spread()
/// and agrees; then rank 0 answers and the others work until rank 0 leaves.
class Shards {
 public:
  /// Collective. `world` must outlive it. Unavailable.
  static Result<std::unique_ptr<Shards>> create(const World& world, Options options);
  ~Shards();

  /// For ServerOptions::spread of one server half. On ranks other than 0 the half that comes of it is there
  /// to be agreed on, it answers nothing. The server half must not outlive this.
  Spread spread();

  /// After opening. Waits for all ranks, however long they read, and compares on rank 0 what they hold: the
  /// same database and content in the same epoch, served with the same parameters by the same program, and
  /// exactly the parts that make it whole. `content` is Database::content_version() as bytes. InvalidArgument
  /// names the first rank that differs. Unavailable.
  Result<void> agree(const AnyServer& server, ByteSpan content);

  /// Ranks but 0: computes until rank 0 leaves. Unavailable: MPI failed, or `give_up`, which is asked about
  /// every millisecond while there is nothing to do, said so.
  Result<void> work(const std::function<bool()>& give_up = nullptr);

  /// Rank 0, when nothing is answered any more: sends the others home. Unavailable: one is lost; then there
  /// is no World::finish().
  Result<void> leave();

  /// Rank 0: why nothing is answered any more, once a rank is lost.
  std::optional<Error> lost() const;
  /// Rank 0: passes that were begun.
  std::uint64_t passes() const;

 private:
  class Impl;
  explicit Shards(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pirx::shards
