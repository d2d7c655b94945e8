// SPDX-License-Identifier: Apache-2.0
// Base64 with OpenSSL.
#include "files.h"

#include <openssl/evp.h>

#include <climits>

namespace pirx::ct {

std::string encode_base64(ByteSpan bytes) {
  PIRX_CHECK(bytes.size() <= INT_MAX / 2);
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.pop_back();
  return text;
}

Result<Bytes> decode_base64(std::string_view text, const std::string& what) {
  const auto broken = [&] { return fail(ErrorCode::kDataLoss, what + " is not base64 (RFC 4648)"); };
  if (text.size() % 4 != 0 || text.size() > INT_MAX / 2) return broken();
  Bytes bytes(text.size() / 4 * 3);
  if (EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(text.data()),
                      static_cast<int>(text.size())) != static_cast<int>(bytes.size())) {
    return broken();
  }
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) {
    bytes.pop_back();
    text.remove_suffix(1);
  }
  // OpenSSL is lenient; one text a value is what can be compared.
  auto again = encode_base64(bytes);
  while (again.ends_with('=')) again.pop_back();
  if (again != text) return broken();
  return bytes;
}

}  // namespace pirx::ct
