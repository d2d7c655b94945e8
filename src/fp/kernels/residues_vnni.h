// SPDX-License-Identifier: Apache-2.0
// What the AMX kernels share with those on AVX-512 VNNI.
#pragma once

#include "kernels.h"

namespace pirx::fp::vnni {

void scalars(const ResidueBasis& basis, const std::byte* from, std::size_t stride, std::size_t bytes,
             std::size_t count, std::byte* to, std::size_t modulus_stride) noexcept;
void words(const ResidueBasis& basis, const std::byte* from, std::size_t stride, std::size_t bytes,
           std::size_t rows, std::size_t columns, std::byte* to, std::size_t modulus_stride) noexcept;

void combine(const ResidueBasis& basis, const std::int32_t* from, std::size_t stride, std::uint64_t* limbs,
             std::uint64_t* quotients) noexcept;

}  // namespace pirx::fp::vnni
