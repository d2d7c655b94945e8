// Reads and writes deployment files. What a protocol's own members are is in its row of the table.
#include "pirx/client/deployment.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "pirx/base/small_file.h"

namespace pirx::client {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr std::size_t kMaxFileBytes = std::size_t{256} << 10;

/// Deployment files are handed around: what one of them says must not steer a terminal.
std::string printable(std::string text) {
  for (char& c : text) {
    if (c < 0x20 || c > 0x7E) c = '?';
  }
  return text;
}

auto broken(const std::string& what) {
  return fail(ErrorCode::kDataLoss, "deployment file: " + printable(what) + " (see docs/deployment_file.md)");
}

Result<const Json*> member(const Json& object, const char* name, const std::string& where) {
  if (!object.is_object()) return broken("'" + where + "' is not an object");
  const auto found = object.find(name);
  if (found == object.end()) return broken("'" + where + "." + name + "' is missing");
  return &*found;
}

Result<std::uint64_t> get_number(const Json& object, const char* name, const std::string& where) {
  PIRX_ASSIGN(const Json* value, member(object, name, where));
  if (!value->is_number_unsigned()) return broken("'" + where + "." + name + "' is not a whole number");
  return value->get<std::uint64_t>();
}

Result<std::string> get_string(const Json& object, const char* name, const std::string& where) {
  PIRX_ASSIGN(const Json* value, member(object, name, where));
  if (!value->is_string()) return broken("'" + where + "." + name + "' is not a string");
  return value->get<std::string>();
}

Result<bool> get_bool(const Json& object, const char* name, const std::string& where) {
  PIRX_ASSIGN(const Json* value, member(object, name, where));
  if (!value->is_boolean()) return broken("'" + where + "." + name + "' is neither true nor false");
  return value->get<bool>();
}

/// A misspelt option must not be ignored: what is not known is refused.
Result<void> only(const Json& object, std::initializer_list<const char*> names, const std::string& where) {
  for (const auto& item : object.items()) {
    bool known = false;
    for (const char* name : names) known = known || item.key() == name;
    if (!known) return broken("'" + where + "." + item.key() + "' is not known");
  }
  return {};
}

Result<database::Version> parse_version(const Json& database) {
  PIRX_ASSIGN(const std::string identity_text, get_string(database, "identity", "database"));
  const auto identity = from_hex(identity_text);
  if (!identity || identity->size() != 32) return broken("'database.identity' is not 64 hexadecimal digits");
  database::Version version;
  std::memcpy(version.identity.data(), identity->data(), 32);
  PIRX_ASSIGN(version.epoch, get_number(database, "epoch", "database"));
  return version;
}

Result<database::FilterSpec> parse_filter(const Json& filter) {
  database::FilterSpec spec;
  PIRX_ASSIGN(spec.segment_length, get_number(filter, "segment_length", "database.key_filter"));
  PIRX_ASSIGN(spec.segments, get_number(filter, "segments", "database.key_filter"));
  PIRX_ASSIGN(spec.tweak, get_number(filter, "tweak", "database.key_filter"));
  PIRX_ASSIGN(const std::string seed_text, get_string(filter, "seed", "database.key_filter"));
  const auto seed = from_hex(seed_text);
  if (!seed || seed->size() != spec.seed.size()) {
    return broken("'database.key_filter.seed' is not 64 hexadecimal digits");
  }
  std::copy(seed->begin(), seed->end(), spec.seed.begin());
  PIRX_TRY(only(filter, {"segment_length", "segments", "tweak", "seed"}, "database.key_filter"));
  return spec;
}

Result<database::Geometry> parse_geometry(const Json& database) {
  database::Geometry::Spec spec;
  PIRX_ASSIGN(spec.records, get_number(database, "records", "database"));
  PIRX_ASSIGN(spec.record_bytes, get_number(database, "record_bytes", "database"));
  PIRX_ASSIGN(spec.records_per_row, get_number(database, "records_per_row", "database"));
  PIRX_ASSIGN(spec.variable_length, get_bool(database, "variable_length", "database"));
  PIRX_ASSIGN(spec.digests, get_bool(database, "digests", "database"));
  if (database.contains("key_filter")) {
    PIRX_ASSIGN(spec.filter, parse_filter(database["key_filter"]));
  }
  return database::Geometry::create(spec);
}

/// All but the coordinate, which only protocols with several servers have.
Result<http::Endpoint> parse_endpoint(const Json& server, const std::string& where,
                                      const std::filesystem::path& folder) {
  http::Endpoint endpoint;
  PIRX_ASSIGN(endpoint.url, get_string(server, "url", where));
  if (server.contains("ca_file")) {
    PIRX_ASSIGN(const std::string ca_file, get_string(server, "ca_file", where));
    if (!ca_file.empty()) endpoint.ca_file = (folder / ca_file).string();
  }
  if (server.contains("allow_plaintext")) {
    PIRX_ASSIGN(endpoint.allow_plaintext, get_bool(server, "allow_plaintext", where));
  }
  if (server.contains("tls_1.2")) {
    PIRX_ASSIGN(endpoint.allow_tls_1_2, get_bool(server, "tls_1.2", where));
  }
  return endpoint;
}

struct ParsedDatabase {
  database::Version version;
  database::Geometry geometry;
};

Result<ParsedDatabase> parse_database(const Json& deployment) {
  PIRX_ASSIGN(const Json* database, member(deployment, "database", "deployment"));
  PIRX_ASSIGN(const auto version, parse_version(*database));
  PIRX_ASSIGN(auto geometry, parse_geometry(*database));
  PIRX_TRY(only(*database,
                {"identity", "epoch", "records", "record_bytes", "records_per_row", "variable_length",
                 "digests", "key_filter"},
                "database"));
  return ParsedDatabase{version, std::move(geometry)};
}

/// The value of an option as a text.
Result<std::string> to_text(const Json& value, const Option& option) {
  const std::string name(option.name);
  const auto number = [](const Json& one) { return std::to_string(one.get<std::uint64_t>()); };
  if (option.kind == Option::Kind::kNumber) {
    if (!value.is_number_unsigned()) return broken("'" + name + "' is not a whole number");
    return number(value);
  }
  if (option.kind == Option::Kind::kNumbers) {
    std::string text;
    const bool is_list =
        value.is_array() && !value.empty() &&
        std::all_of(value.begin(), value.end(), [](const Json& one) { return one.is_number_unsigned(); });
    if (!is_list) return broken("'" + name + "' is not a list of whole numbers");
    for (const auto& one : value) text += (text.empty() ? "" : ",") + number(one);
    return text;
  }
  if (!value.is_string()) return broken("'" + name + "' is not a string");
  return value.get<std::string>();
}

/// Reads the protocol's own members: `prefix` is that of the object they lie in, as "encoding.".
Result<void> parse_members(const Json& object, const std::string& prefix, const Protocol& protocol,
                           Texts& texts) {
  for (const auto& item : object.items()) {
    const auto name = prefix + item.key();
    const bool ours = item.key() == "pirx_deployment" || item.key() == "protocol" ||
                      item.key() == "servers" || (item.key() == "database" && !protocol.describes_database);
    if (prefix.empty() && ours) continue;
    const bool dotted = item.key().find('.') != std::string::npos;  // names a member of a group
    if (const auto* option = find_option(protocol.members, name); option != nullptr && !dotted) {
      PIRX_ASSIGN(const auto text, to_text(item.value(), *option));
      const auto value = option->value(text);
      if (!value) return broken("'" + name + "': " + value.error().message());
      texts[name] = text;
      continue;
    }
    const auto inside = name + ".";
    const bool is_group = std::any_of(protocol.members.begin(), protocol.members.end(), [&](const auto& one) {
      return one.name.substr(0, inside.size()) == inside;
    });
    if (!is_group) return broken((prefix.empty() ? "'deployment." : "'") + name + "' is not known");
    if (!item.value().is_object() || item.value().empty()) {
      return broken("'" + name + "' is not an object with members");
    }
    PIRX_TRY(parse_members(item.value(), inside, protocol, texts));
  }
  return {};
}

/// The servers, and their coordinates where they have such.
Result<std::vector<http::Endpoint>> parse_servers(const Json& deployment, const Protocol& protocol,
                                                  const std::filesystem::path& folder,
                                                  std::vector<std::uint64_t>& coordinates) {
  PIRX_ASSIGN(const Json* servers, member(deployment, "servers", "deployment"));
  if (!servers->is_array()) return broken("'deployment.servers' is not a list");
  if (!protocol.several && servers->size() != 1) {
    return broken("protocol '" + std::string(protocol.name) + "' has exactly one server");
  }
  std::vector<http::Endpoint> endpoints;
  for (std::size_t i = 0; i < servers->size(); ++i) {
    const std::string where = "servers[" + std::to_string(i) + "]";
    const Json& server = (*servers)[i];
    PIRX_ASSIGN(auto endpoint, parse_endpoint(server, where, folder));
    if (protocol.several) {
      PIRX_ASSIGN(const std::uint64_t coordinate, get_number(server, "coordinate", where));
      coordinates.push_back(coordinate);
      PIRX_TRY(only(server, {"url", "coordinate", "ca_file", "allow_plaintext", "tls_1.2"}, where));
    } else {
      PIRX_TRY(only(server, {"url", "ca_file", "allow_plaintext", "tls_1.2"}, where));
    }
    for (const auto& other : endpoints) {
      if (other.url == endpoint.url) {
        return broken("'" + endpoint.url +
                      "' is listed twice: one server would hold two shares of every query");
      }
    }
    endpoints.push_back(std::move(endpoint));
  }
  return endpoints;
}

Json format_database(const database::Version& version, const database::Geometry& of) {
  const auto& geometry = of.spec();
  Json json = {{"identity", to_hex(version.identity)},
               {"epoch", version.epoch},
               {"records", geometry.records},
               {"record_bytes", geometry.record_bytes},
               {"records_per_row", geometry.records_per_row},
               {"variable_length", geometry.variable_length},
               {"digests", geometry.digests}};
  if (geometry.filter) {
    json["key_filter"] = {{"segment_length", geometry.filter->segment_length},
                          {"segments", geometry.filter->segments},
                          {"tweak", geometry.filter->tweak},
                          {"seed", to_hex(geometry.filter->seed)}};
  }
  return json;
}

Json format_endpoint(const http::Endpoint& endpoint) {
  Json server = {{"url", endpoint.url}};
  if (!endpoint.ca_file.empty()) server["ca_file"] = endpoint.ca_file;
  if (endpoint.allow_plaintext) server["allow_plaintext"] = true;
  if (endpoint.allow_tls_1_2) server["tls_1.2"] = true;
  return server;
}

/// A member's text as the file has it.
Json to_json(const Option& option, const std::string& text) {
  if (option.kind == Option::Kind::kNumber) return parse_whole_number(text, 0, ~std::uint64_t{0}).value();
  if (option.kind == Option::Kind::kNumbers) return parse_whole_numbers(text, 0, ~std::uint64_t{0}).value();
  return text;
}

Json to_json(const Deployment& deployment) {
  const auto& plan = *deployment.plan;
  const auto& protocol = plan.protocol();
  Json json;
  json["protocol"] = protocol.name;
  const auto members = plan.members();
  for (const auto& option : protocol.members) {
    const auto found = members.find(option.name);
    if (found == members.end()) continue;
    const auto dot = option.name.find('.');
    const std::string name(option.name.substr(0, dot));
    auto& place =
        dot == std::string_view::npos ? json[name] : json[name][std::string(option.name.substr(dot + 1))];
    place = to_json(option, found->second);
  }
  if (!protocol.describes_database) json["database"] = format_database(plan.version(), plan.geometry());
  json["servers"] = Json::array();
  const auto coordinates = plan.coordinates();
  for (std::size_t i = 0; i < deployment.servers.size(); ++i) {
    Json server = format_endpoint(deployment.servers[i]);
    if (protocol.several) server["coordinate"] = coordinates[i];
    json["servers"].push_back(std::move(server));
  }
  return json;
}

Result<Deployment> parse_deployment(const Json& json, const std::filesystem::path& folder) {
  PIRX_ASSIGN(const std::string name, get_string(json, "protocol", "deployment"));
  const auto found = find_protocol(name);
  if (!found) return broken("protocol '" + name + "' is not known; there are: " + protocol_names());
  const auto& protocol = **found;
  Texts texts;
  PIRX_TRY(parse_members(json, "", protocol, texts));
  PlanSpec spec;
  PIRX_ASSIGN(spec.members, Options::create(protocol.members, texts, protocol.name));
  if (!protocol.describes_database) {
    PIRX_ASSIGN(auto database, parse_database(json));
    spec.version = database.version;
    spec.geometry = std::move(database.geometry);
  }
  PIRX_ASSIGN(auto servers, parse_servers(json, protocol, folder, spec.coordinates));
  auto plan = protocol.plan(spec);
  if (plan) return Deployment{std::move(*plan), std::move(servers)};
  if (plan.error().code() == ErrorCode::kDataLoss) return broken(plan.error().message());
  return fail(plan.error().code(), printable(plan.error().message()));
}

}  // namespace

