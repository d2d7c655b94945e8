// SPDX-License-Identifier: Apache-2.0
// Starts and ends MPI in this process.
#include "mpi_calls.h"
#include "pirx/shards/shards.h"

namespace pirx::shards {

Result<std::unique_ptr<World>> World::create() {
  int level = MPI_THREAD_SINGLE, rank = 0, ranks = 0;
  // Several threads call MPI, one at a time: those that answer, and the one that pings idle ranks.
  PIRX_TRY(check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "start"));
  PIRX_TRY(check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "set its error handler"));
  PIRX_TRY(check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "tell the rank"));
  PIRX_TRY(check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "count the ranks"));
  auto world = std::unique_ptr<World>(new World(rank, ranks));
  if (ranks == 1) {
    world->finish();
    return invalid(
        "there is only one process to spread the database over: start the same command by 'mpirun -n N'");
  }
  if (level < MPI_THREAD_SERIALIZED) {
    world->finish();
    return fail(ErrorCode::kUnavailable,
                "this MPI library does not let threads take turns (MPI_THREAD_SERIALIZED): use Open MPI");
  }
  return world;
}

void World::finish() noexcept { MPI_Finalize(); }

void World::abort(int exit_code) noexcept {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

}  // namespace pirx::shards
