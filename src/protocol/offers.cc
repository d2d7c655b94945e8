// SPDX-License-Identifier: Apache-2.0
// Offers: their total time, and the search for the best one.
#include "src/protocol/offers.h"

#include <algorithm>
#include <cmath>

namespace pirx {

double total_seconds(const Offer& offer, const Question& question, const Link& link) {
  const double once = static_cast<double>(offer.round_trips_once) * link.round_trip +
                      8 * static_cast<double>(offer.bytes_once) / link.down +
                      8 * static_cast<double>(offer.bytes_once_up) / link.up + offer.prepare_seconds;
  return static_cast<double>(offer.round_trips) * link.round_trip +
         8 * static_cast<double>(offer.bytes_up) / link.up +
         8 * static_cast<double>(offer.bytes_down) / link.down + offer.server_seconds + offer.client_seconds +
         (question.ahead ? 0 : offer.ahead_seconds) + once / static_cast<double>(question.queries);
}

Result<database::Geometry> geometry_of(const Question& question, std::uint64_t records_per_row) {
  if (question.geometry) return *question.geometry;
  return database::Geometry::create(
      {.records = question.records,
       .record_bytes = question.record_bytes,
       .records_per_row = std::clamp<std::uint64_t>(records_per_row, 1, question.records),
       .variable_length = false,
       .digests = true});
}

std::vector<std::uint64_t> rows_to_try(const Question& question, std::uint64_t balanced, int octaves) {
  if (question.geometry) return {question.geometry->spec().records_per_row};
  std::vector<std::uint64_t> out;
  // A double may be above the number of records that it stands for, and above all numbers.
  const auto most = static_cast<double>(std::min(question.records, std::uint64_t{1} << 63));
  for (int octave = -octaves; octave <= octaves; ++octave) {
    const double wanted = static_cast<double>(balanced) * std::exp2(octave);
    const double inside = std::clamp(wanted, 1.0, most);
    const auto rows = std::min(static_cast<std::uint64_t>(inside), question.records);
    if (out.empty() || out.back() != rows) out.push_back(rows);
  }
  return out;
}

void keep_best(std::optional<Offer>& best, Offer offer, const Question& question) {
  if (!best ||
      total_seconds(offer, question, question.link) < total_seconds(*best, question, question.link)) {
    best = std::move(offer);
  }
}

}  // namespace pirx
