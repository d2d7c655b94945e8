// SPDX-License-Identifier: Apache-2.0
// The offer of Damgard-Jurik trees: the fastest tree over this link among all trees with non-increasing
// arities, mixed ones included, with as many records in a row as pay.
#include "cost.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "cpir/dj/tree.h"
#include "pirx/cpir/dj/common.h"
#include "src/protocol/offers.h"
#include "tree_cost.h"

namespace pirx::cpir::dj {
namespace {

constexpr std::uint32_t kArities[] = {2,  3,  4,  5,  6,  7,  8,  10,  12,  14,  16,  20,
                                      24, 28, 32, 40, 48, 64, 96, 128, 192, 256, 512, 1024};
/// More are never faster, and their rates take long to measure.
constexpr unsigned kMostLevels = 5;
/// Products that are worth a look: rows of so many chunks.
constexpr std::uint64_t kChunks[] = {1, 2, 4, 8, 16};

/// Seconds of a whole query by the choice of arities, all levels' times added up.
class Search {
 public:
  Search(const Question& question, const TreeShape& shape, TreeCost& cost, Rates& rates)
      : question_(question), shape_(shape), cost_(cost), rates_(rates) {}

  Result<std::vector<std::uint32_t>> run() {
    for (levels_ = 1; levels_ <= kMostLevels; ++levels_) {
      chosen_.clear();
      PIRX_TRY(extend(shape_.rows, 0));
    }
    return found_;
  }

 private:
  Result<void> extend(std::uint64_t nodes, double seconds) {
    const auto s = static_cast<unsigned>(chosen_.size()) + 1;
    if (nodes == 1 && !chosen_.empty()) {
      if (chosen_.size() != levels_) return {};
      PIRX_ASSIGN(const double reply, reply_seconds());
      if (seconds + reply < best_) {
        best_ = seconds + reply;
        found_ = chosen_;
      }
      return {};
    }
    if (chosen_.size() == levels_) return {};
    // What is left must fit the levels that are left.
    const std::uint32_t most = chosen_.empty() ? Params::kMaxArity : chosen_.back();
    if (std::pow(static_cast<double>(most), levels_ - s + 1) < static_cast<double>(nodes)) return {};
    for (const auto arity : kArities) {
      if (arity > most) break;
      // All of them at once need no larger node.
      const bool all = arity >= nodes;
      const auto exact = all ? static_cast<std::uint32_t>(std::max<std::uint64_t>(2, nodes)) : arity;
      PIRX_ASSIGN(const double level, level_seconds(s, nodes, exact));
      if (seconds + level < best_) {
        chosen_.push_back(exact);
        PIRX_TRY(extend(div_up(nodes, exact), seconds + level));
        chosen_.pop_back();
      }
      if (all) break;
    }
    return {};
  }

  Result<double> level_seconds(unsigned s, std::uint64_t children, std::uint32_t arity) {
    const auto key = std::make_tuple(levels_, s, children, arity);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    PIRX_ASSIGN(const auto cost, cost_.level(shape_, s, levels_, children, arity));
    PIRX_ASSIGN(const double bit, rates_.seconds({"dj_bit", {question_.modulus_bits, s}}));
    PIRX_ASSIGN(const double zero, rates_.seconds({"dj_zero", {question_.modulus_bits, s}}));
    const double selectors = arity - 1;
    const double bytes = std::ceil((s + 1.0) * question_.modulus_bits / 8);
    const double seconds = cost.prepare / question_.server_cores + cost.nodes +
                           selectors * (bit + (question_.ahead ? 0 : zero / question_.client_cores) +
                                        8 * bytes / question_.link.up);
    known_.emplace(key, seconds);
    return seconds;
  }

  Result<double> reply_seconds() {
    PIRX_ASSIGN(const double open, rates_.seconds({"dj_open", {question_.modulus_bits, levels_}}));
    const auto chunks = static_cast<double>(shape_.chunks);
    const double bytes = std::ceil((levels_ + 1.0) * question_.modulus_bits / 8);
    return chunks *
           (open / std::min<double>(question_.client_cores, 2 * chunks) + 8 * bytes / question_.link.down);
  }

