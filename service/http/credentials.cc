// SPDX-License-Identifier: Apache-2.0
// Whose token is whose.
#include "pirx/http/credentials.h"

#include <algorithm>
#include <map>

#include "pirx/base/secret_memory.h"
#include "pirx/base/small_file.h"

namespace pirx::http {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;

/// Whether a server's URL is this one, perhaps with a database behind it.
bool is_at(const std::string& endpoint, std::string_view url) {
  return endpoint.compare(0, url.size(), url) == 0 &&
         (endpoint.size() == url.size() || endpoint[url.size()] == '/');
}

std::string_view origin_of(std::string_view url) { return url.substr(0, url.find('/', url.find("://") + 3)); }

}  // namespace

Result<void> give_tokens(std::string_view text, std::span<Endpoint> endpoints) {
  bool alone = false;
  std::size_t lines = 0;
  std::map<std::string_view, std::string_view> url_of;    // by token
  std::map<std::string_view, std::string_view> token_of;  // by URL
  for (std::size_t number = 1; !text.empty(); ++number) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    ++lines;
    const auto where = "token file, line " + std::to_string(number);
    const auto blank = line.find(' ');
    alone = alone || blank == std::string_view::npos;
    if (blank == std::string_view::npos && !is_token(line)) {
      return invalid(where + ": a token is up to 4096 printable characters without spaces");
    }
    if (blank == std::string_view::npos) {
      const bool one = std::all_of(endpoints.begin(), endpoints.end(), [&](const Endpoint& endpoint) {
        return origin_of(endpoint.url) == origin_of(endpoints[0].url);
      });
      if (!one) {
        return invalid(
            where +
            ": several servers with one token could each ask the others in your name; write lines 'URL "
            "TOKEN', a token for each");
      }
      for (auto& endpoint : endpoints) endpoint.token = line;
    } else {
      auto url = line.substr(0, blank);
      const auto token = line.substr(blank + 1);
      const auto host = url.find("://");
      if (host == std::string_view::npos || host + 3 >= url.size() || url[host + 3] == '/' || token.empty() ||
          token.find(' ') != std::string_view::npos) {
        return invalid(where + ": not 'URL TOKEN'");
      }
      while (url.ends_with('/')) url.remove_suffix(1);
      if (!is_token(token)) {
        return invalid(where + ": a token is up to 4096 printable characters without spaces");
      }
      if (const auto other = url_of.emplace(token, url).first->second; other != url) {
        return invalid(where + ": the token of another server, which could then ask this one in your name");
      }
      if (token_of.emplace(url, token).first->second != token) {
        return invalid(where + ": another token for the same URL");
      }
      for (auto& endpoint : endpoints) {
        if (is_at(endpoint.url, url)) endpoint.token = token;
      }
    }
  }
  if (lines == 0 || (alone && lines > 1)) return invalid("token file: write one token, or lines 'URL TOKEN'");
  return {};
}

Result<void> give_credentials(const Credentials& credentials, std::span<Endpoint> endpoints) {
  for (auto& endpoint : endpoints) {
    endpoint.certificate_file = credentials.certificate_file;
    endpoint.key_file = credentials.key_file;
  }
  if (credentials.token_file.empty()) return {};
  PIRX_ASSIGN(auto text, read_file(credentials.token_file, kMaxFileBytes, "token file"));
  const auto given = give_tokens(text, endpoints);
  secure_wipe(text.data(), text.size());
  if (!given) return fail(given.error().code(), credentials.token_file + ": " + given.error().message());
  return {};
}

}  // namespace pirx::http
