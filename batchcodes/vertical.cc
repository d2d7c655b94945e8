// SPDX-License-Identifier: Apache-2.0
// The checks that all vertical codes make before they plan.
#include "pirx/batchcodes/vertical.h"

#include <charconv>
#include <string>

namespace pirx::batchcodes {

Result<VerticalPlan> VerticalCode::plan(std::uint64_t blocks, std::span<const std::uint64_t> wanted,
                                        std::size_t& work) const {
  if (wanted.empty() || wanted.size() > batch()) {
    return invalid("this code serves 1 to " + std::to_string(batch()) + " blocks in a round, not " +
                   std::to_string(wanted.size()) + ": ask in several rounds, always the same number");
  }
  for (const auto block : wanted) {
    if (block >= blocks) {
      return fail(ErrorCode::kOutOfRange, "no such block: the database has " + std::to_string(blocks));
    }
  }
  VerticalPlan result(buckets(), wanted.size());
  PIRX_TRY(assign(blocks, wanted, work, result));
  return result;
}

Result<std::shared_ptr<const VerticalCode>> vertical_code(std::string_view name) {
  const auto colon = name.find(':'), comma = name.find(',');
  unsigned numbers[2] = {0, 0};
  bool good = colon != name.npos && comma != name.npos && colon < comma;
  if (good) {
    const std::string_view words[2] = {name.substr(colon + 1, comma - colon - 1), name.substr(comma + 1)};
    for (int k = 0; k < 2; ++k) {
      const char* end = words[k].data() + words[k].size();
      const auto [rest, error] = std::from_chars(words[k].data(), end, numbers[k]);
      good = good && error == std::errc{} && rest == end && words[k] == std::to_string(numbers[k]);
    }
  }
  const auto share = [](auto code) -> Result<std::shared_ptr<const VerticalCode>> {
    if (!code) return tl::unexpected(std::move(code).error());
    return std::make_shared<const typename decltype(code)::value_type>(std::move(*code));
  };
  if (good && name.substr(0, colon) == "subcube") return share(Subcube::create(numbers[0], numbers[1]));
  if (good && name.substr(0, colon) == "subset") {
    return share(Subset::create(numbers[0], numbers[1], Characteristic::kTwo));
  }
  return invalid("a batch code is given as subcube:L,K or subset:L,w, for example subcube:2,1");
}

}  // namespace pirx::batchcodes
