// The rates of a machine in a file, so that a plan need not measure them again, or can be made for another
// machine.
#pragma once

#include <filesystem>
#include <string>

#include "pirx/planner/rates.h"

namespace pirx::cli {

/// "Intel(R) Xeon(R) Processor, 2 cores, avx2+avx512...": what rates were measured on.
std::string this_machine();

struct RatesFile {
  std::string machine;
  planner::RateTable rates;
};

/// Unavailable: no such file. DataLoss: not JSON, another version, a name of no rate, a rate that is no time.
Result<RatesFile> load_rates(const std::filesystem::path& path);
Result<RatesFile> parse_rates(std::string_view text, const std::string& what);
std::string format_rates(const RatesFile& file);

}  // namespace pirx::cli
