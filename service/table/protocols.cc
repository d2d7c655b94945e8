// The table of protocols: one line a protocol.
#include <algorithm>

#include "pirx/protocol.h"

namespace pirx {

extern const Protocol kGoldbergProtocol, kChorProtocol, kTreeProtocol, kResiduosityProtocol, kSpiralProtocol;

std::span<const Protocol* const> protocols() noexcept {
  static constexpr const Protocol* kTable[] = {
      &kGoldbergProtocol,     // itpir/
      &kChorProtocol,         // itpir/
      &kTreeProtocol,         // cpir/dj/
      &kResiduosityProtocol,  // cpir/qr/
      &kSpiralProtocol,       // cpir/spiral/
  };
  return kTable;
}

Result<const Protocol*> find_protocol(std::string_view name) {
  for (const auto* protocol : protocols()) {
    if (protocol->name == name) return protocol;
  }
  return invalid("no protocol is called '" + std::string(name) + "': there are " + protocol_names());
}

std::string protocol_names() {
  std::string names;
  for (const auto* protocol : protocols()) names += (names.empty() ? "" : ", ") + std::string(protocol->name);
  return names;
}

}  // namespace pirx
