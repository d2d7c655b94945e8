// SPDX-License-Identifier: Apache-2.0
// Retrievals from two of several servers: one after the other from pairs, until both servers of one answer.
#include "any_two.h"

#include <algorithm>
#include <array>

#include "common.h"
#include "itpir/client_messages.h"
#include "itpir/make_client.h"
#include "pirx/base/rng.h"
#include "pirx/base/secret.h"
#include "pirx/itpir/dpf/client.h"
#include "src/base/guarded.h"
#include "src/base/wanted_keys.h"

namespace pirx::itpir::dpf {
namespace {

/// The deployment of these two servers alone.
SharesPlan::Spec of_two(SharesPlan::Spec spec, std::uint64_t first, std::uint64_t second) {
  spec.coordinates = {first, second};
  spec.client = make_clients_at<Params, Client>(spec.coordinates);
  return spec;
}

/// What it does is done by a retrieval from two servers, the inner one, which a retrieval from two others
/// replaces if one of them is lost.
template <class Wanted>
class AnyTwo final : public Retrieval {
 public:
  AnyTwo(const SharesPlan::Spec& spec, Wanted wanted, const RetrieveOptions& options)
      : spec_(spec),
        wanted_(std::move(wanted)),
        options_(options),
        lost_(spec.coordinates.size()),
        replied_(lost_.size()) {}

  /// The first two servers that are not lost. False: there are no two.
  Result<bool> begin() {
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < lost_.size(); ++i) {
      if (!lost_[i]) left.push_back(i);
    }
    if (left.size() < 2) return false;
    inner_.reset();  // before its client
    pair_ = {left[0], left[1]};
    PIRX_ASSIGN(client_, make_shares_client(
                             of_two(spec_, spec_.coordinates[left[0]], spec_.coordinates[left[1]]), {}));
    PIRX_ASSIGN(auto rng, Rng::from_os());
    PIRX_ASSIGN(inner_, client_->retrieve(std::as_const(wanted_).expose(), options_, std::move(rng)));
    return true;
  }

 private:
  Result<std::vector<Request>> next() override {
    if (asked_) {
      for (std::size_t k = 0; k < 2; ++k) {  // nothing more is expected of who was not waited for
        if (awaited_[k]) PIRX_TRY(inner_->lost(ids_[k], Error(ErrorCode::kUnavailable, "not waited for")));
      }
      PIRX_ASSIGN(const auto more, inner_->outgoing());
      PIRX_CHECK(more.empty());
      if (!either_lost()) return std::vector<Request>();
      PIRX_ASSIGN(const bool others, begin());
      if (!others) return std::vector<Request>();
    }
    asked_ = true;
    PIRX_ASSIGN(auto wave, inner_->outgoing());
    PIRX_CHECK(wave.size() == 2);
    std::vector<Request> requests;
    for (auto& message : wave) {
      ids_[message.server] = message.id;
      awaited_[message.server] = true;
      requests.push_back({pair_[message.server], std::move(message.bytes), message.reply_bytes});
    }
    return requests;
  }
  Result<void> take(std::size_t server, ByteSpan reply) override {
    auto taken = inner_->receive(settle(server), reply);
    if (!taken) lost_[server] = status_of(taken.error());
    replied_[server] = taken.has_value();
    return taken;
  }
  void miss(std::size_t server, const Error& why) override {
    static_cast<void>(inner_->lost(settle(server), why));
    lost_[server] = status_of(why);
    if (why.code() == ErrorCode::kUnauthenticated) ++locked_out_;
  }
  bool enough() const override { return either_lost() || !inner_->waiting(); }
  Result<Answer> conclude() override {
    if (either_lost()) return too_few();
    PIRX_ASSIGN(auto answer, std::move(*inner_).finish());
    std::vector<ServerStatus> servers;
    for (const auto& status : lost_) servers.push_back(status.value_or(ServerStatus::kSilent));
    for (std::size_t k = 0; k < 2; ++k) servers[pair_[k]] = answer.servers[k];
    answer.servers = std::move(servers);
    return answer;
  }

