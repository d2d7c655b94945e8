// SPDX-License-Identifier: Apache-2.0
// Reads clients' public keys.
#include "public_keys.h"

#include "cpir/ring/sampling.h"
#include "wire.h"

namespace pirx::cpir::spiral {

PublicKeys::PublicKeys(const Params& params) {
  const std::size_t n = params.scheme().pack, t = params.conversion().digits();
  right_digits = params.right().digits();
  left_digits = params.left().digits();
  left = 2 * right_digits * params.bit_rounds();
  conversion = left + 2 * left_digits * (params.row_rounds() - 1);
  packing = conversion + 4 * t;
  count = packing + (n > 1 ? n * t * (n + 1) : 0);
}

std::uint64_t PublicKeys::bytes(const Params& params) {
  const std::uint64_t size =
      round_up(PublicKeys(params).count * polynomial_stride(params.d()) * sizeof(std::uint32_t), 64);
  // AlignedBuffer takes whole huge pages for what is large; a test compares.
  return size < std::uint64_t{4} << 20 ? size : round_up(size, std::uint64_t{2} << 20);
}

Result<PublicKeys> PublicKeys::decode(const Params& params, const Ring& ring, ByteSpan body) {
  PublicKeys keys(params);
  PIRX_ASSIGN(keys.all, Polynomials::create(keys.count, ring.d()));
  UniformStream stream(body.first<kSeedBytes>());
  const std::byte* at = body.data() + kSeedBytes;
  bool good = true;
  for (std::size_t i = 0; i < keys.count;) {
    const std::size_t height = i < keys.packing ? 2 : params.scheme().pack + 1;
    stream.next(ring, keys.all[i]);
    for (std::size_t row = 1; row < height; ++row, at += params.polynomial_bytes()) {
      good &= get_slots(ring, at, keys.all[i + row]);
    }
    for (std::size_t row = 0; row < height; ++row) ring.to_montgomery(keys.all[i + row], keys.all[i + row]);
    i += height;
  }
  if (!good) return invalid("a number of the keys is not below its prime");
  return keys;
}

}  // namespace pirx::cpir::spiral
