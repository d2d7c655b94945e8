// The integers modulo N^(s+1) as one kernel wants them: constants, and conversion of numbers. All public.
#pragma once

#include <gmpxx.h>

#include <vector>

#include "kernels/kernels.h"
#include "pirx/cpir/dj/keys.h"

namespace pirx::cpir::dj {

static_assert(kMaxLevels <= kMaxS, "a ring for every level of a tree");

/// "auto": the best kernel that this machine and PIRX_FORCE_ISA allow; "gmp" or "ifma": that one.
/// InvalidArgument: another word; Unavailable: not on this machine.
Result<const RowKernel*> choose_kernel(const std::string& name);

class Ring {
 public:
  /// N odd, s <= kMaxS (0: the integers modulo N), at most 4096 bits.
  Ring(const RowKernel& kernel, const mpz_class& n, unsigned s);
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  const RowKernel& kernel() const noexcept { return kernel_; }
  const RingView& view() const noexcept { return view_; }
  const mpz_class& modulus() const noexcept { return power_; }  ///< N^(s+1)
  std::size_t stride() const noexcept { return view_.stride; }
  std::size_t block_words() const noexcept { return view_.stride * kernel_.lanes; }

  /// x R in base N: `out` has stride() words. 0 <= x < N^(s+1).
  void import_number(const mpz_class& x, std::uint64_t* out) const;
  /// The number x < N^(s+1) from x R with loose digits.
  mpz_class export_number(const std::uint64_t* number) const;

 private:
  const RowKernel& kernel_;
  std::vector<std::uint64_t> n_words_;
  RingView view_;
  mpz_class n_, power_, r_, r_inverse_;
};

}  // namespace pirx::cpir::dj
