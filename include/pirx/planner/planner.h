// SPDX-License-Identifier: Apache-2.0
// The planner: computes what every scheme would cost for a database, a machine and a link, and says which one
// pays. It follows Sion and Carbunar, "On the Computational Practicality of Private Information Retrieval"
// (2007, paper 004), but compares all protocols of this library, uses measured rates, and takes the download
// of the whole database as the scheme to beat (docs/planner.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pirx/protocol/offer.h"
#include "pirx/protocol/plan.h"

namespace pirx::planner {

/// InvalidArgument names what is wrong: there are no records, cores or servers; a bandwidth is not above zero
/// or not finite; the round trip is negative; a size is above 2^56 bytes; all servers may collude.
Result<void> check(const Question& question);

struct Plan {
  Question question;
  std::vector<Offer> offers;                                  ///< the fastest first
  std::vector<std::pair<std::string, std::string>> left_out;  ///< schemes without an offer, and the reasons
  std::string advice;                                         ///< says which scheme pays, in words
  /// The offer to download the database. Null: it was left out.
  const Offer* download() const noexcept;
};

/// The bandwidth down, in bits per second, below which `queries` queries by this offer take less time than
/// the plan's download. The ratio of up to down is the question's. Nothing: there is no such bandwidth, since
/// the messages are longer than the download's. Infinite: the scheme wins on every link, or there is no
/// download.
std::optional<double> crossover(const Plan& plan, const Offer& offer, std::uint64_t queries);

/// The offers of all protocols (Protocol::schemes) for a question, and the advice. Errors are those of
/// check() and of the rates.
Result<Plan> make_plan(const Question& question, Rates& rates);

/// The seconds that a retrieval of `wishes` records by this plan takes over a link, by the plan's rough model
/// (Plan::work), by a client that must make and send its keys.
double retrieval_seconds(const pirx::Plan& plan, const Link& link, std::size_t wishes);

/// Measures this machine as rates are asked for, each rate once, by the processor's clock if one thread is
/// enough. Rates that depend on a size exist for powers of two.
class Machine final : public Rates {
 public:
  /// The rates in `known` were measured before and are not measured again.
  explicit Machine(RateTable known = {}) : known_(std::move(known)) {}
  /// InvalidArgument: no protocol has such a step, or such numbers. ResourceExhausted: no memory.
  Result<double> seconds(const RateId& id) override;
  const RateTable& known() const noexcept { return known_; }

 private:
  RateTable known_;
};

/// Reads RateId::name(). DataLoss: no rate has this name.
Result<RateId> parse_rate(std::string_view name);

}  // namespace pirx::planner
