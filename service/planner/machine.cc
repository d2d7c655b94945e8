// SPDX-License-Identifier: Apache-2.0
// Measures rates as they are asked for, by the steps in the protocols' rows.
#include <algorithm>
#include <charconv>

#include "pirx/planner/planner.h"
#include "pirx/protocol.h"
#include "src/protocol/stopwatch.h"

namespace pirx::planner {
namespace {

const Step* find_step(std::string_view name) {
  for (const Protocol* protocol : protocols()) {
    const auto found = std::find_if(protocol->steps.begin(), protocol->steps.end(),
                                    [&](const Step& step) { return step.name == name; });
    if (found != protocol->steps.end()) return &*found;
  }
  return nullptr;
}

}  // namespace

Result<RateId> parse_rate(std::string_view name) {
  const auto bad = [&] {
    return fail(ErrorCode::kDataLoss, "'" + std::string(name.substr(0, 64)) + "' is the name of no rate");
  };
  const auto slash = name.find('/');
  const Step* step = find_step(name.substr(0, slash));
  if (step == nullptr) return bad();
  RateId id{step->name, std::vector<std::uint32_t>(step->numbers)};
  std::string_view rest = slash == std::string_view::npos ? "" : name.substr(slash);
  for (auto& number : id.of) {
    if (rest.empty() || rest.front() != '/') return bad();
    const char* end = rest.data() + rest.size();
    const auto [stop, error] = std::from_chars(rest.data() + 1, end, number);
    if (error != std::errc{}) return bad();
    rest = {stop, static_cast<std::size_t>(end - stop)};
  }
  if (!rest.empty()) return bad();
  return id;
}

Result<double> Machine::seconds(const RateId& id) {
  if (known_.all().contains(id)) return known_.seconds(id);
  const Step* step = find_step(id.step);
  if (step == nullptr || step->numbers != id.of.size()) return invalid("there is no rate " + id.name());
  const OneThread one;
  RateTable found;
  PIRX_ASSIGN(const double measured, step->measure(id, found));
  PIRX_TRY(found.set(id, measured));
  for (const auto& [other, seconds] : found.all()) {
    if (!known_.all().contains(other)) PIRX_TRY(known_.set(other, seconds));
  }
  return known_.seconds(id);
}

}  // namespace pirx::planner
