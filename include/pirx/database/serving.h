// For programs that serve a database for long: its file checked piece by piece, and a file that goes away.
#pragma once

#include "pirx/database/database.h"

namespace pirx::database {

/// Number of chunks (1 MiB) of content that the database's file has.
std::uint64_t chunks(const Database& database) noexcept;
/// Reads a chunk and compares its checksum. Every bit behind the header lies in a chunk or was checked by
/// open(). DataLoss names the place.
Result<void> check_chunk(const Database& database, std::uint64_t chunk);
/// Whether both were opened from one and the same file on disk, changes aside.
bool same_file(const Database& a, const Database& b) noexcept;

/// From now on this process lives on when the file of an open database is truncated, or its disk fails: for
/// SIGBUS in a mapped database it puts zeros in the place of all its rows and sets pages_lost(); other
/// SIGBUS ends the process as before. Replaces the process's handler of SIGBUS: for programs, not libraries.
Result<void> survive_lost_pages();
/// Whether pages of this database, or of another one opened from the same file, were lost: what was computed
/// from its rows since is wrong. Never again false.
bool pages_lost(const Database& database) noexcept;

}  // namespace pirx::database
