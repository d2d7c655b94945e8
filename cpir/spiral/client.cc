// SPDX-License-Identifier: Apache-2.0
// Messages and randomness around ClientCore.
#include "pirx/cpir/spiral/client.h"

#include <algorithm>

#include "client_core.h"
#include "item.h"
#include "src/base/constant_time.h"
#include "src/base/guarded.h"
#include "src/protocol/message.h"

namespace pirx::cpir::spiral {

struct Client::State {
  Params params;
  ClientCore core;
  Bytes keys;
  Digest keys_name;
};

const Params& Client::params() const noexcept { return state_->params; }
const Bytes& Client::keys() const noexcept { return state_->keys; }

Result<Client> Client::create(Params params, bool allow_insecure) {
  if (params.scheme().policy != Policy::kSecure && !allow_insecure) {
    return invalid("the server's plan is insecure, for tests or comparisons: use another server");
  }
  PIRX_ASSIGN(auto rng, Rng::from_os());
  const Coins coins = [&](MutableByteSpan out) { rng.fill(out); };
  const auto make = [&]() -> Result<Client> {
    ClientCore core(params, coins);
    Bytes keys = core.keys(params, coins);
    const Digest name = sha256(keys);
    return Client(std::make_shared<const State>(std::move(params), std::move(core), std::move(keys), name));
  };
  return guarded(make, "no memory for a client's keys");
}

Result<void> Client::check_keys_held(ByteSpan reply) const {
  PIRX_ASSIGN(const auto name, decode_header(reply, ProtocolId::kSpiral, MessageType::kKeysHeld,
                                             state_->params.keys_digest(), kHeaderBytes + sizeof(Digest)));
  if (!std::equal(name.begin(), name.end(), state_->keys_name.begin())) {
    return fail(ErrorCode::kDataLoss,
                "the server holds other keys than those that were sent: send them again");
  }
  return {};
}

Result<Bytes> Client::query(std::uint64_t item, Rng& rng) const {
  const auto& params = state_->params;
  if (reveal(~mask_less(item, params.items()))) {
    return fail(ErrorCode::kOutOfRange,
                "there is no such item: the database has " + std::to_string(params.items()));
  }
  const auto make = [&]() -> Result<Bytes> {
    Writer writer(params.request_bytes());
    encode_header(writer, ProtocolId::kSpiral, MessageType::kQuery, params.digest());
    writer.put_bytes(state_->keys_name);
    const Coins coins = [&](MutableByteSpan out) { rng.fill(out); };
    state_->core.query(params, item, coins, writer.extend(kSeedBytes + params.polynomial_bytes()));
    return std::move(writer).take();
  };
  return guarded(make, "no memory for a query");
}

bool Client::keys_unknown(ByteSpan reply) const {
  return decode_header(reply, ProtocolId::kSpiral, MessageType::kKeysUnknown, state_->params.digest(),
                       kHeaderBytes)
      .has_value();
}

Result<SecretVector<std::byte>> Client::decode(std::uint64_t item, ByteSpan reply) const {
  const auto& params = state_->params;
  if (keys_unknown(reply)) {
    return fail(ErrorCode::kUnavailable,
                "the server does not hold this client's keys: upload them and ask again");
  }
  PIRX_ASSIGN(const auto body, decode_header(reply, ProtocolId::kSpiral, MessageType::kReply, params.digest(),
                                             params.reply_bytes()));
  const auto read = [&]() -> Result<SecretVector<std::byte>> {
    const auto coefficients = state_->core.decode(params, body);
    SecretVector<std::byte> out(params.item_bytes());
    coefficients_to_item(params, item, coefficients.expose(), out.expose());
    return out;
  };
  return guarded(read, "no memory to decode a reply");
}

}  // namespace pirx::cpir::spiral
