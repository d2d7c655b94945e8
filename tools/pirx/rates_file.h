// SPDX-License-Identifier: Apache-2.0
// The rates of a machine in a file, so that a plan can be made without measuring them again, or for another
// machine.
#pragma once

#include <filesystem>
#include <string>

#include "pirx/protocol/rates.h"

namespace pirx::cli {

/// Describes the machine on which rates are measured: "Intel(R) Xeon(R) Processor, 2 cores, avx2+avx512...".
std::string this_machine();

struct RatesFile {
  std::string machine;
  RateTable rates;
};

/// Reads a file of rates. Unavailable: it cannot be read. DataLoss: it is not JSON, has another version,
/// names an unknown rate, or gives a rate that is not a time.
Result<RatesFile> load_rates(const std::filesystem::path& path);
Result<RatesFile> parse_rates(std::string_view text, const std::string& what);
std::string format_rates(const RatesFile& file);

}  // namespace pirx::cli
