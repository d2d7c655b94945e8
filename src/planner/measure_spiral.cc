// Rates of Spiral from one profile of a database of some megabytes: what the server computes beside its pass
// is scaled from the protocol's own model, which counts it.
#include <algorithm>
#include <limits>

#include "measure.h"
#include "pirx/cpir/spiral/profile.h"

namespace pirx::planner {

namespace spiral = cpir::spiral;

Result<SpiralRates> measure_spiral() {
  constexpr std::uint64_t kRecords = 1 << 14, kRecordBytes = 256;
  PIRX_ASSIGN(const auto geometry, database::Geometry::create({.records = kRecords,
                                                               .record_bytes = kRecordBytes,
                                                               .records_per_row = 1,
                                                               .variable_length = false,
                                                               .digests = false}));
  PIRX_ASSIGN(const auto params, spiral::choose_params(geometry, {}));
  PIRX_ASSIGN(const auto found, spiral::profile(params, {.samples = 3, .measure_noise = false}));
  const double modelled =
      spiral::server_seconds(params, {.scan_bytes_per_second = std::numeric_limits<double>::infinity()});
  const auto encoded = static_cast<double>(params.encoded_bytes());
  const double rest = found.total - found.first_dimension;
  return SpiralRates{std::max(rest, 0.1 * found.total) / modelled, found.first_dimension / encoded,
                     found.encode / encoded, found.query,
                     found.decode / static_cast<double>(params.polynomials())};
}

}  // namespace pirx::planner
