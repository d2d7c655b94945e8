// SPDX-License-Identifier: Apache-2.0
// Damgard-Jurik and quadratic residuosity: what their clients compute with secret primes, coins and rows. Of
// moduli the highest limb stays shown: it tells their length, and by nine bits of it mpn_sec_div_r and
// mpn_sec_div_qr find the start of an inverse in a table of 512 bytes, GMP's one look-up.
#include "cases.h"
#include "cpir/dj/prime_side.h"
#include "cpir/qr/legendre.h"
#include "cpir/qr/residues.h"
#include "pirx/cpir/dj/cipher.h"
#include "pirx/cpir/dj/client.h"
#include "pirx/cpir/qr/client.h"

namespace pirx::constant_time {
namespace {

using namespace cpir;
using checkmem::hidden;
using checkmem::hide;
using checkmem::show;

constexpr unsigned kLevels = 2;

/// A key takes seconds to make under valgrind: one for all cases.
const dj::SecretKey& tree_key() {
  static const auto key = dj::SecretKey::generate(1024, dj::KeyPolicy::kPaperReproduction).value();
  return key;
}
const dj::Cipher& tree_cipher() {
  static const auto cipher = dj::Cipher::create(tree_key(), kLevels).value();
  return cipher;
}

bool prime_side() {
  auto rng = Rng::from_os().value();
  const auto p = dj::limbs_from_bytes(tree_key().expose_p(), 8),
             q = dj::limbs_from_bytes(tree_key().expose_q(), 8);
  const dj::PrimeSide side(p.expose(), q.expose(), kLevels);
  const auto unit = side.random_unit(rng);
  const auto one =
      tree_cipher().encrypt_bit(kLevels, 1, tree_cipher().encrypt_zero(kLevels, rng).value()).value();
  const auto c = dj::limbs_from_bytes(one, one.size() / 8);
  const auto hide_modulus = [](dj::LimbSpan limbs) { hide(limbs.first(limbs.size() - 1)); };
  for (unsigned j = 1; j <= kLevels + 1; ++j) hide_modulus(side.power(j));
  for (unsigned j = 1; j <= kLevels; ++j) hide(side.ring(j).prime().first(side.power(1).size() - 1));
  hide(side.order());
  hide(unit.expose());
  const auto lift = side.lift(unit.expose(), kLevels);
  mp_limb_t valid = ~mp_limb_t{0};
  const auto plain = side.open(c.expose(), kLevels, valid);
  const bool marked = hidden(lift.expose()) && hidden(plain.expose());
  show(valid);
  show(plain.expose());
  return marked && valid == ~mp_limb_t{0} && plain.expose()[0] == 1;
}

bool encrypts_bit() {
  auto rng = Rng::from_os().value();
  auto zero = tree_cipher().encrypt_zero(1, rng).value();
  hide(zero.expose());
  unsigned bit = 1;
  hide(bit);
  const auto selector = tree_cipher().encrypt_bit(1, bit, std::move(zero)).value();
  const bool marked = hidden(selector);
  show(selector);
  return marked && tree_cipher().decrypt(1, selector).value().expose().back() == std::byte{1};
}

dj::Params tree_params(dj::Selectors selectors, std::vector<std::uint32_t> arities, unsigned leaf_layer) {
  return dj::Params::create({database::Geometry::create({8, 16, 1, false, false}).value(),
                             {},
                             std::move(arities),
                             1024,
                             dj::KeyPolicy::kPaperReproduction,
                             selectors,
                             leaf_layer})
      .value();
}
bool tree_query(dj::Selectors selectors, unsigned leaf_layer) {
  const auto client = dj::Client::create(tree_params(selectors, {4, 2}, leaf_layer), tree_key()).value();
  auto rng = Rng::from_os().value();
  auto blinding = client.blind(rng);
  std::uint64_t row = 6;
  hide(row);
  const auto query = client.query(row, std::move(blinding));
  return query && hidden(*query);
}

qr::SecretKey blum_key() { return qr::SecretKey::generate(512, qr::KeyPolicy::kToy).value(); }

bool residue_bits() {
  const auto key = blum_key();
  for (const auto prime : {key.expose_p(), key.expose_q()}) hide(prime.subspan(8));
  const qr::Residues residues(key);
  auto rng = Rng::from_os().value();
  bool marked = true;
  unsigned wrong = 0;
  for (unsigned round = 0; round < 4; ++round) {
    unsigned bit = round % 2;
    hide(bit);
    Bytes number(64);
    residues.encrypt_bit(bit, rng, number);
    marked &= hidden(number);
    show(number);  // it is sent
    const unsigned got = residues.decrypt_bit(number);
    marked &= hidden(got);
    wrong |= got ^ bit;
  }
  show(wrong);
  return marked && wrong == 0;
}
bool residues_query() {
  const auto params =
      qr::Params::create(
          {database::Geometry::create({6, 2, 1, false, false}).value(), {}, 1, 512, qr::KeyPolicy::kToy})
          .value();
  const auto client = qr::Client::create(params, blum_key()).value();
  auto rng = Rng::from_os().value();
  std::uint64_t row = 3;
  hide(row);
  const auto query = client.query(row, rng);
  return query && hidden(*query);
}
/// A row has 7 slots, as a division by a power of two could be a shift.
bool residues_locate(std::uint64_t record, bool there) {
  const auto params =
      qr::Params::create(
          {database::Geometry::create({50, 2, 1, false, false}).value(), {}, 7, 512, qr::KeyPolicy::kToy})
          .value();
  hide(record);
  const auto at = params.locate(record);
  if (!there) return !at;
  return at && hidden(at->row) && hidden(at->offset);
}

}  // namespace

void add_number_cases(std::vector<Case>& cases) {
  cases.push_back({"dj-tree: PrimeSide::lift and open", "primes, coins, plaintext", prime_side});
  cases.push_back({"dj-tree: Cipher::encrypt_bit", "bit, randomness", encrypts_bit});
  cases.push_back({"dj-tree: Client::query", "row", [] { return tree_query(dj::Selectors::kOneHot, 1); }});
  cases.push_back({"dj-tree: Client::query, polynomial selectors", "row",
                   [] { return tree_query(dj::Selectors::kPolynomial, 2); }});
  cases.push_back({"qr: Residues::encrypt_bit and decrypt_bit", "primes, bits", residue_bits});
  cases.push_back({"qr: Client::query", "row", residues_query});
  cases.push_back({"qr: Params::locate", "record", [] { return residues_locate(24, true); }});
  cases.push_back(
      {"qr: Params::locate of what there is not", "record", [] { return residues_locate(50, false); }});
}

}  // namespace pirx::constant_time
