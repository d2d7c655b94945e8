// SPDX-License-Identifier: Apache-2.0
// Encodes a plain database into one bucket file per server, and brings changes of the database into these
// files.
#pragma once

#include "pirx/batchcodes/encoding.h"
#include "pirx/database/update.h"

namespace pirx::batchcodes {

struct EncodeOptions {
  /// The servers whose buckets are made, as positions in the encoding's list. Empty: all. With tau > 0 it
  /// must be all, since all buckets share the noise and no file keeps it.
  std::vector<std::size_t> only = {};
  int threads = 0;
  database::Progress progress = {};
};

struct EncodeReport {
  std::vector<std::filesystem::path> files;
  database::Version version;  ///< of all buckets, see Database::version()
  std::uint64_t rows = 0;     ///< of each bucket
  std::uint64_t file_bytes = 0;
  /// With tau > 0: others were made of this version of the database before. Clients that have seen those
  /// refuse these until the database changes.
  bool again = false;
  /// With tau > 0: DATABASE.buckets could not be written. These can be served, but not be updated.
  bool unlisted = false;
};

/// Writes the bucket of the server at position j to PREFIX.(j+1). Reads the rows once, on `threads` threads,
/// with some tens of MiB of memory and one row per bucket. The encoding's blocks are the rows. Every file is
/// written beside its target, synced and renamed; no target changes before all files are complete.
/// InvalidArgument: an encoding without data coordinates (the buckets would be the database), `only` with tau
/// > 0, tau > 0 over a prime field with words below 128 bits, a target that is not a pirx database, a bucket
/// as input, or a sum that is not a word (see store_words). Unavailable, ResourceExhausted, DataLoss:
/// reading, memory or the data failed.
Result<EncodeReport> encode_database(const database::Database& plain, const Encoding& encoding,
                                     const std::filesystem::path& prefix, const EncodeOptions& options = {});

struct BucketsReport {
  database::Version version;  ///< of the buckets after the call
  std::uint64_t rows = 0;     ///< rows of each bucket that were encoded again
  /// The size of each bucket's delta; 0 if the bucket had that epoch already.
  std::vector<std::uint64_t> delta_bytes;
  bool again = false;  ///< see EncodeReport
};

/// Brings buckets of `plain` to its epoch. The rows whose blocks have changed are encoded again and written
/// as each bucket's delta. After a crash each file is at its old epoch or at the new one (see
/// database::DatabaseUpdate), and a second call updates the rest.
///
/// `last` is the report of the plain database's update. With it, only what that update changed is encoded;
/// without it, or for a bucket that is further behind, everything in plain's delta is. For a bucket that is
/// further behind but not at the start of the delta, all rows are encoded, and those that differ are written:
/// nothing tells of which history the bucket is. With tau > 0 DATABASE.buckets must say which version of
/// plain the buckets are of; encode_database() and this function write it beside plain's file, the first only
/// if it can. With tau = 0 any servers' buckets may be given, so a server can update its own. With tau > 0
/// all servers' buckets must be given at once; they get fresh noise and a new identity, and the old and new
/// shares of tau servers together still reveal nothing. If an interrupted call left buckets with different
/// noise, all get new noise wherever one of them has changed.
///
/// InvalidArgument: no buckets, not all of them with tau > 0, buckets of several encodings or of another
/// database, or older than the start of plain's delta, which must be encoded again; or DATABASE.buckets is
/// another file. Other errors are those of encode_database.
Result<BucketsReport> update_buckets(const database::Database& plain,
                                     std::span<const std::filesystem::path> buckets,
                                     const database::UpdateReport* last = nullptr, int threads = 0);
/// The errors that update_buckets() would have because of the buckets, before plain itself changes.
Result<void> check_buckets(const database::Database& plain, std::span<const std::filesystem::path> buckets);

/// The version of `plain` that a bucket was made of, as far as known: with tau = 0 what the bucket says.
/// InvalidArgument: it is no bucket, or with tau > 0 DATABASE.buckets does not know it.
Result<database::Version> plain_version(const database::Database& plain, const database::Database& bucket);

}  // namespace pirx::batchcodes
