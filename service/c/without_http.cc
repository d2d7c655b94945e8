// SPDX-License-Identifier: Apache-2.0
// Whole look-ups of the C interface, in a library without an HTTP client.
#include "objects.h"

namespace pirx::c {

std::shared_ptr<ClientObject::Http> ClientObject::make_http() { return nullptr; }

}  // namespace pirx::c

using namespace pirx::c;

namespace {

pirx_status refuse() noexcept {
  return report(
      PIRX_UNAVAILABLE,
      "this libpirx was built without an HTTP client: use pirx_retrieval_begin_... and send the messages");
}

}  // namespace

int pirx_has_http(void) { return 0; }

pirx_status pirx_client_fetch_positions(const pirx_client*, const uint64_t*, size_t, const pirx_options*,
                                        pirx_answer**) {
  return refuse();
}

pirx_status pirx_client_fetch_keys(const pirx_client*, const pirx_bytes*, size_t, const pirx_options*,
                                   pirx_answer**) {
  return refuse();
}
