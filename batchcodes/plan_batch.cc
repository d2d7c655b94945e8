// SPDX-License-Identifier: Apache-2.0
// Puts wanted blocks into slots: sorts them by coordinate and deals them round-robin. Blocks at one
// coordinate then lie in different query vectors, unless there are more of them than vectors. All of this is
// done by comparing every pair, without a branch or an address that depends on an index.
#include "pirx/batchcodes/encoding.h"
#include "src/base/constant_time.h"

namespace pirx::batchcodes {
namespace {

/// A limit, because the work is quadratic in the slots. No message holds so many.
constexpr std::size_t kMaxSlots = std::size_t{1} << 14;

}  // namespace

Result<BatchPlan> plan_batch(const Encoding& encoding, std::uint64_t blocks,
                             std::span<const std::uint64_t> wanted, std::size_t queries,
                             std::size_t addends) {
  if (addends == 0 || wanted.size() % addends != 0 || (addends > 1 && encoding.has_data_coordinates())) {
    return invalid(
        "blocks are added in a query vector only where all servers hold the same ones (u = 1, tau = 0), "
        "and as many for each sum: fetch them and add then");
  }
  const std::size_t n = wanted.size() / addends, q = encoding.spec().ramp;
  if (n == 0 || queries == 0) {
    return invalid("a query needs at least one block to ask for and one vector");
  }
  if (queries > kMaxSlots / q / addends || n > queries * q) {
    return invalid(std::to_string(queries) + " query vectors of q = " + std::to_string(q) +
                   " blocks do not take " + std::to_string(n) + " blocks (and at most " +
                   std::to_string(kMaxSlots) +
                   " in all): choose the number of vectors for the most you will ever want at a time");
  }
  std::uint64_t missing = 0;
  for (const auto block : wanted) missing |= ~mask_less(block, blocks);
  if (reveal(missing)) {
    return fail(ErrorCode::kOutOfRange, "no such block: the database has " + std::to_string(blocks));
  }

  BatchPlan plan(q * addends, queries, n);
  if (!encoding.has_data_coordinates()) {  // no two blocks collide, so they stay in order
    for (std::size_t i = 0; i < n; ++i) plan.places_.expose()[i] = i;
    for (std::size_t i = 0; i < wanted.size(); ++i) plan.slots_.expose()[i] = {wanted[i], ~std::uint64_t{0}};
    return plan;
  }

  SecretVector<std::uint64_t> keys(n), repeats(n), ranks(n);
  for (std::size_t i = 0; i < n; ++i) keys.expose()[i] = encoding.position(wanted[i], 0).coordinate;
  const auto key = keys.expose();        // coordinates
  const auto repeat = repeats.expose();  // all ones: the same block was wanted before
  const auto rank = ranks.expose();      // the number of different blocks that are dealt before
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) repeat[i] |= mask_equal(wanted[i], wanted[j]);
  }
  std::uint64_t crowded = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t alike = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const std::uint64_t same = mask_equal(key[j], key[i]);
      const std::uint64_t earlier = mask_less(key[j], key[i]) | (same & mask_less(wanted[j], wanted[i]));
      rank[i] += earlier & ~repeat[j] & 1;
      alike += same & ~repeat[j] & 1;
    }
    crowded |= ~mask_less(alike, queries + 1);
  }
  if (reveal(crowded)) {
    return invalid("more of the wanted blocks share a coordinate (the same index modulo M = " +
                   std::to_string(encoding.spec().modulus) + ") than there are query vectors (" +
                   std::to_string(queries) +
                   "): send more vectors, always the same number, or encode with M >= u * ceil(blocks / u)");
  }

  for (std::size_t i = 0; i < n; ++i) {
    const Division dealt = divide(rank[i], queries);
    const std::uint64_t place = dealt.remainder * q + dealt.quotient;
    plan.places_.expose()[i] = place;
    for (std::size_t at = 0; at < queries * q; ++at) {
      const std::uint64_t here = mask_equal(at, place);
      Slot& slot = plan.slots_.expose()[at];
      slot.block |= wanted[i] & here;
      slot.filled |= here;
    }
  }
  return plan;
}

}  // namespace pirx::batchcodes
