// SPDX-License-Identifier: Apache-2.0
// The hash by which a tree grows.
#include "common.h"

#include <algorithm>

#include "itpir/check_messages.h"
#include "pirx/base/sha256.h"
#include "src/base/constant_time.h"

namespace pirx::itpir::dpf {

static_assert(std::endian::native == std::endian::little, "nodes are hashed as they lie in memory");

std::array<std::byte, Aes128::kBlockBytes> fixed_key(const char* name) {
  const Digest digest = sha256(as_bytes(name));
  std::array<std::byte, Aes128::kBlockBytes> key;
  std::copy_n(digest.begin(), key.size(), key.begin());
  return key;
}

Node Node::unit(std::uint64_t row) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << (row & 63);
  const std::uint64_t upper = 0 - ((row >> 6) & 1);
  return {bit & ~upper, bit & upper};
}

Hash::Hash()
    : left_(fixed_key("pirx dpf left")),
      right_(fixed_key("pirx dpf right")),
      leaf_(fixed_key("pirx dpf leaf")) {}

void Hash::prepare(std::span<const Node> parents) {
  input_.resize(parents.size());
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const Node seed = parents[i].seed();
    input_[i] = {seed.low ^ seed.high, seed.low};
  }
}

void Hash::hash(Aes128& cipher, std::span<Node> out) {
  cipher.encrypt(std::as_bytes(std::span(input_)), std::as_writable_bytes(out));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = out[i] ^ input_[i];
}

void Hash::children(std::span<const Node> parents, std::span<Node> left, std::span<Node> right) {
  PIRX_CHECK(left.size() == parents.size() && right.size() == parents.size());
  prepare(parents);
  hash(left_, left);
  hash(right_, right);
}

void Hash::leaves(std::span<const Node> parents, std::span<Node> out) {
  PIRX_CHECK(out.size() == parents.size());
  prepare(parents);
  hash(leaf_, out);
}

Result<void> check_sizes(std::uint64_t rows, std::uint64_t points, std::uint64_t slot_bytes) {
  return check_message_sizes(message_bytes(1, points * key_bytes(rows), 1), message_bytes(1, slot_bytes, 1));
}

Result<void> check_coordinates(std::span<const std::uint64_t> coordinates) {
  if (coordinates.size() < 2) {
    return invalid("dpf needs two servers, not " + std::to_string(coordinates.size()) +
                   ": make a deployment of two or more that different parties run");
  }
  return itpir::check_coordinates(coordinates);
}

}  // namespace pirx::itpir::dpf
