// SPDX-License-Identifier: Apache-2.0
// Queries and decoding, in constant time in secrets, row and answer. What depends on the wanted row is a
// mask.
#include "client_core.h"

#include "cpir/ring/bits.h"
#include "public_randomness.h"
#include "rounding.h"
#include "src/base/constant_time.h"

namespace pirx::cpir::inspire {
namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;

/// value under a mask of all ones, 0 under 0.
U64 masked_value(U64 value, U64 mask) noexcept { return value & opaque(mask); }

/// x modulo q, for -q <= x < q.
U64 residue(std::int64_t x) noexcept {
  return static_cast<U64>(x) + masked_value(kModulus, static_cast<U64>(x >> 63));
}

}  // namespace

ClientCore::Public ClientCore::expand(const Params& params) {
  const Ring& ring = Ring::get(params.set().log_d);
  const std::size_t polynomial = 2 * ring.d(), rows = params.row_blocks(), digits = params.set().l;
  Public out{std::vector<U32>(rows * polynomial), std::vector<U32>(digits * polynomial)};
  for (std::size_t v = 0; v < rows; ++v) {
    query_mask(ring, params.spec().salt, v, out.query_masks.data() + v * polynomial);
  }
  for (std::size_t j = 0; j < digits; ++j) {
    key_mask(ring, params.spec().salt, j, out.key_masks.data() + j * polynomial);
  }
  return out;
}

ClientCore::ClientCore(const Params& params, Public randomness)
    : params_(params), ring_(Ring::get(params.set().log_d)), public_(std::move(randomness)) {
  PIRX_CHECK(public_.query_masks.size() == params.row_blocks() * 2 * ring_.d() &&
             public_.key_masks.size() == params.set().l * 2 * ring_.d());
}

RowSecret ClientCore::query(FreshSecret secret, U64 row, const Coins& coins, MutableByteSpan key,
                            MutableByteSpan numbers) const {
  SecretPolynomial& s = secret.polynomial_;
  const std::size_t d = ring_.d();
  PIRX_CHECK(s.slots.size() == 2 * d && key.size() == params_.key_bytes() &&
             numbers.size() == params_.query_bytes());
  const auto& set = params_.set();
  const U32* montgomery = s.montgomery.expose().data();
  SecretVector<U32> product(2 * d), message(2 * d), turned(2 * d);
  SecretVector<std::int64_t> coefficients(d);
  SecretVector<std::int32_t> errors(d);
  const auto x = coefficients.expose();
  const auto e = errors.expose();

  // y_j = -w_j s + 2^(delta + j beta) tau_5(s) + e'_j
  ring_.automorphism(set.log_d - 2, turned.expose().data(), s.slots.expose().data());
  const Rounding to_key(set.kappa);
  BitWriter key_writer(key);
  for (unsigned j = 0; j < set.l; ++j) {
    const U64 weight = U64{1} << (set.delta + j * set.beta);
    ring_.scale(message.expose().data(), turned.expose().data(),
                {static_cast<U32>(weight % kPrimes[0]), static_cast<U32>(weight % kPrimes[1])});
    ring_.multiply(product.expose().data(), public_.key_masks.data() + j * 2 * d, montgomery);
    ring_.subtract(product.expose().data(), message.expose().data(), product.expose().data());
    ring_.inverse(product.expose().data(), product.expose().data());
    ring_.compose(x.data(), product.expose().data());
    centred_binomial(coins, set.eta, e);
    for (std::size_t n = 0; n < d; ++n) key_writer.put(to_key(residue(x[n] + e[n])), set.kappa);
  }
  key_writer.finish();

  // b_v = -A_v s + e_v, and Q at the wanted row. Q is added before the switch: after it, the number there
  // would not be distributed as the others are.
  const U64 unit = (kModulus + (U64{1} << (set.w - 1))) >> set.w;
  const Rounding to_query(params_.spec().t);
  BitWriter writer(numbers);
  for (std::size_t v = 0; v < params_.row_blocks(); ++v) {
    ring_.multiply(product.expose().data(), public_.query_masks.data() + v * 2 * d, montgomery);
    ring_.inverse(product.expose().data(), product.expose().data());
    ring_.compose(x.data(), product.expose().data());
    centred_binomial(coins, set.eta, e);
    const std::size_t first = v * d, count = std::min(d, params_.rows() - first);
    for (std::size_t n = 0; n < count; ++n) {
      const U64 wanted = masked_value(unit, mask_equal(first + n, row));
      writer.put(to_query(residue(e[n] - x[n] + static_cast<std::int64_t>(wanted))), params_.spec().t);
    }
  }
  writer.finish();
  return RowSecret(std::move(s.montgomery));
}

