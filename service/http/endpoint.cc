// SPDX-License-Identifier: Apache-2.0
// Reads the address of a server. Only addresses that cannot be read in two ways are taken.
#include "pirx/http/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "paths.h"
#include "pirx/base/printable.h"
#include "pirx/base/secret_memory.h"

namespace pirx::http {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

std::string lower(std::string_view text) {
  std::string copy(text);
  for (auto& c : copy) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return copy;
}

/// The parts of "scheme://host:port/path". Without a port that is empty.
struct Parts {
  std::string scheme, host, port;
  std::string_view path;
};

/// A host in one spelling: IPv6 in brackets, IPv4 with dots. Nothing if it is no host.
std::optional<std::string> read_host(const std::string& text) {
  char spelled[INET6_ADDRSTRLEN] = {};
  if (!text.empty() && text.front() == '[') {
    in6_addr v6{};
    if (text.back() != ']') return std::nullopt;
    if (inet_pton(AF_INET6, text.substr(1, text.size() - 2).c_str(), &v6) != 1) return std::nullopt;
    if (inet_ntop(AF_INET6, &v6, spelled, sizeof spelled) == nullptr) return std::nullopt;
    return "[" + std::string(spelled) + "]";
  }
  // Names in other alphabets lead to different places by different rules (IDNA 2003 and 2008).
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return is_digit(c) || is_letter(c) || c == '-' || c == '_' || c == '.';
  });
  if (text.empty() || !plain) return std::nullopt;
  // Other spellings of IPv4, such as 127.1, are those that the resolver knows.
  in_addr v4{};
  if (!is_digit(text.front()) || inet_aton(text.c_str(), &v4) == 0) return text;
  if (inet_ntop(AF_INET, &v4, spelled, sizeof spelled) == nullptr) return std::nullopt;
  return spelled;
}

/// Nothing if the text is no such URL.
std::optional<Parts> read_url(std::string_view text) {
  const auto colon = text.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  Parts parts{.scheme = lower(text.substr(0, colon)), .host = {}, .port = {}, .path = {}};
  text.remove_prefix(colon + 3);
  const auto slash = std::min(text.find('/'), text.size());
  parts.path = text.substr(slash);
  const auto place = text.substr(0, slash);
  const auto bracket = place.rfind(']');
  const auto port = place.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (port != std::string_view::npos) {
    const auto digits = place.substr(port + 1);
    if (digits.size() > 5 || !std::all_of(digits.begin(), digits.end(), is_digit)) return std::nullopt;
    if (!digits.empty()) {
      const auto number = std::stoul(std::string(digits));
      if (number == 0 || number > 65535) return std::nullopt;
      parts.port = std::to_string(number);
    }
  }
  auto host = read_host(lower(place.substr(0, port)));
  if (!host) return std::nullopt;
  parts.host = std::move(*host);
  return parts;
}

}  // namespace

bool is_token(std::string_view text) noexcept {
  constexpr std::size_t kLongest = 4096;
  return text.size() <= kLongest &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

BearerToken& BearerToken::operator=(const BearerToken& other) {
  if (this == &other) return *this;
  secure_wipe(text_.data(), text_.size());
  text_ = other.text_;
  return *this;
}

BearerToken::~BearerToken() { secure_wipe(text_.data(), text_.size()); }

bool is_loopback(std::string host) {
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  if (host == "localhost") return true;  // libcurl resolves it to loopback itself
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool is_loopback_url(const std::string& text) {
  const auto url = read_url(text);
  return url && is_loopback(url->host);
}

Result<Address> parse_address(const Endpoint& endpoint) {
  const auto refuse = [&](const std::string& message) {
    return invalid("server address '" + printable_ascii(endpoint.url, 256) + "': " + message);
  };
  if (endpoint.url.find_first_of("@?#") != std::string::npos) {
    return refuse("give only scheme, host and port");
  }
  const auto url = read_url(endpoint.url);
  if (!url && std::any_of(endpoint.url.begin(), endpoint.url.end(), [](char c) { return (c & 0x80) != 0; })) {
    return refuse("write a name in another alphabet in its xn-- form");
  }
  if (!url) {
    const auto as_http = read_url("http://" + endpoint.url);
    return refuse(as_http && is_loopback(as_http->host)
                      ? "not a URL, write http://" + printable_ascii(endpoint.url, 256)
                      : "not a URL, write https://host:port");
  }
  if (url->scheme != "https" && url->scheme != "http") return refuse("only https:// and http:// are known");
  std::string root(url->path);
  if (root.empty() || root == "/") {
    root = kRootPath;
  } else if (root.rfind(kDatabasePath, 0) != 0 || !is_database_name(root.substr(sizeof kDatabasePath - 1))) {
    return refuse("give no path but that of a database, as in https://host:port/v1/db/NAME");
  }
  if (url->scheme == "http" && !endpoint.allow_plaintext && !is_loopback(url->host)) {
    return refuse(
        "refusing plaintext http to another machine, anyone on the way could read and change replies: use "
        "https, or allow plaintext explicitly");
  }
  const std::string usual = url->scheme == "https" ? "443" : "80";
  return Address{url->scheme + "://" + url->host + ":" + (url->port.empty() ? usual : url->port),
                 std::move(root)};
}

Result<std::vector<Address>> parse_addresses(std::span<const Endpoint> servers) {
  std::vector<Address> addresses;
  for (const auto& server : servers) {
    PIRX_ASSIGN(auto address, parse_address(server));
    for (const auto& other : addresses) {
      if (other.origin == address.origin) {
        return invalid(address.origin + " is listed twice: one server would get two servers' shares");
      }
    }
    addresses.push_back(std::move(address));
  }
  return addresses;
}

}  // namespace pirx::http
