// SPDX-License-Identifier: Apache-2.0
// SHA-256 in one call.
#include "pirx/base/sha256.h"

namespace pirx {

Digest sha256(ByteSpan bytes) { return sha256_of({bytes}); }

Digest sha256_of(std::initializer_list<ByteSpan> parts) {
  Sha256 hash;
  for (const ByteSpan part : parts) hash.update(part);
  return std::move(hash).finish();
}

}  // namespace pirx
