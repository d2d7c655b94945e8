// W160's scalars and its kernel table.
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
    {"amx", kCpuAvx512 | kCpuAvx512Ifma | kCpuAvx512Vnni | kCpuAmxInt8, w160::muladd_words_ifma,
     w160::muladd_sums_ifma, w160::add_ifma, w160::sub_ifma, 256, 2560, nullptr, &w160::kToom, &kResiduesAmx,
     24, 8, 128},
    {"vnni", kCpuAvx512 | kCpuAvx512Ifma | kCpuAvx512Vnni, w160::muladd_words_ifma, w160::muladd_sums_ifma,
     w160::add_ifma, w160::sub_ifma, 256, 2560, nullptr, &w160::kToom, &kResiduesVnni, 48, 12, 128},
    {"ifma", kCpuAvx512 | kCpuAvx512Ifma, w160::muladd_words_ifma, w160::muladd_sums_ifma, w160::add_ifma,
     w160::sub_ifma, 256, 2560, nullptr, &w160::kToom},
    {"avx2", kCpuAvx2, w160::muladd_words_portable, w160::muladd_sums_portable, w160::add_portable,
     w160::sub_portable, 256, 2560, nullptr, nullptr, &kResiduesAvx2, 16, 4, 64},
#endif
    {"portable", 0, w160::muladd_words_portable, w160::muladd_sums_portable, w160::add_portable,
     w160::sub_portable, 256, 2560},
  };
  return kTable;
}

}  // namespace pirx::fp
