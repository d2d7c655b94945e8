// The client half for any field: chooses GoldbergClient<F> and GoldbergCollector<F> by the deployment's
// field tag.
#include "pirx/itpir/client.h"

#include <cstring>
#include <variant>

#include "client_impl.h"
#include "collector_impl.h"
#include "pirx/batchcodes/fields.h"
#include "pirx/itpir/chor.h"

namespace pirx::itpir {

std::string_view decode_status_name(DecodeStatus status) noexcept {
  switch (status) {
    case DecodeStatus::kOk:
      return "ok";
    case DecodeStatus::kAmbiguous:
      return "ambiguous";
    case DecodeStatus::kNeedMoreQueries:
      return "needs more queries";
    case DecodeStatus::kFailed:
      break;
  }
  return "failed";
}

struct ClientState::Impl {
  std::shared_ptr<const Params> params;
  Wishes wishes;
  SecretVector<std::byte> blinding;    ///< the field's elements as they lie in memory
  std::optional<ChorState> chor = {};  ///< all there is in a query of Chor's protocol
};

namespace {

template <class Elem>
SecretVector<std::byte> to_memory(const SecretVector<Elem>& values) {
  return SecretVector<std::byte>(std::as_bytes(values.expose()));
}
template <class Elem>
SecretVector<Elem> from_memory(const SecretVector<std::byte>& bytes) {
  SecretVector<Elem> values(bytes.size() / sizeof(Elem));
  std::memcpy(values.expose().data(), bytes.expose().data(), bytes.size());
  return values;
}

}  // namespace

ClientState::ClientState(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ClientState::ClientState(ClientState&&) noexcept = default;
ClientState& ClientState::operator=(ClientState&&) noexcept = default;
ClientState::~ClientState() = default;

struct ReplyCollector::Impl {
  std::shared_ptr<const Params> params;
  std::variant<GoldbergCollector<gf2e::Gf2_8>, GoldbergCollector<gf2e::Gf2_16>, GoldbergCollector<fp::W160>,
               GoldbergCollector<fp::W48>, GoldbergCollector<fp::PrimeField>, ChorCollector>
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
Result<DecodeReport> ReplyCollector::decode() {
  return std::visit([](auto& collector) -> Result<DecodeReport> { return collector.decode(); },
                    impl_->collector);
}
Result<void> ReplyCollector::ask_again(ClientState&& state) {
  PIRX_CHECK(state.impl_ != nullptr);
  const auto from = std::move(state.impl_);
  if (from->params != impl_->params) {
    return fail(ErrorCode::kInvalidArgument, "a further query must be of the client that made the first");
  }
  return std::visit(
      [&]<class Collector>(Collector& collector) -> Result<void> {
        if constexpr (std::same_as<Collector, ChorCollector>) {
          return fail(ErrorCode::kInvalidArgument,
                      "Chor's protocol cannot tell liars apart, however often it asks: begin again");
        } else {
          return collector.ask_again(from->wishes, from_memory<typename Collector::Elem>(from->blinding));
        }
      },
      impl_->collector);
}
Result<Answer> ReplyCollector::finish() && {
  return std::visit([](auto& collector) { return std::move(collector).finish(); }, impl_->collector);
}

namespace {

ChorClient chor_client(const Params& params, bool seeded) {
  auto chor = ChorParams::create({params.geometry(), params.version(), params.coordinates(), seeded});
  PIRX_CHECK(chor.has_value());  // Params::create checked the same
  return ChorClient(std::move(*chor));
}

}  // namespace

Client::Client(Params params, const ClientOptions& options)
    : params_(std::make_shared<const Params>(std::move(params))), options_(options) {}

Result<Query> Client::make_query(Wishes wishes, Rng& rng) const {
  return with_field(params_->field(), [&](const auto& f) -> Result<Query> {
    using F = std::remove_cvref_t<decltype(f)>;
    const GoldbergClient<F> client(strassen::Engine<F>(f), params_->spec(), params_->encoding(),
                                   Blinding::kOn, options_);
    PIRX_ASSIGN(auto query, client.query(wishes, rng));
    return Query{std::move(query.requests), ClientState(std::make_unique<ClientState::Impl>(ClientState::Impl{
                                                params_, std::move(wishes), to_memory(query.blinding)}))};
  });
}

Result<Query> Client::wrap(Result<ChorQuery> query) const {
  if (!query) return tl::unexpected(std::move(query).error());
  return Query{std::move(query->requests), ClientState(std::make_unique<ClientState::Impl>(
                                               ClientState::Impl{params_, {}, {}, std::move(query->state)}))};
}

Result<Query> Client::query(std::span<const std::uint64_t> records, Rng& rng) const {
  if (params_->protocol() == ProtocolId::kChor) {
    return wrap(chor_client(*params_, options_.seeded).query(records, rng));
  }
  return make_query({QueryKind::kRecords, SecretVector<std::uint64_t>(records)}, rng);
}

Result<Query> Client::query_sums(std::span<const std::array<std::uint64_t, kSummedRows>> rows,
                                 Rng& rng) const {
  if (params_->protocol() == ProtocolId::kChor) {
    return wrap(chor_client(*params_, options_.seeded).query_sums(rows, rng));
  }
  if (params_->field().kind != FieldKind::kBinary) {
    return fail(
        ErrorCode::kInvalidArgument,
        "rows are added up over fields of characteristic 2 only, where a sum of rows is a row of bytes; " +
            params_->field().name() + " is none: serve the database over gf2_8 or gf2_16");
  }
  Wishes wishes{QueryKind::kRowSums, SecretVector<std::uint64_t>(rows.size() * kSummedRows)};
  for (std::size_t i = 0; i < wishes.indices.size(); ++i) {
    wishes.indices.expose()[i] = rows[i / kSummedRows][i % kSummedRows];
  }
  return make_query(std::move(wishes), rng);
}

ReplyCollector Client::collect(ClientState&& state, DecodeOptions options) const {
  PIRX_CHECK(state.impl_ != nullptr);
  const auto from = std::move(state.impl_);
  if (from->chor) {
    const ChorClient client = chor_client(*from->params, false);
    return ReplyCollector(std::make_unique<ReplyCollector::Impl>(
        ReplyCollector::Impl{from->params, client.collect(std::move(*from->chor), std::move(options))}));
  }
  // The deployment that the query was made for, should it be another client's.
  auto impl =
      with_field(from->params->field(), [&](const auto& f) -> Result<std::unique_ptr<ReplyCollector::Impl>> {
        using F = std::remove_cvref_t<decltype(f)>;
        return std::make_unique<ReplyCollector::Impl>(ReplyCollector::Impl{
            from->params,
            GoldbergCollector<F>(strassen::Engine<F>(f), from->params->spec(), from->params->encoding(),
                                 std::move(from->wishes), from_memory<typename F::Elem>(from->blinding),
                                 std::move(options))});
      });
  PIRX_CHECK(impl.has_value());
  return ReplyCollector(std::move(*impl));
}

Result<Answer> Client::decode(ClientState&& state, std::span<const std::optional<Bytes>> replies,
                              DecodeOptions options) const {
  if (replies.size() > params_->servers()) {
    return fail(ErrorCode::kInvalidArgument, std::to_string(replies.size()) + " replies for " +
                                                 std::to_string(params_->servers()) + " servers");
  }
  auto collector = collect(std::move(state), std::move(options));
  for (std::size_t server = 0; server < replies.size(); ++server) {
    // A bad reply is an erasure, which the answer's server status tells.
    if (replies[server]) static_cast<void>(collector.add(server, *replies[server]));
  }
  return std::move(collector).finish();
}

std::uint64_t Client::request_bytes(std::size_t wishes, QueryKind kind) const {
  if (params_->protocol() == ProtocolId::kChor) {
    return chor_client(*params_, false).request_bytes(wishes, params_->servers() - 1);
  }
  const auto vectors = query_vectors(params_->encoding(), params_->geometry(), kind, wishes);
  const auto bytes = with_field(params_->field(), [&](const auto& f) -> Result<std::uint64_t> {
    return message_bytes(vectors, params_->encoding().rows(params_->geometry().rows()), f.elem_bytes());
  });
  return *bytes;
}

std::uint64_t Client::reply_bytes(std::size_t wishes, QueryKind kind) const {
  if (params_->protocol() == ProtocolId::kChor) return chor_client(*params_, false).reply_bytes(wishes);
  const auto vectors = query_vectors(params_->encoding(), params_->geometry(), kind, wishes);
  const auto bytes = with_field(params_->field(), [&](const auto& f) -> Result<std::uint64_t> {
    return message_bytes(vectors, params_->geometry().words_per_row(f.word_bytes()), f.sum_bytes());
  });
  return *bytes;
}

}  // namespace pirx::itpir
