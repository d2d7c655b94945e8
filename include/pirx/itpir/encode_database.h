// Encodes a plain database into one bucket file per server, and carries changes of it over to them.
#pragma once

#include "pirx/batchcodes/encoding.h"
#include "pirx/database/update.h"

namespace pirx::itpir {

struct EncodeOptions {
  /// Positions in the encoding's list of the servers whose buckets to make; empty: all. With tau > 0 only
  /// all: the noise is common to them and kept nowhere.
  std::vector<std::size_t> only = {};
  int threads = 0;
  database::Progress progress = {};
};

struct EncodeReport {
  std::vector<std::filesystem::path> files;
  database::Version version;  ///< of all buckets, see Database::version()
  std::uint64_t rows = 0;     ///< of each
  std::uint64_t file_bytes = 0;
};

/// Writes the bucket of the server at position j to PREFIX.(j+1), in one pass over the rows, on `threads`
/// threads, with some tens of MiB of memory and one row per bucket. Every file is written beside its target,
/// synced and renamed; none is touched before all are whole. The rows are the blocks that the encoding speaks
/// of. InvalidArgument: an encoding without data coordinates (the buckets would be the database), `only` with
/// tau > 0, a target that is no pirx database, a bucket as input, or a sum that is no word (see
/// batchcodes::store_words). Unavailable, ResourceExhausted, DataLoss.
Result<EncodeReport> encode_database(const database::Database& plain, const batchcodes::Encoding& encoding,
                                     const std::filesystem::path& prefix, const EncodeOptions& options = {});

struct BucketsReport {
  database::Version version;               ///< of the buckets now
  std::uint64_t rows = 0;                  ///< encoded anew, of each bucket
  std::vector<std::uint64_t> delta_bytes;  ///< of each bucket's delta; 0: it was at that epoch already
};

/// Brings buckets of `plain` to its epoch: encodes the rows again whose blocks have changed, and writes them
/// as each bucket's delta (database::DatabaseUpdate says how, and what survives a crash: each file is at its
/// old epoch or at the new one, and a second call brings up the others). `last`: what the update of the plain
/// database reported; with it only what that update changed is encoded, without it, or for a bucket that
/// lags further, everything that plain's delta holds. tau = 0: any servers' buckets, so a server may keep its
/// own. tau > 0: all servers' at once, with fresh noise and a new identity; the old and the new shares of tau
/// servers together still tell nothing. Buckets that an interrupted call left with unlike noise all get new
/// noise wherever one of them has changed. InvalidArgument: no buckets, buckets of several
/// encodings or of another database, or older than what plain's delta goes back to: encode again. Otherwise
/// as encode_database.
Result<BucketsReport> update_buckets(const database::Database& plain,
                                     std::span<const std::filesystem::path> buckets,
                                     const database::UpdateReport* last = nullptr, int threads = 0);

}  // namespace pirx::itpir