  const Question& question_;
  const TreeShape& shape_;
  TreeCost& cost_;
  Rates& rates_;
  double best_ = std::numeric_limits<double>::infinity();
  unsigned levels_ = 1;
  std::vector<std::uint32_t> chosen_, found_;
  std::map<std::tuple<unsigned, unsigned, std::uint64_t, std::uint32_t>, double> known_;
};

Result<Offer> offer_at(const Question& question, Rates& rates, TreeCost& cost,
                       const database::Geometry& geometry) {
  const unsigned k = question.modulus_bits;
  const auto policy = question.reproduction ? KeyPolicy::kPaperReproduction : KeyPolicy::kSecure;
  const std::uint64_t payload = std::min<std::uint64_t>((k - 1) / 8, geometry.row_bytes());
  const TreeShape shape{geometry.rows(), div_up(geometry.row_bytes(), payload),
                        static_cast<std::size_t>(8 * payload)};
  PIRX_ASSIGN(const auto arities, Search(question, shape, cost, rates).run());
  if (arities.empty()) {
    return invalid("a tree over " + std::to_string(shape.rows) + " rows would be too high: give longer rows");
  }
  PIRX_ASSIGN(const auto params, Params::create({geometry, {}, arities, k, policy}));
  Offer offer;
  std::string list;
  for (const auto arity : arities) list += (list.empty() ? "" : ",") + std::to_string(arity);
  offer.settings = "arities " + list;
  offer.options = {{"arity", list},
                   {"tables", std::to_string(question.table_bytes)},
                   question.reproduction
                       ? std::pair<const std::string, std::string>("paper_reproduction", "on")
                       : std::pair<const std::string, std::string>("modulus", std::to_string(k))};
  offer.privacy = "nobody tells residues modulo N of " + std::to_string(k) + " bits";
  offer.records_per_row = geometry.spec().records_per_row;
  offer.bytes_up = params.request_bytes();
  offer.bytes_down = params.reply_bytes();
  PIRX_ASSIGN(offer.server_seconds, cost.tree(shape, arities));
  for (unsigned s = 1; s <= params.levels(); ++s) {
    PIRX_ASSIGN(const double bit, rates.seconds({"dj_bit", {k, s}}));
    PIRX_ASSIGN(const double zero, rates.seconds({"dj_zero", {k, s}}));
    offer.client_seconds += (arities[s - 1] - 1) * bit;
    offer.ahead_seconds += (arities[s - 1] - 1) * zero / question.client_cores;
  }
  PIRX_ASSIGN(const double open, rates.seconds({"dj_open", {k, params.levels()}}));
  const auto chunks = static_cast<double>(shape.chunks);
  offer.client_seconds += chunks * open / std::min<double>(question.client_cores, 2 * chunks);
  offer.server_bytes = geometry.data_bytes() + tree_bytes(params, question.table_bytes);
  offer.client_bytes = 2 * params.request_bytes() + params.reply_bytes() + geometry.row_bytes();
  return offer;
}

}  // namespace

Result<Offer> offer_tree(const Question& question, Rates& rates) {
  PIRX_ASSIGN(const auto* kernel, choose_kernel("auto"));
  TreeCost cost(*kernel, question.modulus_bits, question.server_cores, question.table_bytes, rates);
  PIRX_ASSIGN(const auto single, geometry_of(question, 1));
  std::vector<std::uint64_t> tried;
  if (question.geometry) {
    tried.push_back(question.geometry->spec().records_per_row);
  } else {
    for (const auto chunks : kChunks) {
      const std::uint64_t fit = std::clamp<std::uint64_t>(
          chunks * ((question.modulus_bits - 1) / 8) / single.slot_bytes(), 1, question.records);
      if (tried.empty() || tried.back() != fit) tried.push_back(fit);
    }
  }
  return best_of(tried, question, [&](std::uint64_t records) -> Result<Offer> {
    PIRX_ASSIGN(const auto geometry, geometry_of(question, records));
    return offer_at(question, rates, cost, geometry);
  });
}

}  // namespace pirx::cpir::dj
