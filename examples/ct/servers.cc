// The part of a deployment file that an audit needs; tools/pirx reads all of it, and is no library.
#include "servers.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pirx/itpir/common.h"

namespace pirx::ct {
namespace {

using Json = nlohmann::json;

auto broken(const std::string& what) {
  return fail(ErrorCode::kDataLoss, "deployment file: " + what + " (see docs/deployment_file.md)");
}

Result<const Json*> member(const Json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (found == object.end()) return broken(std::string("'") + name + "' is missing");
  return &*found;
}

Result<std::uint64_t> get_number(const Json& object, const char* name) {
  PIRX_ASSIGN(const Json* value, member(object, name));
  if (!value->is_number_unsigned()) return broken(std::string("'") + name + "' is no whole number");
  return value->get<std::uint64_t>();
}

Result<std::string> get_string(const Json& object, const char* name) {
  PIRX_ASSIGN(const Json* value, member(object, name));
  if (!value->is_string()) return broken(std::string("'") + name + "' is no string");
  return value->get<std::string>();
}

}  // namespace

Result<Servers> parse_servers(std::string_view deployment, const std::filesystem::path& folder) {
  const auto json = Json::parse(deployment, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) return broken("it is not a JSON object");
  PIRX_ASSIGN(const auto format, get_number(json, "pirx_deployment"));
  if (format != 1) return broken("it is of another version");
  PIRX_ASSIGN(const auto protocol, get_string(json, "protocol"));
  if (protocol != "goldberg" || json.contains("encoding") || json.contains("code") || json.contains("ramp")) {
    return broken(
        "an audit asks plain databases by Goldberg's protocol, without 'encoding', 'code' or 'ramp'");
  }
  Servers servers;
  PIRX_ASSIGN(const auto field, get_string(json, "field"));
  PIRX_ASSIGN(servers.field, itpir::field_by_name(field));
  PIRX_ASSIGN(const auto threshold, get_number(json, "threshold"));
  if (threshold > itpir::Params::kMaxServers) return broken("'threshold' is too large");
  servers.threshold = static_cast<unsigned>(threshold);
  PIRX_ASSIGN(const Json* database, member(json, "database"));
  PIRX_ASSIGN(const auto identity_text, get_string(*database, "identity"));
  const auto identity = from_hex(identity_text);
  database::Version version;
  if (!identity || identity->size() != version.identity.size())
    return broken("'identity' is not 64 hexadecimal digits");
  std::copy(identity->begin(), identity->end(), version.identity.begin());
  PIRX_ASSIGN(version.epoch, get_number(*database, "epoch"));
  servers.version = version;
  PIRX_ASSIGN(const Json* list, member(json, "servers"));
  if (!list->is_array()) return broken("'servers' is not a list");
  for (const auto& each : *list) {
    net::Endpoint endpoint;
    PIRX_ASSIGN(endpoint.url, get_string(each, "url"));
    PIRX_ASSIGN(const auto coordinate, get_number(each, "coordinate"));
    if (each.contains("ca_file")) {
      PIRX_ASSIGN(const auto ca_file, get_string(each, "ca_file"));
      if (!ca_file.empty()) endpoint.ca_file = (folder / ca_file).string();
    }
    if (each.contains("allow_plaintext")) {
      if (!each["allow_plaintext"].is_boolean()) return broken("'allow_plaintext' is neither true nor false");
      endpoint.allow_plaintext = each["allow_plaintext"].get<bool>();
    }
    servers.endpoints.push_back(std::move(endpoint));
    servers.coordinates.push_back(coordinate);
  }
  return servers;
}

}  // namespace pirx::ct
