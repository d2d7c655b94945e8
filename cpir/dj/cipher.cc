// SPDX-License-Identifier: Apache-2.0
// Encryption and decryption with the secret key, by its two primes.
#include "pirx/cpir/dj/cipher.h"

#include <array>

#include "limbs.h"
#include "prime_side.h"
#include "src/base/constant_time.h"
#include "src/base/parallel_try.h"

namespace pirx::cpir::dj {
namespace {

Result<void> check_layer(unsigned s, unsigned most) {
  if (s >= 1 && s <= most) return {};
  return invalid("there is no layer " + std::to_string(s) + ": layers go from 1 to " + std::to_string(most));
}

Limbs from_bytes(ByteSpan bytes) { return limbs_from_bytes(bytes, limbs_of_bits(8 * bytes.size())); }

/// N^0 .. N^most.
std::vector<Limbs> powers_of(const PublicKey& key, unsigned most) {
  std::vector<Limbs> powers;
  const mp_limb_t one = 1;
  powers.push_back(resized({&one, 1}, 1));
  const auto n = trimmed(from_bytes(key.modulus()).expose());
  for (unsigned j = 1; j <= most; ++j)
    powers.push_back(trimmed(multiply(powers.back().expose(), n.expose()).expose()));
  return powers;
}

/// All ones if a < b.
mp_limb_t below_mask(LimbSpan a, LimbSpan b) {
  const auto size = std::max(a.size(), b.size());
  auto x = resized(a, size);
  const auto y = resized(b, size);
  return ~mpn_sub_n(x.expose().data(), x.expose().data(), y.expose().data(), static_cast<mp_size_t>(size)) +
         1;
}

}  // namespace

struct Cipher::State {
  State(const SecretKey& key, LimbSpan p, LimbSpan q, unsigned most)
      : public_key(key.public_key()),
        s_max(most),
        n_powers(powers_of(public_key, most + 1)),
        sides{PrimeSide(p, q, most), PrimeSide(q, p, most)},
        inverse(invert_mod(sides[0].power(most + 1), sides[1].power(most + 1))) {}

  /// The number modulo N^j from those modulo p^j and q^j.
  Limbs join(unsigned j, LimbSpan a, LimbSpan b) const {
    const auto p = sides[0].power(j), q = sides[1].power(j);
    // p^-j from p^-(s_max+1).
    const auto rest = s_max + 1 - j;
    const auto inverse_p = rest == 0 ? resized(inverse.expose(), q.size())
                                     : multiply_mod(inverse.expose(), sides[0].power(rest), q);
    const auto difference = subtract_mod(b, a, q);
    const auto t = multiply_mod(difference.expose(), inverse_p.expose(), q);
    const auto product = multiply(t.expose(), p);
    const auto sum = add(resized(product.expose(), std::max(product.size(), a.size())).expose(), a);
    return resized(sum.expose(), n_powers[j].size());
  }

  /// Peels layers s, s - 1, ..., last off c; the plaintext modulo N^last.
  Result<SecretVector<std::byte>> open(unsigned s, unsigned last, ByteSpan c) const {
    PIRX_TRY(check_layer(s, s_max));
    if (c.size() != public_key.ciphertext_bytes(s)) {
      return invalid("a ciphertext of layer " + std::to_string(s) + " has " +
                     std::to_string(public_key.ciphertext_bytes(s)) + " bytes, not " +
                     std::to_string(c.size()));
    }
    const auto value = from_bytes(c);
    std::array<mp_limb_t, 2> valid{};
    std::array<Limbs, 2> residues;
    PIRX_TRY(parallel_try(thread_count(), 2, [&](std::size_t at, std::size_t) -> Result<void> {
      mp_limb_t good = below_mask(value.expose(), n_powers[s + 1].expose());
      auto x = resized(value.expose(), value.size());
      for (unsigned j = s; j >= last; --j) x = sides[at].open(x.expose(), j, good);
      valid[at] = good;
      residues[at] = std::move(x);
      return {};
    }));
    const auto m = join(last, residues[0].expose(), residues[1].expose());
    SecretVector<std::byte> out(public_key.ciphertext_bytes(last - 1));
    limbs_to_bytes(m.expose(), out.expose());
    if (!reveal(valid[0] & valid[1])) {
      return fail(ErrorCode::kUndecodable,
                  "a reply is no ciphertext under this key: the server is broken or lies");
    }
    return out;
  }

