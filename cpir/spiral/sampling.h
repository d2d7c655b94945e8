// Random polynomials: uniform ones from public seeds, small ones from secret coins.
#pragma once

#include <algorithm>
#include <functional>
#include <span>

#include "pirx/base/rng.h"
#include "pirx/base/secret.h"
#include "ring.h"

namespace pirx::cpir::spiral {

/// Fills memory with secret random bytes: Rng::fill, or replayed coins in tests.
using Coins = std::function<void(MutableByteSpan)>;

/// Uniform polynomials from a seed that everybody knows, one after the other. Slots, first those modulo q1:
/// 32-bit words of the seed's stream (SeedStream), cut to 28 bits, those not below the prime left out.
class UniformStream {
 public:
  explicit UniformStream(std::span<const std::byte, kSeedBytes> seed) : stream_(seed) {}
  void next(const Ring& ring, std::uint32_t* slots);

 private:
  SeedStream stream_;
  std::array<std::byte, 4096> buffer_{};
  std::size_t used_ = sizeof buffer_;
};

/// The seed of public randomness that is drawn for one secret and used up with it: it cannot be copied, and
/// who encrypts takes it away. Two encryptions under one secret never share it: a seed that was given away is
/// wiped and spent, and must not be asked for again.
class FreshSeed {
 public:
  explicit FreshSeed(const Coins& coins) { coins(bytes_); }
  FreshSeed(FreshSeed&& other) noexcept : FreshSeed(other.bytes()) {
    other.bytes_ = {};
    other.spent_ = true;
  }
  FreshSeed(const FreshSeed&) = delete;
  FreshSeed& operator=(const FreshSeed&) = delete;
  FreshSeed& operator=(FreshSeed&&) = delete;
  std::span<const std::byte, kSeedBytes> bytes() const noexcept {
    PIRX_CHECK(!spent_);
    return bytes_;
  }

 private:
  explicit FreshSeed(std::span<const std::byte, kSeedBytes> bytes) noexcept {
    std::copy(bytes.begin(), bytes.end(), bytes_.begin());
  }
  std::array<std::byte, kSeedBytes> bytes_{};
  bool spent_ = false;
};

/// Sum of eta coins less the sum of eta others, for every coefficient: variance eta / 2. eta <= 32. Constant
/// time.
void centred_binomial(const Coins& coins, unsigned eta, std::span<std::int32_t> out);

/// A secret polynomial of small coefficients.
struct SecretPolynomial {
  SecretPolynomial(const Ring& ring, unsigned eta, const Coins& coins);
  SecretVector<std::uint32_t> slots;
  SecretVector<std::uint32_t> montgomery;  ///< times 2^32
};

/// Encrypts under any number of secrets with the public randomness of one seed.
class Encryptor {
 public:
  Encryptor(const Ring& ring, unsigned eta, FreshSeed seed, const Coins& coins)
      : ring_(ring),
        eta_(eta),
        stream_(seed.bytes()),
        coins_(coins),
        random_(2 * ring.d()),
        error_(ring.d()),
        scratch_(2 * ring.d()) {}
  /// Draws the public half c0 of the next ciphertext.
  void next() {
    stream_.next(ring_, random_.data());
    used_.clear();
    drawn_ = true;
  }
  /// c1 = message + error - s c0, slots, for the c0 drawn last. The same c0 serves several secrets, each
  /// once, which is checked: two messages under one c0 and one secret would show their difference.
  void encrypt(const SecretPolynomial& secret, const std::uint32_t* message, std::uint32_t* c1);

 private:
  const Ring& ring_;
  unsigned eta_;
  UniformStream stream_;
  const Coins& coins_;
  std::vector<std::uint32_t> random_;
  bool drawn_ = false;
  std::vector<const SecretPolynomial*> used_;  ///< with the c0 drawn last
  SecretVector<std::int32_t> error_;
  SecretVector<std::uint32_t> scratch_;
};

}  // namespace pirx::cpir::spiral
