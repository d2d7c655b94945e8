// JSON in and out of the file of rates.
#include "rates_file.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "pirx/base/cpu.h"
#include "pirx/base/small_file.h"
#include "pirx/planner/planner.h"

namespace pirx::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 20;

tl::unexpected<Error> damaged(const std::string& what, const std::string& why) {
  return fail(ErrorCode::kDataLoss, what + " " + why + ": remove it to measure again");
}

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
  return model + ", " + std::to_string(std::thread::hardware_concurrency()) + " cores, " +
         (features ? cpu_features_name(*features) : "unknown instructions");
}

Result<RatesFile> parse_rates(std::string_view text, const std::string& what) {
  const auto json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return damaged(what, "is no JSON object");
  if (json.value("pirx_rates", Json()) != Json(kVersion)) {
    return damaged(what, "is no file of rates of version " + std::to_string(kVersion));
  }
  const auto machine = json.find("machine"), rates = json.find("rates");
  if (machine == json.end() || !machine->is_string() || rates == json.end() || !rates->is_object()) {
    return damaged(what, "lacks a machine or rates");
  }
  RatesFile out{machine->get<std::string>(), {}};
  for (const auto& [name, value] : rates->items()) {
    const auto id = planner::parse_rate(name);
    if (!id) return damaged(what, "is damaged (" + id.error().message() + ")");
    if (!value.is_number() || !out.rates.set(*id, value.get<double>())) {
      return damaged(what, "has no time for " + id->name());
    }
  }
  return out;
}

Result<RatesFile> load_rates(const std::filesystem::path& path) {
  PIRX_ASSIGN(const auto text, read_file(path, kMostBytes, "file of rates"));
  return parse_rates(text, path.string());
}

std::string format_rates(const RatesFile& file) {
  Json json = {{"pirx_rates", kVersion}, {"machine", file.machine}, {"rates", Json::object()}};
  for (const auto& [id, seconds] : file.rates.all()) json["rates"][id.name()] = seconds;
  return json.dump(1) + "\n";
}

}  // namespace pirx::cli
