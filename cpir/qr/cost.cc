// SPDX-License-Identifier: Apache-2.0
// The offer of quadratic residuosity: every window of rows of the matrix costs a table, and a product for
// every column.
#include "cost.h"

#include <cmath>

#include "cpir/qr/column_products.h"
#include "pirx/cpir/qr/common.h"
#include "src/protocol/offers.h"

namespace pirx::cpir::qr {
namespace {

Result<Offer> offer_at(const Question& question, Rates& rates, const database::Geometry& geometry,
                       std::uint64_t slots) {
  const unsigned k = question.modulus_bits;
  const auto policy = question.reproduction ? KeyPolicy::kPaperReproduction : KeyPolicy::kSecure;
  PIRX_ASSIGN(const auto params, Params::create({geometry, {}, slots, k, policy}));
  PIRX_ASSIGN(const auto* kernel, dj::choose_kernel("auto"));
  const dj::Ring ring(*kernel, (mpz_class(1) << k) - 1, 0);
  const std::size_t columns = 8 * params.row_bytes();
  const auto plan = plan_columns(params.rows(), columns, ring);
  PIRX_ASSIGN(const double key, rates.seconds({"dj_check", {k}}));
  PIRX_ASSIGN(const double check, rates.seconds({"qr_check", {k}}));
  PIRX_ASSIGN(const double entry, rates.seconds({"qr_entry", {k, plan.window}}));
  PIRX_ASSIGN(const double product, rates.seconds({"qr_product", {k, plan.window}}));
  PIRX_ASSIGN(const double column, rates.seconds({"qr_column", {k, plan.window}}));
  PIRX_ASSIGN(const double hide, rates.seconds({"qr_hide", {k}}));
  PIRX_ASSIGN(const double tell, rates.seconds({"qr_tell", {k}}));
  const auto a = static_cast<double>(params.rows()), b = static_cast<double>(columns);
  const double windows = std::ceil(a / plan.window);
  Offer offer;
  offer.settings = std::to_string(params.slots()) + (params.slots() == 1 ? " record" : " records") + " a row";
  offer.options = {{"slots", std::to_string(params.slots())},
                   question.reproduction
                       ? std::pair<const std::string, std::string>("paper_reproduction", "on")
                       : std::pair<const std::string, std::string>("modulus", std::to_string(k))};
  offer.privacy = "nobody tells squares from non-squares modulo N of " + std::to_string(k) + " bits";
  offer.records_per_row = geometry.spec().records_per_row;
  offer.bytes_up = params.request_bytes();
  offer.bytes_down = params.reply_bytes();
  offer.server_seconds = key + (a * check + windows * (std::exp2(plan.window) - 1) * entry +
                                windows * b * product + b * column) /
                                   question.server_cores;
  offer.client_seconds = a * hide + b * tell / question.client_cores;
  offer.server_bytes = geometry.data_bytes() + params.reply_bytes() + params.request_bytes() +
                       column_products_bytes(*kernel, k, columns, question.server_cores);
  offer.client_bytes = params.request_bytes() + params.reply_bytes() + params.row_bytes();
  return offer;
}

}  // namespace

Result<Offer> offer_residuosity(const Question& question, Rates& rates) {
  // The matrix is read where the database lies, whatever its rows are.
  PIRX_ASSIGN(const auto geometry, geometry_of(question, 1));
  Question slots = question;
  slots.geometry.reset();
  const double balanced =
      std::sqrt(static_cast<double>(question.records) / (8.0 * static_cast<double>(geometry.slot_bytes())));
  const auto middle = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(balanced)));
  return best_of(rows_to_try(slots, middle, 5), question,
                 [&](std::uint64_t tried) { return offer_at(question, rates, geometry, tried); });
}

}  // namespace pirx::cpir::qr
