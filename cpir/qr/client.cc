// SPDX-License-Identifier: Apache-2.0
// Queries and replies as numbers. The secret part of the work is in residues.cc.
#include "pirx/cpir/qr/client.h"

#include "cpir/dj/number.h"
#include "residues.h"
#include "src/base/constant_time.h"
#include "src/base/guarded.h"
#include "src/base/parallel_try.h"
#include "src/protocol/message.h"

namespace pirx::cpir::qr {
struct Client::State {
  Params params;
  PublicKey key;
  Residues residues;
};

const Params& Client::params() const noexcept { return state_->params; }

Result<Client> Client::create(Params params, const SecretKey& key) {
  const auto& made = key.public_key();
  const auto& spec = params.spec();
  if (made.bits() != spec.modulus_bits || made.policy() != spec.policy) {
    return invalid("the server's plan is for keys of another kind, of " + std::to_string(spec.modulus_bits) +
                   " bits: make such a key, or use another server if it is too short");
  }
  return Client(std::make_shared<const State>(std::move(params), made, Residues(key)));
}

Result<Bytes> Client::query(std::uint64_t row, Rng& rng, const Stop& stop) const {
  const auto& params = state_->params;
  if (reveal(~mask_less(row, params.rows()))) {
    return fail(ErrorCode::kOutOfRange,
                "there is no such row: the matrix has " + std::to_string(params.rows()));
  }
  const auto make = [&]() -> Result<Bytes> {
    Writer writer(params.request_bytes());
    encode_header(writer, ProtocolId::kQuadraticResiduosity, MessageType::kQuery, params.digest());
    writer.put_bytes(state_->key.modulus());
    for (std::uint64_t i = 0; i < params.rows(); ++i) {
      if (stop && stop()) return fail(ErrorCode::kUnavailable, "the query was not made in time");
      const auto wanted = static_cast<unsigned>(mask_equal(i, row) & 1);
      state_->residues.encrypt_bit(wanted, rng, writer.extend(params.number_bytes()));
    }
    return std::move(writer).take();
  };
  return guarded(make, "no memory for a query");
}

Result<SecretVector<std::byte>> Client::decode(ByteSpan reply, int threads, const Stop& stop) const {
  const auto& params = state_->params;
  PIRX_ASSIGN(const auto body, decode_header(reply, ProtocolId::kQuadraticResiduosity, MessageType::kReply,
                                             params.digest(), params.reply_bytes()));
  const mpz_class n = dj::number_from_bytes(state_->key.modulus());
  SecretVector<std::byte> row(params.row_bytes());
  PIRX_TRY(parallel_try(thread_count(threads), row.size(), [&](std::size_t i, std::size_t) -> Result<void> {
    if (stop && stop())
      return fail(ErrorCode::kUnavailable, "the deadline passed while the reply was opened");
    unsigned byte = 0;
    for (std::size_t j = 0; j < 8; ++j) {
      const auto number = body.subspan((8 * i + j) * params.number_bytes(), params.number_bytes());
      // The server knows z and N: what is checked here may take the time it takes.
      const mpz_class z = dj::number_from_bytes(number);
      if (z >= n || mpz_jacobi(z.get_mpz_t(), n.get_mpz_t()) != 1) {
        return fail(
            ErrorCode::kUndecodable,
            "the reply holds what is no product of the query's numbers: the server is broken or lies");
      }
      byte |= state_->residues.decrypt_bit(number) << j;
    }
    row.expose()[i] = static_cast<std::byte>(byte);
    return {};
  }));
  return row;
}

}  // namespace pirx::cpir::qr
