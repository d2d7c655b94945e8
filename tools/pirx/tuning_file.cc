// Tuning files: JSON in, a validated table out.
#include "tuning_file.h"

#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "pirx/base/small_file.h"
#include "pirx/client/deployment.h"

namespace pirx::cli {
namespace {

using Json = nlohmann::ordered_json;
using strassen::Threshold;
using strassen::Way;

constexpr int kVersion = 1;
constexpr std::size_t kMaxFileBytes = std::size_t{256} << 10;

std::string printable(std::string text) {
  for (char& c : text) {
    if (c < 0x20 || c > 0x7E) c = '?';
  }
  return text.substr(0, 60);
}

auto broken(const std::string& what) {
  return fail(ErrorCode::kDataLoss, "tuning file: " + what + " ('pirx bench --tune --out FILE' writes one)");
}

/// A row of the table: {"field": "gf2_8", "kernel": "gfni512", "way": "fused", "queries": 64}.
Result<Threshold> parse_threshold(const Json& row, const std::string& where) {
  if (!row.is_object()) return broken(where + " is not an object");
  for (const auto& item : row.items()) {
    if (item.key() != "field" && item.key() != "kernel" && item.key() != "way" && item.key() != "queries") {
      return broken(where + "." + printable(item.key()) + " is not known");
    }
  }
  const auto text = [&](const char* name) -> Result<std::string> {
    const auto found = row.find(name);
    if (found == row.end() || !found->is_string()) {
      return broken(where + "." + name + " is missing or is not a string");
    }
    return found->get<std::string>();
  };
  PIRX_ASSIGN(const std::string field, text("field"));
  PIRX_ASSIGN(const std::string kernel, text("kernel"));
  PIRX_ASSIGN(const std::string way, text("way"));
  PIRX_ASSIGN(const FieldTag tag, client::parse_field(field));
  const auto queries = row.find("queries");
  if (queries == row.end() || !queries->is_number_unsigned()) {
    return broken(where + ".queries is missing or is not a whole number");
  }
  for (const Way known : strassen::kWays) {
    if (way == way_name(known)) return Threshold{tag, printable(kernel), known, queries->get<std::size_t>()};
  }
  return broken(where + ".way is '" + printable(way) + "', which this pirx does not know");
}

}  // namespace

Result<strassen::Tuning> parse_tuning(std::string_view text) {
  const auto json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) return broken("it is not a JSON object");
  for (const auto& item : json.items()) {
    if (item.key() != "pirx_tuning" && item.key() != "cpu" && item.key() != "thresholds") {
      return broken(printable(item.key()) + " is not known");
    }
  }
  const auto version = json.find("pirx_tuning");
  if (version == json.end() || !version->is_number_unsigned() || version->get<std::uint64_t>() != kVersion) {
    return broken("'pirx_tuning' is not " + std::to_string(kVersion) + ", the version that this pirx reads");
  }
  const auto rows = json.find("thresholds");
  if (rows == json.end() || !rows->is_array()) return broken("'thresholds' is missing or is not a list");
  std::vector<Threshold> thresholds;
  for (const Json& row : *rows) {
    PIRX_ASSIGN(auto threshold,
                parse_threshold(row, "thresholds[" + std::to_string(thresholds.size()) + "]"));
    thresholds.push_back(std::move(threshold));
  }
  return strassen::Tuning::create(std::move(thresholds));
}

Result<strassen::Tuning> load_tuning(const std::filesystem::path& path) {
  PIRX_ASSIGN(const auto text,
              read_file(path, kMaxFileBytes, "tuning file ('pirx bench --tune --out' writes one)"));
  return parse_tuning(text);
}

std::string format_tuning(const strassen::Tuning& tuning, const std::string& cpu) {
  Json json;
  json["pirx_tuning"] = kVersion;
  json["cpu"] = cpu;
  json["thresholds"] = Json::array();
  for (const Threshold& t : tuning.thresholds()) {
    json["thresholds"].push_back({{"field", t.field.name()},
                                  {"kernel", t.kernel},
                                  {"way", std::string(way_name(t.way))},
                                  {"queries", t.queries}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::filesystem::path default_tuning_path() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config != nullptr && *config != '\0') return std::filesystem::path(config) / "pirx" / "tuning.json";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return std::filesystem::path(home) / ".config" / "pirx" / "tuning.json";
}

Result<std::filesystem::path> use_tuning(const std::filesystem::path& path) {
  std::filesystem::path file = path;
  if (file.empty()) {
    file = default_tuning_path();
    std::error_code ignored;
    if (file.empty() || !std::filesystem::exists(file, ignored)) return std::filesystem::path();
  }
  PIRX_ASSIGN(auto tuning, load_tuning(file));
  strassen::set_process_tuning(std::move(tuning));
  return file;
}

}  // namespace pirx::cli
