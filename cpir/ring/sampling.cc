// SPDX-License-Identifier: Apache-2.0
// Uniform residues by rejection, and binomial ones by counting bits with sums, without tables or branches.
#include "sampling.h"

namespace pirx::cpir {
namespace {

/// Bits that are set. (std::popcount may become a table where the CPU is not known to count.)
std::int32_t count_bits(std::uint32_t x) noexcept {
  x -= x >> 1 & 0x55555555;
  x = (x & 0x33333333) + (x >> 2 & 0x33333333);
  x = (x + (x >> 4)) & 0x0f0f0f0f;
  return static_cast<std::int32_t>(x * 0x01010101 >> 24);
}

}  // namespace

void UniformStream::next(const Ring& ring, std::uint32_t* slots) {
  for (std::size_t k = 0; k < 2; ++k) {
    for (std::size_t i = 0; i < ring.d();) {
      if (used_ == buffer_.size()) {
        stream_.fill(buffer_);
        used_ = 0;
      }
      const auto value = load_le<std::uint32_t>(buffer_.data() + used_) & 0xfffffff;
      used_ += 4;
      slots[k * ring.d() + i] = value;
      i += value < kPrimes[k];
    }
  }
}

void centred_binomial(const Coins& coins, unsigned eta, std::span<std::int32_t> out) {
  PIRX_CHECK(eta >= 1 && eta <= 32);
  const std::uint32_t mask = ~std::uint32_t{0} >> (32 - eta);
  SecretVector<std::byte> bytes(8 * out.size());
  coins(bytes.expose());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto word = load_le<std::uint64_t>(bytes.expose().data() + 8 * i);
    out[i] = count_bits(static_cast<std::uint32_t>(word) & mask) -
             count_bits(static_cast<std::uint32_t>(word >> 32) & mask);
  }
}

SecretPolynomial::SecretPolynomial(const Ring& ring, unsigned eta, const Coins& coins)
    : slots(2 * ring.d()), montgomery(2 * ring.d()) {
  SecretVector<std::int32_t> small(ring.d());
  centred_binomial(coins, eta, small.expose());
  ring.forward_small(slots.expose().data(), small.expose().data());
  ring.to_montgomery(montgomery.expose().data(), slots.expose().data());
}

void Encryptor::encrypt(const SecretPolynomial& secret, const std::uint32_t* message, std::uint32_t* c1) {
  PIRX_CHECK(drawn_ && std::find(used_.begin(), used_.end(), &secret) == used_.end());
  used_.push_back(&secret);
  centred_binomial(coins_, eta_, error_.expose());
  std::uint32_t* scratch = scratch_.expose().data();
  ring_.forward_small(scratch, error_.expose().data());
  ring_.add(scratch, scratch, message);
  // In c1 nothing may ever stand but the finished ciphertext: it may be a message's memory.
  SecretVector<std::uint32_t> product(2 * ring_.d());
  ring_.multiply(product.expose().data(), random_.data(), secret.montgomery.expose().data());
  ring_.subtract(c1, scratch, product.expose().data());
}

}  // namespace pirx::cpir
