// SPDX-License-Identifier: Apache-2.0
// Private information retrieval by exclusive or: the protocol of Chor, Goldreich, Kushilevitz and Sudan,
// "Private information retrieval" (1995), with l servers and threshold l - 1. This file has the parameters
// and the client. Every server must answer, and only the records' own digests reveal a wrong answer.
#pragma once

#include "pirx/itpir/client_interface.h"

namespace pirx::itpir::chor {

/// A deployment as the client sees it: l servers hold the same database. Any l - 1 of them together learn
/// nothing about the records asked for; all l are needed. A validated value.
class Params {
 public:
  struct Spec {
    database::Geometry geometry;
    database::Version version;
    /// One for each server: public names that tell the servers apart, not field elements.
    std::vector<std::uint64_t> coordinates;
  };
  /// InvalidArgument: fewer than two servers or more than kMaxServers, a coordinate that is zero or repeated,
  /// or a geometry too large for kMaxMessageBytes.
  static Result<Params> create(Spec spec);

  const Spec& spec() const noexcept { return spec_; }
  unsigned servers() const noexcept { return static_cast<unsigned>(spec_.coordinates.size()); }  ///< l
  unsigned threshold() const noexcept { return servers() - 1; }                                  ///< t

 private:
  explicit Params(Spec spec) : spec_(std::move(spec)) {}
  Spec spec_;
};

/// Each record takes a query vector of a bit for each row. With ClientOptions::seeded all servers but the
/// last get seeds. Collectors add replies up: these prove nothing, a further round would not help, and
/// DecodeOptions::liars has no effect. An answer is kProbable if the records' digests, or the caller's check,
/// are right, and kUnverified if there is nothing to check. If a record is wrong, a server lied or holds a
/// corrupt database. Nobody can say which one, and the answer is lost (DataLoss).
class Client final : public SharesClient {
 public:
  explicit Client(Params params, const ClientOptions& options = {});
  const Params& params() const noexcept { return *params_; }
  const database::Geometry& geometry() const noexcept override { return params_->spec().geometry; }
  unsigned servers() const noexcept override { return params_->servers(); }
  unsigned needed() const noexcept override { return params_->servers(); }

 private:
  Result<Query> make_query(Wishes wishes, Rng& rng) const override;
  std::unique_ptr<ReplyCollector> make_collector(std::unique_ptr<ClientState> state,
                                                 DecodeOptions options) const override;
  MessageSizes sizes(std::size_t wishes, QueryKind kind) const override;
  std::shared_ptr<const Params> params_;
  ClientOptions options_;
};

}  // namespace pirx::itpir::chor
