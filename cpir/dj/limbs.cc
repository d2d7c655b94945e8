// SPDX-License-Identifier: Apache-2.0
// Thin wrappers of mpn_sec_*, which choose lengths and wipe the scratch space.
#include "limbs.h"

#include <algorithm>
#include <bit>

namespace pirx::cpir::dj {
namespace {

mp_size_t size_of(LimbSpan a) { return static_cast<mp_size_t>(a.size()); }
Limbs scratch(mp_size_t limbs) { return Limbs(static_cast<std::size_t>(std::max<mp_size_t>(limbs, 1))); }

}  // namespace

Limbs limbs_from_bytes(ByteSpan big_endian, std::size_t limbs) {
  Limbs out(limbs);
  for (std::size_t i = 0; i < big_endian.size() && i / 8 < limbs; ++i) {
    out.expose()[i / 8] |= std::to_integer<mp_limb_t>(big_endian[big_endian.size() - 1 - i]) << (i % 8 * 8);
  }
  return out;
}

void limbs_to_bytes(LimbSpan a, MutableByteSpan big_endian) {
  for (std::size_t i = 0; i < big_endian.size(); ++i) {
    const mp_limb_t limb = i / 8 < a.size() ? a[i / 8] : 0;
    big_endian[big_endian.size() - 1 - i] = static_cast<std::byte>(limb >> (i % 8 * 8));
  }
}

Limbs resized(LimbSpan a, std::size_t limbs) {
  Limbs out(limbs);
  std::copy_n(a.begin(), std::min(limbs, a.size()), out.expose().begin());
  return out;
}

Limbs trimmed(LimbSpan a) {
  std::size_t size = a.size();
  while (size > 1 && a[size - 1] == 0) --size;
  return resized(a, size);
}

mp_limb_t zero_mask(LimbSpan a) noexcept {
  mp_limb_t any = 0;
  for (const auto limb : a) any |= limb;
  return ((any | (~any + 1)) >> 63) - 1;
}

Limbs random_below(LimbSpan bound, Rng& rng) {
  Limbs r(bound.size()), difference(bound.size());
  for (;;) {
    rng.fill(std::as_writable_bytes(r.expose()));
    r.expose().back() &= ~mp_limb_t{0} >> std::countl_zero(bound.back());
    // What is refused says nothing of what is taken.
    const auto below = mpn_sub_n(difference.expose().data(), r.expose().data(), bound.data(), size_of(bound));
    if (below != 0) return r;
  }
}

Limbs multiply(LimbSpan a, LimbSpan b) {
  if (a.size() < b.size()) std::swap(a, b);
  Limbs out(a.size() + b.size());
  auto space = scratch(mpn_sec_mul_itch(size_of(a), size_of(b)));
  mpn_sec_mul(out.expose().data(), a.data(), size_of(a), b.data(), size_of(b), space.expose().data());
  return out;
}

Limbs add(LimbSpan a, LimbSpan b) {
  auto out = resized(a, a.size());
  const auto carry =
      mpn_add_n(out.expose().data(), a.data(), resized(b, a.size()).expose().data(), size_of(a));
  PIRX_VERIFY_CHECK(carry == 0);
  static_cast<void>(carry);
  return out;
}

Limbs reduce(LimbSpan a, LimbSpan m) {
  auto rest = resized(a, std::max(a.size(), m.size()));
  auto space = scratch(mpn_sec_div_r_itch(size_of(rest.expose()), size_of(m)));
  mpn_sec_div_r(rest.expose().data(), size_of(rest.expose()), m.data(), size_of(m), space.expose().data());
  return resized(rest.expose(), m.size());
}

Limbs divide(LimbSpan a, LimbSpan d) {
  auto rest = resized(a, std::max(a.size(), d.size()));
  const auto length = size_of(rest.expose());
  Limbs quotient(rest.size() + 1 - d.size());
  auto space = scratch(mpn_sec_div_qr_itch(length, size_of(d)));
  const auto high = mpn_sec_div_qr(quotient.expose().data(), rest.expose().data(), length, d.data(),
                                   size_of(d), space.expose().data());
  quotient.expose().back() = high;
  return resized(quotient.expose(), a.size());
}

Limbs multiply_mod(LimbSpan a, LimbSpan b, LimbSpan m) { return reduce(multiply(a, b).expose(), m); }

Limbs subtract_mod(LimbSpan a, LimbSpan b, LimbSpan m) {
  auto out = reduce(a, m);
  auto* limbs = out.expose().data();
  const auto borrow = mpn_sub_n(limbs, limbs, reduce(b, m).expose().data(), size_of(m));
  mpn_cnd_add_n(borrow, limbs, limbs, m.data(), size_of(m));
  return out;
}

Limbs invert_mod(LimbSpan a, LimbSpan m) {
  Limbs out(m.size());
  auto value = reduce(a, m);
  auto space = scratch(mpn_sec_invert_itch(size_of(m)));
  const int exists = mpn_sec_invert(out.expose().data(), value.expose().data(), m.data(), size_of(m),
                                    2 * 64 * m.size(), space.expose().data());
  PIRX_CHECK(exists == 1);
  return out;
}

}  // namespace pirx::cpir::dj
