// SPDX-License-Identifier: Apache-2.0
// Validates plans, and writes and checks the fixed parts of messages.
#include "pirx/cpir/dj/common.h"

#include <algorithm>

#include "pirx/base/buffer.h"
#include "src/protocol/message.h"

namespace pirx::cpir::dj {

std::vector<std::uint32_t> default_arities(std::uint64_t rows) {
  constexpr std::uint64_t kLeaves = 32, kInner = 16, kAtOnce = 24;
  std::vector<std::uint32_t> arities;
  for (std::uint64_t left = rows; left > 1 || arities.empty();) {
    const std::uint64_t usual = arities.empty() ? kLeaves : kInner;
    const auto arity = std::max<std::uint64_t>(2, left <= std::max(usual, kAtOnce) ? left : usual);
    arities.push_back(static_cast<std::uint32_t>(arity));
    left = div_up(left, arity);
  }
  return arities;
}

std::vector<std::uint32_t> repeat_last_arity(std::vector<std::uint32_t> arities, std::uint64_t rows) {
  if (arities.empty() || std::find(arities.begin(), arities.end(), 0u) != arities.end()) return arities;
  std::uint64_t left = rows;
  for (const auto arity : arities) left = div_up(left, arity);
  while (left > 1 && arities.back() > 1 && arities.size() <= kMaxLevels) {
    const std::uint32_t usual = arities.back();
    arities.push_back(
        static_cast<std::uint32_t>(std::max<std::uint64_t>(2, std::min<std::uint64_t>(left, usual))));
    left = div_up(left, usual);
  }
  return arities;
}

Result<Params> Params::create(Spec spec) {
  PIRX_TRY(check_modulus_bits(spec.modulus_bits, spec.policy));
  if (spec.modulus_bits < 16) return invalid("a toy modulus for trees has 16 bits or more");
  Params params(std::move(spec));
  auto& arities = params.spec_.arities;
  const auto n = params.rows();
  if (arities.empty()) arities = default_arities(n);
  const unsigned leaf_layer = params.spec_.leaf_layer;
  if (leaf_layer < 1 || leaf_layer > kMaxLeafLayer) {
    return invalid("the leaves' layer is from 1 to " + std::to_string(kMaxLeafLayer) + ", not " +
                   std::to_string(leaf_layer));
  }
  if (arities.size() > kMaxLevels + 1 - leaf_layer) {
    return invalid("a tree of " + std::to_string(arities.size()) + " levels is too high: at most " +
                   std::to_string(kMaxLevels + 1 - leaf_layer) + "; give larger arities");
  }
  std::uint64_t nodes = n;
  std::size_t selectors = 0, selector_bytes = 0;
  for (std::size_t level = 0; level < arities.size(); ++level) {
    const auto arity = arities[level];
    if (arity < 2 || arity > kMaxArity) {
      return invalid("a node has from 2 to " + std::to_string(kMaxArity) + " children, not " +
                     std::to_string(arity));
    }
    if (params.spec_.selectors == Selectors::kPolynomial && arity != 2 && arity != 4 && arity != 8) {
      return invalid("polynomial selectors are for nodes of 2, 4 or 8 children, not " +
                     std::to_string(arity));
    }
    if (level > 0 && nodes == 1) {
      return invalid("the tree has more levels than " + std::to_string(n) +
                     " rows need: drop the last arities");
    }
    nodes = div_up(nodes, arity);
    selectors += arity - 1;
    selector_bytes += (arity - 1) * params.ciphertext_bytes(params.layer(static_cast<unsigned>(level + 1)));
  }
  if (nodes != 1) {
    return invalid("the tree has fewer leaves than the database's " + std::to_string(n) +
                   " rows: give more arities");
  }
  if (selectors > kMaxSelectors) {
    return invalid("a query of " + std::to_string(selectors) + " selectors is too long: at most " +
                   std::to_string(kMaxSelectors) + "; give smaller arities");
  }
  const std::uint64_t row_bytes = params.geometry().row_bytes();
  params.chunk_bytes_ = static_cast<std::size_t>(
      std::min<std::uint64_t>(leaf_layer * (params.spec_.modulus_bits - 1) / 8, row_bytes));
  const std::uint64_t chunks = div_up(row_bytes, params.chunk_bytes_);
  const auto reply = checked_mul(chunks, params.ciphertext_bytes(params.layer(params.levels())));
  params.request_bytes_ = kHeaderBytes + params.modulus_bytes() + selector_bytes;
  if (!reply || *reply > kMaxMessageBytes - kHeaderBytes || params.request_bytes_ > kMaxMessageBytes) {
    return invalid("a query takes " + std::to_string(params.request_bytes_) + " bytes and its reply " +
                   std::to_string(chunks) + " ciphertexts; the limit is " + std::to_string(kMaxMessageBytes) +
                   " bytes: use smaller rows");
  }
  params.chunks_ = static_cast<std::size_t>(chunks);
  params.reply_bytes_ = kHeaderBytes + static_cast<std::size_t>(*reply);
  params.digest_ = sha256(params.encode());
  return params;
}

std::size_t Params::chunk_length(std::size_t chunk) const noexcept {
  const auto row_bytes = static_cast<std::size_t>(spec_.geometry.row_bytes());
  return std::min(chunk_bytes_, row_bytes - chunk * chunk_bytes_);
}

Bytes Params::encode() const {
  Writer writer(64 + 4 * spec_.arities.size() + database::Geometry::kBytes);
  encode_prefix(writer, ProtocolId::kDamgardJurikTree, MessageType::kParameters);
  spec_.version.encode(writer);
  writer.put(static_cast<std::uint32_t>(spec_.modulus_bits));
  writer.put(static_cast<std::uint8_t>(spec_.policy));
  writer.put(static_cast<std::uint8_t>(spec_.selectors));
  writer.put(static_cast<std::uint8_t>(spec_.arities.size()));
  writer.put(static_cast<std::uint8_t>(spec_.leaf_layer - 1));
  for (const auto arity : spec_.arities) writer.put(arity);
  spec_.geometry.encode(writer);
  return std::move(writer).take();
}

Result<Params> Params::decode(ByteSpan bytes) {
  Reader reader(bytes, "parameters message");
  PIRX_TRY(decode_prefix(reader, ProtocolId::kDamgardJurikTree, MessageType::kParameters));
  PIRX_ASSIGN(const auto version, database::Version::decode(reader));
  PIRX_ASSIGN(const auto modulus_bits, reader.get<std::uint32_t>());
  PIRX_ASSIGN(const auto policy, reader.get<std::uint8_t>());
  PIRX_ASSIGN(const auto selectors, reader.get<std::uint8_t>());
  PIRX_ASSIGN(const auto levels, reader.get<std::uint8_t>());
  PIRX_ASSIGN(const auto below, reader.get<std::uint8_t>());
  if (policy > static_cast<std::uint8_t>(KeyPolicy::kToy)) {
    return fail(ErrorCode::kDataLoss, "key policy " + std::to_string(policy) + " is unknown");
  }
  if (selectors > static_cast<std::uint8_t>(Selectors::kPolynomial)) {
    return fail(ErrorCode::kDataLoss, "selectors of kind " + std::to_string(selectors) + " are unknown");
  }
  if (levels < 1 || levels > kMaxLevels) {
    return fail(ErrorCode::kDataLoss, "a tree of " + std::to_string(levels) + " levels is impossible");
  }
  std::vector<std::uint32_t> arities(levels);
  for (auto& arity : arities) {
    PIRX_ASSIGN(arity, reader.get<std::uint32_t>());
  }
  PIRX_ASSIGN(auto geometry, database::Geometry::decode(reader));
  PIRX_TRY(reader.expect_end());
  return create({geometry, version, std::move(arities), modulus_bits, static_cast<KeyPolicy>(policy),
                 static_cast<Selectors>(selectors), below + 1u});
}

}  // namespace pirx::cpir::dj
