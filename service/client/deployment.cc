// Deployment files: JSON in, validated values out.
#include "pirx/client/deployment.h"

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "pirx/base/small_file.h"
#include "pirx/itpir/vertical.h"

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

Result<unsigned> get_count(const Json& object, const char* name, const std::string& where) {
  PIRX_ASSIGN(const std::uint64_t value, get_number(object, name, where));
  if (value > itpir::Params::kMaxServers) return broken("'" + where + "." + name + "' is too large");
  return static_cast<unsigned>(value);
}

/// How the servers' buckets were encoded; the plain database without it.
Result<void> parse_encoding(const Json& encoding, itpir::Params::Spec& spec) {
  PIRX_ASSIGN(spec.arity, get_count(encoding, "arity", "encoding"));
  PIRX_ASSIGN(spec.independence, get_count(encoding, "independence", "encoding"));
  PIRX_ASSIGN(spec.modulus, get_number(encoding, "modulus", "encoding"));
  return only(encoding, {"arity", "independence", "modulus"}, "encoding");
}

/// All but the coordinate, which only some protocols have.
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

/// The list "servers".
Result<const Json*> parse_servers(const Json& deployment) {
  PIRX_ASSIGN(const Json* servers, member(deployment, "servers", "deployment"));
  if (!servers->is_array()) return broken("'deployment.servers' is not a list");
  return servers;
}

constexpr const char* kPaperPolicy = "paper-reproduction";

Result<std::vector<std::uint32_t>> parse_arities(const Json& json) {
  PIRX_ASSIGN(const Json* list, member(json, "arities", "deployment"));
  std::vector<std::uint32_t> arities;
  const bool is_list = list->is_array() && !list->empty() && list->size() <= cpir::dj::kMaxLevels;
  for (std::size_t i = 0; is_list && i < list->size(); ++i) {
    const auto& arity = (*list)[i];
    if (!arity.is_number_unsigned() || arity.get<std::uint64_t>() > cpir::dj::Params::kMaxArity) break;
    arities.push_back(arity.get<std::uint32_t>());
  }
  if (!is_list || arities.size() != list->size()) {
    return broken("'deployment.arities' is not a list of the children of a node, leaves first");
  }
  return arities;
}

/// Spiral: the server's parameters message says everything.
Result<AnyDeployment> parse_spiral(const Json& json, const std::filesystem::path& folder) {
  PIRX_TRY(only(json, {"pirx_deployment", "protocol", "parameters", "servers"}, "deployment"));
  PIRX_ASSIGN(const std::string text, get_string(json, "parameters", "deployment"));
  const auto message = from_hex(text);
  if (!message) return broken("'deployment.parameters' is not hexadecimal");
  PIRX_ASSIGN(auto params, cpir::spiral::Params::decode(*message));
  PIRX_ASSIGN(const Json* servers, parse_servers(json));
  if (servers->size() != 1) return broken("protocol 'spiral' has exactly one server");
  PIRX_ASSIGN(auto endpoint, parse_endpoint(servers->front(), "servers[0]", folder));
  PIRX_TRY(only(servers->front(), {"url", "ca_file", "allow_plaintext", "tls_1.2"}, "servers[0]"));
  return SingleDeployment{std::move(params), std::move(endpoint)};
}

