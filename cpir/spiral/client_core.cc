// SPDX-License-Identifier: Apache-2.0
// Keys, queries and decoding, in constant time in secrets, item and answer. What depends on the wanted item
// is a mask.
#include "client_core.h"

#include <algorithm>

#include "src/base/constant_time.h"
#include "src/protocol/message.h"
#include "wire.h"

namespace pirx::cpir::spiral {
namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;

/// value under a mask of all ones, 0 under 0.
U32 masked(U32 value, U64 mask) noexcept { return value & static_cast<U32>(opaque(mask)); }

U32 inverse_of_power_of_two(unsigned exponent, U32 prime) noexcept {
  return power(power(2, exponent, prime), prime - 2, prime);
}

}  // namespace

ClientCore::ClientCore(const Params& params, const Coins& coins)
    : ring_(Ring::get(params.scheme().log_d)), secret_(ring_, params.scheme().eta, coins) {
  for (unsigned i = 0; params.scheme().pack > 1 && i < params.scheme().pack; ++i) {
    packing_.emplace_back(ring_, params.scheme().eta, coins);
  }
}

Bytes ClientCore::keys(const Params& params, const Coins& coins) const {
  const std::size_t d = ring_.d(), n = packing_.size();
  Writer writer(params.keys_bytes());
  encode_header(writer, ProtocolId::kSpiral, MessageType::kKeys, params.keys_digest());
  FreshSeed seed(coins);
  writer.put_bytes(seed.bytes());
  Encryptor encryptor(ring_, params.scheme().eta, std::move(seed), coins);
  SecretVector<U32> target(2 * d), message(2 * d);
  std::vector<U32> c1(2 * d);
  U32 *wanted = target.expose().data(), *scaled = message.expose().data();
  const U32* s = secret_.slots.expose().data();
  const auto put = [&](const SecretPolynomial& under, const U32* plain) {
    encryptor.encrypt(under, plain, c1.data());
    put_slots(ring_, c1.data(), writer.extend(params.polynomial_bytes()).data());
  };
  const auto columns = [&](const U32* of, const Gadget& gadget) {
    for (unsigned k = 0; k < gadget.digits(); ++k) {
      ring_.scale(scaled, of, gadget.weights(k));
      encryptor.next();
      put(secret_, scaled);
    }
  };
  for (unsigned round = 0; round < params.bit_rounds(); ++round) {
    ring_.automorphism(round, wanted, s);
    columns(wanted, params.right());
  }
  for (unsigned round = 1; round < params.row_rounds(); ++round) {
    ring_.automorphism(round, wanted, s);
    columns(wanted, params.left());
  }
  ring_.multiply(wanted, s, secret_.montgomery.expose().data());
  columns(wanted, params.conversion());
  columns(s, params.conversion());
  const std::vector<U32> zero(2 * d);
  for (std::size_t i = 0; i < n; ++i) {
    for (unsigned k = 0; k < params.conversion().digits(); ++k) {
      ring_.scale(scaled, s, params.conversion().weights(k));
      encryptor.next();
      for (std::size_t row = 0; row < n; ++row) put(packing_[row], row == i ? scaled : zero.data());
    }
  }
  return std::move(writer).take();
}

