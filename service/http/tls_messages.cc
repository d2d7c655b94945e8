// SPDX-License-Identifier: Apache-2.0
// Counts the messages in OpenSSL's message callback.
#include "tls_messages.h"

#include <cstdint>

namespace pirx::http {
namespace {

void count(int written, int, int type, const void*, std::size_t, SSL* tls, void*) noexcept {
  constexpr std::uintptr_t kMost = 40;  // a handshake has about ten, and a few tickets follow
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  const bool data = type != SSL3_RT_HANDSHAKE && type != SSL3_RT_ALERT && type != SSL3_RT_CHANGE_CIPHER_SPEC;
  if (written != 0 || data) return;
  const auto received = reinterpret_cast<std::uintptr_t>(SSL_get_ex_data(tls, index)) + 1;
  SSL_set_ex_data(tls, index, reinterpret_cast<void*>(received));
  if (received > kMost) SSL_set_shutdown(tls, SSL_RECEIVED_SHUTDOWN);
}

}  // namespace

void bound_tls_messages(SSL_CTX* context) noexcept { SSL_CTX_set_msg_callback(context, &count); }

}  // namespace pirx::http
