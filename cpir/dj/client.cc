// SPDX-License-Identifier: Apache-2.0
// Makes selectors from a row's digits, and rows from replies.
#include "pirx/cpir/dj/client.h"

#include <algorithm>

#include "pirx/cpir/dj/cipher.h"
#include "polynomial.h"
#include "src/base/constant_time.h"
#include "src/base/parallel_try.h"
#include "src/base/process.h"
#include "src/protocol/message.h"

namespace pirx::cpir::dj {
namespace {

tl::unexpected<Error> wrong_blinding() {
  return invalid("the blinding was used before, or made for another tree or before a fork: make another");
}

}  // namespace

struct Client::State {
  Params params;
  Cipher cipher;
};

Result<Client> Client::create(Params params, const SecretKey& key) {
  const auto& spec = params.spec();
  if (key.public_key().bits() != spec.modulus_bits || key.public_key().policy() != spec.policy) {
    return invalid("the server wants keys of " + std::to_string(spec.modulus_bits) + " bits, this one has " +
                   std::to_string(key.public_key().bits()) + " or was made under another policy");
  }
  PIRX_ASSIGN(auto cipher, Cipher::create(key, params.layer(params.levels())));
  return Client(std::make_shared<const State>(std::move(params), std::move(cipher)));
}

const Params& Client::params() const noexcept { return state_->params; }

Result<Blinding> Client::blind(Rng& rng, const Stop& stop) const {
  const auto process = process_token();
  std::vector<unsigned> layers;
  for (unsigned level = 1; level <= state_->params.levels(); ++level) {
    layers.insert(layers.end(), state_->params.arities()[level - 1] - 1, state_->params.layer(level));
  }
  PIRX_ASSIGN(auto zeros, state_->cipher.encrypt_zeros(layers, rng, stop));
  std::vector<Blinding::Selector> selectors(layers.size());
  PIRX_TRY(parallel_try(thread_count(), layers.size(), [&](std::size_t i, std::size_t) -> Result<void> {
    auto& [zero, one] = selectors[i];
    zero = std::move(zeros[i]);
    PIRX_ASSIGN(const auto made,
                state_->cipher.encrypt_bit(layers[i], 1, SecretVector<std::byte>(zero.expose())));
    one = SecretVector<std::byte>(made);
    return {};
  }));
  return Blinding(std::move(selectors), process);
}

Result<Bytes> Client::query(std::uint64_t row, Rng& rng, const Stop& stop) const {
  PIRX_ASSIGN(auto blinding, blind(rng, stop));
  return query(row, std::move(blinding));
}

Result<Bytes> Client::query(std::uint64_t row, Blinding blinding) const {
  const auto& params = state_->params;
  if (reveal(~mask_less(row, params.rows()))) {
    return fail(ErrorCode::kOutOfRange,
                "there is no such row: the database has " + std::to_string(params.rows()));
  }
  const std::size_t selectors = [&] {
    std::size_t count = 0;
    for (const auto arity : params.arities()) count += arity - 1;
    return count;
  }();
  // Parent and child have the same coins: the server would read two digits that differ.
  if (blinding.selectors_.size() != selectors || blinding.process_ != process_token()) {
    return wrong_blinding();
  }
  Writer writer(params.request_bytes());
  encode_header(writer, ProtocolId::kDamgardJurikTree, MessageType::kQuery, params.digest());
  writer.put_bytes(state_->cipher.public_key().modulus());
  Secret<Division> at(Division{row, 0});  // the rows of the nodes above, and the digit
  auto selector = blinding.selectors_.begin();
  for (unsigned level = 1; level <= params.levels(); ++level) {
    const auto arity = params.arities()[level - 1];
    at.expose() = pirx::divide(at.expose().quotient, arity);
    const std::uint64_t& digit = at.expose().remainder;
    const bool polynomial = params.spec().selectors == Selectors::kPolynomial;
    const auto sets = polynomial ? monomials(arity) : std::vector<std::uint32_t>();
    for (std::uint32_t i = 1; i < arity; ++i, ++selector) {
      if (selector->zero.size() != params.ciphertext_bytes(params.layer(level))) return wrong_blinding();
      const auto is_one = polynomial ? mask_equal(digit & sets[i - 1], sets[i - 1]) : mask_equal(digit, i);
      select(is_one, selector->one.expose(), selector->zero.expose(), writer.extend(selector->zero.size()));
    }
  }
  return std::move(writer).take();
}

Result<SecretVector<std::byte>> Client::decode(ByteSpan reply, const Stop& stop) const {
  const auto& params = state_->params;
  PIRX_ASSIGN(const auto body, decode_header(reply, ProtocolId::kDamgardJurikTree, MessageType::kReply,
                                             params.digest(), params.reply_bytes()));
  const unsigned top = params.layer(params.levels());
  const std::size_t each = params.ciphertext_bytes(top);
  SecretVector<std::byte> row(static_cast<std::size_t>(params.geometry().row_bytes()));
  SecretVector<std::byte> wrong(params.chunks());  // not zero: what was decrypted is too long
  // A single chunk is decrypted by one thread for each prime instead.
  PIRX_TRY(parallel_try(thread_count(), params.chunks(), [&](std::size_t chunk, std::size_t) -> Result<void> {
    if (stop && stop())
      return fail(ErrorCode::kUnavailable, "the deadline passed while the reply was opened");
    const auto opened = state_->cipher.decrypt_layers(top, body.subspan(chunk * each, each), params.layer(1));
    if (!opened) {
      if (opened.error().code() == ErrorCode::kResourceExhausted) return tl::unexpected(opened.error());
      wrong.expose()[chunk] = std::byte{1};
      return {};
    }
    const auto number = opened->expose();
    const auto length = params.chunk_length(chunk);
    for (const auto byte : number.first(number.size() - length)) wrong.expose()[chunk] |= byte;
    const auto data = number.last(length);
    std::copy(data.begin(), data.end(),
              row.expose().begin() + static_cast<std::ptrdiff_t>(chunk * params.chunk_bytes()));
    return {};
  }));
  std::byte any{0};
  for (const auto byte : wrong.expose()) any |= byte;
  if (reveal(std::to_integer<std::uint64_t>(any))) {
    return fail(ErrorCode::kUndecodable, "the reply does not decrypt to a row: the server is broken or lies");
  }
  return row;
}

}  // namespace pirx::cpir::dj
