// SPDX-License-Identifier: Apache-2.0
// What the rows of the table have in common.
#include "pirx/protocol.h"

#include "src/base/guarded.h"
#include "src/protocol/message.h"

namespace pirx {

std::optional<std::uint64_t> parameters_epoch(ByteSpan message) {
  Reader reader(message, "parameters message");
  const auto prefix = decode_prefix(reader);
  if (!prefix || prefix->type != MessageType::kParameters || prefix->protocol == ProtocolId{}) {
    return std::nullopt;
  }
  if (!reader.get_bytes(has_message_header(prefix->protocol) ? 40 : 32)) return std::nullopt;
  const auto epoch = reader.get<std::uint64_t>();
  return epoch ? std::optional(*epoch) : std::nullopt;
}

Result<std::unique_ptr<AnyServer>> serve(const Protocol& protocol, ServerSpec spec, const Texts& options) {
  PIRX_CHECK(spec.database != nullptr);
  if (protocol.serve == nullptr) return invalid("this pirx was built for clients only");
  PIRX_ASSIGN(spec.options, Options::create(protocol.options, options, protocol.name));
  if (spec.spread && !protocol.spreads) {
    return invalid("the work of " + std::string(protocol.name) +
                   " is not a product of queries and rows that could be spread over processes");
  }
  return protocol.serve(spec);
}

Result<std::unique_ptr<AnyClient>> join(const Plan& plan, ClientSpec spec, const Texts& options) {
  return guarded([&]() -> Result<std::unique_ptr<AnyClient>> {
    const auto& protocol = plan.protocol();
    PIRX_ASSIGN(spec.options, Options::create(protocol.client_options, options, protocol.name));
    PIRX_TRY(plan.check(spec));
    return plan.join(spec);
  });
}

}  // namespace pirx
