// The names of rates, tables of rates, and interpolation between rates at powers of two.
#include "pirx/planner/rates.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "grid.h"

namespace pirx::planner {
namespace {

struct QuantityName {
  Quantity quantity;
  std::string_view name;
  std::size_t numbers;  ///< used of RateId::of
};
constexpr QuantityName kNames[] = {
    {Quantity::kDjProduct, "dj_product", 3},
    {Quantity::kDjSquare, "dj_square", 2},
    {Quantity::kDjEntry, "dj_entry", 3},
    {Quantity::kDjRow, "dj_row", 2},
    {Quantity::kDjCheck, "dj_check", 1},
    {Quantity::kDjZero, "dj_zero", 2},
    {Quantity::kDjBit, "dj_bit", 2},
    {Quantity::kDjOpen, "dj_open", 2},
    {Quantity::kQrCheck, "qr_check", 1},
    {Quantity::kQrEntry, "qr_entry", 2},
    {Quantity::kQrProduct, "qr_product", 2},
    {Quantity::kQrColumn, "qr_column", 2},
    {Quantity::kQrHide, "qr_hide", 1},
    {Quantity::kQrTell, "qr_tell", 1},
    {Quantity::kSpiralExpand, "spiral_expand", 0},
    {Quantity::kSpiralFold, "spiral_fold", 0},
    {Quantity::kSpiralColumn, "spiral_column", 0},
    {Quantity::kSpiralScan, "spiral_scan", 0},
    {Quantity::kSpiralEncode, "spiral_encode", 0},
    {Quantity::kSpiralQuery, "spiral_query", 0},
    {Quantity::kSpiralDecode, "spiral_decode", 0},
    {Quantity::kScan, "scan", 3},
    {Quantity::kPrepare, "prepare", 3},
    {Quantity::kShare, "share", 4},
    {Quantity::kSeeds, "seeds", 4},
    {Quantity::kGather, "gather", 4},
    {Quantity::kHash, "hash", 1},
};

const QuantityName& name_of(Quantity quantity) {
  return *std::find_if(std::begin(kNames), std::end(kNames),
                       [&](const auto& entry) { return entry.quantity == quantity; });
}

}  // namespace

std::string RateId::name() const {
  const auto& entry = name_of(quantity);
  std::string text(entry.name);
  for (std::size_t i = 0; i < entry.numbers; ++i) text += "/" + std::to_string(of[i]);
  return text;
}

Result<RateId> RateId::parse(std::string_view name) {
  const auto bad = [&] {
    return fail(ErrorCode::kDataLoss, "'" + std::string(name.substr(0, 64)) + "' is the name of no rate");
  };
  const auto slash = name.find('/');
  const auto* entry = std::find_if(std::begin(kNames), std::end(kNames),
                                   [&](const auto& known) { return known.name == name.substr(0, slash); });
  if (entry == std::end(kNames)) return bad();
  RateId id{entry->quantity, {}};
  std::string_view rest = slash == std::string_view::npos ? "" : name.substr(slash);
  for (std::size_t i = 0; i < entry->numbers; ++i) {
    if (rest.empty() || rest.front() != '/') return bad();
    const char* end = rest.data() + rest.size();
    const auto [stop, error] = std::from_chars(rest.data() + 1, end, id.of[i]);
    if (error != std::errc{}) return bad();
    rest = {stop, static_cast<std::size_t>(end - stop)};
  }
  if (!rest.empty()) return bad();
  return id;
}

Result<void> RateTable::set(const RateId& id, double seconds) {
  if (!(seconds > 0 && seconds < 1e6)) {
    return fail(ErrorCode::kInvalidArgument, "the rate " + id.name() + " is no time: " +
                                                 std::to_string(seconds) + " seconds; measure it again");
  }
  rates_[id] = seconds;
  return {};
}

Result<double> RateTable::seconds(const RateId& id) {
  const auto found = rates_.find(id);
  if (found == rates_.end()) {
    return fail(ErrorCode::kUnavailable, "the rate " + id.name() + " is not known: measure it");
  }
  return found->second;
}

Result<double> seconds_at(Rates& rates, RateId id, std::size_t at, double size) {
  const auto grid = grid_of(id.quantity);
  PIRX_CHECK(!grid.empty() && at < id.of.size() && size > 0);
  const double log_size = std::log2(size);
  std::size_t above = 1;
  while (above + 1 < grid.size() && grid[above] < log_size) ++above;
  id.of[at] = grid[above - 1];
  PIRX_ASSIGN(const double low, rates.seconds(id));
  id.of[at] = grid[above];
  PIRX_ASSIGN(const double high, rates.seconds(id));
  const double width = grid[above] - grid[above - 1];
  const double part = (log_size - grid[above - 1]) / width;
  if (part >= 1) return high * std::exp2(log_size - grid[above]);
  if (part <= 0) return low;  // what is so small costs what a call costs
  return std::exp2(std::log2(low) * (1 - part) + std::log2(high) * part);
}

}  // namespace pirx::planner
