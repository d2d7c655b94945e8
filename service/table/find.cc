// Looks protocols up in the table, whatever rows it has.
#include <cstring>

#include "pirx/protocol.h"

namespace pirx {

Result<const Protocol*> find_protocol(std::string_view name) {
  for (const auto* protocol : protocols()) {
    if (protocol->name == name) return protocol;
  }
  return invalid("no protocol is called '" + std::string(name) + "': there are " + protocol_names());
}

Result<const Protocol*> find_protocol_of(ByteSpan parameters) {
  constexpr unsigned char kPrefix[] = {'P', 'I', 'R', 'X'};  // docs/wire_format.md
  constexpr std::size_t kProtocolAt = 7;
  if (parameters.size() <= kProtocolAt || std::memcmp(parameters.data(), kPrefix, sizeof kPrefix) != 0) {
    return fail(ErrorCode::kDataLoss, "this is no pirx message: it does not begin with PIRX");
  }
  for (const auto* protocol : protocols()) {
    if (protocol->id == static_cast<ProtocolId>(parameters[kProtocolAt])) return protocol;
  }
  return invalid("a parameters message is of none of the protocols known here: " + protocol_names());
}

Result<Told> tell(ByteSpan parameters) {
  PIRX_ASSIGN(const auto* protocol, find_protocol_of(parameters));
  return protocol->tell(parameters);
}

std::string protocol_names() {
  std::string names;
  for (const auto* protocol : protocols()) names += (names.empty() ? "" : ", ") + std::string(protocol->name);
#ifdef PIRX_WITHOUT_GMP
  names += " (this pirx was built without GMP, which dj-tree and qr need)";
#endif
  return names;
}

}  // namespace pirx
