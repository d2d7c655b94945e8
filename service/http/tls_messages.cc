// SPDX-License-Identifier: Apache-2.0
// Counts the messages in OpenSSL's message callback.
#include "tls_messages.h"

#include <cstdint>

namespace pirx::http {
namespace {

/// Messages, of which a record can hold hundreds, and records, of which a message can have thousands. TLS 1.3
/// says inside of a record what it holds.
void count(int written, int, int type, const void* bytes, std::size_t size, SSL* tls, void*) noexcept {
  constexpr std::uintptr_t kMost = 128;  // a handshake has ten of each, and a few tickets follow
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  const bool record = type == SSL3_RT_HEADER || type == SSL3_RT_INNER_CONTENT_TYPE;
  const int of = record && size > 0 ? *static_cast<const unsigned char*>(bytes) : type;
  if (written != 0 || of == SSL3_RT_APPLICATION_DATA) return;
  const auto received = reinterpret_cast<std::uintptr_t>(SSL_get_ex_data(tls, index)) + 1;
  SSL_set_ex_data(tls, index, reinterpret_cast<void*>(received));
  if (received > kMost) SSL_set_shutdown(tls, SSL_RECEIVED_SHUTDOWN);
}

}  // namespace

void bound_tls_messages(SSL_CTX* context) noexcept {
  SSL_CTX_set_msg_callback(context, &count);
  SSL_CTX_set_max_cert_list(context, 16 * 1024);
}

}  // namespace pirx::http
