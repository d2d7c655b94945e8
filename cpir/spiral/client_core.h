// SPDX-License-Identifier: Apache-2.0
// The client's secrets and its computations with them. The caller passes the random coins: Client adds
// randomness and messages, tests and benchmarks look at single stages.
#pragma once

#include "cpir/ring/sampling.h"
#include "pirx/cpir/spiral/common.h"

namespace pirx::cpir::spiral {

class ClientCore {
 public:
  ClientCore(const Params& params, const Coins& coins);

  /// The keys message, with fresh public randomness.
  Bytes keys(const Params& params, const Coins& coins) const;
  /// Writes what follows the header and the name of the keys in a query: the seed and c1.
  void query(const Params& params, std::uint64_t item, const Coins& coins, MutableByteSpan out) const;
  /// The coefficients, below p, of an item with its pad, from the body of a reply.
  SecretVector<std::uint16_t> decode(const Params& params, ByteSpan body) const;

  /// s c0 + c1 in (-q/2, q/2), which is message plus error. c0 and c1 are slots. For tests.
  std::vector<std::int64_t> phase(const std::uint32_t* c0, const std::uint32_t* c1) const;
  /// The same under the key of row `row` of a packed ciphertext.
  std::vector<std::int64_t> packed_phase(std::size_t row, const std::uint32_t* c0,
                                         const std::uint32_t* c) const;
  const SecretPolynomial& secret() const noexcept { return secret_; }

 private:
  const SecretPolynomial& reply_secret(std::size_t row) const noexcept {
    return packing_.empty() ? secret_ : packing_[row];
  }
  std::vector<std::int64_t> phase_under(const SecretPolynomial& secret, const std::uint32_t* c0,
                                        const std::uint32_t* c1) const;
  const Ring& ring_;
  SecretPolynomial secret_;
  std::vector<SecretPolynomial> packing_;
};

}  // namespace pirx::cpir::spiral
