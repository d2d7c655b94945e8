// The client half without its field: chooses GoldbergClient<F> and GoldbergCollector<F> by the deployment's
// tag.
#include "pirx/itpir/client.h"

#include <variant>

#include "client_impl.h"
#include "collector_impl.h"
#include "fields.h"

namespace pirx::itpir {

std::string_view certainty_name(Certainty certainty) noexcept {
  switch (certainty) {
    case Certainty::kProven:
      return "proven";
    case Certainty::kProbable:
      return "probable";
    case Certainty::kUnverified:
      break;
  }
  return "unverified";
}

std::string_view server_status_name(ServerStatus status) noexcept {
  switch (status) {
    case ServerStatus::kOk:
      return "ok";
    case ServerStatus::kLied:
      return "lied";
    case ServerStatus::kSuspected:
      return "suspected";
    case ServerStatus::kSilent:
      return "silent";
    case ServerStatus::kRefused:
      return "refused";
    case ServerStatus::kMalformed:
      return "malformed";
    case ServerStatus::kStaleEpoch:
      break;
  }
  return "stale epoch";
}

struct ClientState::Impl {
  std::shared_ptr<const Params> params;
  SecretVector<std::uint64_t> records;
};

ClientState::ClientState(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ClientState::ClientState(ClientState&&) noexcept = default;
ClientState& ClientState::operator=(ClientState&&) noexcept = default;
ClientState::~ClientState() = default;

struct ReplyCollector::Impl {
  std::shared_ptr<const Params> params;
  std::variant<GoldbergCollector<gf2e::Gf2_8>, GoldbergCollector<gf2e::Gf2_16>, GoldbergCollector<fp::W160>,
               GoldbergCollector<fp::W48>, GoldbergCollector<fp::PrimeField>>
      collector;
};

ReplyCollector::ReplyCollector(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ReplyCollector::ReplyCollector(ReplyCollector&&) noexcept = default;
ReplyCollector& ReplyCollector::operator=(ReplyCollector&&) noexcept = default;
ReplyCollector::~ReplyCollector() = default;

Result<void> ReplyCollector::add(std::size_t server, ByteSpan reply) {
  return std::visit([&](auto& collector) { return collector.add(server, reply); }, impl_->collector);
}
void ReplyCollector::set_missing(std::size_t server, ServerStatus why) {
  std::visit([&](auto& collector) { collector.set_missing(server, why); }, impl_->collector);
}
bool ReplyCollector::settled(unsigned liars) const {
  return std::visit([&](const auto& collector) { return collector.settled(liars); }, impl_->collector);
}
Result<Answer> ReplyCollector::finish() && {
  return std::visit([](auto& collector) { return std::move(collector).finish(); }, impl_->collector);
}

Client::Client(Params params) : params_(std::make_shared<const Params>(std::move(params))) {}

Result<Query> Client::query(std::span<const std::uint64_t> records, Rng& rng) const {
  auto requests = with_field(params_->field(), [&](const auto& f) -> Result<std::vector<Bytes>> {
    using F = std::remove_cvref_t<decltype(f)>;
    return GoldbergClient<F>(strassen::Engine<F>(f), params_->spec()).query(records, rng);
  });
  if (!requests) return tl::unexpected(std::move(requests).error());
  return Query{std::move(*requests), ClientState(std::make_unique<ClientState::Impl>(
                                         ClientState::Impl{params_, SecretVector<std::uint64_t>(records)}))};
}

ReplyCollector Client::collect(ClientState&& state) const {
  PIRX_CHECK(state.impl_ != nullptr);
  const auto from = std::move(state.impl_);
  // The deployment that the query was made for, should it be another client's.
  auto impl =
      with_field(from->params->field(), [&](const auto& f) -> Result<std::unique_ptr<ReplyCollector::Impl>> {
        using F = std::remove_cvref_t<decltype(f)>;
        return std::make_unique<ReplyCollector::Impl>(ReplyCollector::Impl{
            from->params,
            GoldbergCollector<F>(strassen::Engine<F>(f), from->params->spec(), std::move(from->records))});
      });
  PIRX_CHECK(impl.has_value());
  return ReplyCollector(std::move(*impl));
}

Result<Answer> Client::decode(ClientState&& state, std::span<const std::optional<Bytes>> replies) const {
  if (replies.size() > params_->servers()) {
    return fail(ErrorCode::kInvalidArgument, std::to_string(replies.size()) + " replies for " +
                                                 std::to_string(params_->servers()) + " servers");
  }
  auto collector = collect(std::move(state));
  for (std::size_t server = 0; server < replies.size(); ++server) {
    // A bad reply is an erasure, which the answer's server status tells.
    if (replies[server]) static_cast<void>(collector.add(server, *replies[server]));
  }
  return std::move(collector).finish();
}

std::uint64_t Client::request_bytes(std::size_t indices) const {
  const auto bytes = with_field(params_->field(), [&](const auto& f) -> Result<std::uint64_t> {
    return message_bytes(indices, params_->geometry().rows(), f.elem_bytes());
  });
  return *bytes;
}

std::uint64_t Client::reply_bytes(std::size_t indices) const {
  const auto bytes = with_field(params_->field(), [&](const auto& f) -> Result<std::uint64_t> {
    return message_bytes(indices, params_->geometry().words_per_row(f.word_bytes()), f.sum_bytes());
  });
  return *bytes;
}

}  // namespace pirx::itpir
