// SPDX-License-Identifier: Apache-2.0
// What the AMX kernels over the integers share with those on AVX-512 VNNI.
#pragma once

#include "integers.h"

namespace pirx::fp::vnni {

void pack_integers(std::size_t bytes, const std::byte* from, std::size_t stride, std::size_t rows,
                   std::byte* to, std::size_t panel_stride) noexcept;

}  // namespace pirx::fp::vnni