Result<void> check_follows(const Plan& before, const Plan& next) {
  const auto refuse = [](const std::string& what) {
    return fail(ErrorCode::kStaleEpoch, what + ": a server that lies does this to tell clients apart");
  };
  const auto &was = before.version(), &is = next.version();
  const auto epoch = std::to_string(is.epoch);
  if (is.epoch < was.epoch) {
    return refuse("epoch " + epoch + " is older than epoch " + std::to_string(was.epoch) + " before");
  }
  if (next.geometry().records() < before.geometry().records()) {
    return refuse(std::to_string(next.geometry().records()) + " records are fewer than " +
                  std::to_string(before.geometry().records()) + " before");
  }
  const auto old_digest = before.digest(), new_digest = next.digest();
  const bool other_plan = &before.protocol() == &next.protocol() && old_digest != new_digest;
  if (is.epoch == was.epoch && (is != was || other_plan)) {
    return refuse("epoch " + epoch + " had other content or parameters before");
  }
  return {};
}

bool all_on_this_machine(const Deployment& deployment) {
  return std::all_of(deployment.servers.begin(), deployment.servers.end(),
                     [](const auto& server) { return http::is_loopback_url(server.url); });
}

Result<void> check_one_database(std::span<const Deployment> deployments) {
  for (std::size_t i = 1; i < deployments.size(); ++i) {
    const auto& plan = *deployments[i].plan;
    if (plan.version() != deployments[0].plan->version()) {
      return invalid("the deployments are not of one database: identity or epoch differ");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (&plan.protocol() == &deployments[j].plan->protocol()) {
        return invalid("protocol '" + std::string(plan.protocol().name) + "' is there twice");
      }
    }
  }
  return {};
}

