// SPDX-License-Identifier: Apache-2.0
// Opens a database and checks all of it.
#pragma once

#include "pirx/database/database.h"

namespace pirx::testing {

/// Errors of Database::open and Database::verify.
inline Result<std::shared_ptr<const database::Database>> open_verified(const std::filesystem::path& path) {
  PIRX_ASSIGN(auto database, database::Database::open(path));
  PIRX_TRY(database->verify());
  return database;
}

}  // namespace pirx::testing
