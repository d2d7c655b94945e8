// SPDX-License-Identifier: Apache-2.0
// Reads the list of digests, and looks a token up in a time that does not tell how close a guess was.
#include "pirx/http/tokens.h"

#include <openssl/crypto.h>

#include <algorithm>

#include "paths.h"
#include "pirx/base/sha256.h"
#include "pirx/base/small_file.h"
#include "src/base/constant_time.h"

namespace pirx::http {
namespace {

struct Token {
  std::string name;
  Digest digest;
};

auto broken(std::size_t line, const char* what) {
  return fail(ErrorCode::kDataLoss, "token file, line " + std::to_string(line) + ": " + what);
}

}  // namespace

Result<Authenticate> parse_tokens(std::string_view text) {
  auto tokens = std::make_shared<std::vector<Token>>();
  for (std::size_t number = 1; !text.empty(); ++number) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    const auto blank = line.find(' ');
    Token token{std::string(line.substr(0, blank)), {}};
    const auto digest =
        digest_from_hex(blank == std::string_view::npos ? std::string_view() : line.substr(blank + 1));
    if (!is_database_name(token.name) || !digest) {
      return broken(number,
                    "not 'NAME SHA256', a name of up to 64 letters, digits, '-', '_' and '.', and 64 "
                    "hexadecimal digits");
    }
    token.digest = *digest;
    // What a shell makes of a variable that is not set. Who sends no token would have it.
    for (const std::string_view nothing : {"", "\n"}) {
      if (token.digest == sha256(as_bytes(nothing))) {
        return broken(number, "this is the digest of an empty token: was there a variable that is not set?");
      }
    }
    for (const auto& other : *tokens) {
      if (other.name == token.name) return broken(number, "this name is there already");
      if (other.digest == token.digest)
        return broken(number, "this token is there already, under another name");
    }
    tokens->push_back(std::move(token));
  }
  if (tokens->empty()) {
    return fail(ErrorCode::kDataLoss,
                "the token file has no token: write lines 'NAME SHA256', or leave it away");
  }
  return [tokens = std::move(tokens)](std::string_view token) -> std::optional<std::string> {
    const auto digest = sha256(as_bytes(token));
    std::size_t found = tokens->size();
    for (std::size_t i = 0; i < tokens->size(); ++i) {
      const auto same = static_cast<std::size_t>(
          CRYPTO_memcmp((*tokens)[i].digest.data(), digest.data(), digest.size()) == 0);
      found ^= (found ^ i) & (0 - same);
    }
    const auto who = static_cast<std::size_t>(reveal_number(found));
    if (who == tokens->size()) return std::nullopt;
    return (*tokens)[who].name;
  };
}

Result<Authenticate> load_tokens(const std::filesystem::path& path) {
  constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;
  PIRX_ASSIGN(const auto text, read_file(path, kMaxFileBytes, "token file"));
  auto tokens = parse_tokens(text);
  if (!tokens) return fail(tokens.error().code(), path.string() + ": " + tokens.error().message());
  return tokens;
}

}  // namespace pirx::http
