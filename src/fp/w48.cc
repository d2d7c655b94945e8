// W48's scalars and its kernel table.
#include "pirx/fp/w48.h"

#include "kernels/residues.h"
#include "w48_arith.h"
#include "w48_kernels.h"

namespace pirx::fp {

W48::Elem W48::mul(Elem a, Elem b) const noexcept { return w48::reduce(w48::uint128{a.value} * b.value); }

W48::Elem W48::inv(Elem a) const noexcept {
  constexpr std::uint64_t exponent = kPrime - 2;
  Elem out = a;
  for (int bit = 47; bit >= 0; --bit) {
    out = mul(out, out);
    if ((exponent >> bit & 1) != 0) out = mul(out, a);
  }
  return out;
}

bool W48::store_word(Sum s, std::byte* to) const noexcept {
  if ((s.value >> 48) != 0) return false;
  std::memcpy(to, &s.value, kWordBytes);
  return true;
}

bool W48::decode_elem(const std::byte* from, Elem& a) const noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, from, kElemBytes);
  if (value >= kPrime) return false;
  a.value = value;
  return true;
}

std::span<const Kernels<W48>> kernel_table(const W48&) noexcept {
  static constexpr Kernels<W48> kTable[] = {
#if defined(__x86_64__) && !defined(PIRX_PORTABLE_ONLY)
    {"amx", kCpuAvx512 | kCpuAvx512Ifma | kCpuAvx512Vnni | kCpuAmxInt8, w48::muladd_words_ifma,
     w48::muladd_sums_ifma, w48::add_ifma, w48::sub_ifma, 512, 2304, nullptr, nullptr, &kResiduesAmx, 96, 32,
     256},
    {"ifma", kCpuAvx512 | kCpuAvx512Ifma, w48::muladd_words_ifma, w48::muladd_sums_ifma, w48::add_ifma,
     w48::sub_ifma, 512, 2304},
    {"avx2", kCpuAvx2, w48::muladd_words_portable, w48::muladd_sums_portable, w48::add_portable,
     w48::sub_portable, 128, 4608, nullptr, nullptr, &kResiduesAvx2, 16, 4, 64},
#endif
    {"portable", 0, w48::muladd_words_portable, w48::muladd_sums_portable, w48::add_portable,
     w48::sub_portable, 128, 4608},
  };
  return kTable;
}

}  // namespace pirx::fp
