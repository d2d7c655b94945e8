// SPDX-License-Identifier: Apache-2.0
// Reads and writes deployment files. What a protocol's own members are is in its row of the table.
#include "pirx/client/deployment.h"

#include <algorithm>

#include "pirx/base/json.h"
#include "pirx/base/printable.h"
#include "pirx/base/small_file.h"

namespace pirx::client {
namespace {

constexpr int kVersion = 1;
const Json::Source kSource{.name = "deployment file",
                           .advice = " (see docs/deployment_file.md)",
                           .max_bytes = std::size_t{256} << 10};

Result<Digest> parse_digest(const Json& value) {
  PIRX_ASSIGN(const auto text, value.string());
  const auto digest = digest_from_hex(text);
  if (!digest) return value.error("is not 64 hexadecimal digits");
  return *digest;
}

Result<database::Version> parse_version(const Json& database) {
  database::Version version;
  PIRX_ASSIGN(version.identity, parse_digest(database["identity"]));
  PIRX_ASSIGN(version.epoch, database["epoch"].number());
  return version;
}

Result<database::FilterSpec> parse_filter(const Json& filter) {
  PIRX_TRY(filter.only({"segment_length", "segments", "tweak", "seed"}));
  database::FilterSpec spec;
  PIRX_ASSIGN(spec.segment_length, filter["segment_length"].number());
  PIRX_ASSIGN(spec.segments, filter["segments"].number());
  PIRX_ASSIGN(spec.tweak, filter["tweak"].number());
  PIRX_ASSIGN(spec.seed, parse_digest(filter["seed"]));
  return spec;
}

Result<database::Geometry> parse_geometry(const Json& database) {
  if (database["key_filter"].exists()) {
    return database.error("is of an earlier pirx: run 'pirx deploy' again");
  }
  PIRX_TRY(database.only({"identity", "epoch", "records", "record_bytes", "records_per_row",
                          "variable_length", "digests", "filter"}));
  database::Geometry::Spec spec;
  PIRX_ASSIGN(spec.records, database["records"].number());
  PIRX_ASSIGN(spec.record_bytes, database["record_bytes"].number());
  PIRX_ASSIGN(spec.records_per_row, database["records_per_row"].number());
  PIRX_ASSIGN(spec.variable_length, database["variable_length"].boolean());
  PIRX_ASSIGN(spec.digests, database["digests"].boolean());
  if (const auto filter = database["filter"]; filter.exists()) {
    PIRX_ASSIGN(spec.filter, parse_filter(filter));
  }
  return database::Geometry::create(spec);
}

/// The path from the root, so that it stays the same file if the process changes its folder.
std::filesystem::path from_root(const std::filesystem::path& path) {
#ifdef __wasm__
  return path;  // there is no folder to start from: web/pirx.js opens the file
#else
  std::error_code gone;  // the current folder may be; then nothing is found below it either way
  auto found = std::filesystem::absolute(path, gone);
  return gone ? path : found;
#endif
}

/// All but the coordinate, which only protocols with several servers have.
Result<http::Endpoint> parse_endpoint(const Json& server, const std::filesystem::path& folder) {
  http::Endpoint endpoint;
  PIRX_ASSIGN(endpoint.url, server["url"].string());
  PIRX_ASSIGN(const auto ca_file, server["ca_file"].string(""));
  if (!ca_file.empty()) endpoint.ca_file = from_root(folder / ca_file).string();
  PIRX_ASSIGN(endpoint.allow_plaintext, server["allow_plaintext"].boolean(false));
  PIRX_ASSIGN(endpoint.allow_tls_1_2, server["tls_1.2"].boolean(false));
  return endpoint;
}

/// The value of an option as a text.
Result<std::string> to_text(const Json& value, const Option& option) {
  if (option.kind == Option::Kind::kNumber) {
    PIRX_ASSIGN(const auto number, value.number());
    return std::to_string(number);
  }
  if (option.kind == Option::Kind::kNumbers) {
    PIRX_ASSIGN(const auto list, value.list());
    std::string text;
    for (const auto& one : list) {
      PIRX_ASSIGN(const auto number, one.number());
      text += (text.empty() ? "" : ",") + std::to_string(number);
    }
    if (text.empty()) return value.error("is an empty list");
    return text;
  }
  return value.string();
}

/// Reads the protocol's own members: `prefix` is that of the object they lie in, as "encoding.".
Result<void> parse_members(const Json& object, const std::string& prefix, const Protocol& protocol,
                           Texts& texts) {
  PIRX_ASSIGN(const auto members, object.members());
  if (members.empty()) return object.error("is not an object with members");
  for (const auto& [key, value] : members) {
    const auto name = prefix + key;
    const bool ours = key == "pirx_deployment" || key == "protocol" || key == "servers" ||
                      key == "publisher" || key == "manifest" || (key == "checksum" && protocol.several) ||
                      (key == "database" && !protocol.describes_database);
    if (prefix.empty() && ours) continue;
    const bool dotted = key.find('.') != std::string::npos;  // names a member of a group
    if (const auto* option = find_option(protocol.members, name); option != nullptr && !dotted) {
      PIRX_ASSIGN(const auto text, to_text(value, *option));
      if (const auto checked = option->value(text); !checked)
        return value.error(": " + checked.error().message());
      texts[name] = text;
      continue;
    }
    const auto inside = name + ".";
    const bool is_group = std::any_of(protocol.members.begin(), protocol.members.end(), [&](const auto& one) {
      return one.name.substr(0, inside.size()) == inside;
    });
    if (!is_group) return value.error("is not known");
    PIRX_TRY(parse_members(value, inside, protocol, texts));
  }
  return {};
}

/// The servers, and their coordinates where they have such.
Result<std::vector<http::Endpoint>> parse_servers(const Json& deployment, const Protocol& protocol,
                                                  const std::filesystem::path& folder,
                                                  std::vector<std::uint64_t>& coordinates) {
  PIRX_ASSIGN(const auto servers, deployment["servers"].list());
  if (!protocol.several && servers.size() != 1) {
    return deployment.error("protocol '" + std::string(protocol.name) + "' has exactly one server");
  }
  std::vector<http::Endpoint> endpoints;
  for (const auto& server : servers) {
    PIRX_TRY(server.only(
        {"url", "ca_file", "allow_plaintext", "tls_1.2", protocol.several ? "coordinate" : "url"}));
    PIRX_ASSIGN(auto endpoint, parse_endpoint(server, folder));
    if (protocol.several) {
      PIRX_ASSIGN(coordinates.emplace_back(), server["coordinate"].number());
    }
    for (const auto& other : endpoints) {
      if (other.url == endpoint.url) {
        return deployment.error("'" + endpoint.url +
                                "' is listed twice: one server would hold two shares of every query");
      }
    }
    endpoints.push_back(std::move(endpoint));
  }
  return endpoints;
}

/// The pinned publisher's manifest; null if nobody is pinned.
Result<std::shared_ptr<const Manifest>> parse_manifest(const Json& deployment) {
  const auto pinned = deployment["publisher"], given = deployment["manifest"];
  std::shared_ptr<const Manifest> none;
  if (!pinned.exists()) {
    if (given.exists()) return given.error("is there without a 'publisher' who is trusted");
    return none;
  }
  PIRX_ASSIGN(const auto text, pinned.string());
  const auto pin = parse_pin(text);
  if (!pin) return pinned.error(": " + pin.error().message());
  if (!given.exists()) {
    return given.error(
        "is missing, but a publisher is pinned: write the file anew (pirx deploy --manifest KEY:NAME)");
  }
  PIRX_ASSIGN(const auto hex, given.string());
  const auto bytes = from_hex(hex);
  if (!bytes) return given.error("is not made of hexadecimal digits");
  auto manifest = Manifest::parse(*bytes);
  if (!manifest) return fail(manifest.error().code(), manifest.error().message());
  if (const auto pinned_one = manifest->check(*pin); !pinned_one) {
    return fail(pinned_one.error().code(), pinned_one.error().message() + ", which the file pins");
  }
  return std::make_shared<const Manifest>(std::move(*manifest));
}

OutJson format_database(const database::Version& version, const database::Geometry& of) {
  const auto& geometry = of.spec();
  OutJson json = {{"identity", to_hex(version.identity)},
                  {"epoch", version.epoch},
                  {"records", geometry.records},
                  {"record_bytes", geometry.record_bytes},
                  {"records_per_row", geometry.records_per_row},
                  {"variable_length", geometry.variable_length},
                  {"digests", geometry.digests}};
  if (geometry.filter) {
    json["filter"] = {{"segment_length", geometry.filter->segment_length},
                      {"segments", geometry.filter->segments},
                      {"tweak", geometry.filter->tweak},
                      {"seed", to_hex(geometry.filter->seed)}};
  }
  return json;
}

OutJson format_endpoint(const http::Endpoint& endpoint) {
  OutJson server = {{"url", endpoint.url}};
  if (!endpoint.ca_file.empty()) server["ca_file"] = endpoint.ca_file;
  if (endpoint.allow_plaintext) server["allow_plaintext"] = true;
  if (endpoint.allow_tls_1_2) server["tls_1.2"] = true;
  return server;
}

/// A member's text as the file has it.
OutJson to_json(const Option& option, const std::string& text) {
  if (option.kind == Option::Kind::kNumber) return parse_whole_number(text, 0, ~std::uint64_t{0}).value();
  if (option.kind == Option::Kind::kNumbers) return parse_whole_numbers(text, 0, ~std::uint64_t{0}).value();
  return text;
}

/// Adds the members of the plan to `json`, but coordinates.
OutJson to_json(const Plan& plan, OutJson json = {}) {
  const auto& protocol = plan.protocol();
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
  return json;
}

/// Of the plan's members as compact JSON. Several servers are told the database's version only: with another
/// filter than theirs, a client would look in the wrong rows, and prove that a key is missing. What is
/// added to the members later must not change this for those of older files.
std::string checksum_of(const Plan& plan) { return to_hex(sha256(as_bytes(to_json(plan).dump()))); }

/// Adds the members of the deployment to `json`.
OutJson to_json(const Deployment& deployment, OutJson json = {}) {
  const auto& plan = *deployment.plan;
  const auto& protocol = plan.protocol();
  json = to_json(plan, std::move(json));
  if (protocol.several) json["checksum"] = checksum_of(plan);
  if (deployment.manifest != nullptr) {
    json["publisher"] = deployment.manifest->spec().pin.text();
    json["manifest"] = to_hex(deployment.manifest->bytes());
  }
  json["servers"] = OutJson::list();
  const auto coordinates = plan.coordinates();
  for (std::size_t i = 0; i < deployment.servers.size(); ++i) {
    OutJson server = format_endpoint(deployment.servers[i]);
    if (protocol.several) server["coordinate"] = coordinates[i];
    json["servers"].push_back(std::move(server));
  }
  return json;
}

Result<Deployment> parse_deployment(const Json& json, const std::filesystem::path& folder) {
  PIRX_ASSIGN(const std::string name, json["protocol"].string());
  const auto found = find_protocol(name);
  if (!found) return json.error("protocol '" + name + "' is not known; there are: " + protocol_names());
  const auto& protocol = **found;
  Texts texts;
  PIRX_TRY(parse_members(json, "", protocol, texts));
  PlanSpec spec;
  PIRX_ASSIGN(spec.members, Options::create(protocol.members, texts, protocol.name));
  if (!protocol.describes_database) {
    PIRX_ASSIGN(spec.geometry, parse_geometry(json["database"]));
    PIRX_ASSIGN(spec.version, parse_version(json["database"]));
  }
  PIRX_ASSIGN(auto servers, parse_servers(json, protocol, folder, spec.coordinates));
  PIRX_ASSIGN(auto manifest, parse_manifest(json));
  auto plan = protocol.plan(spec);
  if (plan) {
    if (const auto checksum = json["checksum"]; checksum.exists()) {
      PIRX_ASSIGN(const auto text, checksum.string());
      if (text != checksum_of(**plan)) {
        return checksum.error(
            "is not that of what the file says: it is damaged, get it again. If you changed it yourself, "
            "remove 'checksum'");
      }
    }
    Deployment deployment{std::move(*plan), std::move(servers), std::move(manifest)};
    PIRX_TRY(check_manifest(deployment));
    return deployment;
  }
  if (plan.error().code() == ErrorCode::kDataLoss) return json.error(plan.error().message());
  return fail(plan.error().code(), printable_ascii(plan.error().message(), 1000));
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
  const bool other_plan = before.geometry() != next.geometry() ||
                          (&before.protocol() == &next.protocol() && old_digest != new_digest);
  if (is.epoch == was.epoch && (is != was || other_plan)) {
    return refuse("epoch " + epoch + " had other content or parameters before");
  }
  return {};
}

Result<void> check_manifest(const Deployment& deployment) {
  if (deployment.manifest == nullptr) return {};
  return deployment.manifest->check(*deployment.plan);
}

Result<void> check_manifest_follows(const Deployment& before, const Deployment& next) {
  if (before.manifest == nullptr) return {};
  if (next.manifest == nullptr) {
    return fail(ErrorCode::kUnauthenticated, "there is no manifest of the publisher " +
                                                 before.manifest->spec().pin.text() + ", which is pinned");
  }
  return before.manifest->check_next(*next.manifest);
}

bool all_on_this_machine(const Deployment& deployment) {
  return std::all_of(deployment.servers.begin(), deployment.servers.end(),
                     [](const auto& server) { return http::is_loopback_url(server.url); });
}

Result<void> check_one_database(std::span<const Deployment> deployments) {
  for (std::size_t i = 1; i < deployments.size(); ++i) {
    const auto& plan = *deployments[i].plan;
    const auto& first = *deployments[0].plan;
    if (plan.version() != first.version() || plan.geometry() != first.geometry()) {
      return invalid("the deployments are not of one database: identity, epoch or shape differ");
    }
    const auto &one = deployments[i].manifest, &other = deployments[0].manifest;
    if ((one == nullptr) != (other == nullptr) || (one != nullptr && one->spec().pin != other->spec().pin)) {
      return invalid(
          "not all deployments are pinned to one publisher's database: add each with the same --manifest "
          "KEY:NAME");
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
  PIRX_ASSIGN(const auto json, Json::parse(text, kSource));
  PIRX_ASSIGN(const std::uint64_t version, json["pirx_deployment"].number());
  if (version != kVersion) {
    return json.error("version " + std::to_string(version) +
                      " is not known to this pirx, which reads version 1");
  }
  std::vector<Deployment> all;
  if (!json["deployments"].exists()) {
    PIRX_ASSIGN(auto only_one, parse_deployment(json, folder));
    all.push_back(std::move(only_one));
    return all;
  }
  PIRX_TRY(json.only({"pirx_deployment", "deployments"}));
  PIRX_ASSIGN(const auto list, json["deployments"].list());
  if (list.empty()) return json["deployments"].error("is an empty list");
  for (const auto& entry : list) {
    if (const auto foreign = entry["pirx_deployment"]; foreign.exists()) return foreign.error("is not known");
    PIRX_ASSIGN(auto one, parse_deployment(entry, folder));
    all.push_back(std::move(one));
  }
  PIRX_TRY(check_one_database(all));
  return all;
}

Result<std::vector<Deployment>> load_deployments(const std::filesystem::path& path) {
  PIRX_ASSIGN(const auto text,
              read_file(path, kSource.max_bytes, "deployment file ('pirx deploy' writes one)"));
  PIRX_ASSIGN(const auto file, behind_links(path));
  auto all = parse_deployments(text, file.parent_path());
  if (!all) return fail(all.error().code(), path.string() + ": " + all.error().message());
  return all;
}

Result<Deployment> choose_deployment(std::vector<Deployment> all, std::string_view protocol) {
  if (protocol.empty() && all.size() == 1) return std::move(all[0]);
  std::string names;
  for (auto& one : all) {
    const auto name = one.plan->protocol().name;
    if (name == protocol) return std::move(one);
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  if (protocol.empty()) return invalid("the deployment has several protocols: choose one of " + names);
  return invalid("the deployment is for protocol " + names + ", not " + std::string(protocol));
}

Result<Deployment> load_deployment(const std::filesystem::path& path, std::string_view protocol) {
  PIRX_ASSIGN(auto all, load_deployments(path));
  return choose_deployment(std::move(all), protocol);
}

std::string format_deployments(std::span<const Deployment> deployments) {
  PIRX_CHECK(!deployments.empty());
  OutJson json = {{"pirx_deployment", kVersion}};
  if (deployments.size() == 1) {
    json = to_json(deployments[0], std::move(json));
  } else {
    for (const auto& one : deployments) json["deployments"].push_back(to_json(one));
  }
  return json.dump(2) + "\n";
}

Result<void> save_deployments(const std::filesystem::path& path, std::span<const Deployment> deployments) {
  // The file names what lies beside it without its own folder, and so can be moved with it.
  PIRX_ASSIGN(const auto file, behind_links(path));
  const auto folder = (from_root(file).parent_path() / "").string();
  std::vector<Deployment> stored(deployments.begin(), deployments.end());
  for (auto& one : stored) {
    for (auto& server : one.servers) {
      if (server.ca_file.empty()) continue;
      const auto ca_file = from_root(server.ca_file).string();
      if (ca_file.starts_with(folder)) server.ca_file = ca_file.substr(folder.size());
    }
  }
  return replace_file(file, format_deployments(stored));
}

}  // namespace pirx::client
