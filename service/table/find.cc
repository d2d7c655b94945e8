// SPDX-License-Identifier: Apache-2.0
// Looks protocols up in the table, whatever rows it has.
#include "src/protocol/message.h"

namespace pirx {

Result<const Protocol*> find_protocol(std::string_view name) {
  for (const auto* protocol : protocols()) {
    if (protocol->name == name) return protocol;
  }
  return invalid("no protocol is called '" + std::string(name) + "': there are " + protocol_names());
}

Result<const Protocol*> find_protocol_of(ByteSpan parameters) {
  Reader reader(parameters, "parameters message");
  PIRX_ASSIGN(const auto prefix, decode_prefix(reader));
  for (const auto* protocol : protocols()) {
    if (protocol->id == prefix.protocol) return protocol;
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
