// SPDX-License-Identifier: Apache-2.0
// The client half for any field: chooses GoldbergClient<F> and GoldbergCollector<F> by the deployment's
// field tag.
#include "pirx/itpir/goldberg/client.h"

#include "client_impl.h"
#include "collector_impl.h"
#include "pirx/batchcodes/fields.h"

namespace pirx::itpir::goldberg {
namespace {

/// A collector that keeps alive the deployment to which it refers.
template <class F>
struct Collector final : GoldbergCollector<F> {
  Collector(const F& f, GoldbergState<F> state, DecodeOptions options)
      : GoldbergCollector<F>(strassen::Engine<F>(f), state.params->spec(), state.params->encoding(),
                             std::move(state.wishes), std::move(state.blinding), std::move(options)),
        params(std::move(state.params)) {}
  std::shared_ptr<const Params> params;
};

}  // namespace

Client::Client(Params params, const ClientOptions& options)
    : params_(std::make_shared<const Params>(std::move(params))), options_(options) {}

Result<Query> Client::make_query(Wishes wishes, Rng& rng) const {
  if (wishes.kind == QueryKind::kRowSums && params_->field().kind != FieldKind::kBinary) {
    return invalid(
        "rows are added up over fields of characteristic 2 only, where a sum of rows is a row of bytes; " +
        params_->field().name() + " is none: serve the database over gf2_8 or gf2_16");
  }
  return with_field(params_->field(), [&]<class F>(const F& f) -> Result<Query> {
    const GoldbergClient<F> client(strassen::Engine<F>(f), params_->spec(), params_->encoding(),
                                   Blinding::kOn, options_);
    PIRX_ASSIGN(auto query, client.query(wishes, rng));
    return Query{std::move(query.requests),
                 std::make_unique<GoldbergState<F>>(params_, std::move(wishes), std::move(query.blinding))};
  });
}

std::unique_ptr<ReplyCollector> Client::make_collector(std::unique_ptr<ClientState> state,
                                                       DecodeOptions options) const {
  auto collector =
      with_field(params_->field(), [&]<class F>(const F& f) -> Result<std::unique_ptr<ReplyCollector>> {
        auto* own = dynamic_cast<GoldbergState<F>*>(state.get());
        PIRX_CHECK(own != nullptr);
        return std::make_unique<Collector<F>>(f, std::move(*own), std::move(options));
      });
  return std::move(*collector);
}

MessageSizes Client::sizes(std::size_t wishes, QueryKind kind) const {
  const auto vectors = query_vectors(params_->encoding(), params_->geometry(), kind, wishes);
  return *with_field(params_->field(), [&](const auto& f) -> Result<MessageSizes> {
    return MessageSizes{
        message_bytes(vectors, params_->encoding().rows(params_->geometry().rows()), f.elem_bytes()),
        message_bytes(vectors, params_->geometry().words_per_row(f.word_bytes()), f.sum_bytes())};
  });
}

ClientEffort Client::effort(std::size_t wishes, QueryKind kind) const {
  const auto& encoding = params_->encoding();
  const double l = params_->servers(), t = params_->threshold();
  const auto rows = static_cast<double>(encoding.rows(params_->geometry().rows()));
  const auto vectors = static_cast<double>(query_vectors(encoding, params_->geometry(), kind, wishes));
  return *with_field(params_->field(), [&]<class F>(const F& f) -> Result<ClientEffort> {
    const auto words = static_cast<double>(params_->geometry().words_per_row(f.word_bytes()));
    const double ramp = encoding.spec().ramp;
    // Of many elements, and of one after another.
    constexpr bool kSlow = std::is_same_v<F, fp::PrimeField>;
    const double product = kSlow ? 7e-7 : 1e-9 * static_cast<double>(f.elem_bytes());
    const double single = kSlow ? 7e-7 : 3e-8;
    return ClientEffort{
        (t + l) * rows * sizeof(typename F::Elem), vectors * words * (l + ramp) * sizeof(typename F::Sum),
        vectors * ((rows * l * t + words * l * needed()) * product + 1.5 * l * ramp * ramp * single)};
  });
}

}  // namespace pirx::itpir::goldberg
