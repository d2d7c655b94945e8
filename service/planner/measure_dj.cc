// Measures the rates of Damgard-Jurik trees: the server's products, made as in cpir/dj/powers.cc, and the
// client's Cipher.
#include <algorithm>
#include <cmath>
#include <vector>

#include "cpir/dj/number.h"
#include "cpir/dj/powers.h"
#include "measure.h"
#include "pirx/base/buffer.h"
#include "pirx/base/rng.h"
#include "pirx/cpir/dj/cipher.h"

namespace pirx::planner {
namespace {

namespace dj = cpir::dj;

/// Exponents without meaning: as dense as any.
class AnyExponents final : public dj::Exponents {
 public:
  void load(std::size_t row, std::size_t base, std::span<std::uint64_t> words) const override {
    std::uint64_t state = 0x9E3779B97F4A7C15 * (row * 1024 + base + 1);
    for (auto& word : words) word = state = state * 6364136223846793005 + 1442695040888963407;
  }
};

constexpr std::size_t kBases = 16, kBits = 1024;

/// Seconds that a squaring of all lanes takes.
double square_seconds(const dj::Ring& ring, AlignedBuffer& blocks) {
  auto* a = reinterpret_cast<std::uint64_t*>(blocks.data());
  auto* b = a + ring.block_words();
  return cpu_seconds([&] {
    ring.kernel().square(ring.view(), b, a);
    std::swap(a, b);
  });
}

}  // namespace

double measure_dj_check(const dj::PublicKey& key) {
  const Bytes modulus(key.modulus().begin(), key.modulus().end());
  return cpu_seconds([&] { static_cast<void>(dj::PublicKey::create(modulus, key.bits(), key.policy())); });
}

Result<DjServerRates> measure_dj_server(const dj::PublicKey& key, unsigned s, unsigned window) {
  const mpz_class n = dj::number_from_bytes(key.modulus());
  PIRX_ASSIGN(const auto* kernel, dj::choose_kernel("auto"));
  const dj::Ring ring(*kernel, n, s);
  // Some number of the ring, in every lane.
  std::vector<std::uint64_t> number(ring.stride());
  ring.import_number(ring.modulus() / 3, number.data());
  PIRX_ASSIGN(auto blocks, AlignedBuffer::create(2 * ring.block_words() * sizeof(std::uint64_t)));
  const std::vector<const std::uint64_t*> all(kernel->lanes, number.data());
  kernel->gather(ring.view(), reinterpret_cast<std::uint64_t*>(blocks.data()), all.data());
  DjServerRates rates{};
  rates.square = square_seconds(ring, blocks);
  std::vector<std::uint64_t> words(mpz_size(ring.modulus().get_mpz_t()));
  rates.row = cpu_seconds([&] {
    const mpz_class product = ring.export_number(number.data()) * n % ring.modulus();
    dj::number_to_words(product, words);
  });

  std::vector<std::uint64_t> bases;
  for (std::size_t i = 0; i < kBases; ++i) bases.insert(bases.end(), number.begin(), number.end());
  const dj::PowerShape shape{kBases, kBits, kernel->lanes};
  const std::uint64_t bytes = (kBases * ring.stride() * sizeof(std::uint64_t)) << window;
  const dj::PowerPlan plan{true, window, kernel->lanes, bytes, 0};
  PIRX_ASSIGN(auto powers, dj::Powers::create(ring, shape, plan, std::move(bases)));
  const double steps = std::ceil(static_cast<double>(kBits) / window);
  for (std::size_t part = 1; part < powers.parts(); ++part) powers.prepare(part);
  const double part = cpu_seconds([&] { powers.prepare(0); });
  rates.entry = std::max(part - (window - 1) * steps * rates.square, 0.1 * part) / std::exp2(window);
  std::vector<std::uint64_t> out(shape.rows * words.size());
  const AnyExponents exponents;
  const double block = cpu_seconds([&] { powers.evaluate(0, exponents, out, words.size()); });
  const double rest = steps * rates.square + static_cast<double>(shape.rows) * rates.row;
  rates.product = std::max(block - rest, 0.1 * block) / (steps * static_cast<double>(kBases));
  return rates;
}

Result<double> measure_dj_client(const RateId& id, const dj::SecretKey& key) {
  const unsigned s = id.of[1];
  PIRX_ASSIGN(const auto cipher, dj::Cipher::create(key, s));
  PIRX_ASSIGN(auto rng, Rng::from_os());
  PIRX_ASSIGN(const auto zero, cipher.encrypt_zero(s, rng));
  if (id.quantity == Quantity::kDjZero) {
    return cpu_seconds([&] { static_cast<void>(cipher.encrypt_zero(s, rng)); });
  }
  if (id.quantity == Quantity::kDjBit) {
    return cpu_seconds(
        [&] { static_cast<void>(cipher.encrypt_bit(s, 1, SecretVector<std::byte>(zero.expose()))); });
  }
  // What comes off is no ciphertext of the next layer, which is found when all layers are off.
  PIRX_ASSIGN(const auto one, cipher.encrypt_bit(s, 1, SecretVector<std::byte>(zero.expose())));
  const OneThread alone;
  return cpu_seconds([&] { static_cast<void>(cipher.decrypt_layers(s, one)); });
}

}  // namespace pirx::planner
