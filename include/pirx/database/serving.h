// SPDX-License-Identifier: Apache-2.0
// For programs that serve a database for a long time: checks the file piece by piece, and survives a file
// that is truncated.
#pragma once

#include "pirx/database/database.h"

namespace pirx::database {

/// The number of chunks of 1 MiB that the database's file has.
std::uint64_t chunks(const Database& database) noexcept;
/// Reads a chunk and compares its checksum. Every bit after the header lies in a chunk or was checked by
/// Database::open(). DataLoss: the checksum is wrong; the message names the place.
Result<void> check_chunk(const Database& database, std::uint64_t chunk);

/// Lets this process survive if the file of an open database is truncated or its disk fails. On SIGBUS in a
/// mapped database, all its rows are replaced by zeros, and pages_lost() is true from then on. Any other
/// SIGBUS ends the process as before. Replaces the process's handler of SIGBUS, so call it in programs, not
/// in libraries.
Result<void> survive_lost_pages();
/// Whether pages of this database, or of another one opened from the same file, were lost. Everything that
/// was computed from its rows since then is wrong. Once true, it stays true.
bool pages_lost(const Database& database) noexcept;
/// The same of any database that this process has had open.
bool pages_lost() noexcept;
/// Whether somebody wrote to the database's file since it was opened, say by copying another one over it. Its
/// rows may then be of another content, whose checksums are right.
bool written_to(const Database& database) noexcept;

}  // namespace pirx::database
