// SPDX-License-Identifier: Apache-2.0
// Measures the rates of Damgard-Jurik trees: the server's products, made as in cpir/dj/powers.cc, and the
// client's Cipher.
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <vector>

#include "cost.h"
#include "cpir/dj/number.h"
#include "cpir/dj/powers.h"
#include "pirx/base/buffer.h"
#include "pirx/base/rng.h"
#include "pirx/cpir/dj/cipher.h"
#include "src/protocol/stopwatch.h"

namespace pirx::cpir::dj {
namespace {

/// Exponents without meaning: as dense as any.
class AnyExponents final : public Exponents {
 public:
  void load(std::size_t row, std::size_t base, std::span<std::uint64_t> words) const override {
    std::uint64_t state = 0x9E3779B97F4A7C15 * (row * 1024 + base + 1);
    for (auto& word : words) word = state = state * 6364136223846793005 + 1442695040888963407;
  }
};

constexpr unsigned kMostWindow = 12;

tl::unexpected<Error> no_such_rate(const RateId& id) { return invalid("there is no rate " + id.name()); }

/// Keys take seconds to make: one for each length, kept.
Result<const SecretKey*> key_of(unsigned bits) {
  static std::mutex lock;
  static std::map<unsigned, SecretKey> by_bits;
  const std::lock_guard<std::mutex> guard(lock);
  const auto found = by_bits.find(bits);
  if (found != by_bits.end()) return &found->second;
  PIRX_ASSIGN(auto key, SecretKey::generate(bits, policy_of(bits)));
  return &by_bits.emplace(bits, std::move(key)).first->second;
}

constexpr std::size_t kBases = 16, kBits = 1024;

/// Seconds that a squaring of all lanes takes.
double square_seconds(const Ring& ring, AlignedBuffer& blocks) {
  auto* a = reinterpret_cast<std::uint64_t*>(blocks.data());
  auto* b = a + ring.block_words();
  return cpu_seconds([&] {
    ring.kernel().square(ring.view(), b, a);
    std::swap(a, b);
  });
}

}  // namespace

KeyPolicy policy_of(unsigned modulus_bits) {
  return check_modulus_bits(modulus_bits, KeyPolicy::kSecure) ? KeyPolicy::kSecure
                                                              : KeyPolicy::kPaperReproduction;
}

Result<double> measure_check(const RateId& id, RateTable& /*others*/) {
  PIRX_ASSIGN(const auto* secret, key_of(id.of[0]));
  const PublicKey& key = secret->public_key();
  const Bytes modulus(key.modulus().begin(), key.modulus().end());
  return cpu_seconds([&] { static_cast<void>(PublicKey::create(modulus, key.bits(), key.policy())); });
}

Result<double> measure_products(const RateId& id, RateTable& others) {
  const unsigned k = id.of[0], s = id.of[1], window = id.of.size() > 2 ? id.of[2] : kSmallWindow;
  if (s < 1 || s > kMaxLevels || window < 1 || window > kMostWindow) return no_such_rate(id);
  PIRX_ASSIGN(const auto* key, key_of(k));
  const mpz_class n = number_from_bytes(key->public_key().modulus());
  PIRX_ASSIGN(const auto* kernel, choose_kernel("auto"));
  const Ring ring(*kernel, n, s);
  // Some number of the ring, in every lane.
  std::vector<std::uint64_t> number(ring.stride());
  ring.import_number(ring.modulus() / 3, number.data());
  PIRX_ASSIGN(auto blocks, AlignedBuffer::create(2 * ring.block_words() * sizeof(std::uint64_t)));
  const std::vector<const std::uint64_t*> all(kernel->lanes, number.data());
  kernel->gather(ring.view(), reinterpret_cast<std::uint64_t*>(blocks.data()), all.data());
  const double square = square_seconds(ring, blocks);
  std::vector<std::uint64_t> words(mpz_size(ring.modulus().get_mpz_t()));
  const double row = cpu_seconds([&] {
    const mpz_class product = ring.export_number(number.data()) * n % ring.modulus();
    number_to_words(product, words);
  });

  std::vector<std::uint64_t> bases;
  for (std::size_t i = 0; i < kBases; ++i) bases.insert(bases.end(), number.begin(), number.end());
  const PowerShape shape{kBases, kBits, kernel->lanes};
  const std::uint64_t bytes = (kBases * ring.stride() * sizeof(std::uint64_t)) << window;
  const PowerPlan plan{true, window, kernel->lanes, bytes, 0};
  PIRX_ASSIGN(auto powers, Powers::create(ring, shape, plan, std::move(bases)));
  const double steps = std::ceil(static_cast<double>(kBits) / window);
  for (std::size_t part = 1; part < powers.parts(); ++part) powers.prepare(part);
  const double part = cpu_seconds([&] { powers.prepare(0); });
  const double entry = std::max(part - (window - 1) * steps * square, 0.1 * part) / std::exp2(window);
  std::vector<std::uint64_t> out(shape.rows * words.size());
  const AnyExponents exponents;
  const double block = cpu_seconds([&] { powers.evaluate(0, exponents, out, words.size()); });
  const double rest = steps * square + static_cast<double>(shape.rows) * row;
  const double product = std::max(block - rest, 0.1 * block) / (steps * static_cast<double>(kBases));
  PIRX_TRY(others.set({"dj_product", {k, s, window}}, product));
  PIRX_TRY(others.set({"dj_entry", {k, s, window}}, entry));
  PIRX_TRY(others.set({"dj_square", {k, s}}, square));
  PIRX_TRY(others.set({"dj_row", {k, s}}, row));
  return others.seconds(id);
}

Result<double> measure_client(const RateId& id, RateTable& /*others*/) {
  const unsigned s = id.of[1];
  if (s < 1 || s > kMaxLevels) return no_such_rate(id);
  PIRX_ASSIGN(const auto* key, key_of(id.of[0]));
  PIRX_ASSIGN(const auto cipher, Cipher::create(*key, s));
  PIRX_ASSIGN(auto rng, Rng::from_os());
  PIRX_ASSIGN(const auto zero, cipher.encrypt_zero(s, rng));
  if (id.step == "dj_zero") {
    return cpu_seconds([&] { static_cast<void>(cipher.encrypt_zero(s, rng)); });
  }
  if (id.step == "dj_bit") {
    return cpu_seconds(
        [&] { static_cast<void>(cipher.encrypt_bit(s, 1, SecretVector<std::byte>(zero.expose()))); });
  }
  // What comes off is no ciphertext of the next layer, which is found when all layers are off.
  PIRX_ASSIGN(const auto one, cipher.encrypt_bit(s, 1, SecretVector<std::byte>(zero.expose())));
  return cpu_seconds([&] { static_cast<void>(cipher.decrypt_layers(s, one)); });
}

}  // namespace pirx::cpir::dj
