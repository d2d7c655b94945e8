// SPDX-License-Identifier: Apache-2.0
// The subcube code: numbering of the buckets, and the recursive plan.
#include <algorithm>

#include "pirx/base/buffer.h"
#include "pirx/batchcodes/vertical.h"

namespace pirx::batchcodes {

/// A row wanted from a part of the database.
struct Subcube::Request {
  std::uint64_t row = 0;
  std::uint32_t wanted = VerticalPlan::kBlank;
  bool negative = false;
};

Result<Subcube> Subcube::create(unsigned parts, unsigned depth) {
  if (parts < 2) return invalid("a subcube code splits into L >= 2 parts");
  if (depth < 1) return invalid("a subcube code of depth K = 0 codes nothing: K >= 1");
  std::size_t buckets = 1, plain = 1;
  for (unsigned k = 0; k < depth; ++k) {
    if (std::uint64_t{parts} + 1 > kMaxBuckets / buckets) {
      return invalid("(L+1)^K buckets are more than " + std::to_string(kMaxBuckets) +
                     ", and each is answered with a row in every round: use a smaller L or K");
    }
    buckets *= parts + 1;
    plain *= parts;
  }
  return Subcube(parts, depth, buckets, plain);
}

std::uint64_t Subcube::bucket_rows(std::uint64_t blocks) const noexcept {
  return std::max<std::uint64_t>(1, div_up(blocks, plain_));
}

std::optional<VerticalCode::Slice> Subcube::slice(std::size_t bucket, std::uint64_t blocks) const noexcept {
  std::uint64_t part = 0, weight = 1;
  for (std::size_t rest = bucket, k = 0; k < depth_; ++k, rest /= parts_ + 1, weight *= parts_) {
    const std::size_t digit = rest % (parts_ + 1);
    if (digit == parts_) return std::nullopt;
    part += digit * weight;
  }
  const std::uint64_t rows = bucket_rows(blocks), first = std::min(part * rows, blocks);
  return Slice{first, 1, std::min(rows, blocks - first)};
}

std::vector<std::size_t> Subcube::addends(std::size_t bucket) const {
  std::size_t weight = buckets_ / (parts_ + 1);  // of the most significant digit L, which means a sum
  while (weight > 0 && bucket / weight % (parts_ + 1) != parts_) weight /= parts_ + 1;
  std::vector<std::size_t> result;
  if (weight == 0) return result;
  for (unsigned part = 0; part < parts_; ++part) result.push_back(bucket - (parts_ - part) * weight);
  return result;
}

Result<void> Subcube::assign(std::uint64_t blocks, std::span<const std::uint64_t> wanted, std::size_t&,
                             VerticalPlan& plan) const {
  SecretVector<Request> requests(batch());
  for (std::size_t k = 0; k < batch(); ++k) {
    requests.expose()[k] =
        k < wanted.size() ? Request{wanted[k], static_cast<std::uint32_t>(k), false} : Request{};
  }
  assign_part(depth_, 0, bucket_rows(blocks) * plain_, std::as_const(requests).expose(), plan);
  return {};
}

/// Assigns 2^level requests for a part of `rows` rows to its (L+1)^level buckets, a pair of requests at a
/// time. Each sub-part gets at most one request of a pair. If both lie in one sub-part, the second becomes a
/// request to every other sub-part, the one of sums included, whose answers add up to the wanted row.
void Subcube::assign_part(unsigned level, std::size_t first_bucket, std::uint64_t rows,
                          std::span<const Request> requests, VerticalPlan& plan) const {
  if (level == 0) {
    plan.uses()[first_bucket] = {requests[0].row, requests[0].wanted, requests[0].negative};
    return;
  }
  const std::uint64_t height = rows / parts_;
  const std::size_t pairs = requests.size() / 2;
  SecretVector<Request> inner((parts_ + 1) * pairs);  // by part, then pair
  std::fill(inner.expose().begin(), inner.expose().end(), Request{});
  const auto slot = [&](std::uint64_t part, std::size_t pair) -> Request& {
    return inner.expose()[static_cast<std::size_t>(part) * pairs + pair];
  };
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    const Request &a = requests[2 * pair], &b = requests[2 * pair + 1];
    if (a.wanted != VerticalPlan::kBlank) slot(a.row / height, pair) = {a.row % height, a.wanted, a.negative};
    if (b.wanted == VerticalPlan::kBlank) continue;
    const std::uint64_t part = b.row / height;
    if (a.wanted == VerticalPlan::kBlank || a.row / height != part) {
      slot(part, pair) = {b.row % height, b.wanted, b.negative};
      continue;
    }
    for (unsigned other = 0; other <= parts_; ++other) {
      if (other != part) slot(other, pair) = {b.row % height, b.wanted, b.negative != (other < parts_)};
    }
  }
  std::size_t width = 1;  // buckets of a sub-part
  for (unsigned k = 1; k < level; ++k) width *= parts_ + 1;
  for (unsigned part = 0; part <= parts_; ++part) {
    assign_part(level - 1, first_bucket + part * width, height,
                std::as_const(inner).expose().subspan(part * pairs, pairs), plan);
  }
}

}  // namespace pirx::batchcodes
