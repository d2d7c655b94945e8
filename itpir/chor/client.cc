// SPDX-License-Identifier: Apache-2.0
// The client half of Chor's protocol: makes requests; the sum of all replies is the answer.
#include "pirx/itpir/chor/client.h"

#include "client_impl.h"
#include "itpir/check_messages.h"
#include "itpir/client_messages.h"
#include "itpir/xor_collector.h"

namespace pirx::itpir::chor {
namespace {

using State = XorState<Params>;

/// The rows to ask for.
Result<SecretVector<std::uint64_t>> rows_of(const Wishes& wishes, const database::Geometry& geometry) {
  SecretVector<std::uint64_t> rows(wishes.indices.expose());
  std::uint64_t outside = 0;
  for (auto& row : rows.expose()) {
    if (wishes.kind == QueryKind::kRecords) {
      PIRX_ASSIGN(const auto location, geometry.locate(row));
      row = location.row;
    } else {
      outside |= ~mask_less(row, geometry.rows());
    }
  }
  if (!reveal(outside)) return rows;
  return fail(ErrorCode::kOutOfRange,
              "there is no such row: the database has " + std::to_string(geometry.rows()) + " rows");
}

}  // namespace

Result<Params> Params::create(Spec spec) {
  PIRX_TRY(allowed_cpu_features());  // an engine has no way to refuse a wrong PIRX_FORCE_ISA
  const auto l = spec.coordinates.size();
  if (l < 2) {
    return invalid("Chor's protocol needs at least two servers, not " + std::to_string(l) +
                   ": a single one would see what is asked for");
  }
  PIRX_TRY(check_coordinates(spec.coordinates));
  PIRX_TRY(check_sizes(spec.geometry.rows(), spec.geometry.row_bytes()));
  return Params(std::move(spec));
}

Client::Client(Params params, const ClientOptions& options)
    : params_(std::make_shared<const Params>(std::move(params))), options_(options) {}

MessageSizes Client::sizes(std::size_t wishes, QueryKind) const {
  return {message_bytes(wishes, bit_bytes(geometry().rows()), 1),
          message_bytes(wishes, geometry().row_bytes(), 1)};
}

Result<Query> Client::make_query(Wishes wishes, Rng& rng) const {
  PIRX_TRY(check_query_size(wishes.size(), wishes.size(), sizes(wishes.size(), wishes.kind)));
  PIRX_ASSIGN(const auto rows, rows_of(wishes, geometry()));
  PIRX_ASSIGN(auto requests, make_requests(params_->spec(), options_.seeded, rows.expose(),
                                           rows.size() / wishes.size(), rng));
  return Query{std::move(requests), std::make_unique<State>(params_, std::move(wishes))};
}

std::unique_ptr<ReplyCollector> Client::make_collector(std::unique_ptr<ClientState> state,
                                                       DecodeOptions options) const {
  auto* own = dynamic_cast<State*>(state.get());
  PIRX_CHECK(own != nullptr);
  const auto& spec = own->params->spec();
  return make_xor_collector(
      {ProtocolId::kChor, "Chor's protocol", spec.geometry, spec.version, spec.coordinates, false},
      std::move(own->wishes), std::move(options));
}

}  // namespace pirx::itpir::chor
