// SPDX-License-Identifier: Apache-2.0
// Checks the limits of an encoding, explains the one that is broken, and computes the positions of blocks.
#include "pirx/batchcodes/encoding.h"

#include <algorithm>

#include "pirx/base/buffer.h"
#include "src/base/constant_time.h"

namespace pirx::batchcodes {
namespace {

constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};
constexpr std::uint64_t kMaxServers = std::uint64_t{1} << 16;

std::string text(std::uint64_t n) { return std::to_string(n); }

/// The number of the field's elements, for messages.
std::string room(const FieldTag& field, std::uint64_t size) {
  return field.name() + " has " + (size == kNoLimit ? std::string("2^64 or more") : text(size)) + " elements";
}

Result<void> check_counts(const Encoding::Spec& spec) {
  if (spec.threshold == 0) return invalid("a threshold t of 0 hides nothing: use t >= 1");
  if (spec.ramp == 0) return invalid("a query vector of q = 0 blocks asks for nothing: use q >= 1");
  if (spec.arity == 0) return invalid("a bucket row of u = 0 blocks holds nothing: use u >= 1");
  const std::uint64_t l = spec.coordinates.size();
  if (l > kMaxServers) return invalid(text(l) + " servers are too many: at most " + text(kMaxServers));
  const std::uint64_t degree = std::uint64_t{spec.threshold} + spec.ramp + spec.arity + spec.independence - 2;
  if (l < degree + 1) {
    return invalid("replies are polynomials of degree d = t + tau + q + u - 2 = " + text(degree) +
                   ", so d + 1 = " + text(degree + 1) +
                   " servers are needed to interpolate one, and there are " + text(l) +
                   ": add servers (two more correct one liar) or lower t, tau, q or u");
  }
  return {};
}

/// Checks M for an encoding with data coordinates (u > 1 or tau > 0): block i lies at i mod M.
Result<void> check_modulus(const Encoding::Spec& spec, std::uint64_t size) {
  const std::uint64_t M = spec.modulus, l = spec.coordinates.size();
  if (M < spec.arity || M % spec.arity != 0) {
    return invalid(
        "the coordinate modulus M = " + text(M) + " is no multiple of the arity u = " + text(spec.arity) +
        ": the u blocks of a row need u distinct coordinates; use M = u or M = u * ceil(blocks / u)");
  }
  if (M < spec.ramp) {
    return invalid(
        "q = " + text(spec.ramp) + " blocks of a query vector need as many distinct coordinates, but " +
        (spec.independence > 0 ? "a tau-independent database" : "the encoding") + " with M = " + text(M) +
        " puts all blocks at " + text(M) +
        ": the query polynomial takes one value at each coordinate, so decoding would return garbage; "
        "use M = u * ceil(blocks / u), or q <= M");
  }
  if (M > size || l > size - M) {
    return invalid(
        "M + l = " + text(M) + " + " + text(l) +
        " coordinates do not fit the field: " + room(spec.field, size) +
        "; use a larger field, or a smaller M (a multiple of u; blocks at the same coordinate then "
        "cannot share a query vector)");
  }
  for (const auto x : spec.coordinates) {
    if (x < M) {
      return invalid("a server's coordinate " + text(x) + " is also a data coordinate (0 .. " + text(M - 1) +
                     "): that server would hold plain blocks and see the query for them; use labels from " +
                     text(M) + " on");
    }
  }
  return {};
}

}  // namespace

Result<std::uint64_t> Encoding::field_size(const FieldTag& field) {
  if (field.kind == FieldKind::kBinary && field.bits >= 1) {
    return field.bits < 64 ? std::uint64_t{1} << field.bits : kNoLimit;
  }
  if (field.kind == FieldKind::kPrime && field.bits >= 2) {
    return field.bits <= 63 ? (std::uint64_t{1} << (field.bits - 1)) + field.low : kNoLimit;
  }
  return invalid("no field " + field.name());
}

Result<std::vector<std::uint64_t>> Encoding::suggested_coordinates(const FieldTag& field, unsigned servers) {
  PIRX_ASSIGN(const std::uint64_t size, field_size(field));
  if (servers >= size || servers > kMaxServers) {
    return invalid(text(servers) + " servers are too many: " + room(field, size) + ", and at most " +
                   text(kMaxServers) + " servers are possible");
  }
  std::uint64_t highest = size - 1;
  if (field.kind == FieldKind::kPrime && size >> 32 != 0) {
    __extension__ using Wide = unsigned __int128;
    constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // 0.618 times 2^64
    highest = static_cast<std::uint64_t>((static_cast<Wide>(size) * kGoldenRatio) >> 64);
  }
  std::vector<std::uint64_t> labels(servers);
  for (unsigned j = 0; j < servers; ++j) labels[j] = highest - j;
  return labels;
}

std::uint64_t Encoding::batch_modulus(unsigned arity, std::uint64_t blocks) noexcept {
  return arity == 0 ? 0 : arity * std::max<std::uint64_t>(1, div_up(blocks, arity));
}

Result<Encoding> Encoding::create(Spec spec) {
  PIRX_ASSIGN(const std::uint64_t size, field_size(spec.field));
  PIRX_TRY(check_counts(spec));
  auto sorted = spec.coordinates;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return invalid("two servers have the same coordinate: each needs its own");
  }
  if (sorted.back() >= size) {
    return invalid("a server's coordinate " + text(sorted.back()) +
                   " is no element: " + room(spec.field, size));
  }
  const bool data_coordinates = spec.arity > 1 || spec.independence > 0;
  if (data_coordinates) {
    if (spec.modulus == 0) spec.modulus = spec.arity;
    PIRX_TRY(check_modulus(spec, size));
  } else if (spec.ramp > size - sorted.size()) {
    return invalid("q + l = " + text(spec.ramp) + " + " + text(sorted.size()) +
                   " coordinates do not fit the field: " + room(spec.field, size) +
                   "; use a larger field or a smaller q");
  }
  return Encoding(std::move(spec));
}

Encoding::Encoding(Spec spec) : spec_(std::move(spec)) {
  if (has_data_coordinates()) return;
  for (std::uint64_t label = 0; free_labels_.size() < spec_.ramp; ++label) {
    if (std::find(spec_.coordinates.begin(), spec_.coordinates.end(), label) == spec_.coordinates.end()) {
      free_labels_.push_back(label);
    }
  }
}

std::uint64_t Encoding::rows(std::uint64_t blocks) const noexcept { return div_up(blocks, spec_.arity); }

bool Encoding::collision_free(std::uint64_t blocks) const noexcept {
  return !has_data_coordinates() || spec_.modulus / spec_.arity >= rows(blocks);
}

Encoding::Position Encoding::position(std::uint64_t block, std::size_t slot) const noexcept {
  if (!has_data_coordinates()) return {block, free_labels_[slot]};
  return {divide(block, spec_.arity).quotient, divide(block, spec_.modulus).remainder};
}

}  // namespace pirx::batchcodes
