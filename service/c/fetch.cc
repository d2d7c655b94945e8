// SPDX-License-Identifier: Apache-2.0
// Whole look-ups of the C interface, over HTTP.
#include "pirx/client/fetch.h"

#include "objects.h"

namespace pirx::c {

class ClientObject::Http {
 public:
  explicit Http(client::Fetcher made) : fetcher(std::move(made)) {}
  client::Fetcher fetcher;
};

namespace {

template <class Look>
Result<void> fetch(const pirx_client* handle, const pirx_options* options, pirx_answer** answer,
                   const Look& look) {
  PIRX_ASSIGN(const auto object, object_of<const ClientObject>(handle));
  PIRX_TRY(check_not_null(answer));
  PIRX_ASSIGN(auto look_up, read_options(options));
  const client::FetchOptions fetch_options{.deadline = look_up.deadline,
                                           .liars = look_up.retrieve.liars,
                                           .wait_for_all = look_up.retrieve.wait_for_all,
                                           .rounds = look_up.retrieve.rounds,
                                           .believe = std::move(look_up.retrieve.believe),
                                           .limits = look_up.limits};
  const std::lock_guard lock(object->http_mutex);
  if (object->http == nullptr) {
    PIRX_ASSIGN(auto fetcher, client::Fetcher::create(object->deployment, object->options));
    object->http = std::make_shared<ClientObject::Http>(std::move(fetcher));
  }
  PIRX_ASSIGN(auto report, look(object->http->fetcher, fetch_options));
  give(std::make_shared<AnswerObject>(std::move(report.answer)), answer);
  return {};
}

}  // namespace
}  // namespace pirx::c

using namespace pirx::c;
using pirx::Result;

int pirx_has_http(void) { return 1; }

pirx_status pirx_client_fetch_positions(const pirx_client* client, const uint64_t* positions, size_t count,
                                        const pirx_options* options, pirx_answer** answer) {
  return guarded([&]() -> Result<void> {
    PIRX_ASSIGN(const auto wishes, read_positions(positions, count));
    return fetch(client, options, answer,
                 [&](auto& fetcher, const auto& chosen) { return fetcher.fetch(wishes, chosen); });
  });
}

pirx_status pirx_client_fetch_keys(const pirx_client* client, const pirx_bytes* keys, size_t count,
                                   const pirx_options* options, pirx_answer** answer) {
  return guarded([&]() -> Result<void> {
    PIRX_ASSIGN(const auto wishes, Keys::create(keys, count));
    return fetch(client, options, answer,
                 [&](auto& fetcher, const auto& chosen) { return fetcher.fetch_keys(wishes.get(), chosen); });
  });
}
