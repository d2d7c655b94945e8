// SPDX-License-Identifier: Apache-2.0
// Makes requests out of keys; the sum of both replies is the answer.
#include "pirx/itpir/dpf/client.h"

#include "itpir/client_messages.h"
#include "itpir/xor_collector.h"
#include "keys.h"
#include "src/base/constant_time.h"

namespace pirx::itpir::dpf {
namespace {

using State = XorState<Params>;

/// The slots to ask for: those of the records, or of the three rows of each sum. OutOfRange: there is no such
/// record or row.
Result<SecretVector<std::uint64_t>> slots_of(const Wishes& wishes, const database::Geometry& geometry) {
  SecretVector<std::uint64_t> slots(wishes.indices.expose());
  const bool sums = wishes.kind == QueryKind::kRowSums;
  const std::uint64_t end = sums ? geometry.rows() : geometry.records();
  std::uint64_t outside = 0;
  for (std::size_t k = 0; k < slots.size(); ++k) {
    auto& slot = slots.expose()[k];
    outside |= ~mask_less(slot, end);
    if (!sums) continue;
    const auto [column, rest] = divide(wishes.offsets.expose()[k / kSummedRows], geometry.slot_bytes());
    outside |= ~mask_less(column, geometry.spec().records_per_row) | rest;
    slot = slot * geometry.spec().records_per_row + column;
  }
  if (!reveal(outside)) return slots;
  return fail(ErrorCode::kOutOfRange, "there is no such " + std::string(sums ? "row" : "record") +
                                          ": the database has " + std::to_string(end));
}

}  // namespace

Result<Params> Params::create(Spec spec) {
  PIRX_TRY(allowed_cpu_features());  // an engine has no way to refuse a wrong PIRX_FORCE_ISA
  PIRX_TRY(check_coordinates(spec.coordinates));
  if (spec.coordinates.size() != 2) {
    return invalid("dpf asks two servers at a time, not " + std::to_string(spec.coordinates.size()));
  }
  PIRX_TRY(check_sizes(slots(spec.geometry), points_of(spec.geometry), spec.geometry.slot_bytes()));
  return Params(std::move(spec));
}

MessageSizes Client::sizes(std::size_t wishes, QueryKind) const {
  const std::uint64_t keys = points_of(geometry()) * key_bytes(slots(geometry()));
  return {message_bytes(wishes, keys, 1), message_bytes(wishes, geometry().slot_bytes(), 1)};
}

Result<Query> Client::make_query(Wishes wishes, Rng& rng) const {
  const auto& spec = params_->spec();
  if ((wishes.kind == QueryKind::kRowSums) != spec.geometry.keyed() ||
      wishes.indices.size() != wishes.size() * points_of(spec.geometry) ||
      (spec.geometry.keyed() && wishes.offsets.size() != wishes.size())) {
    return invalid("dpf fetches records by position, or the slots of a key from a keyed database, not rows");
  }
  PIRX_TRY(check_query_size(wishes.size(), wishes.size(), sizes(wishes.size(), wishes.kind)));
  PIRX_ASSIGN(const auto points, slots_of(wishes, spec.geometry));
  const std::uint64_t rows = slots(spec.geometry);
  const std::size_t each = key_bytes(rows);
  const MessageHeader header{{},
                             kTagGf2,
                             spec.version,
                             0,
                             static_cast<std::uint32_t>(wishes.size()),
                             rows,
                             ProtocolId::kPointFunctions};
  PIRX_ASSIGN(auto requests, empty_requests(header, spec.coordinates, each * points_of(spec.geometry), 0));
  Hash hash;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto place = [&](std::size_t server) {
      return MutableByteSpan(requests[server]).subspan(MessageHeader::kBytes + i * each, each);
    };
    write_keys(hash, points.expose()[i], rows, rng, place(0), place(1));
  }
  return Query{std::move(requests), std::make_unique<State>(params_, std::move(wishes))};
}

std::unique_ptr<ReplyCollector> Client::make_collector(std::unique_ptr<ClientState> state,
                                                       DecodeOptions options) const {
  auto* own = dynamic_cast<State*>(state.get());
  PIRX_CHECK(own != nullptr);
  const auto& spec = own->params->spec();
  return make_xor_collector(
      {ProtocolId::kPointFunctions, "dpf", spec.geometry, spec.version, spec.coordinates, true},
      std::move(own->wishes), std::move(options));
}

}  // namespace pirx::itpir::dpf
