// SPDX-License-Identifier: Apache-2.0
// Chooses a kernel, computes the constants of a ring, and converts numbers to and from base N.
#include "ring.h"

#include "number.h"
#include "pirx/base/buffer.h"
#include "pirx/base/cpu.h"

namespace pirx::cpir::dj {

Result<const RowKernel*> choose_kernel(const std::string& name) {
  std::vector<const RowKernel*> known{&kGmpKernel};
#if defined(__x86_64__) && !defined(PIRX_PORTABLE_ONLY)
  known.push_back(&kIfmaKernel);
#endif
  PIRX_ASSIGN(const auto features, allowed_cpu_features());
  const RowKernel* best = nullptr;
  for (const auto* kernel : known) {
    const bool usable = (kernel->needs & ~features) == 0;
    if (name == kernel->name) {
      if (usable) return kernel;
      return fail(ErrorCode::kUnavailable, "the kernel '" + name + "' needs " +
                                               cpu_features_name(kernel->needs) + ", this machine allows " +
                                               cpu_features_name(features));
    }
    if (usable) best = kernel;  // the last is the fastest
  }
  if (name == "auto") return best;
  return fail(name == "ifma" ? ErrorCode::kUnavailable : ErrorCode::kInvalidArgument,
              "there is no kernel '" + name + "' here: use auto, gmp or ifma");
}

Ring::Ring(const RowKernel& kernel, const mpz_class& n, unsigned s)
    : kernel_(kernel), n_(n), power_(power_of(n, s + 1)) {
  PIRX_CHECK(s <= kMaxS && mpz_odd_p(n.get_mpz_t()) != 0);
  const auto bits = mpz_sizeinbase(n.get_mpz_t(), 2) + kernel.slack_bits;
  view_.s = s;
  view_.limbs = round_up(div_up(bits, kernel.limb_bits), kernel.limb_multiple);
  view_.stride = round_up((s + 1) * view_.limbs, 8);
  PIRX_CHECK(view_.limbs <= kMaxLimbs);
  mpz_setbit(r_.get_mpz_t(), view_.limbs * kernel.limb_bits);
  mpz_invert(r_inverse_.get_mpz_t(), r_.get_mpz_t(), power_.get_mpz_t());
  n_words_.resize(view_.limbs);
  mpz_export(n_words_.data(), nullptr, -1, 8, 0, 64 - kernel.limb_bits, n.get_mpz_t());
  view_.modulus = n_words_.data();
  std::uint64_t inverse = n_words_[0];  // Newton: right modulo 2^3, then twice the bits each time
  for (int i = 0; i < 5; ++i) inverse *= 2 - n_words_[0] * inverse;
  view_.inverse = (0 - inverse) & (~std::uint64_t{0} >> (64 - kernel.limb_bits));
}

void Ring::import_number(const mpz_class& x, std::uint64_t* out) const {
  std::fill_n(out, view_.stride, std::uint64_t{0});
  mpz_class rest = x * r_ % power_, digit;
  for (unsigned j = 0; j <= view_.s; ++j) {
    mpz_tdiv_qr(rest.get_mpz_t(), digit.get_mpz_t(), rest.get_mpz_t(), n_.get_mpz_t());
    mpz_export(out + j * view_.limbs, nullptr, -1, 8, 0, 64 - kernel_.limb_bits, digit.get_mpz_t());
  }
}

mpz_class Ring::export_number(const std::uint64_t* number) const {
  mpz_class sum, digit;
  for (unsigned j = view_.s + 1; j-- > 0;) {
    mpz_import(digit.get_mpz_t(), view_.limbs, -1, 8, 0, 64 - kernel_.limb_bits, number + j * view_.limbs);
    sum = sum * n_ + digit;
  }
  return sum * r_inverse_ % power_;
}

}  // namespace pirx::cpir::dj
