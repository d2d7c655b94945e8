// SPDX-License-Identifier: Apache-2.0
// Makes clients of one deployment for databases of other geometries, such as buckets.
#pragma once

#include "pirx/itpir/client_interface.h"

namespace pirx::itpir {

/// Clients with the parameters that spec_of(geometry, version) describes, a Params::Spec.
template <class Params, class Client, class SpecOf>
MakeClient make_clients(SpecOf spec_of) {
  return [spec_of = std::move(spec_of)](
             const database::Geometry& geometry, const database::Version& version,
             const ClientOptions& options) -> Result<std::shared_ptr<const SharesClient>> {
    PIRX_ASSIGN(auto params, Params::create(spec_of(geometry, version)));
    return std::make_shared<const Client>(std::move(params), options);
  };
}

/// The same where a Params::Spec has nothing but geometry, version and these coordinates.
template <class Params, class Client>
MakeClient make_clients_at(std::vector<std::uint64_t> coordinates) {
  return make_clients<Params, Client>(
      [own = std::move(coordinates)](const auto& geometry, const auto& version) {
        return typename Params::Spec{geometry, version, own};
      });
}

}  // namespace pirx::itpir
