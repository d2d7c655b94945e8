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

/// `text` with '?' for control characters, those of UTF-8 included, but not for those that are `kept`.
inline std::string without_controls(std::string text, std::string_view kept = {}) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are 0xC2 and the code.
    const bool high = i > 0 && text[i - 1] == '\xc2' && c >= 0x80 && c < 0xa0;
    const bool low = (c < 0x20 || c == 0x7f) && kept.find(text[i]) == kept.npos;
    if (low || high) text[i] = '?';
    if (high) text[i - 1] = '?';
  }
  return text;
}

}  // namespace pirx
