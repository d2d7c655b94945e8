// SPDX-License-Identifier: Apache-2.0
// What a client computes for a query and with a reply. The caller passes the random coins: Client adds
// randomness and messages, tests look at single stages.
#pragma once

#include "cpir/ring/sampling.h"
#include "pirx/cpir/inspire/client.h"

namespace pirx::cpir::inspire {

/// A secret under which nothing is encrypted yet. It cannot be copied, and a query takes it away, so two
/// queries never share one: under the same A_v, their difference would show the rows. What is left of it
/// decodes only.
class FreshSecret {
 public:
  FreshSecret(const Params& params, const Coins& coins)
      : polynomial_(Ring::get(params.set().log_d), params.set().eta, coins) {}
  FreshSecret(FreshSecret&&) noexcept = default;
  FreshSecret(const FreshSecret&) = delete;
  FreshSecret& operator=(const FreshSecret&) = delete;
  FreshSecret& operator=(FreshSecret&&) = delete;

 private:
  friend class ClientCore;
  SecretPolynomial polynomial_;
};

/// The transforms of a block's masks, 2d residues of mu_+ and then 2d of mu_-.
using MaskSlots = std::vector<std::uint32_t>;

class ClientCore {
 public:
  /// The transforms of A_v and w_j, 2d residues each.
  struct Public {
    std::vector<std::uint32_t> query_masks, key_masks;
  };
  static Public expand(const Params& params);
  ClientCore(const Params& params, Public randomness);

  /// Writes y' and c (specification, section 2.2), params.key_bytes() and params.query_bytes() long. Coins
  /// are drawn for the e'_j, then for the e_v. On input row < params.rows().
  RowSecret query(FreshSecret secret, std::uint64_t row, const Coins& coins, MutableByteSpan key,
                  MutableByteSpan numbers) const;
  /// The transforms of a block's masks. On input `masks` has params.masks_bytes() bytes.
  MaskSlots mask_slots(ByteSpan masks) const;
  /// The words of a row times 2^(tm - w), plus errors, modulo 2^tm (u of section 2.6), from the body of a
  /// reply and the masks of all blocks.
  SecretVector<std::uint32_t> phases(RowSecret secret,
                                     std::span<const std::shared_ptr<const MaskSlots>> masks,
                                     ByteSpan body) const;
  /// The words of a row.
  SecretVector<std::byte> decode(RowSecret secret, std::span<const std::shared_ptr<const MaskSlots>> masks,
                                 ByteSpan body) const;

 private:
  Params params_;
  const Ring& ring_;
  Public public_;
};

}  // namespace pirx::cpir::inspire
