// SPDX-License-Identifier: Apache-2.0
// A polynomial's seed is a digest of what it is for, the salt and its number.
#include "public_randomness.h"

#include "cpir/ring/sampling.h"

namespace pirx::cpir::inspire {
namespace {

void expand(std::string_view use, const Ring& ring, const Salt& salt, std::uint64_t number,
            std::uint32_t* slots) {
  std::array<std::byte, 8> bytes{};
  store_le(bytes.data(), number);
  const Digest seed = sha256_of({as_bytes(use), salt, bytes});
  UniformStream(seed).next(ring, slots);
}

}  // namespace

void query_mask(const Ring& ring, const Salt& salt, std::uint64_t v, std::uint32_t* slots) {
  expand("pirx inspire query mask", ring, salt, v, slots);
}
void key_mask(const Ring& ring, const Salt& salt, std::uint64_t j, std::uint32_t* slots) {
  expand("pirx inspire key mask", ring, salt, j, slots);
}

}  // namespace pirx::cpir::inspire
