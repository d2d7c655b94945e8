// SPDX-License-Identifier: Apache-2.0
// The offer of Spiral: the plan that its server chooses by itself, or one of the named plans, with the
// client's keys uploaded once.
#include "cost.h"

#include "pirx/cpir/spiral/common.h"
#include "src/protocol/offers.h"

namespace pirx::cpir::spiral {
namespace {

Result<Offer> offer_at(const Question& question, Rates& rates, const Params& params, const std::string& set) {
  PIRX_ASSIGN(const double expand, rates.seconds({"spiral_expand"}));
  PIRX_ASSIGN(const double fold, rates.seconds({"spiral_fold"}));
  PIRX_ASSIGN(const double column, rates.seconds({"spiral_column"}));
  PIRX_ASSIGN(const double scan, rates.seconds({"spiral_scan"}));
  PIRX_ASSIGN(const double encode, rates.seconds({"spiral_encode"}));
  PIRX_ASSIGN(const double query, rates.seconds({"spiral_query"}));
  PIRX_ASSIGN(const double decode, rates.seconds({"spiral_decode"}));
  const auto encoded = static_cast<double>(params.encoded_bytes());
  const ModelSeconds model = model_seconds(params);
  Offer offer;
  offer.settings = set.empty() ? "" : "set " + set;
  if (!set.empty()) offer.options = {{"set", set}};
  offer.privacy = "nobody solves learning with errors over rings of dimension " + std::to_string(params.d());
  offer.notes.push_back("the client's keys, " + std::to_string(params.keys_bytes()) +
                        " bytes, are uploaded once for each server");
  offer.records_per_row = params.geometry().spec().records_per_row;
  offer.bytes_up = params.request_bytes();
  offer.bytes_down = params.reply_bytes();
  // The first query is refused, since the server does not hold its keys, and is sent again after them.
  offer.bytes_once_up = params.request_bytes() + params.keys_bytes();
  offer.round_trips_once = 2;
  offer.server_seconds =
      (expand * model.expand + fold * model.fold + scan * encoded +
       column * static_cast<double>(params.columns()) * static_cast<double>(params.polynomials())) /
      question.server_cores;
  offer.client_seconds = query + decode * static_cast<double>(params.polynomials());
  offer.prepare_seconds = encode * encoded / question.server_cores;
  offer.server_bytes = params.geometry().data_bytes() + params.encoded_bytes() + params.keys_bytes() +
                       params.request_bytes() + params.reply_bytes();
  offer.client_bytes =
      params.keys_bytes() + params.request_bytes() + params.reply_bytes() + params.item_bytes();
  return offer;
}

}  // namespace

Result<Offer> offer_spiral(const Question& question, Rates& rates) {
  PIRX_ASSIGN(const auto geometry, geometry_of(question, 1));
  std::optional<Offer> best;
  const auto consider = [&](Result<Params> params, const std::string& set) -> Result<void> {
    if (!params) return tl::unexpected(std::move(params).error());
    PIRX_ASSIGN(auto offer, offer_at(question, rates, *params, set));
    keep_best(best, std::move(offer), question);
    return {};
  };
  const auto chosen = consider(choose_params(geometry, {}), "");
  if (!chosen && chosen.error().code() != ErrorCode::kInvalidArgument) {
    return tl::unexpected(chosen.error());
  }
  for (std::string_view names = kSchemeNames; !names.empty();) {
    const auto comma = names.find(", ");
    const std::string name(names.substr(0, comma));
    names.remove_prefix(comma == std::string_view::npos ? names.size() : comma + 2);
    const auto scheme = named_scheme(name);
    if (!scheme || scheme->policy != Policy::kSecure) continue;
    const auto named = consider(Params::create({geometry, {}, *scheme}), name);
    if (!named && named.error().code() != ErrorCode::kInvalidArgument) return tl::unexpected(named.error());
  }
  if (!best) return tl::unexpected(chosen.error());
  return std::move(*best);
}

}  // namespace pirx::cpir::spiral