  PublicKey public_key;
  unsigned s_max;
  std::vector<Limbs> n_powers;
  std::array<PrimeSide, 2> sides;
  Limbs inverse;  // of p^(s_max+1) modulo q^(s_max+1)
};

Result<Cipher> Cipher::create(const SecretKey& key, unsigned s_max) {
  PIRX_TRY(check_layer(s_max, kMaxLevels));
  const auto p = from_bytes(key.expose_p()), q = from_bytes(key.expose_q());
  for (const auto* prime : {&p, &q}) {
    const auto limbs = prime->expose();
    if (limbs.size() == 1 && limbs[0] <= s_max) {
      return invalid("the primes of a key must be above the number of layers, " + std::to_string(s_max));
    }
  }
  return Cipher(std::make_shared<const State>(key, p.expose(), q.expose(), s_max));
}

const PublicKey& Cipher::public_key() const noexcept { return state_->public_key; }

Result<SecretVector<std::byte>> Cipher::encrypt_zero(unsigned s, Rng& rng) const {
  PIRX_ASSIGN(auto zeros, encrypt_zeros({&s, 1}, rng));
  return std::move(zeros.front());
}

Result<std::vector<SecretVector<std::byte>>> Cipher::encrypt_zeros(std::span<const unsigned> layers, Rng& rng,
                                                                   const Stop& stop) const {
  // Coins in the order of the layers; then the long part, in any order.
  std::vector<std::array<Limbs, 2>> lifts(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    PIRX_TRY(check_layer(layers[i], state_->s_max));
    for (std::size_t side = 0; side < 2; ++side) lifts[i][side] = state_->sides[side].random_unit(rng);
  }
  PIRX_TRY(
      parallel_try(thread_count(), 2 * layers.size(), [&](std::size_t task, std::size_t) -> Result<void> {
        if (stop && stop()) return fail(ErrorCode::kUnavailable, "the query was not made in time");
        auto& lift = lifts[task / 2][task % 2];
        lift = state_->sides[task % 2].lift(lift.expose(), layers[task / 2]);
        return {};
      }));
  std::vector<SecretVector<std::byte>> zeros;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto zero = state_->join(layers[i] + 1, lifts[i][0].expose(), lifts[i][1].expose());
    limbs_to_bytes(zero.expose(),
                   zeros.emplace_back(state_->public_key.ciphertext_bytes(layers[i])).expose());
  }
  return zeros;
}

Result<Bytes> Cipher::encrypt_bit(unsigned s, unsigned bit, SecretVector<std::byte> zero) const {
  PIRX_TRY(check_layer(s, state_->s_max));
  if (zero.size() != state_->public_key.ciphertext_bytes(s)) {
    return invalid("the encryption of zero is of another layer");
  }
  // E(0) (1 + bit N).
  const auto modulus = state_->n_powers[s + 1].expose();
  const auto rho = from_bytes(zero.expose());
  auto addend = multiply_mod(rho.expose(), state_->n_powers[1].expose(), modulus);
  const mp_limb_t mask = ~static_cast<mp_limb_t>(bit & 1) + 1;
  for (auto& limb : addend.expose()) limb &= mask;
  const auto sum = add(resized(rho.expose(), modulus.size() + 1).expose(), addend.expose());
  const auto c = reduce(sum.expose(), modulus);
  Bytes out(zero.size());
  limbs_to_bytes(c.expose(), out);
  return out;
}

Result<SecretVector<std::byte>> Cipher::decrypt_layers(unsigned s, ByteSpan c, unsigned last) const {
  return state_->open(s, last, c);
}
Result<SecretVector<std::byte>> Cipher::decrypt(unsigned s, ByteSpan c) const {
  return state_->open(s, s, c);
}

}  // namespace pirx::cpir::dj
