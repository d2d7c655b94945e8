// SPDX-License-Identifier: Apache-2.0
// The address of a server, and how it is to be trusted.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pirx/base/result.h"

namespace pirx::http {

/// A bearer token. It is wiped when it is destroyed or overwritten.
class BearerToken {
 public:
  BearerToken() = default;
  BearerToken(std::string_view text) : text_(text) {}
  BearerToken(const char* text) : text_(text) {}
  BearerToken(const std::string& text) : text_(text) {}
  BearerToken(const BearerToken&) = default;  // and no move, which would leave short texts where they were
  BearerToken& operator=(const BearerToken& other);
  ~BearerToken();
  bool empty() const noexcept { return text_.empty(); }
  const std::string& expose() const noexcept { return text_; }

 private:
  std::string text_;
};

/// Whether this may follow "Bearer ": up to 4096 printable characters without spaces, which end no header.
bool is_token(std::string_view text) noexcept;

/// A server and what its client needs to reach it.
struct Endpoint {
  /// "https://host:port" is a server's only or first database, "https://host:port/v1/db/NAME" the one with
  /// that name. "http://..." needs a loopback address or allow_plaintext.
  std::string url;
  std::string ca_file = {};  ///< PEM file of trust anchors for https; empty: the system's
  bool allow_plaintext = false;
  BearerToken token = {};  ///< the bearer token for a server that wants one; never part of an Error
  /// PEM files with the client's certificate and key, for https servers that want one; both or neither.
  std::string certificate_file = {}, key_file = {};
  bool allow_tls_1_2 = false;  ///< accepts TLS 1.2, for a server without TLS 1.3
};

/// Whether `host` is this machine: localhost, 127.0.0.0/8 or ::1, with or without brackets.
bool is_loopback(std::string host);
/// The same for the host of a URL. False if the text is no URL.
bool is_loopback_url(const std::string& url);

struct Address {
  std::string origin;  ///< "https://host:port" in one spelling
  std::string root;    ///< of the database's paths: "/v1" or "/v1/db/NAME"
};
/// Reads endpoint.url. InvalidArgument: it is more than scheme, host, port and perhaps a database, or less;
/// or it is "http://..." of another machine without allow_plaintext.
Result<Address> parse_address(const Endpoint& endpoint);
/// The addresses of all servers of a deployment. InvalidArgument, too: two of them are databases of one
/// server, which would get the shares of two.
Result<std::vector<Address>> parse_addresses(std::span<const Endpoint> servers);

}  // namespace pirx::http
