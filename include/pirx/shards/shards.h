// SPDX-License-Identifier: Apache-2.0
// One server that is spread over the processes of an MPI run (docs/beyond_one_machine.md). Every rank holds a
// part of the database; rank 0 answers.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "pirx/protocol.h"
#include "pirx/shards/split.h"

namespace pirx::shards {

/// The use of MPI in this process. There is at most one World, made before any thread that uses shards.
class World {
 public:
  /// Calls MPI_Init_thread with MPI_THREAD_SERIALIZED. From then on MPI returns its errors. MPI starts
  /// threads, so block signals before this call. InvalidArgument: the program was built without MPI, or was
  /// started alone and not by mpirun -n N. Unavailable: MPI does not start, or does not support such threads.
  static Result<std::unique_ptr<World>> create();
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() = default;
  int rank() const noexcept { return rank_; }
  int ranks() const noexcept { return ranks_; }
  /// Ends a run in which no rank was lost. Every rank calls it after its Shards are destroyed.
  void finish() noexcept;
  /// Ends any other run. All ranks end.
  [[noreturn]] void abort(int exit_code) noexcept;

 private:
  World(int rank, int ranks) : rank_(rank), ranks_(ranks) {}
  int rank_, ranks_;
};

struct Options {
  Split split = Split::kAuto;
  /// How long rank 0 waits for another rank beyond the time that this rank may need. It may need four times
  /// as long as rank 0 took for its own part of the product, and for messages the time that they take at 50
  /// MB a second. A rank that takes longer counts as lost.
  std::chrono::milliseconds timeout{10'000};
  /// The time between rank 0's checks of idle ranks; zero: no checks.
  std::chrono::milliseconds ping{2'000};
  /// The bytes of queries, or of sums, in one pass. More queries are answered in several passes, each with at
  /// least one query. Rank 0's value counts.
  std::size_t max_pass_bytes = std::size_t{1} << 30;
  /// Called on rank 0 with lines for people: which rank holds what, and which rank it waits for. May be
  /// empty.
  std::function<void(const std::string&)> note = nullptr;
  /// Called once, from any thread of rank 0, when a rank is lost. It must not call the Shards. May be empty.
  std::function<void(const Error&)> lost = nullptr;
};

/// Joins the ranks of a run over one database. Every rank makes one, opens the same server with spread() and
/// calls agree(). Then rank 0 answers, and the others work until rank 0 leaves.
class Shards {
 public:
  /// All ranks must call it together. `world` must outlive the result. Unavailable: MPI failed.
  static Result<std::unique_ptr<Shards>> create(const World& world, Options options);
  ~Shards();

  /// The value for ServerSpec::spread or ServerOptions::spread of one server, which must not outlive this. On
  /// ranks other than 0 this server is there only for agree(); it answers nothing.
  Spread spread();

  /// Compares on rank 0 what all ranks hold, after each has opened its server: the same database and content
  /// in the same epoch, served with the same parameters by the same program, and exactly the parts that make
  /// up the whole. Waits for all ranks, however long they read. `content` is Database::content_version() as
  /// bytes.
  /// InvalidArgument names the first rank that differs. Unavailable: MPI failed.
  Result<void> agree(const AnyServer& server, ByteSpan content);

  /// On ranks other than 0: computes until rank 0 leaves. While there is nothing to do, it calls `give_up`
  /// every millisecond. After each product it asks `sound` whether what it computed with is undamaged; if
  /// not, this rank counts as lost. Unavailable: MPI failed, or give_up returned true.
  Result<void> work(const std::function<bool()>& give_up = nullptr,
                    const std::function<bool()>& sound = nullptr);

  /// On rank 0, after the last answer: releases the other ranks. Unavailable: a rank is lost; then end the
  /// run with World::abort(), not World::finish().
  Result<void> leave();

  /// On rank 0, once a rank is lost: the error, with which every later answer fails. Nothing before that.
  std::optional<Error> lost() const;
  /// On rank 0: the number of passes that were begun.
  std::uint64_t passes() const;

 private:
  class Impl;
  explicit Shards(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pirx::shards
