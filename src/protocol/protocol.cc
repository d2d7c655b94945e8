// What the rows of the table have in common.
#include "pirx/protocol.h"

#include <cstring>

namespace pirx {

std::optional<std::uint64_t> parameters_epoch(ByteSpan message) noexcept {
  constexpr unsigned char kPrefix[] = {'P', 'I', 'R', 'X', 1, 0, 3};
  if (message.size() <= sizeof kPrefix || std::memcmp(message.data(), kPrefix, sizeof kPrefix) != 0) {
    return std::nullopt;
  }
  // The header of the first two protocols is eight bytes longer.
  const auto protocol = static_cast<ProtocolId>(message[sizeof kPrefix]);
  const bool first = protocol == ProtocolId::kGoldberg || protocol == ProtocolId::kChor;
  const std::size_t at = first ? 48 : 40;
  if (protocol == ProtocolId{} || message.size() < at + sizeof(std::uint64_t)) return std::nullopt;
  std::uint64_t epoch = 0;
  for (std::size_t i = sizeof epoch; i-- > 0;)
    epoch = epoch << 8 | static_cast<std::uint64_t>(message[at + i]);
  return epoch;
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
  const auto& protocol = plan.protocol();
  PIRX_ASSIGN(spec.options, Options::create(protocol.client_options, options, protocol.name));
  PIRX_TRY(plan.check(spec));
  return plan.join(spec);
}

}  // namespace pirx
