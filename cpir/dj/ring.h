// SPDX-License-Identifier: Apache-2.0
// The integers modulo N^(s+1) in the form that one kernel takes: constants, and conversions of numbers. All
// public.
#pragma once

#include <gmpxx.h>

#include <vector>

#include "kernels/kernels.h"
#include "pirx/cpir/dj/keys.h"

namespace pirx::cpir::dj {

static_assert(kMaxLevels <= kMaxS, "a ring for every level of a tree");

/// The kernel with that name: "gmp", "ifma", or "auto" for the best one that this machine and PIRX_FORCE_ISA
/// allow. InvalidArgument: another name. Unavailable: this machine lacks the kernel.
Result<const RowKernel*> choose_kernel(const std::string& name);

class Ring {
 public:
  /// On input N is odd and has at most 4096 bits, and s <= kMaxS. With s = 0, the integers modulo N.
  Ring(const RowKernel& kernel, const mpz_class& n, unsigned s);
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  const RowKernel& kernel() const noexcept { return kernel_; }
  const RingView& view() const noexcept { return view_; }
  const mpz_class& modulus() const noexcept { return power_; }  ///< N^(s+1)
  std::size_t stride() const noexcept { return view_.stride; }
  std::size_t block_words() const noexcept { return view_.stride * kernel_.lanes; }

  /// Writes x R in base N to `out`, which has stride() words. On input 0 <= x < N^(s+1).
  void import_number(const mpz_class& x, std::uint64_t* out) const;
  /// Reads the number x < N^(s+1) from x R with loosely reduced digits.
  mpz_class export_number(const std::uint64_t* number) const;

 private:
  const RowKernel& kernel_;
  std::vector<std::uint64_t> n_words_;
  RingView view_;
  mpz_class n_, power_, r_, r_inverse_;
};

}  // namespace pirx::cpir::dj
