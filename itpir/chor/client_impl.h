// SPDX-License-Identifier: Apache-2.0
// Makes query vectors of Chor's protocol: random bits for all servers but the last, and for the last the
// bits that complete the unit vector. It is a template of the random source alone, so that the privacy
// test can enumerate coins.
#pragma once

#include "common.h"
#include "itpir/client_messages.h"
#include "pirx/itpir/chor/client.h"
#include "src/base/constant_time.h"

namespace pirx::itpir::chor {

/// Flips bit `row` of `bits` and touches every byte alike: no branch and no address depends on `row`.
inline void flip_bit(MutableByteSpan bits, std::uint64_t row) noexcept {
  const std::uint64_t at = row >> 3;
  const auto bit = static_cast<std::byte>(1u << (row & 7));
  for (std::uint64_t k = 0; k < bits.size(); ++k) {
    bits[k] ^= bit & static_cast<std::byte>(lane_equal(k, at));
  }
}

/// One request per server. Vector i has a one at each of the `ones` rows from rows[i * ones] on (two at the
/// same row cancel). A fresh coin for every bit of the first l - 1 vectors, or 32 bytes of them for each of
/// these vectors if the query is seeded. Time and addresses depend on no row. ResourceExhausted.
template <RandomSource R>
Result<std::vector<Bytes>> make_requests(const Params::Spec& spec, bool seeded,
                                         std::span<const std::uint64_t> rows, std::size_t ones, R& rng) {
  const std::size_t l = spec.coordinates.size(), queries = rows.size() / ones;
  const std::uint64_t bits = spec.geometry.rows();
  const auto vector_bytes = static_cast<std::size_t>(bit_bytes(bits));
  const std::size_t random_bytes = seeded ? kSeedBytes : vector_bytes;
  const MessageHeader header{{},   kTagGf2,          spec.version, 0, static_cast<std::uint32_t>(queries),
                             bits, ProtocolId::kChor};
  PIRX_ASSIGN(auto requests, empty_requests(header, spec.coordinates, vector_bytes, seeded ? l - 1 : 0));
  SecretVector<std::byte> expanded(seeded ? vector_bytes : 0);
  const auto part = [&](std::size_t server, std::size_t i, std::size_t each) {
    return MutableByteSpan(requests[server]).subspan(MessageHeader::kBytes + i * each, each);
  };
  for (std::size_t i = 0; i < queries; ++i) {
    const auto last = part(l - 1, i, vector_bytes);
    for (std::size_t a = 0; a < ones; ++a) flip_bit(last, rows[i * ones + a]);
    for (std::size_t j = 0; j + 1 < l; ++j) {
      auto coins = part(j, i, random_bytes);
      rng.fill(coins);
      if (seeded) {
        expand_bits(coins.template first<kSeedBytes>(), bits, expanded.expose());
        coins = expanded.expose();
      } else {
        coins.back() &= last_byte_mask(bits);
      }
      for (std::size_t k = 0; k < vector_bytes; ++k) last[k] ^= coins[k];
    }
  }
  return requests;
}

}  // namespace pirx::itpir::chor
