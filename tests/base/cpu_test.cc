// CPU features, and PIRX_FORCE_ISA in child processes of this test.
#include "pirx/base/cpu.h"

#include <gtest/gtest.h>

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
  // The operating system may refuse the tiles that the CPU has.
  EXPECT_TRUE((detected_cpu_features() & kCpuAmxInt8) == 0 || kernel_says("amx_int8"));
#endif
}

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
