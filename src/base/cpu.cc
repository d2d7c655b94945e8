// SPDX-License-Identifier: Apache-2.0
// Finds the CPU's features (cpuid and xgetbv, through the compiler), and reads PIRX_FORCE_ISA.
#include "pirx/base/cpu.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace pirx {
namespace {

#if !defined(PIRX_PORTABLE_ONLY) && defined(__x86_64__)

/// cpuid leaf 7: AMX-TILE and AMX-INT8.
bool has_amx_int8() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kTile = 1u << 24, kInt8 = 1u << 25;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kTile) != 0 && (d & kInt8) != 0;
}

/// Whether PIRX_FORCE_ISA leaves the tiles out.
bool tiles_are_unwanted() noexcept {
  const char* word = std::getenv("PIRX_FORCE_ISA");
  return word != nullptr && *word != '\0' && std::string_view(word) != "amx";
}

/// Linux gives a process the state of the tiles (8 KiB a thread) only when it asks; threads that started
/// before may use them too. Refused by kernels before 5.16 and where a signal stack is too small for it.
bool may_use_tiles() noexcept {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

#endif

CpuFeatures detect() noexcept {
#if defined(PIRX_PORTABLE_ONLY) || !defined(__x86_64__)
  return 0;
#else
  __builtin_cpu_init();
  CpuFeatures features = 0;
  const bool avx2 = __builtin_cpu_supports("avx2");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  if (avx2) features |= kCpuAvx2;
  if (avx2 && __builtin_cpu_supports("gfni")) features |= kCpuGfni;
  if (avx512) features |= kCpuAvx512;
  if (avx512 && __builtin_cpu_supports("avx512ifma")) features |= kCpuAvx512Ifma;
  if (avx512 && __builtin_cpu_supports("avx512vbmi")) features |= kCpuAvx512Vbmi;
  if (avx512 && __builtin_cpu_supports("avx512vnni")) features |= kCpuAvx512Vnni;
  if (avx2 && __builtin_cpu_supports("aes")) features |= kCpuAes;
  if (avx512 && __builtin_cpu_supports("vaes")) features |= kCpuVaes;
  if (avx512 && has_amx_int8() && !tiles_are_unwanted() && may_use_tiles()) features |= kCpuAmxInt8;
  return features;
#endif
}

struct Forced {
  std::string_view word;
  CpuFeatures required;  // the CPU must have them
  CpuFeatures allowed;   // kernels may use them
};

constexpr Forced kForced[] = {
    {"portable", 0, 0},
    {"avx2", kCpuAvx2, kCpuAvx2 | kCpuAes},
    {"avx2-gfni", kCpuAvx2 | kCpuGfni, kCpuAvx2 | kCpuGfni | kCpuAes},
    {"avx512", kCpuAvx2 | kCpuAvx512 | kCpuGfni, ~CpuFeatures{kCpuAmxInt8}},
    {"amx", kCpuAvx2 | kCpuAvx512 | kCpuAmxInt8, ~CpuFeatures{0}},
};

Result<CpuFeatures> resolve() {
  const char* word = std::getenv("PIRX_FORCE_ISA");
  const CpuFeatures detected = detected_cpu_features();
  if (word == nullptr || *word == '\0') return detected;
  for (const auto& forced : kForced) {
    if (forced.word != word) continue;
    if ((forced.required & ~detected) != 0) {
      return fail(ErrorCode::kUnavailable,
                  "PIRX_FORCE_ISA=" + std::string(word) + " needs " + cpu_features_name(forced.required) +
                      ", but this CPU (or build) has " + cpu_features_name(detected));
    }
    return detected & forced.allowed;
  }
  return invalid("PIRX_FORCE_ISA must be portable, avx2, avx2-gfni, avx512 or amx, not '" +
                 std::string(word) + "'");
}

}  // namespace

CpuFeatures detected_cpu_features() noexcept {
  static const CpuFeatures features = detect();
  return features;
}

Result<CpuFeatures> allowed_cpu_features() {
  static const Result<CpuFeatures> features = resolve();
  return features;
}

CpuFeatures allowed_cpu_features_or_die() noexcept {
  const auto features = allowed_cpu_features();
  if (!features) {
    std::fprintf(stderr, "pirx: %s\n", features.error().message().c_str());
    std::exit(2);
  }
  return *features;
}

int machine_cores() noexcept {
#if defined(__wasm__)
  return 1;
#else
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
#endif
}

std::string cpu_features_name(CpuFeatures features) {
  std::string name;
  const auto append = [&](CpuFeatures bit, const char* word) {
    if ((features & bit) == 0) return;
    if (!name.empty()) name += '+';
    name += word;
  };
  append(kCpuAvx2, "avx2");
  append(kCpuAvx512, "avx512");
  append(kCpuGfni, "gfni");
  append(kCpuAvx512Ifma, "ifma");
  append(kCpuAvx512Vbmi, "vbmi");
  append(kCpuAvx512Vnni, "vnni");
  append(kCpuAmxInt8, "amx");
  append(kCpuAes, "aes");
  append(kCpuVaes, "vaes");
  return name.empty() ? "portable" : name;
}

}  // namespace pirx
