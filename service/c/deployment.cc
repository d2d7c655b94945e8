// SPDX-License-Identifier: Apache-2.0
// Deployments and clients of the C interface.
#include <algorithm>

#include "objects.h"

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

Result<client::Deployment> choose(const DeploymentObject& object, const char* protocol) {
  if (protocol == nullptr && object.deployments.size() == 1) return object.deployments[0];
  std::string names;
  for (std::size_t i = 0; i < object.protocols.size(); ++i) {
    if (protocol != nullptr && object.protocols[i] == protocol) return object.deployments[i];
    names += (names.empty() ? "" : ", ") + object.protocols[i];
  }
  if (protocol == nullptr) return invalid("the deployment has several protocols: choose one of " + names);
  return invalid("the deployment is for protocol " + names + ", not " + protocol);
}

}  // namespace

Result<std::shared_ptr<const AnyClient>> ClientObject::join() const {
  const std::lock_guard lock(join_mutex);
  if (joined == nullptr) {
    PIRX_ASSIGN(joined,
                pirx::join(*deployment.plan, {.loopback = client::all_on_this_machine(deployment)}, options));
  }
  return joined;
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
  return guarded([&]() -> Result<void> {
    PIRX_ASSIGN(const auto object, object_of<const DeploymentObject>(deployment));
    PIRX_TRY(check_not_null(count));
    *count = object->deployments.size();
    return {};
  });
}

pirx_status pirx_deployment_protocol(const pirx_deployment* deployment, size_t index, const char** name) {
  return guarded([&]() -> Result<void> {
    PIRX_ASSIGN(const auto object, object_of<const DeploymentObject>(deployment));
    PIRX_TRY(check_not_null(name));
    if (index >= object->protocols.size()) {
      return pirx::fail(pirx::ErrorCode::kOutOfRange,
                        "the deployment has " + std::to_string(object->protocols.size()) + " protocols");
    }
    *name = object->protocols[index].c_str();
    return {};
  });
}

pirx_status pirx_deployment_database(const pirx_deployment* deployment, pirx_database* database) {
  return guarded([&]() -> Result<void> {
    PIRX_ASSIGN(const auto object, object_of<const DeploymentObject>(deployment));
    PIRX_TRY(check_not_null(database));
    const auto& plan = *object->deployments[0].plan;
    const auto& geometry = plan.geometry();
    pirx_database told{};
    static_assert(sizeof told.identity == std::tuple_size_v<pirx::Digest>);
    std::transform(plan.version().identity.begin(), plan.version().identity.end(), told.identity,
                   [](auto byte) { return static_cast<std::uint8_t>(byte); });
    told.epoch = plan.version().epoch;
    told.records = geometry.spec().records;
    told.record_bytes = geometry.spec().record_bytes;
    told.keyed = geometry.keyed() ? 1 : 0;
    *database = told;
    return {};
  });
}

pirx_status pirx_deployment_free(pirx_deployment* deployment) {
  return free_object<DeploymentObject>(deployment);
}

pirx_status pirx_client_create(const pirx_deployment* deployment, const char* protocol,
                               const pirx_option* options, size_t option_count, pirx_client** client) {
  return guarded([&]() -> Result<void> {
    PIRX_ASSIGN(const auto object, object_of<const DeploymentObject>(deployment));
    PIRX_TRY(check_not_null(client));
    if (option_count != 0) PIRX_TRY(check_not_null(options));
    auto made = std::make_shared<ClientObject>();
    PIRX_ASSIGN(made->deployment, choose(*object, protocol));
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
  return guarded([&]() -> Result<void> {
    PIRX_ASSIGN(const auto object, object_of<const ClientObject>(client));
    PIRX_TRY(check_not_null(text));
    *text = object->warning.c_str();
    return {};
  });
}

pirx_status pirx_client_servers(const pirx_client* client, size_t* count) {
  return guarded([&]() -> Result<void> {
    PIRX_ASSIGN(const auto object, object_of<const ClientObject>(client));
    PIRX_TRY(check_not_null(count));
    *count = object->addresses.size();
    return {};
  });
}

pirx_status pirx_client_server(const pirx_client* client, size_t index, pirx_server* server) {
  return guarded([&]() -> Result<void> {
    PIRX_ASSIGN(const auto object, object_of<const ClientObject>(client));
    PIRX_TRY(check_not_null(server));
    if (index >= object->addresses.size()) {
      return pirx::fail(pirx::ErrorCode::kOutOfRange,
                        "there are " + std::to_string(object->addresses.size()) + " servers");
    }
    const auto& endpoint = object->deployment.servers[index];
    *server = {object->addresses[index].origin.c_str(), object->query_paths[index].c_str(),
               endpoint.ca_file.c_str(), endpoint.allow_tls_1_2 ? 1 : 0};
    return {};
  });
}

pirx_status pirx_client_free(pirx_client* client) { return free_object<ClientObject>(client); }
