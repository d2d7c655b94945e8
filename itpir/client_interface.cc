// SPDX-License-Identifier: Apache-2.0
// What the clients of this folder do alike.
#include "pirx/itpir/client_interface.h"

namespace pirx::itpir {

Result<Query> SharesClient::query(std::span<const std::uint64_t> records, Rng& rng) const {
  return make_query({QueryKind::kRecords, SecretVector<std::uint64_t>(records), {}}, rng);
}

Result<Query> SharesClient::query_sums(std::span<const std::array<std::uint64_t, kSummedRows>> rows, Rng& rng,
                                       std::span<const std::uint64_t> offsets) const {
  PIRX_CHECK(offsets.empty() || offsets.size() == rows.size());
  Wishes wishes{QueryKind::kRowSums, SecretVector<std::uint64_t>(rows.size() * kSummedRows),
                SecretVector<std::uint64_t>(offsets)};
  for (std::size_t i = 0; i < wishes.indices.size(); ++i) {
    wishes.indices.expose()[i] = rows[i / kSummedRows][i % kSummedRows];
  }
  return make_query(std::move(wishes), rng);
}

std::unique_ptr<ReplyCollector> SharesClient::collect(std::unique_ptr<ClientState> state,
                                                      DecodeOptions options) const {
  PIRX_CHECK(state != nullptr);
  return make_collector(std::move(state), std::move(options));
}

Result<Answer> SharesClient::decode(std::unique_ptr<ClientState> state,
                                    std::span<const std::optional<Bytes>> replies,
                                    DecodeOptions options) const {
  if (replies.size() > servers()) {
    return invalid(std::to_string(replies.size()) + " replies for " + std::to_string(servers()) + " servers");
  }
  const auto collector = collect(std::move(state), std::move(options));
  for (std::size_t server = 0; server < replies.size(); ++server) {
    // A bad reply counts as missing, which the answer's server status tells.
    if (replies[server]) static_cast<void>(collector->add(server, *replies[server]));
  }
  return std::move(*collector).finish();
}

}  // namespace pirx::itpir
