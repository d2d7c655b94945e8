// SPDX-License-Identifier: Apache-2.0
// Plans of Spiral, and the client that joins one: its keys are uploaded when the server lacks them.
#include "client_plan.h"

#include "cpir/rows_client.h"
#include "pirx/cpir/spiral/client.h"

namespace pirx {
extern const Protocol kSpiralProtocol;
}

namespace pirx::cpir::spiral {
namespace {

class ItemClient final : public RowsClient {
 public:
  explicit ItemClient(Client client) : client_(std::move(client)) {}

 private:
  const Params& params() const { return client_.params(); }
  const database::Geometry& geometry() const override { return params().geometry(); }
  Result<database::Location> locate(std::uint64_t slot_or_row) const override {
    return params().locate(slot_or_row);
  }
  std::uint64_t reply_bytes() const override { return params().reply_bytes(); }
  Result<Asked> query(std::uint64_t item, Rng& rng, const Stop&) const override {
    return client_.query(item, rng);
  }
  Result<SecretVector<std::byte>> decode(std::uint64_t item, std::unique_ptr<QuerySecret>, ByteSpan reply,
                                         const Stop&) const override {
    return client_.decode(item, reply);
  }
  const Bytes* lacking(ByteSpan reply) const override {
    return client_.keys_unknown(reply) ? &client_.keys() : nullptr;
  }
  Result<void> check_held(ByteSpan reply) const override { return client_.check_keys_held(reply); }
  const Client client_;
};

class ItemPlan final : public MessagePlan<Params> {
 public:
  using MessagePlan::MessagePlan;
  const Protocol& protocol() const noexcept override { return kSpiralProtocol; }
  Work work() const override {
    const auto keys = static_cast<double>(params().keys_bytes()),
               up = static_cast<double>(params().request_bytes());
    const auto down = static_cast<double>(params().reply_bytes()),
               item = static_cast<double>(params().item_bytes());
    const auto polynomials = static_cast<double>(params().polynomials());
    return {.up = up,
            .down = down,
            .once_up = keys + up,  // the first query is refused, since its keys are not there
            .query_messages = 1,
            .once_messages = 2,
            .memory = 5 * (up + keys) + 2 * down + 2 * polynomials * static_cast<double>(params().d()) + item,
            .row_bytes = static_cast<double>(params().slot_bytes()) + down,
            .seconds =
                100e-6 * (up + keys) / static_cast<double>(params().polynomial_bytes()) + 40e-6 * polynomials,
            .server_seconds = server_seconds(params()),
            .key_queries = kRowsOfAKey};
  }
  std::string summary() const override {
    return "one server; a client sends keys of " + std::to_string(params().keys_bytes()) +
           " bytes once, then\n" + traffic();
  }
  Result<std::string> check(const ClientSpec&) const override {
    if (params().scheme().policy == Policy::kSecure) return std::string();
    return invalid("the server's plan is for tests or comparisons and hides nothing: use another server");
  }
  Result<std::unique_ptr<AnyClient>> join(const ClientSpec&) const override {
    PIRX_ASSIGN(auto client, Client::create(params()));
    return std::make_unique<ItemClient>(std::move(client));
  }
};

}  // namespace

Result<Told> tell(ByteSpan parameters) { return tell_message<Params, ItemPlan>(parameters); }

Result<std::shared_ptr<const Plan>> make_plan(const PlanSpec& spec) {
  return plan_of_message<Params, ItemPlan>(spec);
}

}  // namespace pirx::cpir::spiral
