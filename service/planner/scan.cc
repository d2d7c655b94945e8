// Memory and time of one pass. More threads than this machine has are assumed to help in proportion.
#include "scan.h"

#include <algorithm>
#include <thread>

#include "pirx/fp/w160.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_8.h"
#include "pirx/strassen/engine.h"

namespace pirx::planner {
namespace {

template <class F>
std::uint64_t prepared_bytes(const F& f, const database::Geometry& geometry) {
  return strassen::Engine<F>(f).prepared_bytes(
      static_cast<std::size_t>(geometry.rows()),
      static_cast<std::size_t>(geometry.words_per_row(f.word_bytes())));
}

}  // namespace

Result<void> add_scan(Offer& offer, const Question& question, Rates& rates, ScanField field,
                      const database::Geometry& geometry) {
  const int here = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int threads = std::min(question.server_cores, here);
  const double more = static_cast<double>(question.server_cores) / threads;
  const auto bytes = static_cast<double>(geometry.rows()) * static_cast<double>(geometry.row_bytes());
  const RateId scan{Quantity::kScan,
                    {static_cast<std::uint32_t>(field), 0, static_cast<std::uint32_t>(threads), 0}};
  PIRX_ASSIGN(const double pass, seconds_at(rates, scan, 1, bytes));
  PIRX_ASSIGN(const double prepare, seconds_at(rates, {Quantity::kPrepare, scan.of}, 1, bytes));
  offer.server_seconds += pass / more;
  offer.prepare_seconds += prepare / more;
  offer.server_bytes += geometry.data_bytes();
  switch (field) {
    case ScanField::kGf2:
      offer.server_bytes += prepared_bytes(gf2e::Gf2{}, geometry);
      break;
    case ScanField::kGf2_8:
      offer.server_bytes += prepared_bytes(gf2e::Gf2_8{}, geometry);
      break;
    case ScanField::kW160:
      offer.server_bytes += prepared_bytes(fp::W160{}, geometry);
      break;
  }
  return {};
}

}  // namespace pirx::planner
