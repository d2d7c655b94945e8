// SPDX-License-Identifier: Apache-2.0
// Messages, randomness and masks around ClientCore.
#include "pirx/cpir/inspire/client.h"

#include <mutex>

#include "client_core.h"
#include "cpir/ring/bits.h"
#include "src/base/constant_time.h"
#include "src/base/guarded.h"
#include "src/protocol/message.h"

namespace pirx::cpir::inspire {

struct Client::State {
  explicit State(Params of) : params(std::move(of)), core(params, ClientCore::expand(params)) {}
  const Params params;
  const ClientCore core;
  std::mutex mutex;
  std::vector<std::shared_ptr<const MaskSlots>> masks;  ///< of all blocks, or none
};

const Params& Client::params() const noexcept { return state_->params; }

Result<Client> Client::create(Params params) {
  if (params.spec().masks.empty())
    return invalid("the parameters name no masks: no server has made them yet");
  const auto make = [&]() -> Result<Client> { return Client(std::make_shared<State>(std::move(params))); };
  return guarded(make, "no memory for a client's public polynomials");
}

bool Client::has_masks() const {
  const std::lock_guard lock(state_->mutex);
  return !state_->masks.empty();
}

Bytes Client::masks_request() const {
  Writer writer(Params::kMasksRequestBytes);
  encode_header(writer, ProtocolId::kInspire, MessageType::kMasksWanted, params().digest());
  writer.put(std::uint32_t{0});
  writer.put(static_cast<std::uint32_t>(params().blocks()));
  return std::move(writer).take();
}

Result<void> Client::take_masks(ByteSpan reply) const {
  PIRX_ASSIGN(const auto body,
              decode_header(reply, ProtocolId::kInspire, MessageType::kMasks, params().digest(),
                            params().masks_reply_bytes(params().blocks()), "masks message"));
  Reader reader(body, "masks");
  PIRX_ASSIGN(const auto first, reader.get<std::uint32_t>());
  PIRX_ASSIGN(const auto count, reader.get<std::uint32_t>());
  if (first != 0 || count != params().blocks()) {
    return fail(ErrorCode::kDataLoss, "the server sent the masks of other blocks than were asked for");
  }
  const auto take = [&]() -> Result<void> {
    std::vector<std::shared_ptr<const MaskSlots>> masks;
    for (std::size_t block = 0; block < params().blocks(); ++block) {
      PIRX_ASSIGN(const auto of_block, reader.get_bytes(params().masks_bytes()));
      if (mask_digest(params().spec().salt, block, of_block) != params().spec().masks[block]) {
        return fail(
            ErrorCode::kDataLoss,
            "the server's masks are not those that its parameters name: they would betray what is asked");
      }
      masks.push_back(std::make_shared<const MaskSlots>(state_->core.mask_slots(of_block)));
    }
    const std::lock_guard lock(state_->mutex);
    state_->masks = std::move(masks);
    return {};
  };
  return guarded(take, "no memory for masks");
}

Result<Client::Query> Client::query(std::uint64_t row, Rng& rng) const {
  if (reveal(~mask_less(row, params().rows()))) {
    return fail(ErrorCode::kOutOfRange,
                "there is no such row: the database has " + std::to_string(params().rows()));
  }
  const auto make = [&]() -> Result<Query> {
    Writer writer(params().request_bytes());
    encode_header(writer, ProtocolId::kInspire, MessageType::kQuery, params().digest());
    const auto body = writer.extend(params().key_bytes() + params().query_bytes());
    const Coins coins = [&](MutableByteSpan out) { rng.fill(out); };
    RowSecret secret =
        state_->core.query(FreshSecret(params(), coins), row, coins, body.first(params().key_bytes()),
                           body.subspan(params().key_bytes()));
    return Query{std::move(writer).take(), std::move(secret)};
  };
  return guarded(make, "no memory for a query");
}

Result<SecretVector<std::byte>> Client::decode(RowSecret secret, ByteSpan reply) const {
  PIRX_ASSIGN(const auto body, decode_header(reply, ProtocolId::kInspire, MessageType::kReply,
                                             params().digest(), params().reply_bytes()));
  const auto spare = static_cast<unsigned>(8 * body.size() - params().columns() * params().spec().tr);
  if (std::to_integer<unsigned>(body.back()) >> (8 - spare) != 0) {
    return fail(ErrorCode::kDataLoss, "the spare bits of a reply are not zero");
  }
  const auto read = [&]() -> Result<SecretVector<std::byte>> {
    std::vector<std::shared_ptr<const MaskSlots>> masks;
    {
      const std::lock_guard lock(state_->mutex);
      masks = state_->masks;
    }
    if (masks.empty()) return invalid("masks are missing: fetch them before a reply is decoded");
    return state_->core.decode(std::move(secret), masks, body);
  };
  return guarded(read, "no memory to decode a reply");
}

}  // namespace pirx::cpir::inspire
