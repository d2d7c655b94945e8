// SPDX-License-Identifier: Apache-2.0
// A table in place of service/table/protocols.cc, with one line more.
#include "pirx/protocol.h"

namespace pirx {

extern const Protocol kDownloadProtocol, kToyProtocol;

std::span<const Protocol* const> protocols() noexcept {
  static constexpr const Protocol* kTable[] = {&kDownloadProtocol, &kToyProtocol};
  return kTable;
}

}  // namespace pirx
