// Checks deployments of Chor's protocol, and computes with vectors of bits.
#include "chor_common.h"

#include <algorithm>

#include "pirx/base/cpu.h"
#include "pirx/base/rng.h"

namespace pirx::itpir {
void expand_bits(std::span<const std::byte, kSeedBytes> seed, std::uint64_t bits, MutableByteSpan out) {
  SeedStream(seed).fill(out);
  if (!out.empty()) out.back() &= last_byte_mask(bits);
}

Result<void> check_chor_sizes(std::uint64_t rows, std::uint64_t row_bytes) {
  return check_message_sizes(message_bytes(1, bit_bytes(rows), 1), message_bytes(1, row_bytes, 1));
}

Result<void> check_chor_deployment(const database::Geometry& geometry,
                                   std::span<const std::uint64_t> coordinates) {
  PIRX_TRY(allowed_cpu_features());  // an engine has no way to refuse a wrong PIRX_FORCE_ISA
  const auto l = coordinates.size();
  if (l < 2) {
    return invalid("Chor's protocol needs at least two servers, not " + std::to_string(l) +
                   ": a single one would see what is asked for");
  }
  if (l > Params::kMaxServers) {
    return invalid(std::to_string(l) + " servers are too many: at most " +
                   std::to_string(Params::kMaxServers));
  }
  std::vector<std::uint64_t> sorted(coordinates.begin(), coordinates.end());
  std::sort(sorted.begin(), sorted.end());
  if (sorted.front() == 0) return invalid("a server has coordinate 0: give every server another number");
  const auto twin = std::adjacent_find(sorted.begin(), sorted.end());
  if (twin != sorted.end()) {
    return invalid("two servers have coordinate " + std::to_string(*twin) + ": every server needs its own");
  }
  return check_chor_sizes(geometry.rows(), geometry.row_bytes());
}

}  // namespace pirx::itpir