/// A protocol with one server.
Result<AnyDeployment> parse_single(const Json& json, const std::string& protocol,
                                   const std::filesystem::path& folder) {
  if (protocol == "spiral") return parse_spiral(json, folder);
  const bool tree = protocol == "dj-tree";
  PIRX_TRY(only(json,
                {"pirx_deployment", "protocol", "modulus_bits", "key_policy", tree ? "arities" : "slots",
                 tree ? "selectors" : "slots", "database", "servers"},
                "deployment"));
  PIRX_ASSIGN(const std::uint64_t bits, get_number(json, "modulus_bits", "deployment"));
  if (bits > cpir::dj::kMaxModulusBits) return broken("'deployment.modulus_bits' is too large");
  auto policy = cpir::dj::KeyPolicy::kSecure;
  if (json.contains("key_policy")) {
    PIRX_ASSIGN(const std::string name, get_string(json, "key_policy", "deployment"));
    if (name != kPaperPolicy) return broken("key policy '" + name + "' is not known");
    policy = cpir::dj::KeyPolicy::kPaperReproduction;
  }
  PIRX_ASSIGN(const auto database, parse_database(json));
  PIRX_ASSIGN(const Json* servers, parse_servers(json));
  if (servers->size() != 1) return broken("protocol '" + protocol + "' has exactly one server");
  PIRX_ASSIGN(auto endpoint, parse_endpoint(servers->front(), "servers[0]", folder));
  PIRX_TRY(only(servers->front(), {"url", "ca_file", "allow_plaintext", "tls_1.2"}, "servers[0]"));
  const auto modulus_bits = static_cast<unsigned>(bits);
  if (tree) {
    PIRX_ASSIGN(auto arities, parse_arities(json));
    auto selectors = cpir::dj::Selectors::kOneHot;
    if (json.contains("selectors")) {
      PIRX_ASSIGN(const std::string name, get_string(json, "selectors", "deployment"));
      if (name != "polynomial") return broken("selectors '" + name + "' are not known");
      selectors = cpir::dj::Selectors::kPolynomial;
    }
    PIRX_ASSIGN(auto params, cpir::dj::Params::create({database.geometry, database.version,
                                                       std::move(arities), modulus_bits, policy, selectors}));
    return SingleDeployment{std::move(params), std::move(endpoint)};
  }
  PIRX_ASSIGN(const std::uint64_t slots, get_number(json, "slots", "deployment"));
  if (slots == 0) return broken("'deployment.slots' is zero");
  PIRX_ASSIGN(auto params,
              cpir::qr::Params::create({database.geometry, database.version, slots, modulus_bits, policy}));
  return SingleDeployment{std::move(params), std::move(endpoint)};
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

Json to_json(const Deployment& deployment) {
  const auto& params = deployment.params;
  Json json;
  json["pirx_deployment"] = kVersion;
  json["protocol"] = params.protocol() == ProtocolId::kChor ? "chor" : "goldberg";
  json["field"] = params.field().name();
  json["threshold"] = params.threshold();
  if (params.spec().ramp > 1) json["ramp"] = params.spec().ramp;
  if (params.encoding().has_data_coordinates()) {
    json["encoding"] = {{"arity", params.spec().arity},
                        {"independence", params.spec().independence},
                        {"modulus", params.spec().modulus}};
  }
  if (!deployment.code.empty()) json["code"] = deployment.code;
  json["database"] = format_database(params.version(), params.geometry());
  json["servers"] = Json::array();
  for (std::size_t i = 0; i < deployment.servers.size(); ++i) {
    Json server = format_endpoint(deployment.servers[i]);
    server["coordinate"] = params.coordinates()[i];
    json["servers"].push_back(std::move(server));
  }
  return json;
}

Json to_json(const SingleDeployment& deployment) {
  Json json;
  json["pirx_deployment"] = kVersion;
  json["protocol"] = single_protocol_name(deployment.plan);
  if (const auto* params = std::get_if<cpir::spiral::Params>(&deployment.plan)) {
    json["parameters"] = to_hex(params->encode());
    json["servers"] = Json::array({format_endpoint(deployment.server)});
    return json;
  }
  std::visit(
      [&json](const auto& params) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(params)>, cpir::spiral::Params>) {
          json["modulus_bits"] = params.spec().modulus_bits;
          if (params.spec().policy == cpir::dj::KeyPolicy::kPaperReproduction)
            json["key_policy"] = kPaperPolicy;
        }
      },
      deployment.plan);
  if (const auto* tree = std::get_if<cpir::dj::Params>(&deployment.plan)) {
    json["arities"] = tree->arities();
    if (tree->spec().selectors == cpir::dj::Selectors::kPolynomial) json["selectors"] = "polynomial";
  } else {
    json["slots"] = std::get<cpir::qr::Params>(deployment.plan).slots();
  }
  json["database"] = format_database(version_of(deployment.plan), geometry_of(deployment.plan));
  json["servers"] = Json::array({format_endpoint(deployment.server)});
  return json;
}

/// What servers told of their database.
struct Told {
  const database::Version& version;
  std::uint64_t records;
  std::optional<Digest> plan;  ///< of one server
};

Told told_in(const AnyDeployment& any) {
  if (const auto* several = std::get_if<Deployment>(&any)) {
    return {several->params.version(), several->params.geometry().records(), {}};
  }
  const auto& plan = std::get<SingleDeployment>(any).plan;
  return {version_of(plan), geometry_of(plan).records(), digest_of(plan)};
}

}  // namespace

Result<Digest> parameters_digest(ByteSpan parameters) {
  PIRX_ASSIGN(const auto plan, decode_plan(parameters));
  if (plan) return digest_of(*plan);
  PIRX_ASSIGN(auto several, itpir::ServerParameters::decode(parameters));
  several.coordinate = 0;
  return sha256(several.encode());
}

