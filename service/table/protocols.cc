// SPDX-License-Identifier: Apache-2.0
// The table of protocols: one line a protocol.
#include "pirx/protocol.h"

namespace pirx {

extern const Protocol kGoldbergProtocol, kChorProtocol, kTreeProtocol, kResiduosityProtocol, kSpiralProtocol,
    kInspireProtocol, kDownloadProtocol, kPointProtocol;

std::span<const Protocol* const> protocols() noexcept {
  static constexpr const Protocol* kTable[] = {
      &kGoldbergProtocol,  // itpir/goldberg/
      &kChorProtocol,      // itpir/chor/
      &kPointProtocol,     // itpir/dpf/
#ifndef PIRX_WITHOUT_GMP
      &kTreeProtocol,         // cpir/dj/
      &kResiduosityProtocol,  // cpir/qr/
#endif
      &kSpiralProtocol,    // cpir/spiral/
      &kInspireProtocol,   // cpir/inspire/
      &kDownloadProtocol,  // download/
  };
  return kTable;
}

}  // namespace pirx
