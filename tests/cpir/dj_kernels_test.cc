// SPDX-License-Identifier: Apache-2.0
// Every row kernel against GMP's integers: random and extreme numbers, all lanes, long chains.
#include <gtest/gtest.h>

#include "cpir/dj/ring.h"
#include "dj_support.h"
#include "pirx/base/buffer.h"
#include "pirx/base/cpu.h"
#include "support/seed.h"

namespace pirx::cpir::dj {
namespace {

using testing::odd_number;
using testing::random_below;
using testing::usable_kernels;

/// A block and its numbers.
class Block {
 public:
  explicit Block(const Ring& ring)
      : ring_(&ring), buffer_(AlignedBuffer::create(ring.block_words() * sizeof(std::uint64_t)).value()) {}
  std::uint64_t* words() { return reinterpret_cast<std::uint64_t*>(buffer_.data()); }
  void set(const std::vector<mpz_class>& values) {
    std::vector<std::vector<std::uint64_t>> numbers;
    std::vector<const std::uint64_t*> pointers;
    for (const auto& value : values) {
      numbers.emplace_back(ring_->stride());
      ring_->import_number(value, numbers.back().data());
    }
    for (const auto& each : numbers) pointers.push_back(each.data());
    ring_->kernel().gather(ring_->view(), words(), pointers.data());
  }
  mpz_class get(std::size_t lane) {
    std::vector<std::uint64_t> number(ring_->stride());
    for (std::size_t i = 0; i < number.size(); ++i) number[i] = words()[i * ring_->kernel().lanes + lane];
    return ring_->export_number(number.data());
  }

 private:
  const Ring* ring_;
  AlignedBuffer buffer_;
};

void check_ring(const Ring& ring, std::mt19937_64& engine) {
  const auto& kernel = ring.kernel();
  const mpz_class& modulus = ring.modulus();
  Block a(ring), b(ring), out(ring);
  std::vector<mpz_class> x(kernel.lanes), y(kernel.lanes);
  const std::vector<mpz_class> extremes{0, 1, modulus - 1, modulus / 2, 2};
  for (int round = 0; round < 3; ++round) {
    for (std::size_t lane = 0; lane < kernel.lanes; ++lane) {
      x[lane] = round == 0 ? extremes[lane % extremes.size()] : random_below(modulus, engine);
      y[lane] = round == 1 ? extremes[(lane + 2) % extremes.size()] : random_below(modulus, engine);
    }
    a.set(x);
    b.set(y);
    for (std::size_t lane = 0; lane < kernel.lanes; ++lane) ASSERT_EQ(a.get(lane), x[lane]);
    // What comes out is loosely reduced and goes in again.
    for (int step = 0; step < 6; ++step) {
      kernel.multiply(ring.view(), out.words(), a.words(), b.words());
      std::swap(a, out);
      kernel.square(ring.view(), out.words(), a.words());
      std::swap(b, out);
      for (std::size_t lane = 0; lane < kernel.lanes; ++lane) {
        x[lane] = x[lane] * y[lane] % modulus;
        y[lane] = x[lane] * x[lane] % modulus;
        ASSERT_EQ(a.get(lane), x[lane]) << kernel.name << " multiply, lane " << lane << " step " << step;
        ASSERT_EQ(b.get(lane), y[lane]) << kernel.name << " square, lane " << lane << " step " << step;
      }
    }
  }
}

TEST(RowKernels, EqualGmpsIntegers) {
  auto engine = pirx::testing::seeded_engine();
  for (const auto* kernel : usable_kernels()) {
    for (const unsigned bits : {6u, 51u, 52u, 128u, 500u, 512u, 513u, 1024u, 2048u, 3072u, 4096u}) {
      for (unsigned s = 1; s <= kMaxS; ++s) {
        if (bits > 512 && s > 3 && s < kMaxS) continue;
        SCOPED_TRACE(std::string(kernel->name) + " " + std::to_string(bits) +
                     " bits, s = " + std::to_string(s));
        check_ring(Ring(*kernel, odd_number(bits, engine), s), engine);
      }
    }
  }
}

TEST(RowKernels, ModuliAtTheEnds) {
  auto engine = pirx::testing::seeded_engine(1);
  for (const auto* kernel : usable_kernels()) {
    for (const unsigned bits : {64u, 1024u, 3072u}) {
      const mpz_class top = mpz_class(1) << (bits - 1);
      for (const mpz_class& n : {mpz_class(top + 1), mpz_class(2 * top - 1), mpz_class(3)}) {
        check_ring(Ring(*kernel, n, 2), engine);
      }
    }
  }
}

/// Digits as large as loose reduction ever makes them, in all columns at once: nothing overflows.
TEST(RowKernels, LooseDigitsStayLoose) {
  for (const auto* kernel : usable_kernels()) {
    for (const unsigned bits : {512u, 1024u, 4096u}) {
      const mpz_class n = (mpz_class(1) << bits) - 1;
      const Ring ring(*kernel, n, kMaxS);
      Block a(ring), b(ring), out(ring);
      std::vector<std::uint64_t> number(ring.stride());
      const mpz_class digit = kernel->slack_bits == 0 ? mpz_class(n - 1) : mpz_class(n + n / 16);
      for (unsigned j = 0; j <= kMaxS; ++j) {
        mpz_export(number.data() + j * ring.view().limbs, nullptr, -1, 8, 0, 64 - kernel->limb_bits,
                   digit.get_mpz_t());
      }
      const std::vector<const std::uint64_t*> same(kernel->lanes, number.data());
      kernel->gather(ring.view(), a.words(), same.data());
      mpz_class x = ring.export_number(number.data());
      for (int step = 0; step < 20; ++step) {
        kernel->multiply(ring.view(), out.words(), a.words(), a.words());
        kernel->square(ring.view(), b.words(), a.words());
        x = x * x % ring.modulus();
        ASSERT_EQ(out.get(0), x);
        for (std::size_t lane = 0; lane < kernel->lanes; ++lane) ASSERT_EQ(b.get(lane), x);
        for (unsigned j = 0; j <= kMaxS; ++j) {
          mpz_class value;
          for (std::size_t i = 0; i < ring.view().limbs; ++i) {
            number[i] = b.words()[(j * ring.view().limbs + i) * kernel->lanes];
            if (kernel->limb_bits < 64) {
              ASSERT_EQ(number[i] >> kernel->limb_bits, 0u);
            }
          }
          mpz_import(value.get_mpz_t(), ring.view().limbs, -1, 8, 0, 64 - kernel->limb_bits, number.data());
          ASSERT_LT(value, n + n / 16);
        }
        std::swap(a, b);
      }
    }
  }
}

TEST(RowKernels, AreChosenByName) {
  EXPECT_STREQ(choose_kernel("gmp").value()->name, "gmp");
  EXPECT_EQ(choose_kernel("sse").error().code(), ErrorCode::kInvalidArgument);
  const bool ifma = (allowed_cpu_features_or_die() & kCpuAvx512Ifma) != 0;
  EXPECT_STREQ(choose_kernel("auto").value()->name, ifma ? "ifma" : "gmp");
  if (ifma) {
    EXPECT_STREQ(choose_kernel("ifma").value()->name, "ifma");
  } else {
    EXPECT_EQ(choose_kernel("ifma").error().code(), ErrorCode::kUnavailable);
  }
}

}  // namespace
}  // namespace pirx::cpir::dj
