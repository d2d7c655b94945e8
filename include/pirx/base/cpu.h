// SPDX-License-Identifier: Apache-2.0
// The features of this CPU, and the instruction sets that the kernels may use.
#pragma once

#include <cstdint>
#include <string_view>

#include "pirx/base/result.h"

namespace pirx {

/// CPU features that kernels ask for, one bit each. A feature counts only if the operating system supports
/// it, too.
enum CpuFeature : std::uint32_t {
  kCpuAvx2 = 1u << 0,
  kCpuGfni = 1u << 1,    ///< with AVX encodings
  kCpuAvx512 = 1u << 2,  ///< F, BW, VL, DQ together
  kCpuAvx512Ifma = 1u << 3,
  kCpuAvx512Vbmi = 1u << 4,
  kCpuAvx512Vnni = 1u << 5,
  kCpuAmxInt8 = 1u << 6,  ///< and the operating system lets this process use it
  kCpuAes = 1u << 7,      ///< with AVX encodings
  kCpuVaes = 1u << 8,     ///< on 512-bit vectors
};
using CpuFeatures = std::uint32_t;

/// The features of this machine (from cpuid and xgetbv), read once. None in a portable-only build.
CpuFeatures detected_cpu_features() noexcept;

/// The features that kernels may use: those detected, limited by the environment variable PIRX_FORCE_ISA to
/// `portable` (none), `avx2` (AVX2 and AES), `avx2-gfni`, `avx512` (all but AMX) or `amx` (all). Read once.
/// InvalidArgument: PIRX_FORCE_ISA has another value. Unavailable: the CPU lacks the forced features.
Result<CpuFeatures> allowed_cpu_features();

/// allowed_cpu_features() for code that cannot return an error. A wrong PIRX_FORCE_ISA stops the process with
/// a message, since a test that went on with another kernel would prove nothing.
CpuFeatures allowed_cpu_features_or_die() noexcept;

/// How many threads this machine runs at the same time, at least 1.
int machine_cores() noexcept;

/// The names of the features for logs and benchmarks, such as "avx512+gfni+ifma".
std::string cpu_features_name(CpuFeatures features);

}  // namespace pirx
