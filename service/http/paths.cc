// SPDX-License-Identifier: Apache-2.0
// Parses the paths of the service.
#include "paths.h"

#include <algorithm>

namespace pirx::http {
namespace {

bool take(std::string_view& text, std::string_view start) noexcept {
  if (text.substr(0, start.size()) != start) return false;
  text.remove_prefix(start.size());
  return true;
}

}  // namespace

bool is_database_name(std::string_view name) noexcept {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && name.size() <= 64 && plain(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return plain(c) || c == '-' || c == '_' || c == '.'; });
}

Target parse_target(std::string_view path) noexcept {
  if (path == "/" || path == "/status") return {Page::kStatus};
  if (path == "/healthz") return {Page::kHealth};
  if (path == "/readyz") return {Page::kReady};
  if (path == "/metrics") return {Page::kMetrics};
  Target target;
  if (take(path, kDatabasePath)) {
    target.database = path.substr(0, path.find('/'));
    if (!is_database_name(target.database)) return {};
    path.remove_prefix(target.database.size());
  } else if (!take(path, kRootPath)) {
    return {};
  }
  if (path == kQueryPath) target.page = Page::kQuery;
  if (path == kParametersPath) target.page = Page::kParameters;
  if (path == kManifestPath) target.page = Page::kManifest;
  return target;
}

}  // namespace pirx::http
