// SPDX-License-Identifier: Apache-2.0
// What the client halves of this folder share: one server, and one query after another, each of which fetches
// a row (or an item) of what the server holds.
#pragma once

#include <functional>

#include "pirx/base/secret.h"
#include "pirx/protocol.h"

namespace pirx::cpir {

/// A record of a keyed database is the sum of so many rows, each of which takes a query.
inline constexpr unsigned kRowsOfAKey = 3;

/// What a client keeps of a query to decode the reply with, beside what it keeps for all queries.
class QuerySecret {
 public:
  virtual ~QuerySecret() = default;
};

class RowsClient : public AnyClient {
 public:
  Result<std::unique_ptr<Retrieval>> retrieve(std::span<const std::uint64_t> positions,
                                              const RetrieveOptions& options, Rng rng) const override;
  Result<std::unique_ptr<Retrieval>> retrieve(std::span<const std::string> keys,
                                              const RetrieveOptions& options, Rng rng) const override;

 protected:
  friend class RowsRetrieval;
  virtual const database::Geometry& geometry() const = 0;
  /// Where a slot lies, or a row of a keyed database: the first row to ask for, and the byte in it, which is
  /// a multiple of the slot's bytes. Constant time.
  virtual Result<database::Location> locate(std::uint64_t slot_or_row) const = 0;
  /// The neighbouring rows that a slot takes, from that one on. Each takes a query.
  virtual std::uint64_t rows_each() const { return 1; }
  virtual std::uint64_t reply_bytes() const = 0;
  struct Asked {
    Asked() = default;
    Asked(Bytes bytes, std::unique_ptr<QuerySecret> kept = nullptr)
        : message(std::move(bytes)), secret(std::move(kept)) {}
    Bytes message;
    std::unique_ptr<QuerySecret> secret;  ///< may be null
  };
  virtual Result<Asked> query(std::uint64_t row, Rng& rng, const Stop& stop) const = 0;
  /// The row that a reply holds. `secret` is that of the query.
  virtual Result<SecretVector<std::byte>> decode(std::uint64_t row, std::unique_ptr<QuerySecret> secret,
                                                 ByteSpan reply, const Stop& stop) const = 0;
  /// What must be sent before the query is asked again, if a reply says that the server lacks it; else null.
  virtual const Bytes* lacking([[maybe_unused]] ByteSpan reply) const { return nullptr; }
  /// Checks the reply to lacking().
  virtual Result<void> check_held([[maybe_unused]] ByteSpan reply) const { return {}; }

  /// Something public that the client needs before its first query.
  struct Fetch {
    Bytes message;
    std::uint64_t reply_bytes;
    std::function<Result<void>(ByteSpan reply)> take;
  };
  /// What is to be fetched next, one message after another; nothing if the client has all it needs. What it
  /// is must not depend on what is wanted. If take() fails, nothing is asked.
  virtual std::optional<Fetch> fetch() const { return std::nullopt; }
};

/// A plan of a protocol of this folder: `Params` are the server's, and its parameters message tells all of
/// them.
template <class Params>
class PlanOf : public Plan {
 public:
  explicit PlanOf(Params params) : params_(std::move(params)) {}
  const database::Geometry& geometry() const noexcept override { return params_.geometry(); }
  const database::Version& version() const noexcept override { return params_.spec().version; }
  std::optional<Digest> digest() const override { return params_.digest(); }
  static Told told(const PlanOf& plan) {
    return {plan.members(), plan.geometry(), plan.version(), std::nullopt, plan.params_.digest()};
  }

 protected:
  const Params& params() const noexcept { return params_; }
  /// "a query takes 12 bytes up and 34 down"
  std::string traffic() const {
    return "a query takes " + std::to_string(params_.request_bytes()) + " bytes up and " +
           std::to_string(params_.reply_bytes()) + " down";
  }

 private:
  Params params_;
};

/// The same where a deployment file holds that message and nothing else.
template <class Params>
class MessagePlan : public PlanOf<Params> {
 public:
  using PlanOf<Params>::PlanOf;
  Texts members() const override { return {{"parameters", to_hex(this->params().encode())}}; }
};
inline constexpr Option kMessageMembers[] = {
    {"parameters", Option::Kind::kText, 0, 0,
     "The server's parameters message in hexadecimal digits, which holds plan and database"},
};
inline constexpr std::string_view kMessageFromDatabase[] = {"parameters"};

/// Protocol::tell and Protocol::plan for such a plan.
template <class Params, class OwnPlan>
Result<Told> tell_message(ByteSpan parameters) {
  PIRX_ASSIGN(auto params, Params::decode(parameters));
  return OwnPlan::told(OwnPlan(std::move(params)));
}
template <class Params, class OwnPlan>
Result<std::shared_ptr<const Plan>> plan_of_message(const PlanSpec& spec) {
  PIRX_TRY(spec.members.require({"parameters"}));
  const auto message = from_hex(spec.members.text("parameters"));
  if (!message) return fail(ErrorCode::kDataLoss, "'parameters' is not hexadecimal");
  PIRX_ASSIGN(auto params, Params::decode(*message));
  return std::make_shared<OwnPlan>(std::move(params));
}

}  // namespace pirx::cpir
