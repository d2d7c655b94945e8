// SPDX-License-Identifier: Apache-2.0
// Records with keys, and keyed databases of them.
#pragma once

#include "database_fixture.h"

namespace pirx::database {

inline std::string key_of(std::uint64_t i) { return "key-" + std::to_string(i * i + 7); }
inline std::string value_of(std::uint64_t i) { return std::string(i % 23, 'v') + std::to_string(i); }

/// Keyed, of records 0 .. n-1 in the order of `order`.
inline Result<BuildReport> build_keyed(const std::filesystem::path& path,
                                       const std::vector<std::uint64_t>& order, BuildOptions options = {}) {
  options.keyed = true;
  PIRX_ASSIGN(auto builder, DatabaseBuilder::create(path, options));
  for (const std::uint64_t i : order) PIRX_TRY(builder.add(key_of(i), as_bytes(value_of(i))));
  return builder.finish();
}

inline std::vector<std::uint64_t> upto(std::uint64_t n) {
  std::vector<std::uint64_t> order(n);
  for (std::uint64_t i = 0; i < n; ++i) order[i] = i;
  return order;
}

}  // namespace pirx::database
