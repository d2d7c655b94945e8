// SPDX-License-Identifier: Apache-2.0
// The tables of the ring: powers of a root of unity in bit-reversed order of their exponents.
#include "ring.h"

#include <memory>
#include <mutex>

#include "pirx/base/cpu.h"

namespace pirx::cpir {
namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;

std::size_t reverse_bits(std::size_t i, unsigned bits) {
  std::size_t out = 0;
  for (unsigned k = 0; k < bits; ++k) out |= (i >> k & 1) << (bits - 1 - k);
  return out;
}

/// The root of order `order` that the smallest number with one gives.
U32 root_of_unity(U32 prime, U64 order) {
  for (U64 x = 2;; ++x) {
    const U32 root = power(x, (prime - 1) / order, prime);
    if (power(root, order / 2, prime) == prime - 1) return root;
  }
}

U32 shoup(U32 w, U32 prime) { return static_cast<U32>((U64{w} << 32) / prime); }

}  // namespace

U32 power(U64 base, U64 exponent, U32 prime) noexcept {
  U64 out = 1;
  for (base %= prime; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) out = out * base % prime;
    base = base * base % prime;
  }
  return static_cast<U32>(out);
}

std::vector<const RingKernel*> usable_kernels() {
  std::vector<const RingKernel*> usable = {&kPortableKernel};
#if defined(PIRX_RING_X86)
  const auto features = allowed_cpu_features_or_die();
  for (const auto* kernel : {&kAvx2Kernel, &kAvx512Kernel}) {
    if ((kernel->needs & ~features) == 0) usable.push_back(kernel);
  }
#endif
  return usable;
}

Result<Polynomials> Polynomials::create(std::uint64_t count, std::size_t d) {
  Polynomials out;
  out.stride_ = polynomial_stride(d);
  const auto bytes = checked_mul(count, out.stride_ * sizeof(U32));
  if (!bytes) return fail(ErrorCode::kResourceExhausted, "more polynomials than any machine has memory for");
  PIRX_ASSIGN(out.buffer_, AlignedBuffer::create(*bytes));
  return out;
}

Ring::Ring(unsigned log_d, const RingKernel& kernel) : log_d_(log_d), kernel_(kernel) {
  PIRX_CHECK(log_d >= kMinLogDimension && log_d <= kLogDimension);
  const std::size_t n = d();
  for (std::size_t k = 0; k < 2; ++k) {
    const U32 q = kPrimes[k], psi = root_of_unity(q, 2 * n), back = power(psi, q - 2, q);
    auto& all = powers_[k];
    all.resize(4 * n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto exponent = reverse_bits(i, log_d);
      all[i] = power(psi, exponent, q);
      all[2 * n + i] = power(back, exponent, q);
      all[n + i] = shoup(all[i], q);
      all[3 * n + i] = shoup(all[2 * n + i], q);
    }
    auto& p = primes_[k];
    p.q = q;
    p.montgomery = 1;
    for (int step = 0; step < 5; ++step) p.montgomery *= 2 - q * p.montgomery;
    p.ratio = static_cast<U32>((U64{1} << 32) / q);
    p.one = static_cast<U32>((U64{1} << 32) % q);
    p.log_d = log_d;
    p.w = all.data();
    p.w_shoup = p.w + n;
    p.v = p.w + 2 * n;
    p.v_shoup = p.w + 3 * n;
    p.inverse_d = power(n, q - 2, q);
    p.inverse_d_shoup = shoup(p.inverse_d, q);
    p.last = static_cast<U32>(U64{p.inverse_d} * p.v[1] % q);
    p.last_shoup = shoup(p.last, q);
    p.inverse_of_other = power(kPrimes[1 - k], q - 2, q);
    p.inverse_of_other_shoup = shoup(p.inverse_of_other, q);
  }
  for (unsigned r = 0; r < log_d; ++r) {
    const std::size_t exponent = (n >> r) + 1;
    std::vector<std::uint16_t> from(n);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t at = (2 * reverse_bits(i, log_d) + 1) * exponent % (2 * n);
      from[i] = static_cast<std::uint16_t>(reverse_bits(at / 2, log_d));
    }
    slots_.push_back(std::move(from));
    std::vector<U32> x(2 * n);
    for (std::size_t k = 0; k < 2; ++k)
      x[k * n + n - (std::size_t{1} << r)] = kPrimes[k] - 1;  // -x^(d - 2^r)
    forward(x.data(), x.data());
    to_montgomery(x.data(), x.data());
    monomials_.push_back(std::move(x));
  }
}

const Ring& Ring::get(unsigned log_d) {
  static std::array<std::once_flag, kLogDimension + 1> flags;
  static std::array<std::unique_ptr<const Ring>, kLogDimension + 1> rings;
  PIRX_CHECK(log_d >= kMinLogDimension && log_d <= kLogDimension);
  std::call_once(flags[log_d],
                 [&] { rings[log_d] = std::make_unique<const Ring>(log_d, *usable_kernels().back()); });
  return *rings[log_d];
}

void Ring::forward(U32* out, const U32* in) const noexcept {
  for (std::size_t k = 0; k < 2; ++k) kernel_.forward(primes_[k], out + k * d(), in + k * d());
}
void Ring::inverse(U32* out, const U32* in) const noexcept {
  for (std::size_t k = 0; k < 2; ++k) kernel_.inverse(primes_[k], out + k * d(), in + k * d());
}
void Ring::add(U32* out, const U32* a, const U32* b) const noexcept {
  for (std::size_t k = 0; k < 2; ++k) kernel_.add(primes_[k], out + k * d(), a + k * d(), b + k * d());
}
void Ring::subtract(U32* out, const U32* a, const U32* b) const noexcept {
  for (std::size_t k = 0; k < 2; ++k) kernel_.subtract(primes_[k], out + k * d(), a + k * d(), b + k * d());
}
void Ring::multiply(U32* out, const U32* a, const U32* b) const noexcept {
  for (std::size_t k = 0; k < 2; ++k) {
    kernel_.inner_product(primes_[k], out + k * d(), a + k * d(), 0, b + k * d(), 0, 1);
  }
}
void Ring::scale(U32* out, const U32* a, const std::array<U32, 2>& factor) const noexcept {
  for (std::size_t k = 0; k < 2; ++k) {
    const U32 q = kPrimes[k], w = factor[k], w_shoup = shoup(w, q);
    for (std::size_t i = k * d(); i < (k + 1) * d(); ++i) {
      const U32 x = a[i] * w - static_cast<U32>(U64{a[i]} * w_shoup >> 32) * q, less = x - q;
      out[i] = less + (q & (0 - (less >> 31)));
    }
  }
}
void Ring::forward_small(U32* out, const std::int32_t* coefficients) const noexcept {
  const auto* in = reinterpret_cast<const U32*>(coefficients);
  for (std::size_t k = 0; k < 2; ++k) kernel_.forward(primes_[k], out + k * d(), in);
}
void Ring::compose(std::int64_t* out, const U32* in) const noexcept {
  kernel_.compose(primes_[0], primes_[1], out, in, in + d());
}
void Ring::automorphism(unsigned r, U32* out, const U32* a) const noexcept {
  const auto& from = slots_[r];
  for (std::size_t k = 0; k < 2; ++k, out += d(), a += d()) {
    for (std::size_t i = 0; i < from.size(); ++i) out[i] = a[from[i]];
  }
}

}  // namespace pirx::cpir
