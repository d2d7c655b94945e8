// SPDX-License-Identifier: Apache-2.0
// Plans of Damgard-Jurik trees, and the client that joins one.
#include "client_plan.h"

#include "cpir/rows_client.h"
#include "options.h"
#include "pirx/cpir/dj/client.h"

namespace pirx {
extern const Protocol kTreeProtocol;
}

namespace pirx::cpir::dj {
namespace {

class TreeClient final : public RowsClient {
 public:
  explicit TreeClient(Client client) : client_(std::move(client)) {}

 private:
  const Params& params() const { return client_.params(); }
  const database::Geometry& geometry() const override { return params().geometry(); }
  Result<database::Location> locate(std::uint64_t slot_or_row) const override {
    if (geometry().keyed()) return database::Location{slot_or_row, 0};
    return geometry().locate(slot_or_row);
  }
  std::uint64_t reply_bytes() const override { return params().reply_bytes(); }
  Result<Asked> query(std::uint64_t row, Rng& rng, const Stop& stop) const override {
    return client_.query(row, rng, stop);
  }
  Result<SecretVector<std::byte>> decode(std::uint64_t, std::unique_ptr<QuerySecret>, ByteSpan reply,
                                         const Stop& stop) const override {
    return client_.decode(reply, stop);
  }
  const Client client_;
};

class TreePlan final : public PlanOf<Params> {
 public:
  using PlanOf::PlanOf;
  const Protocol& protocol() const noexcept override { return kTreeProtocol; }
  Texts members() const override {
    auto members = key_members(params().spec().modulus_bits, params().spec().policy);
    std::string arities;
    for (const auto arity : params().arities())
      arities += (arities.empty() ? "" : ",") + std::to_string(arity);
    members["arities"] = arities;
    if (params().spec().selectors == Selectors::kPolynomial) members["selectors"] = "polynomial";
    if (params().layer(1) > 1) members["leaf_layer"] = std::to_string(params().layer(1));
    return members;
  }
  Work work() const override {
    const double bits = params().spec().modulus_bits;
    // A number of layer s is lifted from p to p^(s+1) by a power for each step, as long as p; opening it
    // takes as many. The same modulo q. A product of two 64-bit limbs takes one nanosecond.
    double lift = 0, selectors = 0;
    const unsigned first = params().layer(1);
    for (unsigned s = 1; s <= params().layer(params().levels()); ++s) {
      const double limbs = (s + 1) * bits / 128;
      lift += bits * limbs * limbs * 1e-9;
      if (s >= first) selectors += (params().arities()[s - first] - 1) * lift;
    }
    const auto up = static_cast<double>(params().request_bytes()),
               down = static_cast<double>(params().reply_bytes());
    const double limbs = bits / 32;
    return {.up = up,
            .down = down,
            .query_messages = 1,
            .memory = 5 * up + 2 * down,
            .row_bytes = static_cast<double>(geometry().row_bytes()) + down,
            .seconds = selectors + static_cast<double>(params().chunks()) * lift,
            .once_seconds = key_seconds(params().spec().modulus_bits),
            .server_seconds = server_seconds(geometry(), limbs * (first + 1) / 2),
            .key_queries = kRowsOfAKey};
  }
  std::string summary() const override {
    return "one server, keys of " + std::to_string(params().spec().modulus_bits) + " bits; " + traffic() +
           ", and seconds or\nminutes of the server's time: on a fast link, downloading all " +
           std::to_string(geometry().data_bytes()) + " bytes is faster";
  }
  Result<std::string> check(const ClientSpec& spec) const override {
    return check_client_keys(params().spec().policy, spec);
  }
  Result<std::unique_ptr<AnyClient>> join(const ClientSpec& spec) const override {
    PIRX_ASSIGN(const auto key,
                SecretKey::generate(params().spec().modulus_bits, params().spec().policy, spec.stop));
    PIRX_ASSIGN(auto client, Client::create(params(), key));
    return std::make_unique<TreeClient>(std::move(client));
  }
};

}  // namespace

Result<Told> tell(ByteSpan parameters) {
  PIRX_ASSIGN(auto params, Params::decode(parameters));
  PIRX_TRY(refuse_toy_keys(params.spec().policy));
  return TreePlan::told(TreePlan(std::move(params)));
}

Result<std::shared_ptr<const Plan>> make_plan(const PlanSpec& spec) {
  const auto& given = spec.members;
  PIRX_ASSIGN(const auto policy, read_key_members(given));
  PIRX_TRY(given.require({"arities"}));
  const auto selectors = given.text("selectors");
  if (!selectors.empty() && selectors != "polynomial") {
    return fail(ErrorCode::kDataLoss, "selectors '" + selectors + "' are not known");
  }
  const auto arities = given.numbers("arities");
  PIRX_ASSIGN(auto params, Params::create({*spec.geometry, spec.version,
                                           std::vector<std::uint32_t>(arities.begin(), arities.end()),
                                           static_cast<unsigned>(*given.number("modulus_bits")), policy,
                                           selectors.empty() ? Selectors::kOneHot : Selectors::kPolynomial,
                                           static_cast<unsigned>(given.number("leaf_layer").value_or(1))}));
  return std::make_shared<TreePlan>(std::move(params));
}

}  // namespace pirx::cpir::dj
