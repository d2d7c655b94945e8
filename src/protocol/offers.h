// SPDX-License-Identifier: Apache-2.0
// What the cost models of protocols share.
#pragma once

#include "pirx/protocol/offer.h"

namespace pirx {

/// The question's geometry, or if it has none, the geometry with records_per_row records in a row.
Result<database::Geometry> geometry_of(const Question& question, std::uint64_t records_per_row);

/// The numbers of records per row that are worth trying: powers of two around the balanced one, or the given
/// number alone if the geometry is given.
std::vector<std::uint64_t> rows_to_try(const Question& question, std::uint64_t balanced, int octaves);

/// Keeps the faster of two offers, on the question's link.
void keep_best(std::optional<Offer>& best, Offer offer, const Question& question);

/// The best of offer_at(x) for every x of `tries`, which must not be empty. Values that are not valid
/// settings (InvalidArgument) are skipped; if all are, the last error is returned. Any other error ends the
/// search.
template <class Tries, class OfferAt>
Result<Offer> best_of(const Tries& tries, const Question& question, const OfferAt& offer_at) {
  std::optional<Offer> best;
  std::optional<Error> why;
  for (const auto& tried : tries) {
    Result<Offer> offer = offer_at(tried);
    if (offer) {
      keep_best(best, std::move(*offer), question);
    } else if (offer.error().code() != ErrorCode::kInvalidArgument) {
      return offer;
    } else {
      why = offer.error();
    }
  }
  if (!best) return tl::unexpected(std::move(*why));
  return std::move(*best);
}

}  // namespace pirx
