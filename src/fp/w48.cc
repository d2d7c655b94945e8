// The scalar operations of W48 and its kernel table.
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
    {.name = "amx",
     .needs = kCpuAvx512 | kCpuAvx512Ifma | kCpuAvx512Vnni | kCpuAmxInt8,
     .muladd_words = w48::muladd_words_ifma,
     .muladd_sums = w48::muladd_sums_ifma,
     .add = w48::add_ifma,
     .sub = w48::sub_ifma,
     .tile_rows = 512,
     .tile_bytes = 2304,
     .residues = &kResiduesAmx,
     .residue_words = 256,
     .crossovers = {.residues = 96, .kept_residues = 32}},
    {.name = "ifma",
     .needs = kCpuAvx512 | kCpuAvx512Ifma,
     .muladd_words = w48::muladd_words_ifma,
     .muladd_sums = w48::muladd_sums_ifma,
     .add = w48::add_ifma,
     .sub = w48::sub_ifma,
     .tile_rows = 512,
     .tile_bytes = 2304},
    {.name = "avx2",
     .needs = kCpuAvx2,
     .muladd_words = w48::muladd_words_portable,
     .muladd_sums = w48::muladd_sums_portable,
     .add = w48::add_portable,
     .sub = w48::sub_portable,
     .tile_rows = 128,
     .tile_bytes = 4608,
     .residues = &kResiduesAvx2,
     .residue_words = 64,
     .crossovers = {.residues = 16, .kept_residues = 4}},
#endif
    {.name = "portable",
     .needs = 0,
     .muladd_words = w48::muladd_words_portable,
     .muladd_sums = w48::muladd_sums_portable,
     .add = w48::add_portable,
     .sub = w48::sub_portable,
     .tile_rows = 128,
     .tile_bytes = 4608},
  };
  return kTable;
}

}  // namespace pirx::fp
