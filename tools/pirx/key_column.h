// SPDX-License-Identifier: Apache-2.0
// Which column of a table holds the keys, guessed from the first rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db_build.h"

namespace pirx::cli {

/// A column as the first rows of a table show it.
struct SampledColumn {
  std::string name;      ///< what --key takes: the name in the header, or the number from 1
  std::string first;     ///< its value in the first row
  bool distinct = true;  ///< no value is there twice, none is missing, empty or longer than kMaxKeyBytes
};
inline constexpr std::size_t kMaxKeyBytes = 64;

/// The columns of an input of the format "csv", "tsv" or "jsonl", from at most 100,000 rows and four million
/// values. No column of another format, or of a file without rows. Errors are those of the importers.
Result<std::vector<SampledColumn>> sample_columns(const BuildArguments& build);

struct GuessedKey {
  std::string column;
  std::string example;  ///< a key that is there
  std::string why;      ///< for people
};
/// The first distinct column with a name such as "id" or "email"; else the first distinct column.
std::optional<GuessedKey> guess_key(const std::vector<SampledColumn>& columns);

/// The value in the first row of the column that --key names; empty if there is no such column or the value
/// is longer than kMaxKeyBytes.
std::string example_of(const std::vector<SampledColumn>& columns, const std::string& key);

}  // namespace pirx::cli
