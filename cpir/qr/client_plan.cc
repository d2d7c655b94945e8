// SPDX-License-Identifier: Apache-2.0
// Plans of quadratic residuosity, and the client that joins one.
#include "client_plan.h"

#include "cpir/dj/options.h"
#include "cpir/rows_client.h"
#include "pirx/cpir/qr/client.h"

namespace pirx {
extern const Protocol kResiduosityProtocol;
}

namespace pirx::cpir::qr {
namespace {

class MatrixClient final : public RowsClient {
 public:
  explicit MatrixClient(Client client) : client_(std::move(client)) {}

 private:
  const Params& params() const { return client_.params(); }
  const database::Geometry& geometry() const override { return params().geometry(); }
  Result<database::Location> locate(std::uint64_t slot) const override { return params().locate(slot); }
  std::uint64_t reply_bytes() const override { return params().reply_bytes(); }
  Result<Asked> query(std::uint64_t row, Rng& rng, const Stop& stop) const override {
    return client_.query(row, rng, stop);
  }
  Result<SecretVector<std::byte>> decode(std::uint64_t, std::unique_ptr<QuerySecret>, ByteSpan reply,
                                         const Stop& stop) const override {
    return client_.decode(reply, 0, stop);
  }
  const Client client_;
};

class MatrixPlan final : public PlanOf<Params> {
 public:
  using PlanOf::PlanOf;
  const Protocol& protocol() const noexcept override { return kResiduosityProtocol; }
  Texts members() const override {
    auto members = dj::key_members(params().spec().modulus_bits, params().spec().policy);
    members["slots"] = std::to_string(params().slots());
    return members;
  }
  Work work() const override {
    const auto up = static_cast<double>(params().request_bytes()),
               down = static_cast<double>(params().reply_bytes());
    const double limbs = params().spec().modulus_bits / 64.0;
    const auto row_bytes = static_cast<double>(params().row_bytes());
    // A product of two 64-bit limbs takes one nanosecond.
    return {.up = up,
            .down = down,
            .query_messages = 1,
            .memory = 5 * up + 2 * down,
            .row_bytes = row_bytes + down,
            .seconds = limbs * limbs * 1e-9 * (4 * static_cast<double>(params().rows()) + 40 * 8 * row_bytes),
            .once_seconds = dj::key_seconds(params().spec().modulus_bits),
            .server_seconds = dj::server_seconds(geometry(), limbs)};
  }
  std::string summary() const override {
    return "one server, keys of " + std::to_string(params().spec().modulus_bits) + " bits; " + traffic() +
           ", and seconds or\nminutes of the server's time: on a fast link, downloading all " +
           std::to_string(geometry().data_bytes()) + " bytes is faster";
  }
  Result<std::string> check(const ClientSpec& spec) const override {
    return dj::check_client_keys(params().spec().policy, spec);
  }
  Result<std::unique_ptr<AnyClient>> join(const ClientSpec& spec) const override {
    PIRX_ASSIGN(const auto key,
                SecretKey::generate(params().spec().modulus_bits, params().spec().policy, spec.stop));
    PIRX_ASSIGN(auto client, Client::create(params(), key));
    return std::make_unique<MatrixClient>(std::move(client));
  }
};

}  // namespace

Result<Told> tell(ByteSpan parameters) {
  PIRX_ASSIGN(auto params, Params::decode(parameters));
  PIRX_TRY(dj::refuse_toy_keys(params.spec().policy));
  return MatrixPlan::told(MatrixPlan(std::move(params)));
}

Result<std::shared_ptr<const Plan>> make_plan(const PlanSpec& spec) {
  PIRX_ASSIGN(const auto policy, dj::read_key_members(spec.members));
  PIRX_TRY(spec.members.require({"slots"}));
  PIRX_ASSIGN(auto params,
              Params::create({*spec.geometry, spec.version, *spec.members.number("slots"),
                              static_cast<unsigned>(*spec.members.number("modulus_bits")), policy}));
  return std::make_shared<MatrixPlan>(std::move(params));
}

}  // namespace pirx::cpir::qr
