// SPDX-License-Identifier: Apache-2.0
// What every protocol with several servers costs: a pass of the engine over a prepared database, and the
// client's two halves. More threads than this machine has are assumed to help in proportion.
#include "cost.h"

#include <algorithm>

#include "pirx/base/cpu.h"
#include "pirx/fp/w160.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_8.h"
#include "pirx/strassen/engine.h"

namespace pirx::itpir {
namespace {

/// Where rates that depend on a size are measured.
constexpr std::uint32_t kBytes[] = {12, 16, 20, 22, 24, 26, 28};
constexpr std::uint32_t kLengths[] = {6, 9, 12, 14, 16, 18};

template <class F>
std::uint64_t prepared_bytes(const F& f, const database::Geometry& geometry) {
  return strassen::Engine<F>(f).prepared_bytes(
      static_cast<std::size_t>(geometry.rows()),
      static_cast<std::size_t>(geometry.words_per_row(f.word_bytes())));
}

}  // namespace

Result<void> add_costs(Offer& offer, const Question& question, Rates& rates, const SharesCost& cost,
                       const database::Geometry& geometry) {
  const int threads = std::min(question.server_cores, machine_cores());
  const double more = static_cast<double>(question.server_cores) / threads;
  const auto rows = static_cast<double>(geometry.rows()),
             row_bytes = static_cast<double>(geometry.row_bytes());
  const std::uint32_t field = cost.field == kTagGf2 ? 1 : cost.field == kTagW160 ? 160 : 8;
  const std::vector<std::uint32_t> pass_of{field, 0, static_cast<std::uint32_t>(threads)};
  PIRX_ASSIGN(const double pass, seconds_at(rates, {"scan", pass_of}, 1, rows * row_bytes, kBytes));
  PIRX_ASSIGN(const double prepare, seconds_at(rates, {"prepare", pass_of}, 1, rows * row_bytes, kBytes));
  offer.server_seconds += pass / more;
  offer.prepare_seconds += prepare / more;
  offer.server_bytes += geometry.data_bytes() + cost.sizes.request + cost.sizes.reply;
  offer.server_bytes += cost.field == kTagGf2    ? prepared_bytes(gf2e::Gf2{}, geometry)
                        : cost.field == kTagW160 ? prepared_bytes(fp::W160{}, geometry)
                                                 : prepared_bytes(gf2e::Gf2_8{}, geometry);
  PIRX_ASSIGN(const double share, seconds_at(rates, cost.share, cost.share.of.size() - 1, rows, kLengths));
  PIRX_ASSIGN(const double gather,
              seconds_at(rates, cost.gather, cost.gather.of.size() - 1, row_bytes, kLengths));
  PIRX_ASSIGN(const double hash,
              seconds_at(rates, {"hash", {0}}, 0, static_cast<double>(geometry.slot_bytes()), kLengths));
  offer.client_seconds += share + gather + hash;
  offer.client_bytes = offer.bytes_up + offer.bytes_down + geometry.row_bytes();
  return {};
}

}  // namespace pirx::itpir
