// SPDX-License-Identifier: Apache-2.0
// Deployments and clients of the C interface.
#include <algorithm>

#include "objects.h"
#include "pirx/http/credentials.h"

namespace pirx::c {
namespace {

/// InvalidArgument, too: an address that no client may use.
Result<void> give_deployment(std::vector<client::Deployment> all, pirx_deployment** handle) {
  auto object = std::make_shared<DeploymentObject>();
  for (auto& one : all) {
    PIRX_TRY(http::parse_addresses(one.servers));
    object->protocols.emplace_back(one.plan->protocol().name);
  }
  object->deployments = std::move(all);
  give(std::move(object), handle);
  return {};
}

Result<void> check_server(const ClientObject& object, std::size_t index) {
  if (index < object.addresses.size()) return {};
  return fail(ErrorCode::kOutOfRange, "there are " + std::to_string(object.addresses.size()) + " servers");
}

/// A text of the caller's; empty for NULL.
std::string text_or_nothing(const char* text) { return text == nullptr ? std::string() : text; }

Result<void> give_credentials(const pirx_credentials& given, std::span<http::Endpoint> servers) {
  if (given.tokens != nullptr && given.token_file != nullptr) {
    return invalid("tokens and token_file are both given: leave one NULL");
  }
  if (given.tokens == nullptr && given.tokens_size != 0) return invalid("tokens is NULL, but has a size");
  for (const char* name : {given.token_file, given.certificate_file, given.key_file}) {
    if (name != nullptr && *name == '\0') return invalid("a file of the credentials has an empty name");
  }
  if ((given.certificate_file == nullptr) != (given.key_file == nullptr)) {
    return invalid("a client's certificate needs its key, and the key its certificate: give both or neither");
  }
  if (given.tokens != nullptr) PIRX_TRY(http::give_tokens({given.tokens, given.tokens_size}, servers));
  return http::give_credentials({.token_file = text_or_nothing(given.token_file),
                                 .certificate_file = text_or_nothing(given.certificate_file),
                                 .key_file = text_or_nothing(given.key_file)},
                                servers);
}

}  // namespace

Result<std::shared_ptr<const AnyClient>> ClientObject::join(const Stop& stop) const {
  const std::lock_guard lock(join_mutex);
  if (joined == nullptr) {
    const bool loopback = client::all_on_this_machine(deployment);
    PIRX_ASSIGN(joined, pirx::join(*deployment.plan, {.loopback = loopback, .stop = stop}, options));
  }
  return joined;
}

Result<void> ClientObject::check_process() const {
  if (process == process_token()) return {};
  return invalid("this client was made before a fork: make another in the child");
}

}  // namespace pirx::c

using namespace pirx::c;
using pirx::Result;

pirx_status pirx_deployment_load(const char* path, pirx_deployment** deployment) {
  return guarded([&]() -> Result<void> {
    PIRX_TRY(check_not_null(path, deployment));
    PIRX_ASSIGN(auto all, pirx::client::load_deployments(path));
    return give_deployment(std::move(all), deployment);
  });
}

pirx_status pirx_deployment_parse(const char* text, size_t size, const char* folder,
                                  pirx_deployment** deployment) {
  return guarded([&]() -> Result<void> {
    PIRX_TRY(check_not_null(text, deployment));
    PIRX_ASSIGN(auto all, pirx::client::parse_deployments({text, size}, folder == nullptr ? "" : folder));
    return give_deployment(std::move(all), deployment);
  });
}

pirx_status pirx_deployment_protocols(const pirx_deployment* deployment, size_t* count) {
  return tell<DeploymentObject>(deployment, count,
                                [](const auto& object) { return object.deployments.size(); });
}

pirx_status pirx_deployment_protocol(const pirx_deployment* deployment, size_t index, const char** name) {
  return tell<DeploymentObject>(deployment, name, [&](const auto& object) -> Result<const char*> {
    if (index >= object.protocols.size()) {
      return pirx::fail(pirx::ErrorCode::kOutOfRange,
                        "the deployment has " + std::to_string(object.protocols.size()) + " protocols");
    }
    return object.protocols[index].c_str();
  });
}

