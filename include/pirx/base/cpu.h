// What the CPU can do, and which instruction set the kernels may use.
#pragma once

#include <cstdint>
#include <string_view>

#include "pirx/base/result.h"

namespace pirx {

/// Bits of CPU features that kernels ask for; the operating system's support is included.
enum CpuFeature : std::uint32_t {
  kCpuAvx2 = 1u << 0,
  kCpuGfni = 1u << 1,    ///< with AVX encodings
  kCpuAvx512 = 1u << 2,  ///< F, BW, VL, DQ together
  kCpuAvx512Ifma = 1u << 3,
  kCpuAvx512Vbmi = 1u << 4,
  kCpuAvx512Vnni = 1u << 5,
  kCpuAmxInt8 = 1u << 6,  ///< and the kernel lets this process use it
};
using CpuFeatures = std::uint32_t;

/// Features of this machine (cpuid and xgetbv), read once. Zero in a portable-only build.
CpuFeatures detected_cpu_features() noexcept;

/// Features that kernels may use now: the detected ones, cut down by PIRX_FORCE_ISA in the environment:
/// `portable` (none), `avx2` (AVX2 only), `avx2-gfni`, `avx512` (everything but AMX),
/// `amx` (everything). Read once.
/// InvalidArgument for another word; Unavailable when the CPU lacks the forced set.
Result<CpuFeatures> allowed_cpu_features();

/// allowed_cpu_features() for library code that has no way to report: a wrong PIRX_FORCE_ISA stops the
/// process with its message, since going on with another kernel would make a test lie.
CpuFeatures allowed_cpu_features_or_die() noexcept;

/// "avx512+gfni+ifma" and the like, for logs and benchmarks.
std::string cpu_features_name(CpuFeatures features);

}  // namespace pirx
