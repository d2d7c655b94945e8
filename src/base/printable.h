// SPDX-License-Identifier: Apache-2.0
// Foreign text in messages.
#pragma once

#include <string>
#include <string_view>

namespace pirx {

/// `text` cut to `limit` characters, with '?' for whatever is not printable ASCII: what a peer or a foreign
/// file says must not steer a terminal.
inline std::string printable_ascii(std::string_view text, std::size_t limit) {
  std::string out(text.substr(0, limit));
  for (auto& c : out) {
    if (c < 0x20 || c > 0x7E) c = '?';
  }
  return out;
}

}  // namespace pirx