Result<std::vector<Deployment>> parse_deployments(std::string_view text,
                                                  const std::filesystem::path& folder) {
  const auto json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) return broken("it is not a JSON object");
  PIRX_ASSIGN(const std::uint64_t version, get_number(json, "pirx_deployment", "deployment"));
  if (version != kVersion) {
    return broken("version " + std::to_string(version) + " is not known to this pirx, which reads version 1");
  }
  std::vector<Deployment> all;
  if (!json.contains("deployments")) {
    PIRX_ASSIGN(auto only_one, parse_deployment(json, folder));
    all.push_back(std::move(only_one));
    return all;
  }
  PIRX_TRY(only(json, {"pirx_deployment", "deployments"}, "deployment"));
  const Json& list = json["deployments"];
  if (!list.is_array() || list.empty()) return broken("'deployments' is not a list of deployments");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto where = "deployments[" + std::to_string(i) + "]";
    if (!list[i].is_object()) return broken("'" + where + "' is not an object");
    if (list[i].contains("pirx_deployment")) return broken("'" + where + ".pirx_deployment' is not known");
    PIRX_ASSIGN(auto entry, parse_deployment(list[i], folder));
    all.push_back(std::move(entry));
  }
  PIRX_TRY(check_one_database(all));
  return all;
}

Result<std::vector<Deployment>> load_deployments(const std::filesystem::path& path) {
  PIRX_ASSIGN(const auto text, read_file(path, kMaxFileBytes, "deployment file ('pirx deploy' writes one)"));
  return parse_deployments(text, path.parent_path());
}

Result<Deployment> load_deployment(const std::filesystem::path& path) {
  PIRX_ASSIGN(auto all, load_deployments(path));
  if (all.size() == 1) return std::move(all[0]);
  return invalid(path.string() + " names " + std::to_string(all.size()) +
                 " protocols: choose one of load_deployments()");
}

std::string format_deployments(std::span<const Deployment> deployments) {
  PIRX_CHECK(!deployments.empty());
  Json json = {{"pirx_deployment", kVersion}};
  if (deployments.size() == 1) {
    json.update(to_json(deployments[0]));
  } else {
    for (const auto& one : deployments) json["deployments"].push_back(to_json(one));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<void> save_deployments(const std::filesystem::path& path, std::span<const Deployment> deployments) {
  return replace_file(path, format_deployments(deployments));
}

}  // namespace pirx::client
