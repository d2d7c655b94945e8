// SPDX-License-Identifier: Apache-2.0
// PrimeField in a build without NTL: there is none. No value of it can be made, so that only create() is ever
// called.
#include "pirx/fp/prime_field.h"

namespace pirx::fp {
namespace {

[[noreturn]] void never() noexcept { detail::check_failed("a prime field without NTL", __FILE__, __LINE__); }

tl::unexpected<Error> left_out() {
  return invalid(
      "this pirx was built for clients only, without the slow fields prime<bits>: there are gf2_8, gf2_16, "
      "w160 and w48");
}

}  // namespace

Result<PrimeField> PrimeField::create(unsigned) { return left_out(); }
Result<PrimeField> PrimeField::create(const FieldTag&) { return left_out(); }

FieldTag PrimeField::tag() const noexcept { never(); }
PrimeField::Elem PrimeField::add(Elem, Elem) const noexcept { never(); }
PrimeField::Elem PrimeField::sub(Elem, Elem) const noexcept { never(); }
PrimeField::Elem PrimeField::mul(Elem, Elem) const noexcept { never(); }
PrimeField::Elem PrimeField::inv(Elem) const noexcept { never(); }
bool PrimeField::equal(Elem, Elem) const noexcept { never(); }
std::uint64_t PrimeField::size_limit() const noexcept { never(); }
PrimeField::Elem PrimeField::load_word(const std::byte*) const noexcept { never(); }
bool PrimeField::store_word(Elem, std::byte*) const noexcept { never(); }
void PrimeField::encode_elem(Elem, std::byte*) const noexcept { never(); }
bool PrimeField::decode_elem(const std::byte*, Elem&) const noexcept { never(); }
std::span<const Kernels<PrimeField>> kernel_table(const PrimeField&) noexcept { never(); }

}  // namespace pirx::fp
