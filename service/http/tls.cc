// SPDX-License-Identifier: Apache-2.0
// Makes the TLS context with OpenSSL through Asio.
#include "tls.h"

#include <openssl/err.h>
#include <openssl/x509.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "tls_messages.h"

namespace pirx::http {

namespace ssl = boost::asio::ssl;

namespace {

int turn_index() noexcept {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

/// Of an extension of the hello.
std::size_t length_of(SSL* connection, int type) noexcept {
  const unsigned char* bytes = nullptr;
  std::size_t size = 0;
  return SSL_client_hello_get0_ext(connection, static_cast<unsigned>(type), &bytes, &size) == 1 ? size : 0;
}

/// A browser's hello has 2 KiB, most of it a key share, and its lists have up to 50 bytes. OpenSSL keeps the
/// lists until the connection ends, in up to fifty times the memory; it looks each key share up among all
/// groups, and goes through the second list of signatures for each entry of the first.
bool is_short(SSL* connection) noexcept {
  constexpr std::size_t kMost = 8192, kMostCiphers = 1024, kMostOfAList = 128;
  static constexpr int kLists[] = {TLSEXT_TYPE_supported_groups, TLSEXT_TYPE_signature_algorithms,
                                   TLSEXT_TYPE_signature_algorithms_cert, TLSEXT_TYPE_certificate_authorities,
                                   TLSEXT_TYPE_status_request};
  const unsigned char* ciphers = nullptr;
  std::size_t all = SSL_client_hello_get0_ciphers(connection, &ciphers), count = 0;
  if (all > kMostCiphers) return false;
  int* types = nullptr;
  if (SSL_client_hello_get1_extensions_present(connection, &types, &count) != 1) return false;
  for (std::size_t i = 0; i < count; ++i) all += length_of(connection, types[i]);
  OPENSSL_free(types);
  return all <= kMost && std::all_of(std::begin(kLists), std::end(kLists),
                                     [&](int list) { return length_of(connection, list) <= kMostOfAList; });
}

int on_hello(SSL* connection, int* alert, void*) noexcept {
  if (!is_short(connection)) {
    *alert = SSL_AD_ILLEGAL_PARAMETER;
    return SSL_CLIENT_HELLO_ERROR;
  }
  if (SSL_get_ex_data(connection, turn_index()) == nullptr) return SSL_CLIENT_HELLO_RETRY;
  give_turn(connection, false);  // a second hello, after a HelloRetryRequest, takes another
  return SSL_CLIENT_HELLO_SUCCESS;
}

}  // namespace

void give_turn(SSL* connection, bool turn) noexcept {
  SSL_set_ex_data(connection, turn_index(), turn ? connection : nullptr);
}
bool waits_for_turn(SSL* connection) noexcept { return SSL_want(connection) == SSL_CLIENT_HELLO_CB; }

Result<ssl::context> make_tls_context(const HttpServerOptions& options) {
  boost::system::error_code ec;
  ssl::context context(ssl::context::tls_server);
  auto* native = context.native_handle();
  // OpenSSL's macros cast in C style; the control numbers say the same.
  const long lowest = options.tls_allow_1_2 ? TLS1_2_VERSION : TLS1_3_VERSION;
  // The client chooses one of these. The finite fields that OpenSSL has beside them would cost the server
  // many times as much a handshake, and a client that repeats an old one nothing.
  char groups[] = "X25519:P-256:P-384";
  const char* const ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";  // of TLS 1.2
  if (SSL_CTX_ctrl(native, SSL_CTRL_SET_MIN_PROTO_VERSION, lowest, nullptr) != 1 ||
      SSL_CTX_ctrl(native, SSL_CTRL_SET_GROUPS_LIST, 0, groups) != 1 ||
      SSL_CTX_set_cipher_list(native, ciphers) != 1 || SSL_CTX_set_num_tickets(native, 0) != 1) {
    return fail(ErrorCode::kInternal, "OpenSSL refuses the TLS settings");
  }
  SSL_CTX_set_client_hello_cb(native, &on_hello, nullptr);
  bound_tls_messages(native);
  SSL_CTX_ctrl(native, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, nullptr);
  SSL_CTX_ctrl(native, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, nullptr);  // of idle connections
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  // An encrypted key would otherwise ask for its password on the terminal.
  context.set_password_callback([](std::size_t, ssl::context::password_purpose) { return std::string(); },
                                ec);

  const auto unusable = [&](const char* what, const std::string& file) {
    ERR_clear_error();
    const bool readable = ::access(file.c_str(), R_OK) == 0;
    const auto why = readable ? ec.message() + " (PEM, without a password?)"
                              : "it cannot be read: " + std::generic_category().message(errno);
    return fail(ErrorCode::kUnauthenticated,
                std::string("cannot use the TLS ") + what + " in '" + file + "': " + why);
  };
  context.use_certificate_chain_file(options.tls_certificate_file, ec);
  if (ec) return unusable("certificate", options.tls_certificate_file);
  context.use_private_key_file(options.tls_key_file, ssl::context::pem, ec);
  if (ec) return unusable("key", options.tls_key_file);
  if (SSL_CTX_check_private_key(native) != 1) {
    ERR_clear_error();
    return fail(ErrorCode::kUnauthenticated, "the TLS key in '" + options.tls_key_file +
                                                 "' does not belong to the certificate in '" +
                                                 options.tls_certificate_file + "': give the pair");
  }
  if (!options.tls_client_ca_file.empty()) {
    context.load_verify_file(options.tls_client_ca_file, ec);
    if (ec) return unusable("client authorities", options.tls_client_ca_file);
    // Tells clients whose certificates are wanted.
    SSL_CTX_set_client_CA_list(native, SSL_load_client_CA_file(options.tls_client_ca_file.c_str()));
    context.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert, ec);
    if (ec) return unusable("client authorities", options.tls_client_ca_file);
  }
  return context;
}

std::string client_subject(SSL* connection) {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(connection),
                                                                &X509_free);
  if (!certificate) return {};
  // Two authorities may certify the same name; and a certificate may have no subject but other names.
  const X509_NAME* subject = X509_get_subject_name(certificate.get());
  const X509_NAME* issuer = X509_get_issuer_name(certificate.get());
  std::string name;
  const auto append = [&name](const auto& digest_of) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (digest_of(digest, &size) == 1) name.append(digest, digest + size);
  };
  if (X509_NAME_entry_count(subject) == 0) {
    append([&](auto* out, auto* size) { return X509_digest(certificate.get(), EVP_sha256(), out, size); });
    return name;
  }
  for (const auto* part : {issuer, subject}) {
    append([&](auto* out, auto* size) { return X509_NAME_digest(part, EVP_sha256(), out, size); });
  }
  return name;
}

}  // namespace pirx::http
