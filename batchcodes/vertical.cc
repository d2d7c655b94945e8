// What all vertical codes check before they plan.
#include "pirx/batchcodes/vertical.h"

namespace pirx::batchcodes {

Result<VerticalPlan> VerticalCode::plan(std::uint64_t blocks, std::span<const std::uint64_t> wanted) const {
  if (wanted.empty() || wanted.size() > batch()) {
    return fail(ErrorCode::kInvalidArgument, "this code serves 1 to " + std::to_string(batch()) +
                                                 " blocks in a round, not " + std::to_string(wanted.size()) +
                                                 ": ask in several rounds, always the same number");
  }
  for (const auto block : wanted) {
    if (block >= blocks) {
      return fail(ErrorCode::kOutOfRange, "no such block: the database has " + std::to_string(blocks));
    }
  }
  VerticalPlan result(buckets(), wanted.size());
  PIRX_TRY(assign(blocks, wanted, result));
  return result;
}

}  // namespace pirx::batchcodes
