// The kernel table of GF(2).
#include "pirx/gf2e/gf2.h"

#include "gf2e/kernels/kernels.h"

namespace pirx::gf2e {

static_assert(Field<Gf2> && Gf2::tag() == kTagGf2);

std::span<const Kernels<Gf2>> kernel_table(const Gf2&) {
  static const Kernels<Gf2> table[] = {
      kGf2Portable,
  };
  return table;
}

}  // namespace pirx::gf2e
