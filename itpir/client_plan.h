// What clients of Goldberg's and Chor's protocols know of a deployment.
#pragma once

#include "pirx/itpir/client.h"
#include "pirx/protocol.h"

namespace pirx {
extern const Protocol kGoldbergProtocol, kChorProtocol;
}

namespace pirx::itpir {

class SharesPlan final : public Plan {
 public:
  /// `code`: the vertical batch code that the servers hold the buckets of; empty: none. InvalidArgument: the
  /// code does not fit.
  static Result<std::shared_ptr<const Plan>> create(Params params, std::string code);

  const Protocol& protocol() const noexcept override;
  const database::Geometry& geometry() const noexcept override { return params_.geometry(); }
  const database::Version& version() const noexcept override { return params_.version(); }
  Texts members() const override;
  std::vector<std::uint64_t> coordinates() const override { return params_.coordinates(); }
  Texts server_options(std::size_t server) const override;
  Work work() const override;
  std::string summary() const override;
  Result<std::unique_ptr<AnyClient>> join(const ClientSpec& spec) const override;

 private:
  SharesPlan(Params params, std::string code) : params_(std::move(params)), code_(std::move(code)) {}
  Params params_;
  std::string code_;
};

/// The functions of both protocols' rows.
Result<Told> tell_shares(ByteSpan parameters);
Result<std::shared_ptr<const Plan>> plan_of_shares(const PlanSpec& spec, ProtocolId protocol);

/// The client half (client_retrieval.cc).
Result<std::unique_ptr<AnyClient>> make_shares_client(const Params& params, const std::string& code,
                                                      const ClientOptions& options);

}  // namespace pirx::itpir
