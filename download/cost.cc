// SPDX-License-Identifier: Apache-2.0
// The scheme to beat: every client downloads all records, once for each version, and the server learns
// nothing.
#include "cost.h"

namespace pirx::download {

Result<Offer> offer_download(const Question& question, Rates& /*rates*/) {
  const std::uint64_t bytes = question.records * question.record_bytes;
  return Offer{.settings = "",
               .privacy = "nothing is asked",
               .whole = true,
               .bytes_once = bytes,
               .server_bytes = bytes,
               .client_bytes = bytes};
}

}  // namespace pirx::download
