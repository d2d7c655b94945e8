// SPDX-License-Identifier: Apache-2.0
// Opens files of the repository, such as the known answers of tests/vectors.
#pragma once

#include <cstdlib>
#include <fstream>
#include <string>

namespace pirx::testing {

/// The file at this path from the repository's root. ctest says in PIRX_SOURCE_DIR where that is; a test that
/// is run by hand looks in the current folder. (A path in the program would make every clone compile its
/// tests anew.)
inline std::ifstream source_file(const std::string& path) {
  const char* root = std::getenv("PIRX_SOURCE_DIR");
  return std::ifstream(root == nullptr ? path : std::string(root) + "/" + path);
}

}  // namespace pirx::testing
