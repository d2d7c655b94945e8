// Prediction against measurement: every offer of a plan carried out, client and servers in one process.
#pragma once

#include <filesystem>
#include <functional>

#include "pirx/planner/planner.h"

namespace pirx::planner {

/// What an offer came to. Seconds of one core: servers and client on one thread each, medians.
struct Measured {
  Offer offer;  ///< with the prediction
  std::uint64_t bytes_up = 0, bytes_down = 0;
  double server_seconds = 0, client_seconds = 0, ahead_seconds = 0;
};

struct ValidateOptions {
  std::uint64_t record_bytes = 256;
  std::uint64_t one_server_bytes = std::uint64_t{1} << 20;        ///< of records, for schemes of one server
  std::uint64_t several_servers_bytes = std::uint64_t{16} << 20;  ///< and of several
  unsigned servers = 3, collusion = 1;
  unsigned modulus_bits = 3072;
  bool reproduction = false;
  int runs = 5;
  std::function<void(const std::string&)> note = nullptr;  ///< told what is being done
};

/// For every scheme but the download. The databases are built in `folder`, which must exist, and removed.
/// Every record that is fetched is compared with the one that was stored: Internal when it differs. Errors of
/// make_plan, of the databases and of the protocols.
Result<std::vector<Measured>> validate(const ValidateOptions& options, const std::filesystem::path& folder,
                                       Rates& rates);

}  // namespace pirx::planner
