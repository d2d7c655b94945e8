// SPDX-License-Identifier: Apache-2.0
// Validates the parameters of Goldberg's protocol.
#include "pirx/itpir/goldberg/common.h"

namespace pirx::itpir::goldberg {

Result<void> check_coordinates(const FieldTag& field, std::span<const std::uint64_t> coordinates) {
  PIRX_TRY(allowed_cpu_features());  // an engine has no way to refuse a wrong PIRX_FORCE_ISA
  return with_field(field, [&](const auto& f) -> Result<void> {
    for (const auto coordinate : coordinates) {
      if (coordinate == 0) {
        return invalid(
            "a server has coordinate 0, where the secret lies: give every server a non-zero coordinate");
      }
      if (coordinate >= f.size_limit()) {
        return invalid("coordinate " + std::to_string(coordinate) + " is no element of " + field.name() +
                       ": it must be below " + std::to_string(f.size_limit()));
      }
    }
    return {};
  });
}

Result<Params> Params::create(Spec spec) {
  const auto l = spec.coordinates.size();
  if (l == 0) return invalid("a deployment needs servers: none were given");
  if (l > kMaxServers) {
    return invalid(std::to_string(l) + " servers are too many: at most " + std::to_string(kMaxServers));
  }
  PIRX_TRY(check_coordinates(spec.field, spec.coordinates));
  PIRX_ASSIGN(auto encoding, batchcodes::Encoding::create(spec.encoding()));
  PIRX_TRY(check_message_sizes(spec.field, encoding.rows(spec.geometry.rows()), spec.geometry));
  spec.modulus = encoding.has_data_coordinates() ? encoding.spec().modulus : 0;
  return Params(std::move(spec), std::move(encoding));
}

}  // namespace pirx::itpir::goldberg
