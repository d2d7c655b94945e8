// SPDX-License-Identifier: Apache-2.0
// The client half of Goldberg's protocol.
#pragma once

#include "pirx/itpir/client_interface.h"
#include "pirx/itpir/goldberg/common.h"

namespace pirx::itpir::goldberg {

/// Blinded queries. A query vector fetches one record, or q where any q rows of the database fit in one
/// vector (Encoding::collision_free). A sum of three rows takes as many vectors as one record of a plain
/// database, and as three of an encoded one. A vector of R elements costs l * t * R multiply-adds.
class Client final : public SharesClient {
 public:
  explicit Client(Params params, const ClientOptions& options = {});
  const Params& params() const noexcept { return *params_; }
  const database::Geometry& geometry() const noexcept override { return params_->geometry(); }
  unsigned servers() const noexcept override { return params_->servers(); }
  unsigned needed() const noexcept override { return params_->needed(); }

 private:
  Result<Query> make_query(Wishes wishes, Rng& rng) const override;
  std::unique_ptr<ReplyCollector> make_collector(std::unique_ptr<ClientState> state,
                                                 DecodeOptions options) const override;
  MessageSizes sizes(std::size_t wishes, QueryKind kind) const override;
  ClientEffort effort(std::size_t wishes, QueryKind kind) const override;
  std::shared_ptr<const Params> params_;
  ClientOptions options_;
};

}  // namespace pirx::itpir::goldberg
