// The server half of Goldberg's protocol: any clients' query vectors stacked as the rows of one matrix
// product.
#pragma once

#include <optional>

#include "pirx/database/database.h"
#include "pirx/itpir/common.h"
#include "pirx/protocol.h"
#include "pirx/strassen/engine.h"

namespace pirx::itpir {

struct ServerOptions {
  /// Nothing: the one that the bucket is encoded in, for a plain database gf2_8.
  std::optional<FieldTag> field = {};
  /// Public, non-zero, this server's own. Nothing: the one that the bucket is for, for a plain database 1.
  std::optional<std::uint64_t> coordinate = {};
  int threads = 0;
  std::uint32_t max_queries_per_request = 256;
  /// How the database lies in memory: more of it makes many queries faster. `threads` there is not used.
  strassen::PrepareOptions layout = {};
  /// Where the prepared database is kept between runs (docs/prepared_format.md), so that a start reads it
  /// instead of making it anew; empty: nowhere. A file that fits is used, any other side file replaced.
  std::string prepared_file = {};
  /// A vertical batch code, as "subcube:2,1": all its buckets are served, and one request asks each of them
  /// (pirx/itpir/vertical.h). Empty: none. No prepared_file goes with it.
  std::string code = {};
  /// Told in a line for people what came of prepared_file.
  std::function<void(const std::string&)> note = nullptr;
  /// Who computes the products; empty: this process, from all rows. No code goes with it.
  Spread spread = nullptr;
};

/// Serves a plain database or a bucket of one (database::BucketInfo). InvalidArgument: an unknown field, a
/// coordinate that is zero or no element of it, or others than the bucket's.
Result<std::unique_ptr<AnyServer>> make_goldberg_server(std::shared_ptr<const database::Database> database,
                                                        const ServerOptions& options);

/// The server half of Chor's protocol (pirx/itpir/chor.h): any clients' vectors of bits, one product over
/// GF(2). options.coordinate only names the server. InvalidArgument: coordinate 0, a field other than gf2,
/// too large a database, or a bucket of an encoded one.
Result<std::unique_ptr<AnyServer>> make_chor_server(std::shared_ptr<const database::Database> database,
                                                    const ServerOptions& options);

}  // namespace pirx::itpir
