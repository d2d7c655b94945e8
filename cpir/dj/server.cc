// SPDX-License-Identifier: Apache-2.0
// Checks queries, and implements AnyServer for the tree.
#include "pirx/cpir/dj/server.h"

#include "polynomial.h"
#include "src/base/guarded.h"
#include "src/base/threads.h"
#include "src/protocol/message.h"
#include "tree.h"

namespace pirx::cpir::dj {
namespace {

/// Reads and checks what a client chose: the modulus, and selectors that are units.
Result<CheckedQuery> decode_query(const Params& params, ByteSpan request) {
  PIRX_ASSIGN(ByteSpan body, decode_header(request, ProtocolId::kDamgardJurikTree, MessageType::kQuery,
                                           params.digest(), params.request_bytes()));
  const auto take = [&](std::size_t bytes) {
    const auto part = body.first(bytes);
    body = body.subspan(bytes);
    return part;
  };
  const auto& spec = params.spec();
  PIRX_ASSIGN(const auto key,
              PublicKey::create(take(params.modulus_bytes()), spec.modulus_bits, spec.policy));
  CheckedQuery out{number_from_bytes(key.modulus()), {}};
  mpz_class product = 1;  // of all selectors, modulo N
  for (unsigned of = 1; of <= params.levels(); ++of) {
    const unsigned s = params.layer(of);
    const mpz_class modulus = power_of(out.n, s + 1);
    auto& level = out.levels.emplace_back();
    for (std::uint32_t i = 1; i < params.arities()[of - 1]; ++i) {
      level.push_back(number_from_bytes(take(params.ciphertext_bytes(s))));
      if (sgn(level.back()) == 0 || level.back() >= modulus) {
        return invalid("a selector of the query is zero or not below N^" + std::to_string(s + 1));
      }
      product = product * level.back() % out.n;
    }
  }
  if (gcd(product, out.n) != 1)
    return invalid("a selector of the query has a factor in common with the modulus");
  if (spec.selectors == Selectors::kPolynomial) {
    for (unsigned of = 1; of <= params.levels(); ++of) {
      auto& level = out.levels[of - 1];
      level = one_hot_from_polynomial(level, power_of(out.n, params.layer(of) + 1));
    }
  }
  return out;
}

class TreeServer final : public AnyServer {
 public:
  TreeServer(std::shared_ptr<const database::Database> database, Params params, const TreeOptions& options)
      : database_(std::move(database)), params_(std::move(params)), options_(options) {}

  ProtocolId protocol() const noexcept override { return ProtocolId::kDamgardJurikTree; }
  Bytes parameters() const override { return params_.encode(); }
  std::size_t max_request_bytes() const noexcept override { return params_.request_bytes(); }
  std::size_t max_queries() const noexcept override { return 1; }
  std::size_t working_bytes(std::size_t queries) const noexcept override {
    return static_cast<std::size_t>(saturated_mul(queries, tree_bytes(params_, options_.table_bytes)));
  }
  std::size_t max_reply_bytes(std::size_t queries) const noexcept override {
    return static_cast<std::size_t>(saturated_mul(queries, params_.reply_bytes()));
  }
  Result<std::size_t> admit(ByteSpan request) const override {
    PIRX_TRY(decode_header(request, ProtocolId::kDamgardJurikTree, MessageType::kQuery, params_.digest(),
                           params_.request_bytes()));
    return std::size_t{1};
  }
  std::vector<Result<Bytes>> answer(std::span<const ByteSpan> requests) const override {
    std::vector<Result<Bytes>> replies;
    for (const auto request : requests) {
      replies.push_back(guarded([&] { return answer_one(request); }, kNoMemory));
    }
    return replies;
  }

 private:
  Result<Bytes> answer_one(ByteSpan request) const {
    PIRX_ASSIGN(const auto query, decode_query(params_, request));
    PIRX_ASSIGN(const auto roots, answer_tree(params_, database_->rows(), query, options_));
    Writer writer(params_.reply_bytes());
    encode_header(writer, ProtocolId::kDamgardJurikTree, MessageType::kReply, params_.digest());
    writer.put_bytes(roots);
    return std::move(writer).take();
  }

  std::shared_ptr<const database::Database> database_;
  Params params_;
  TreeOptions options_;
};

}  // namespace

Result<std::unique_ptr<AnyServer>> make_dj_server(std::shared_ptr<const database::Database> database,
                                                  const ServerOptions& options) {
  PIRX_CHECK(database != nullptr);
  if (database->bucket() != nullptr) {
    return invalid("this file is one server's bucket of an encoded database: trees serve plain ones");
  }
  PIRX_ASSIGN(const auto kernel, choose_kernel(options.kernel));
  PIRX_ASSIGN(auto params,
              Params::create({database->geometry(), database->version(), options.arities,
                              options.modulus_bits, options.policy, options.selectors, options.leaf_layer}));
  const TreeOptions tree{kernel, thread_count(options.threads), options.table_bytes, options.progress,
                         options.rerandomise};
  return std::make_unique<TreeServer>(std::move(database), std::move(params), tree);
}

}  // namespace pirx::cpir::dj
