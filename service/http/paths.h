// SPDX-License-Identifier: Apache-2.0
// The paths of the service (docs/wire_format.md, section 5). Server and client share this file.
#pragma once

#include <string_view>

namespace pirx::http {

inline constexpr char kQueryPath[] = "/query", kParametersPath[] = "/parameters",
                      kManifestPath[] = "/manifest";
inline constexpr char kRootPath[] = "/v1";          ///< of the first database, or the only one
inline constexpr char kDatabasePath[] = "/v1/db/";  ///< a database's name follows

/// 1 to 64 letters, digits, '-', '_' and '.', the first a letter or digit: the same in a path as anywhere
/// else.
bool is_database_name(std::string_view name) noexcept;

enum class Page { kNone, kQuery, kParameters, kManifest, kHealth, kReady, kMetrics, kStatus };

struct Target {
  Page page = Page::kNone;
  std::string_view database = {};  ///< empty: the first
};

/// What the target of a request names. Paths are exact.
Target parse_target(std::string_view path) noexcept;

}  // namespace pirx::http