void ClientCore::query(const Params& params, U64 item, const Coins& coins, MutableByteSpan out) const {
  const std::size_t d = ring_.d();
  const unsigned columns = params.scheme().log_columns, digits = params.fold().digits();
  SecretVector<U32> message(2 * d);
  U32* mu = message.expose().data();
  for (std::size_t k = 0; k < 2; ++k) {
    const U32 q = kPrimes[k];
    const U64 step = (kModulus >> params.scheme().log_p) % q;
    const auto row_value = static_cast<U32>(step * inverse_of_power_of_two(params.row_rounds(), q) % q);
    for (std::size_t i = 0; i < params.rows(); ++i)
      mu[k * d + 2 * i] = masked(row_value, mask_equal(i, item >> columns));
    const U64 bit_value = inverse_of_power_of_two(params.bit_rounds(), q);
    for (unsigned bit = 0; bit < columns; ++bit) {
      const U64 mask = 0 - (item >> bit & 1);
      for (unsigned digit = 0; digit < digits; ++digit) {
        const auto value =
            static_cast<U32>(bit_value * params.fold().weight(digit, static_cast<unsigned>(k)) % q);
        mu[k * d + 2 * (std::size_t{bit} * digits + digit) + 1] = masked(value, mask);
      }
    }
  }
  ring_.forward(mu, mu);
  FreshSeed seed(coins);
  std::copy(seed.bytes().begin(), seed.bytes().end(), out.begin());
  Encryptor encryptor(ring_, params.scheme().eta, std::move(seed), coins);
  encryptor.next();
  std::vector<U32> c1(2 * d);
  encryptor.encrypt(secret_, mu, c1.data());
  put_slots(ring_, c1.data(), out.data() + kSeedBytes);
}

SecretVector<std::uint16_t> ClientCore::decode(const Params& params, ByteSpan body) const {
  const std::size_t d = ring_.d(), n = params.scheme().pack;
  const unsigned log_p = params.scheme().log_p, log_q2 = params.scheme().log_q2;
  SecretVector<std::uint16_t> out(params.polynomials() * d);
  SecretVector<U32> product(2 * d);
  SecretVector<std::int64_t> numbers(d);
  std::vector<std::int32_t> random(d);
  std::vector<U32> random_slots(2 * d);
  BitReader reader(body);
  const auto signed_number = [&](unsigned bits) {  // public
    const auto x = static_cast<U32>(reader.get(bits));
    return static_cast<std::int32_t>(x << (32 - bits)) >> (32 - bits);
  };
  for (std::size_t trial = 0; trial < params.trials(); ++trial) {
    for (std::size_t column = 0; column < n; ++column) {
      for (auto& x : random) x = signed_number(log_q2);
      ring_.forward_small(random_slots.data(), random.data());
      for (std::size_t row = 0; row < n; ++row) {
        ring_.multiply(product.expose().data(), random_slots.data(),
                       reply_secret(row).montgomery.expose().data());
        ring_.inverse(product.expose().data(), product.expose().data());
        // |y| <= 2^11 2^5 2^27 < q / 2: exact.
        ring_.compose(numbers.expose().data(), product.expose().data());
        std::uint16_t* to = out.expose().data() + ((trial * n + row) * n + column) * d;
        for (std::size_t i = 0; i < d; ++i) {
          const std::int64_t y = numbers.expose()[i], z = signed_number(log_p + 2);
          // round((4 p y + Q2 z) / 4 Q2) modulo p
          const std::int64_t sum = (y << (log_p + 2)) + (z << log_q2) + (std::int64_t{1} << (log_q2 + 1));
          to[i] = static_cast<std::uint16_t>(sum >> (log_q2 + 2) & ((1 << log_p) - 1));
        }
      }
    }
  }
  return out;
}

std::vector<std::int64_t> ClientCore::phase_under(const SecretPolynomial& secret, const U32* c0,
                                                  const U32* c1) const {
  std::vector<U32> sum(2 * ring_.d());
  ring_.multiply(sum.data(), c0, secret.montgomery.expose().data());
  ring_.add(sum.data(), sum.data(), c1);
  ring_.inverse(sum.data(), sum.data());
  std::vector<std::int64_t> out(ring_.d());
  ring_.compose(out.data(), sum.data());
  return out;
}
std::vector<std::int64_t> ClientCore::phase(const U32* c0, const U32* c1) const {
  return phase_under(secret_, c0, c1);
}
std::vector<std::int64_t> ClientCore::packed_phase(std::size_t row, const U32* c0, const U32* c) const {
  return phase_under(reply_secret(row), c0, c);
}

}  // namespace pirx::cpir::spiral
