// SPDX-License-Identifier: Apache-2.0
// Runs the client's secret arithmetic under valgrind with primes, coins, row and bits marked as undefined:
// memcheck reports every branch and every address that depends on them. Of moduli the highest limb stays
// defined: it tells their length, and by nine bits of it mpn_sec_div_r and mpn_sec_div_qr find the start of
// an inverse in a table of 512 bytes, GMP's one look-up.
#include <valgrind/memcheck.h>

#include <cstdio>

#include "cpir/dj/prime_side.h"
#include "pirx/cpir/dj/cipher.h"
#include "src/base/constant_time.h"

namespace {

using namespace pirx;
using namespace pirx::cpir::dj;

void hide(LimbSpan limbs) {
  static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(limbs.data(), limbs.size_bytes()));
}
void hide_modulus(LimbSpan limbs) { hide(limbs.first(limbs.size() - 1)); }

/// Whether the marks arrived in it; shown from then on.
bool was_hidden(const void* data, std::size_t size) {
  unsigned char marks = 0;
  static_cast<void>(VALGRIND_GET_VBITS(data, &marks, 1));
  static_cast<void>(VALGRIND_MAKE_MEM_DEFINED(data, size));
  return marks != 0;
}

}  // namespace

int main() {
  constexpr unsigned kLevels = 2;
  const auto key = SecretKey::generate(1024, KeyPolicy::kPaperReproduction).value();
  auto rng = Rng::from_os().value();
  bool marked = true, right = true;

  // Both halves of encryption and decryption, modulo one prime.
  const auto cipher = Cipher::create(key, kLevels).value();
  const auto p = limbs_from_bytes(key.expose_p(), 8), q = limbs_from_bytes(key.expose_q(), 8);
  const PrimeSide side(p.expose(), q.expose(), kLevels);
  const auto unit = side.random_unit(rng);
  const auto one = cipher.encrypt_bit(kLevels, 1, cipher.encrypt_zero(kLevels, rng).value()).value();
  const auto c = limbs_from_bytes(one, one.size() / 8);
  for (unsigned j = 1; j <= kLevels + 1; ++j) hide_modulus(side.power(j));
  for (unsigned j = 1; j <= kLevels; ++j) hide(side.ring(j).prime().first(side.power(1).size() - 1));
  hide(side.order());
  hide(unit.expose());
  const auto lift = side.lift(unit.expose(), kLevels);
  marked &= was_hidden(lift.expose().data(), lift.size() * sizeof(mp_limb_t));
  mp_limb_t valid = ~mp_limb_t{0};
  const auto plain = side.open(c.expose(), kLevels, valid);
  marked &= was_hidden(plain.expose().data(), plain.size() * sizeof(mp_limb_t));
  static_cast<void>(VALGRIND_MAKE_MEM_DEFINED(&valid, sizeof valid));
  right &= valid == ~mp_limb_t{0} && plain.expose()[0] == 1 && zero_mask(plain.expose().subspan(1)) != 0;

  // A selector from its zero, and the digit that it is for.
  std::uint64_t row = 77;
  auto zero = cipher.encrypt_zero(1, rng).value();
  static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(&row, sizeof row));
  static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(zero.expose().data(), zero.size()));
  auto [rest, digit] = divide(row, 10);
  const auto selector =
      cipher.encrypt_bit(1, static_cast<unsigned>(mask_equal(digit, 7)), std::move(zero)).value();
  marked &= was_hidden(selector.data(), selector.size());
  marked &= was_hidden(&rest, sizeof rest);
  const auto bit = cipher.decrypt(1, selector).value();
  right &= rest == 7 && bit.expose().back() == std::byte{1};
  // The same from a pair made ahead.
  const auto pair_zero = cipher.encrypt_zero(1, rng).value();
  const auto pair_one = cipher.encrypt_bit(1, 1, SecretVector<std::byte>(pair_zero.expose())).value();
  std::uint64_t other = 7;
  static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(&other, sizeof other));
  Bytes chosen(pair_one.size());
  select(mask_equal(other, 7), pair_one, pair_zero.expose(), chosen);
  marked &= was_hidden(chosen.data(), chosen.size());
  right &= chosen == pair_one;
  if (!marked) std::puts("the marks got lost: nothing was checked");
  if (!right) std::puts("a wrong result");
  return marked && right ? 0 : 1;
}