  /// The inner retrieval knows of the last pair alone. A server that is not lost, at most one, counts as one
  /// that would answer.
  tl::unexpected<Error> too_few() const {
    std::vector<ServerStatus> servers;
    for (std::size_t i = 0; i < lost_.size(); ++i) {
      servers.push_back(lost_[i].value_or(replied_[i] ? ServerStatus::kOk : ServerStatus::kSilent));
    }
    const auto left = std::count(lost_.begin(), lost_.end(), std::nullopt);
    const auto stale = std::count(lost_.begin(), lost_.end(), ServerStatus::kStaleEpoch);
    const bool moved = stale > 0 && left + stale >= 2;
    if (moved || left + locked_out_ < 2) return too_few_replies(servers, "dpf needs two of them", moved);
    return too_few_trust(std::count(servers.begin(), servers.end(), ServerStatus::kOk), servers.size(), 2,
                         locked_out_);
  }

  MessageId settle(std::size_t server) {
    const std::size_t k = server == pair_[0] ? 0 : 1;
    awaited_[k] = false;
    return ids_[k];
  }
  bool either_lost() const { return lost_[pair_[0]] || lost_[pair_[1]]; }

  const SharesPlan::Spec& spec_;
  const Wanted wanted_;
  const RetrieveOptions options_;
  std::vector<std::optional<ServerStatus>> lost_;  ///< of all servers: why there was no valid reply
  std::vector<bool> replied_;                      ///< whether they ever did
  std::ptrdiff_t locked_out_ = 0;                  ///< servers that we do not trust, or that do not trust us
  std::array<std::size_t, 2> pair_{};
  std::unique_ptr<AnyClient> client_;
  std::unique_ptr<Retrieval> inner_;
  bool asked_ = false;
  std::array<MessageId, 2> ids_{};
  std::array<bool, 2> awaited_{};
};

struct AnyTwoClient final : AnyClient {
  explicit AnyTwoClient(const SharesPlan::Spec& all) : spec(all) {}
  // Each pair of servers gets coins of its own.
  Result<std::unique_ptr<Retrieval>> retrieve(std::span<const std::uint64_t> positions,
                                              const RetrieveOptions& options, Rng) const override {
    return guarded([&] { return begin(SecretVector<std::uint64_t>(positions), options); });
  }
  Result<std::unique_ptr<Retrieval>> retrieve(std::span<const std::string> keys,
                                              const RetrieveOptions& options, Rng) const override {
    return guarded([&] { return begin(WantedKeys(keys), options); });
  }
  template <class Wanted>
  Result<std::unique_ptr<Retrieval>> begin(Wanted wanted, const RetrieveOptions& options) const {
    auto retrieval = std::make_unique<AnyTwo<Wanted>>(spec, std::move(wanted), options);
    PIRX_TRY(retrieval->begin());
    return retrieval;
  }
  const SharesPlan::Spec spec;
};

/// As the plan of its first two servers, but for who can be asked.
class AnyTwoPlan final : public Plan {
 public:
  AnyTwoPlan(SharesPlan::Spec spec, std::shared_ptr<const Plan> two)
      : spec_(std::move(spec)), two_(std::move(two)) {}
  const Protocol& protocol() const noexcept override { return two_->protocol(); }
  const database::Geometry& geometry() const noexcept override { return two_->geometry(); }
  const database::Version& version() const noexcept override { return two_->version(); }
  Texts members() const override { return two_->members(); }
  std::vector<std::uint64_t> coordinates() const override { return spec_.coordinates; }
  Texts server_options(std::size_t server) const override {
    return {{"coordinate", std::to_string(spec_.coordinates.at(server))}};
  }
  Work work() const override {
    auto work = two_->work();
    work.row_bytes *= static_cast<double>(spec_.coordinates.size() - 1);  // of each pair that may be tried
    return work;
  }
  std::string summary() const override {
    return std::to_string(spec_.coordinates.size()) +
           " servers, of which the first two that answer are asked, t = 1 (no two may talk to each other),\n"
           "0 liars corrected";
  }
  Result<std::unique_ptr<AnyClient>> join(const ClientSpec&) const override {
    return std::make_unique<AnyTwoClient>(spec_);
  }

 private:
  SharesPlan::Spec spec_;
  std::shared_ptr<const Plan> two_;
};

}  // namespace

Result<std::shared_ptr<const Plan>> plan_any_two(SharesPlan::Spec spec) {
  PIRX_TRY(check_coordinates(spec.coordinates));
  PIRX_ASSIGN(auto two, SharesPlan::create(of_two(spec, spec.coordinates[0], spec.coordinates[1])));
  if (spec.coordinates.size() == 2) return two;
  return std::make_shared<const AnyTwoPlan>(std::move(spec), std::move(two));
}

}  // namespace pirx::itpir::dpf
