// SPDX-License-Identifier: Apache-2.0
// Splits the bits of an item into coefficients of log p bits. The pad is a stream whose seed is made from the
// database and the item.
#include "item.h"

#include "pirx/base/rng.h"
#include "pirx/base/secret.h"
#include "wire.h"

namespace pirx::cpir::spiral {
namespace {

/// Coefficients below p: 16-bit words of the stream, cut.
void fill_pad(const Params& params, std::uint64_t item, std::span<std::uint16_t> out) {
  Sha256 seed;
  seed.update(as_bytes("pirx spiral pad"));
  seed.update(params.spec().version.identity);
  seed.update(std::as_bytes(std::span(&item, 1)));
  SeedStream(std::move(seed).finish()).fill(std::as_writable_bytes(out));
  const unsigned mask = (1u << params.scheme().log_p) - 1;
  for (auto& x : out) x = static_cast<std::uint16_t>(x & mask);
}

}  // namespace

void item_to_coefficients(const Params& params, std::uint64_t item, ByteSpan bytes,
                          std::span<std::uint16_t> out) {
  const unsigned bits = params.scheme().log_p, mask = (1u << bits) - 1;
  fill_pad(params, item, out);
  BitReader reader(bytes);
  for (auto& x : out) x = static_cast<std::uint16_t>((x + reader.get(bits)) & mask);
}

void coefficients_to_item(const Params& params, std::uint64_t item, std::span<const std::uint16_t> in,
                          MutableByteSpan bytes) {
  const unsigned bits = params.scheme().log_p, mask = (1u << bits) - 1;
  SecretVector<std::uint16_t> memory(in.size());
  const auto pad = memory.expose();
  fill_pad(params, item, pad);
  BitWriter writer(bytes);
  for (std::size_t i = 0; i < in.size(); ++i) writer.put((in[i] + mask + 1u - pad[i]) & mask, bits);
  writer.finish();
}

}  // namespace pirx::cpir::spiral