pirx_status pirx_deployment_database(const pirx_deployment* deployment, pirx_database* database) {
  return tell<DeploymentObject>(deployment, database, [](const auto& object) {
    const auto& plan = *object.deployments[0].plan;
    const auto& geometry = plan.geometry();
    pirx_database told{};
    static_assert(sizeof told.identity == std::tuple_size_v<pirx::Digest>);
    std::transform(plan.version().identity.begin(), plan.version().identity.end(), told.identity,
                   [](auto byte) { return static_cast<std::uint8_t>(byte); });
    told.epoch = plan.version().epoch;
    told.records = geometry.spec().records;
    told.record_bytes = geometry.spec().record_bytes;
    told.keyed = geometry.keyed() ? 1 : 0;
    return told;
  });
}

pirx_status pirx_deployment_free(pirx_deployment* deployment) {
  return free_object<DeploymentObject>(deployment);
}

pirx_status pirx_client_create(const pirx_deployment* deployment, const char* protocol,
                               const pirx_option* options, size_t option_count, pirx_client** client) {
  return pirx_client_create_with(deployment, protocol, options, option_count, nullptr, client);
}

pirx_status pirx_client_create_with(const pirx_deployment* deployment, const char* protocol,
                                    const pirx_option* options, size_t option_count,
                                    const pirx_credentials* credentials, pirx_client** client) {
  return guarded([&]() -> Result<void> {
    PIRX_ASSIGN(const auto object, object_of<const DeploymentObject>(deployment));
    PIRX_TRY(check_not_null(client));
    if (option_count != 0) PIRX_TRY(check_not_null(options));
    auto made = std::make_shared<ClientObject>();
    PIRX_ASSIGN(made->deployment,
                pirx::client::choose_deployment(object->deployments, text_or_nothing(protocol)));
    if (credentials != nullptr) PIRX_TRY(give_credentials(*credentials, made->deployment.servers));
    for (std::size_t i = 0; i < option_count; ++i) {
      PIRX_TRY(check_not_null(options[i].name, options[i].value));
      if (!made->options.emplace(options[i].name, options[i].value).second) {
        return pirx::invalid("option '" + std::string(options[i].name) + "' is there twice");
      }
    }
    const auto& plan = *made->deployment.plan;
    pirx::ClientSpec spec{.loopback = pirx::client::all_on_this_machine(made->deployment)};
    PIRX_ASSIGN(spec.options,
                pirx::Options::create(plan.protocol().client_options, made->options, plan.protocol().name));
    PIRX_ASSIGN(made->warning, plan.check(spec));
    PIRX_ASSIGN(made->addresses, pirx::http::parse_addresses(made->deployment.servers));
    for (const auto& address : made->addresses) made->query_paths.push_back(address.root + "/query");
    give(std::move(made), client);
    return {};
  });
}

pirx_status pirx_client_warning(const pirx_client* client, const char** text) {
  return tell<ClientObject>(client, text, [](const auto& object) { return object.warning.c_str(); });
}

pirx_status pirx_client_servers(const pirx_client* client, size_t* count) {
  return tell<ClientObject>(client, count, [](const auto& object) { return object.addresses.size(); });
}

pirx_status pirx_client_server(const pirx_client* client, size_t index, pirx_server* server) {
  return tell<ClientObject>(client, server, [&](const auto& object) -> Result<pirx_server> {
    PIRX_TRY(check_server(object, index));
    const auto& endpoint = object.deployment.servers[index];
    return pirx_server{object.addresses[index].origin.c_str(), object.query_paths[index].c_str(),
                       endpoint.ca_file.c_str(), endpoint.allow_tls_1_2 ? 1 : 0};
  });
}

pirx_status pirx_client_token(const pirx_client* client, size_t index, const char** token) {
  return tell<ClientObject>(client, token, [&](const auto& object) -> Result<const char*> {
    PIRX_TRY(check_server(object, index));
    return object.deployment.servers[index].token.expose().c_str();
  });
}

pirx_status pirx_client_free(pirx_client* client) { return free_object<ClientObject>(client); }
