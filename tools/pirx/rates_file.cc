// SPDX-License-Identifier: Apache-2.0
// JSON in and out of the file of rates.
#include "rates_file.h"

#include <fstream>

#include "pirx/base/cpu.h"
#include "pirx/base/json.h"
#include "pirx/base/small_file.h"
#include "pirx/planner/planner.h"

namespace pirx::cli {
namespace {

constexpr unsigned kVersion = 1;

}  // namespace

std::string this_machine() {
  std::string model = "unknown CPU", line;
  std::ifstream in("/proc/cpuinfo");
  while (std::getline(in, line)) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) model = line.substr(colon + 2);
    break;
  }
  const auto features = allowed_cpu_features();
  return model + ", " + std::to_string(machine_cores()) + " cores, " +
         (features ? cpu_features_name(*features) : "unknown instructions");
}

Result<RatesFile> parse_rates(std::string_view text, const std::string& what) {
  PIRX_ASSIGN(
      const auto json,
      Json::parse(text, {.name = what,
                         .advice = "; without --rates, or with a new name, the machine is measured again"}));
  if (json["pirx_rates"].number() != kVersion) {
    return json.error("it is no file of rates of version " + std::to_string(kVersion));
  }
  RatesFile out;
  PIRX_ASSIGN(out.machine, json["machine"].string());
  PIRX_ASSIGN(const auto rates, json["rates"].members());
  for (const auto& [name, value] : rates) {
    const auto id = planner::parse_rate(name);
    if (!id) return value.error("is not a rate (" + id.error().message() + ")");
    PIRX_ASSIGN(const auto seconds, value.real());
    if (!out.rates.set(*id, seconds)) return value.error("is not a time");
  }
  return out;
}

Result<RatesFile> load_rates(const std::filesystem::path& path) {
  PIRX_ASSIGN(const auto text, read_file(path, Json::Source().max_bytes, "file of rates"));
  return parse_rates(text, path.string());
}

std::string format_rates(const RatesFile& file) {
  OutJson json = {{"pirx_rates", kVersion}, {"machine", file.machine}, {"rates", OutJson::object()}};
  for (const auto& [id, seconds] : file.rates.all()) json["rates"][id.name()] = seconds;
  return json.dump(1) + "\n";
}

}  // namespace pirx::cli
