// Checksums of bulk data. They are as fast as memory. They detect damage, but not forgery.
#pragma once

#include <array>

#include "pirx/base/bytes.h"

namespace pirx {

using Checksum = std::array<std::byte, 16>;

/// Poly1305 (RFC 8439) under the public key SHA-256("pirx checksum v1"): any change that was not made for it
/// is found but for one in about 2^100. Whoever wants to can make bytes of the same checksum. Unavailable
/// where OpenSSL was configured without Poly1305.
Result<Checksum> checksum(ByteSpan bytes);

}  // namespace pirx
