// SPDX-License-Identifier: Apache-2.0
// CPU features, and PIRX_FORCE_ISA in child processes of this test.
#include "pirx/base/cpu.h"

#include <gtest/gtest.h>

#if defined(__linux__) && defined(__x86_64__)
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdlib>
#include <fstream>
#include <string>

namespace pirx {
namespace {

/// The words of the first "flags" line of /proc/cpuinfo: a second opinion.
[[maybe_unused]] bool kernel_says(const std::string& flag) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("flags", 0) == 0) return (line + " ").find(" " + flag + " ") != std::string::npos;
  }
  return false;
}

TEST(Cpu, DetectionAgreesWithTheOperatingSystem) {
#if defined(PIRX_PORTABLE_ONLY)
  EXPECT_EQ(detected_cpu_features(), 0u);
#else
  EXPECT_EQ((detected_cpu_features() & kCpuAvx2) != 0, kernel_says("avx2"));
  EXPECT_EQ((detected_cpu_features() & kCpuGfni) != 0, kernel_says("gfni") && kernel_says("avx2"));
  EXPECT_EQ((detected_cpu_features() & kCpuAvx512) != 0, kernel_says("avx512f") && kernel_says("avx512bw") &&
                                                             kernel_says("avx512vl") &&
                                                             kernel_says("avx512dq"));
  EXPECT_EQ((detected_cpu_features() & kCpuAvx512Ifma) != 0, kernel_says("avx512ifma"));
  EXPECT_EQ((detected_cpu_features() & kCpuAvx512Vnni) != 0, kernel_says("avx512_vnni"));
#endif
}

#if defined(__linux__) && defined(__x86_64__)

constexpr long kGetPermission = 0x1022, kRequestPermission = 0x1023;  // ARCH_GET_ and ARCH_REQ_XCOMP_PERM
constexpr unsigned kTileData = 18;

/// What Linux says of the tiles: whether this process may use them.
bool may_use_tiles() {
  std::uint64_t granted = 0;
  return syscall(SYS_arch_prctl, kGetPermission, &granted) == 0 && (granted >> kTileData & 1) != 0;
}

/// Whether everything but the permission is there for the AMX kernels.
bool wants_tiles() {
#if defined(PIRX_PORTABLE_ONLY)
  return false;
#else
  const char* forced = std::getenv("PIRX_FORCE_ISA");
  const bool wanted = forced == nullptr || *forced == '\0' || std::string(forced) == "amx";
  return wanted && kernel_says("amx_tile") && kernel_says("amx_int8") && kernel_says("avx512bw");
#endif
}

/// In a process of its own, for permissions are never given back.
TEST(CpuDeathTest, TilesAreUsedWhereLinuxGrantsThem) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const bool detected = (detected_cpu_features() & kCpuAmxInt8) != 0;
        // Nobody asks for what is not used.
        if (detected != may_use_tiles()) std::exit(1);
        const bool grants = syscall(SYS_arch_prctl, kRequestPermission, long{kTileData}) == 0;
        std::exit(detected == (grants && wants_tiles()) ? 0 : 2);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(CpuDeathTest, TilesAreNotUsedWhereLinuxRefusesThem) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        // A signal stack that has no room for tiles: Linux refuses them to the process.
        alignas(64) static std::byte memory[8192];
        stack_t stack{};
        stack.ss_sp = memory;
        stack.ss_size = sizeof memory;
        if (sigaltstack(&stack, nullptr) != 0) std::exit(3);
        const bool detected = (detected_cpu_features() & kCpuAmxInt8) != 0;
        std::exit(detected || may_use_tiles() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

#endif

TEST(Cpu, AllowedIsASubsetOfDetected) {
  EXPECT_EQ(allowed_cpu_features_or_die() & ~detected_cpu_features(), 0u);
}

TEST(CpuDeathTest, ForcedSetsAreHonouredOrRefused) {
  // allowed_cpu_features() is read once in a process, so every word gets a process of its own. An environment
  // that already forces something has been read by the test above.
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto exit_code = [](const char* word) {
    setenv("PIRX_FORCE_ISA", word, 1);
    const auto features = allowed_cpu_features();
    if (!features) std::exit(features.error().code() == ErrorCode::kInvalidArgument ? 3 : 4);
    std::exit(*features == 0 ? 10 : (*features & kCpuAvx512) != 0 ? 12 : 11);
  };
  const CpuFeatures have = detected_cpu_features();
  const bool avx512 = (have & kCpuAvx512) != 0 && (have & kCpuGfni) != 0;
  EXPECT_EXIT(exit_code("portable"), ::testing::ExitedWithCode(10), "");
  EXPECT_EXIT(exit_code("avx2"), ::testing::ExitedWithCode((have & kCpuAvx2) != 0 ? 11 : 4), "");
  EXPECT_EXIT(exit_code("avx512"), ::testing::ExitedWithCode(avx512 ? 12 : 4), "");
  EXPECT_EXIT(exit_code("sse9"), ::testing::ExitedWithCode(3), "");
}

TEST(Cpu, Names) {
  EXPECT_EQ(cpu_features_name(0), "portable");
  EXPECT_EQ(cpu_features_name(kCpuAvx2 | kCpuGfni), "avx2+gfni");
}

}  // namespace
}  // namespace pirx
