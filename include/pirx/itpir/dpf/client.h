// SPDX-License-Identifier: Apache-2.0
// The client half of dpf: each of two servers gets a key of a point function.
#pragma once

#include "pirx/itpir/client_interface.h"

namespace pirx::itpir::dpf {

/// A deployment of two servers. Neither learns anything about the records asked for, as long as it cannot
/// tell AES-128 under fixed keys from a random permutation; both together learn all. A validated value.
class Params {
 public:
  struct Spec {
    database::Geometry geometry;
    database::Version version;
    std::vector<std::uint64_t> coordinates;  ///< public names that tell the servers apart
  };
  /// InvalidArgument: not two servers, a coordinate that is zero, the same coordinate twice, or a database
  /// too large for kMaxMessageBytes.
  static Result<Params> create(Spec spec);
  const Spec& spec() const noexcept { return spec_; }

 private:
  explicit Params(Spec spec) : spec_(std::move(spec)) {}
  Spec spec_;
};

/// A request holds a key for each record, or three for each record of a keyed database; a reply holds
/// one slot for each record. As in Chor's protocol nobody can say who lied.
class Client final : public SharesClient {
 public:
  /// There are no options.
  explicit Client(Params params, const ClientOptions& /*options*/ = {})
      : params_(std::make_shared<const Params>(std::move(params))) {}
  const database::Geometry& geometry() const noexcept override { return params_->spec().geometry; }
  unsigned servers() const noexcept override { return 2; }
  unsigned needed() const noexcept override { return 2; }

 private:
  Result<Query> make_query(Wishes wishes, Rng& rng) const override;
  std::unique_ptr<ReplyCollector> make_collector(std::unique_ptr<ClientState> state,
                                                 DecodeOptions options) const override;
  MessageSizes sizes(std::size_t wishes, QueryKind kind) const override;
  std::shared_ptr<const Params> params_;
};

}  // namespace pirx::itpir::dpf
