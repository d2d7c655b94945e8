// SPDX-License-Identifier: Apache-2.0
// The offers of inspire: fewest bytes, or the fastest server, with either set.
#include "cost.h"

#include <tuple>

#include "packed_database.h"
#include "src/protocol/offers.h"

namespace pirx::cpir::inspire {
namespace {

Result<Offer> offer_at(const Question& question, Rates& rates, const Params& params, const char* set,
                       const char* goal) {
  const std::vector<std::uint32_t> of{params.set().w};
  PIRX_ASSIGN(const double words, rates.seconds({"inspire_words", of}));
  PIRX_ASSIGN(const double packing, rates.seconds({"inspire_packing", of}));
  PIRX_ASSIGN(const double block, rates.seconds({"inspire_block", of}));
  PIRX_ASSIGN(const double columns, rates.seconds({"inspire_columns", of}));
  PIRX_ASSIGN(const double query, rates.seconds({"inspire_query", of}));
  PIRX_ASSIGN(const double decode, rates.seconds({"inspire_decode", of}));
  const auto blocks = static_cast<double>(params.blocks()),
             row_blocks = static_cast<double>(params.row_blocks());
  const double data = static_cast<double>(params.rows()) * static_cast<double>(params.row_bytes());
  const double matrices = static_cast<double>(params.columns()) * params.set().l *
                          static_cast<double>(params.d()) * params.set().packing_bytes;
  const std::uint64_t each = params.spec().layout.rows_each;
  const auto times = static_cast<double>(each);
  Offer offer;
  offer.settings = std::string("set ") + set + ", goal " + goal;
  offer.options = {{"words", std::to_string(params.set().w)}, {"goal", goal}};
  offer.privacy = "nobody solves learning with errors over rings of dimension " + std::to_string(params.d());
  offer.notes.push_back("masks of " + std::to_string(params.masks_reply_bytes(params.blocks())) +
                        " bytes are downloaded once for each version of the database");
  if (each > 1) offer.notes.push_back("a record takes " + std::to_string(each) + " queries");
  offer.records_per_row = params.geometry().spec().records_per_row;
  offer.bytes_up = each * params.request_bytes();
  offer.bytes_down = each * params.reply_bytes();
  offer.bytes_once = params.masks_reply_bytes(params.blocks());
  offer.bytes_once_up = Params::kMasksRequestBytes;
  offer.round_trips = each;
  offer.round_trips_once = 1;
  offer.server_seconds = times * (words * data + packing * matrices) / question.server_cores;
  offer.client_seconds = times * (query * row_blocks + decode * blocks);
  offer.prepare_seconds = blocks * (block + columns * row_blocks) / question.server_cores;
  offer.server_bytes = params.geometry().data_bytes() + packed_database_bytes(params) +
                       params.request_bytes() + params.reply_bytes();
  offer.client_bytes = offer.bytes_once + params.request_bytes() + params.reply_bytes() + params.row_bytes();
  return offer;
}

}  // namespace

Result<Offer> offer_inspire(const Question& question, Rates& rates) {
  PIRX_ASSIGN(const auto geometry, geometry_of(question, 1));
  constexpr std::tuple<const char*, Set, const char*, Goal> kTries[] = {{"s8", kS8, "bytes", Goal::kBytes},
                                                                        {"s8", kS8, "time", Goal::kTime},
                                                                        {"s16", kS16, "bytes", Goal::kBytes},
                                                                        {"s16", kS16, "time", Goal::kTime}};
  return best_of(kTries, question, [&](const auto& tried) -> Result<Offer> {
    const auto& [set_name, set, goal_name, goal] = tried;
    PIRX_ASSIGN(const auto params, choose_params(geometry, {}, set, goal));
    return offer_at(question, rates, params, set_name, goal_name);
  });
}

}  // namespace pirx::cpir::inspire
