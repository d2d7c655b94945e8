// SPDX-License-Identifier: Apache-2.0
// Random polynomials: uniform ones from public seeds, small ones from secret coins.
#pragma once

#include <algorithm>
#include <functional>
#include <span>

#include "pirx/base/rng.h"
#include "pirx/base/secret.h"
#include "ring.h"

namespace pirx::cpir {

/// Fills memory with secret random bytes: Rng::fill, or replayed coins in tests.
using Coins = std::function<void(MutableByteSpan)>;

/// A stream of uniform polynomials from a public seed. The slots modulo q1 come first. They are the 32-bit
/// words of the seed's stream (SeedStream), cut to 28 bits, without those that are not below the prime.
class UniformStream {
 public:
  explicit UniformStream(std::span<const std::byte, kSeedBytes> seed) : stream_(seed) {}
  void next(const Ring& ring, std::uint32_t* slots);

 private:
  SeedStream stream_;
  std::array<std::byte, 4096> buffer_{};
  std::size_t used_ = sizeof buffer_;
};

/// The seed of public randomness that is drawn for one secret and used once. It cannot be copied, and
/// encryption takes it away, so two encryptions under one secret never share a seed. After that it is wiped
/// and must not be asked for again.
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

/// Writes for every coefficient the sum of eta coins minus the sum of eta other coins, which has variance eta
/// / 2. On input eta <= 32. Constant time.
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
  /// Draws c0, the public half of the next ciphertext.
  void next() {
    stream_.next(ring_, random_.data());
    used_.clear();
    drawn_ = true;
  }
  /// c1 = message + error - s c0 in slots, for the last c0. Several secrets can share this c0, but each may
  /// use it only once, which is checked: two messages under one c0 and one secret would reveal their
  /// difference.
  void encrypt(const SecretPolynomial& secret, const std::uint32_t* message, std::uint32_t* c1);

 private:
  const Ring& ring_;
  unsigned eta_;
  UniformStream stream_;
  const Coins& coins_;
  std::vector<std::uint32_t> random_;
  bool drawn_ = false;
  std::vector<const SecretPolynomial*> used_;  ///< with the last c0
  SecretVector<std::int32_t> error_;
  SecretVector<std::uint32_t> scratch_;
};

}  // namespace pirx::cpir
