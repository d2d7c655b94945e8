// SPDX-License-Identifier: Apache-2.0
// How a database file is built from what people have, for `pirx db build` and `pirx try`.
#pragma once

#include <string>
#include <vector>

#include "cli.h"
#include "pirx/database/builder.h"

namespace pirx::cli {

struct BuildArguments {
  std::string target, format, input, key, separator;  ///< separator: a character or "tab"
  std::vector<std::string> values;
  bool no_header = false, no_digests = false, keyed = false, random_seed = false, hidden = false,
       json = false, no_key_list = false, skip_bad_rows = false, quiet = false;
  std::string duplicates;
  std::uint64_t record_bytes = 0, records_per_row = 0, epoch = 0;
  std::uint64_t max_record_bytes = 0;                               ///< 0: not given
  std::function<Result<void>(std::string_view key)> each_key = {};  ///< as in BuildOptions
  std::function<Result<void>()> before_commit = {};                 ///< likewise
};

/// The word for --from that the name of the input suggests: "csv" for users.csv and users.csv.gz, "folder"
/// for a folder. InvalidArgument: it suggests none.
Result<std::string> format_of(const std::string& input);

/// The character between the columns of a format "csv" or "tsv". InvalidArgument: --separator does not fit.
Result<char> separator_of(const BuildArguments& arguments);

/// Adds --from and what goes with tables: --key, --value, --separator, --no-header and --skip-bad-rows.
void add_table_options(CLI::App& command, BuildArguments& arguments, const std::string& key_help);

/// Builds the file; `who` names the command in the line about progress. `format` must be set.
/// The rows that --skip-bad-rows left out are counted on standard error, with the first reasons, and in
/// `skipped`. InvalidArgument names flags that do not go together. Else errors of the importers and the
/// builder.
Result<database::BuildReport> build_database(const BuildArguments& arguments, const std::string& who,
                                             std::uint64_t* skipped = nullptr);

}  // namespace pirx::cli
