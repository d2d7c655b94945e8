// The scalar operations of W160 and its kernel table.
#include "pirx/fp/w160.h"

#include "kernels/residues.h"
#include "w160_arith.h"
#include "w160_kernels.h"

namespace pirx::fp {

W160::Elem W160::add(Elem a, Elem b) const noexcept { return w160::add(a, b); }

W160::Elem W160::sub(Elem a, Elem b) const noexcept { return w160::sub(a, b); }

W160::Elem W160::mul(Elem a, Elem b) const noexcept { return w160::mul(a, b); }

W160::Elem W160::inv(Elem a) const noexcept {
  // p - 2 = 2^160 + 5: one bit, 157 zeros, 101.
  Elem out = a;
  for (int bit = 159; bit >= 0; --bit) {
    out = w160::mul(out, out);
    if (bit == 2 || bit == 0) out = w160::mul(out, a);
  }
  return out;
}

bool W160::equal(Elem a, Elem b) const noexcept {
  return ((a.limb[0] ^ b.limb[0]) | (a.limb[1] ^ b.limb[1]) | (a.limb[2] ^ b.limb[2])) == 0;
}

W160::Sum W160::load_word(const std::byte* from) const noexcept { return w160::load_word(from); }

bool W160::store_word(Sum s, std::byte* to) const noexcept {
  if ((s.limb[2] >> 32) != 0) return false;
  std::memcpy(to, s.limb, kWordBytes);
  return true;
}

std::span<const Kernels<W160>> kernel_table(const W160&) noexcept {
  // A tile of D takes 640 KiB and stays in the second-level cache while all queries pass over it.
  static constexpr Kernels<W160> kTable[] = {
#if defined(__x86_64__) && !defined(PIRX_PORTABLE_ONLY)
    {.name = "amx",
     .needs = kCpuAvx512 | kCpuAvx512Ifma | kCpuAvx512Vnni | kCpuAmxInt8,
     .muladd_words = w160::muladd_words_ifma,
     .muladd_sums = w160::muladd_sums_ifma,
     .add = w160::add_ifma,
     .sub = w160::sub_ifma,
     .tile_rows = 256,
     .tile_bytes = 2560,
     .toom = &w160::kToom,
     .residues = &kResiduesAmx,
     .residue_words = 128,
     .crossovers = {.toom = 8, .residues = 24, .kept_residues = 8}},
    {.name = "vnni",
     .needs = kCpuAvx512 | kCpuAvx512Ifma | kCpuAvx512Vnni,
     .muladd_words = w160::muladd_words_ifma,
     .muladd_sums = w160::muladd_sums_ifma,
     .add = w160::add_ifma,
     .sub = w160::sub_ifma,
     .tile_rows = 256,
     .tile_bytes = 2560,
     .toom = &w160::kToom,
     .residues = &kResiduesVnni,
     .residue_words = 128,
     .crossovers = {.toom = 8, .residues = 48, .kept_residues = 12}},
    {.name = "ifma",
     .needs = kCpuAvx512 | kCpuAvx512Ifma,
     .muladd_words = w160::muladd_words_ifma,
     .muladd_sums = w160::muladd_sums_ifma,
     .add = w160::add_ifma,
     .sub = w160::sub_ifma,
     .tile_rows = 256,
     .tile_bytes = 2560,
     .toom = &w160::kToom,
     .crossovers = {.toom = 8}},
    {.name = "avx2",
     .needs = kCpuAvx2,
     .muladd_words = w160::muladd_words_portable,
     .muladd_sums = w160::muladd_sums_portable,
     .add = w160::add_portable,
     .sub = w160::sub_portable,
     .tile_rows = 256,
     .tile_bytes = 2560,
     .residues = &kResiduesAvx2,
     .residue_words = 64,
     .crossovers = {.residues = 16, .kept_residues = 4}},
#endif
    {.name = "portable",
     .needs = 0,
     .muladd_words = w160::muladd_words_portable,
     .muladd_sums = w160::muladd_sums_portable,
     .add = w160::add_portable,
     .sub = w160::sub_portable,
     .tile_rows = 256,
     .tile_bytes = 2560},
  };
  return kTable;
}

}  // namespace pirx::fp