MaskSlots ClientCore::mask_slots(ByteSpan masks) const {
  PIRX_CHECK(masks.size() == params_.masks_bytes());
  const std::size_t d = ring_.d();
  MaskSlots out(4 * d);
  BitReader reader(masks);
  for (U32* half : {out.data(), out.data() + 2 * d}) {
    for (std::size_t n = 0; n < d; ++n) {
      const U64 number = reader.get(params_.set().tm);  // may exceed a prime
      half[n] = static_cast<U32>(number % kPrimes[0]);
      half[d + n] = static_cast<U32>(number % kPrimes[1]);
    }
    ring_.forward(half, half);
  }
  return out;
}

SecretVector<U32> ClientCore::phases(RowSecret secret,
                                     std::span<const std::shared_ptr<const MaskSlots>> masks,
                                     ByteSpan body) const {
  const std::size_t d = ring_.d();
  PIRX_CHECK(secret.slots_.size() == 2 * d && masks.size() == params_.blocks());
  const unsigned tm = params_.set().tm, tr = params_.spec().tr;
  // s and tau_(-1)(s): its slot of exponent e is that of -e, which stands at the other end.
  SecretVector<U32> both(4 * d), product(2 * d);
  const auto from = secret.slots_.expose(), to = both.expose();
  std::copy(from.begin(), from.end(), to.begin());
  for (std::size_t k = 0; k < 2; ++k) {
    const auto prime = from.subspan(k * d, d);
    std::copy(prime.rbegin(), prime.rend(), to.subspan((2 + k) * d, d).begin());
  }
  SecretVector<std::int64_t> coefficients(d);
  SecretVector<U32> phases(params_.columns());
  U32* out = phases.expose().data();
  BitReader reader(body);
  for (std::size_t block = 0; block < params_.blocks(); ++block) {
    // mu_+ s + mu_- tau_(-1)(s), below 2^45 in size: exact.
    U32* sum = product.expose().data();
    for (std::size_t k = 0; k < 2; ++k) {
      ring_.kernel().inner_product(ring_.prime(k), sum + k * d, masks[block]->data() + k * d, 2 * d,
                                   to.data() + k * d, 2 * d, 2);
    }
    ring_.inverse(sum, sum);
    ring_.compose(coefficients.expose().data(), sum);
    for (std::size_t n = 0; n < params_.columns_of(block); ++n) {
      const U64 u = (reader.get(tr) << (tm - tr)) + static_cast<U64>(coefficients.expose()[n]);
      *out++ = static_cast<U32>(u & ((U64{1} << tm) - 1));
    }
  }
  return phases;
}

SecretVector<std::byte> ClientCore::decode(RowSecret secret,
                                           std::span<const std::shared_ptr<const MaskSlots>> masks,
                                           ByteSpan body) const {
  const auto u = phases(std::move(secret), masks, body);
  const unsigned w = params_.set().w, tm = params_.set().tm;
  SecretVector<std::byte> row(params_.row_bytes());
  std::byte* out = row.expose().data();
  for (const U32 phase : u.expose()) {
    const U64 word = (U64{phase} + (U64{1} << (tm - w - 1))) >> (tm - w);
    *out++ = static_cast<std::byte>(word & 0xff);
    if (w == 16) *out++ = static_cast<std::byte>(word >> 8 & 0xff);
  }
  return row;
}

}  // namespace pirx::cpir::inspire