Result<void> check_follows(const AnyDeployment& before, const AnyDeployment& next) {
  const auto refuse = [](const std::string& what) {
    return fail(ErrorCode::kStaleEpoch, what + ": a server that lies does this to tell clients apart");
  };
  const auto was = told_in(before), is = told_in(next);
  const auto epoch = std::to_string(is.version.epoch);
  if (is.version.epoch < was.version.epoch) {
    return refuse("epoch " + epoch + " is older than epoch " + std::to_string(was.version.epoch) + " before");
  }
  if (is.records < was.records) {
    return refuse(std::to_string(is.records) + " records are fewer than " + std::to_string(was.records) +
                  " before");
  }
  const bool other_plan = was.plan && is.plan && *was.plan != *is.plan;
  if (is.version.epoch == was.version.epoch && (is.version != was.version || other_plan)) {
    return refuse("epoch " + epoch + " had other content or parameters before");
  }
  return {};
}

Result<FieldTag> parse_field(const std::string& name) { return itpir::field_by_name(printable(name)); }

Result<AnyDeployment> parse_deployment(std::string_view text, const std::filesystem::path& folder) {
  const auto json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) return broken("it is not a JSON object");
  PIRX_ASSIGN(const std::uint64_t version, get_number(json, "pirx_deployment", "deployment"));
  if (version != kVersion) {
    return broken("version " + std::to_string(version) + " is not known to this pirx, which reads version 1");
  }
  PIRX_ASSIGN(const std::string protocol, get_string(json, "protocol", "deployment"));
  if (is_single_protocol(protocol)) return parse_single(json, protocol, folder);
  if (protocol != "goldberg" && protocol != "chor") {
    return broken("protocol '" + protocol +
                  "' is not known; there are: goldberg, chor, dj-tree, qr and spiral");
  }
  PIRX_TRY(only(json,
                {"pirx_deployment", "protocol", "field", "threshold", "ramp", "encoding", "code", "database",
                 "servers"},
                "deployment"));

  itpir::Params::Spec spec{.field = {},
                           .geometry = *database::Geometry::create({.records = 1, .record_bytes = 1}),
                           .version = {},
                           .coordinates = {},
                           .threshold = 0};
  spec.protocol = protocol == "chor" ? ProtocolId::kChor : ProtocolId::kGoldberg;
  PIRX_ASSIGN(const std::string field, get_string(json, "field", "deployment"));
  PIRX_ASSIGN(spec.field, parse_field(field));
  PIRX_ASSIGN(spec.threshold, get_count(json, "threshold", "deployment"));
  if (json.contains("ramp")) {
    PIRX_ASSIGN(spec.ramp, get_count(json, "ramp", "deployment"));
  }
  if (json.contains("encoding")) PIRX_TRY(parse_encoding(json["encoding"], spec));

  std::string code;
  if (json.contains("code")) {
    PIRX_ASSIGN(code, get_string(json, "code", "deployment"));
  }

  PIRX_ASSIGN(auto database, parse_database(json));
  spec.version = database.version;
  spec.geometry = std::move(database.geometry);

  PIRX_ASSIGN(const Json* servers, parse_servers(json));
  std::vector<http::Endpoint> endpoints;
  for (std::size_t i = 0; i < servers->size(); ++i) {
    const std::string where = "servers[" + std::to_string(i) + "]";
    const Json& server = (*servers)[i];
    PIRX_ASSIGN(auto endpoint, parse_endpoint(server, where, folder));
    PIRX_ASSIGN(const std::uint64_t coordinate, get_number(server, "coordinate", where));
    PIRX_TRY(only(server, {"url", "coordinate", "ca_file", "allow_plaintext", "tls_1.2"}, where));
    spec.coordinates.push_back(coordinate);
    for (const auto& other : endpoints) {
      if (other.url == endpoint.url) {
        return broken("'" + endpoint.url +
                      "' is listed twice: one server would hold two shares of every query");
      }
    }
    endpoints.push_back(std::move(endpoint));
  }
  PIRX_ASSIGN(auto params, itpir::Params::create(std::move(spec)));
  if (!code.empty()) PIRX_TRY(itpir::VerticalClient::create(params, code));
  return Deployment{std::move(params), std::move(endpoints), std::move(code)};
}

Result<AnyDeployment> load_deployment(const std::filesystem::path& path) {
  PIRX_ASSIGN(const auto text, read_file(path, kMaxFileBytes, "deployment file ('pirx deploy' writes one)"));
  return parse_deployment(text, path.parent_path());
}

std::string format_deployment(const AnyDeployment& deployment) {
  const Json json = std::visit([](const auto& one) { return to_json(one); }, deployment);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<void> save_deployment(const std::filesystem::path& path, const AnyDeployment& deployment) {
  return replace_file(path, format_deployment(deployment));
}

}  // namespace pirx::client
