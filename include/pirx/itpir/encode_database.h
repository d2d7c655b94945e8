// Encodes a plain database into one bucket file per server, and carries changes of it over to them.
#pragma once

#include "pirx/batchcodes/encoding.h"
#include "pirx/database/database.h"

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

}  // namespace pirx::itpir
