// SPDX-License-Identifier: Apache-2.0
// Checksums of bulk data. They are as fast as memory. They detect damage, but not forgery.
#pragma once

#include <array>

#include "pirx/base/bytes.h"

namespace pirx {

using Checksum = std::array<std::byte, 16>;

/// Poly1305 (RFC 8439) under the public key SHA-256("pirx checksum v1"). Misses accidental damage with a
/// probability of about 2^-100. Anybody can make other bytes with the same checksum on purpose. Unavailable:
/// OpenSSL was built without Poly1305.
Result<Checksum> checksum(ByteSpan bytes);

}  // namespace pirx
