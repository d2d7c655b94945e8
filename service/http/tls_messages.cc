// SPDX-License-Identifier: Apache-2.0
// Counts the messages in OpenSSL's message callback, and looks at certificates before OpenSSL does.
#include "tls_messages.h"

#include <algorithm>
#include <cstdint>

namespace pirx::http {
namespace {

/// How many certificates a Certificate message has (RFC 5246, section 7.4.2; RFC 8446, section 4.4.2), with
/// the last one, if it is cut off.
std::size_t count_certificates(ByteSpan message, bool tls_1_3) noexcept {
  const auto byte = [&](std::size_t at) {
    return at < message.size() ? std::to_integer<std::size_t>(message[at]) : 0;
  };
  std::size_t count = 0, at = 4 + (tls_1_3 ? 1 + byte(4) : 0) + 3;
  while (at < message.size()) {
    ++count;
    at += 3 + (byte(at) << 16 | byte(at + 1) << 8 | byte(at + 2));
    if (tls_1_3) at += 2 + (byte(at) << 8 | byte(at + 1));
  }
  return count;
}

constexpr auto kSame = [](std::byte a, std::uint8_t b) { return a == std::byte{b}; };

/// OpenSSL is about to read the key of each certificate, and only then looks whether it trusts any. Where
/// that could take long, this spoils the message, so that OpenSSL refuses it instead.
void look_at_certificates(unsigned char* bytes, std::size_t size, bool tls_1_3, std::size_t most) noexcept {
  const ByteSpan message(reinterpret_cast<const std::byte*>(bytes), size);
  if (count_certificates(message, tls_1_3) <= most && !has_curve_of_its_own(message) &&
      !has_compressed_key(message)) {
    return;
  }
  std::fill(bytes + 4, bytes + std::min<std::size_t>(size, 8), 0xff);  // the length of the list
}

/// Messages, of which a record can hold hundreds, and records, of which a message can have thousands. TLS 1.3
/// says inside of a record what it holds. New keys, which take 0.1 ms, count as 50: nobody needs them within
/// millions of records.
void look(int written, int, int type, const void* bytes, std::size_t size, SSL* tls, void*) noexcept {
  constexpr std::uintptr_t kMost = 128;  // a handshake has ten of each, and a few tickets follow
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  const bool record = type == SSL3_RT_HEADER || type == SSL3_RT_INNER_CONTENT_TYPE;
  const int of = record && size > 0 ? *static_cast<const unsigned char*>(bytes) : type;
  if (written != 0 || of == SSL3_RT_APPLICATION_DATA) return;
  const bool message = type == SSL3_RT_HANDSHAKE && size > 0;
  const int kind = message ? *static_cast<const unsigned char*>(bytes) : -1;
  const auto received =
      reinterpret_cast<std::uintptr_t>(SSL_get_ex_data(tls, index)) + (kind == SSL3_MT_KEY_UPDATE ? 50 : 1);
  SSL_set_ex_data(tls, index, reinterpret_cast<void*>(received));
  if (received > kMost) SSL_set_shutdown(tls, SSL_RECEIVED_SHUTDOWN);
  if (kind == SSL3_MT_CERTIFICATE && size > 4) {
    // The bytes are OpenSSL's own buffer of this connection, which it reads next, and are no constant.
    // A server has many clients, whose certificates it reads outside of turns.
    look_at_certificates(static_cast<unsigned char*>(const_cast<void*>(bytes)), size,
                         SSL_version(tls) == TLS1_3_VERSION, SSL_is_server(tls) ? 4 : 16);
  }
}

}  // namespace

bool has_curve_of_its_own(ByteSpan certificates) noexcept {
  // 1.2.840.10045.1, fieldType of X9.62, of which a curve without a name must say the prime or the
  // polynomial.
  constexpr std::uint8_t kFieldType[] = {0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x01};
  return std::search(certificates.begin(), certificates.end(), std::begin(kFieldType), std::end(kFieldType),
                     kSame) != certificates.end();
}

bool has_compressed_key(ByteSpan message) noexcept {
  constexpr std::uint8_t kKind[] = {0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01};
  constexpr std::uint8_t kSm2[] = {0x2A, 0x81, 0x1C, 0xCF,
                                   0x55, 0x01, 0x82, 0x2D};  // for OpenSSL the same kind
  const auto found = [](auto from, auto end, const auto& name) {
    return std::search(from, end, std::begin(name), std::end(name), kSame);
  };
  if (found(message.begin(), message.end(), kSm2) != message.end()) return true;
  const auto byte = [&](std::size_t at) {
    return at < message.size() ? std::to_integer<std::size_t>(message[at]) : 0;
  };
  for (auto from = message.begin();;) {
    from = found(from, message.end(), kKind);
    if (from == message.end()) return false;
    const auto kind = static_cast<std::size_t>(from - message.begin());
    from += sizeof kKind;
    const auto curve = kind + sizeof kKind, bits = curve + 2 + byte(curve + 1);
    const auto point = bits + 2 + (byte(bits + 1) == 0x81 ? 1 : 0);
    const bool named = byte(kind - 2) == 0x06 && byte(kind - 1) == sizeof kKind && byte(curve) == 0x06 &&
                       byte(curve + 1) < 0x80 && byte(bits + 1) <= 0x81;
    if (!named || byte(bits) != 0x03 || byte(point) != 0 || byte(point + 1) != 4) return true;
  }
}

void bound_tls_messages(SSL_CTX* context) noexcept {
  SSL_CTX_set_msg_callback(context, &look);
  SSL_CTX_set_max_cert_list(context, 16 * 1024);
#ifdef SSL_OP_NO_RX_CERTIFICATE_COMPRESSION
  SSL_CTX_set_options(context, SSL_OP_NO_RX_CERTIFICATE_COMPRESSION);  // in which nothing could be seen
#endif
}

}  // namespace pirx::http
