// SPDX-License-Identifier: Apache-2.0
// How often per second the CPU runs an instruction. Each loop repeats one instruction on twelve registers,
// which hides its latency. The loops are in assembly, so that neither compiler nor flags change what is
// measured. A loop runs only if the CPU has its instruction.
#include "bench/engine/rates.h"

namespace pirx::bench {

#if defined(__x86_64__)

#define PIRX_ONE(op, width, n) op " %%" width "12, %%" width #n ", %%" width #n "\n\t"
#define PIRX_LOAD(op, width, n) op " 64(%1), %%" width #n "\n\t"
#define PIRX_TWELVE(one, op, width)                                                             \
  one(op, width, 0) one(op, width, 1) one(op, width, 2) one(op, width, 3) one(op, width, 4)     \
      one(op, width, 5) one(op, width, 6) one(op, width, 7) one(op, width, 8) one(op, width, 9) \
          one(op, width, 10) one(op, width, 11)
#define PIRX_LOOP(one, op, width)                                                                          \
  [](std::uint64_t loops) {                                                                                \
    alignas(64) static const unsigned char memory[128] = {};                                               \
    asm volatile("1:\n\t" PIRX_TWELVE(one, op, width)                                                      \
                     PIRX_TWELVE(one, op, width) "dec %0\n\tjnz 1b\n\tvzeroupper"                          \
                 : "+r"(loops)                                                                             \
                 : "r"(memory)                                                                             \
                 : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
                   "xmm9", "xmm10", "xmm11", "xmm12");                                                     \
  }

namespace {

constexpr int kInLoop = 24;  // twelve, twice
constexpr std::uint64_t kRuns = 50000;

// Dependent multiplications of three cycles each, on every x86-64 CPU of this century: the clock.
void run_clock(std::uint64_t loops) {
  std::uint64_t value = 1;
  asm volatile(
      "1:\n\t"
      "imul %1, %1\n\timul %1, %1\n\timul %1, %1\n\timul %1, %1\n\t"
      "imul %1, %1\n\timul %1, %1\n\timul %1, %1\n\timul %1, %1\n\t"
      "dec %0\n\tjnz 1b"
      : "+r"(loops), "+r"(value)
      :
      : "cc");
}

// Four tiles of sums, so that none waits for the one before.
void run_tiles(std::uint64_t loops) {
  alignas(64) static const unsigned char config[64] = {
      1,  0,  0,  0,  0,  0,  0,  0,  0,  0, 0,  0, 0,  0, 0,  0,  //
      64, 0,  64, 0,  64, 0,  64, 0,  64, 0, 64, 0, 64, 0, 64, 0,  //
      0,  0,  0,  0,  0,  0,  0,  0,  0,  0, 0,  0, 0,  0, 0,  0,  //
      16, 16, 16, 16, 16, 16, 16, 16, 0,  0, 0,  0, 0,  0, 0,  0};
#define PIRX_FOUR_TILES                                                  \
  "tdpbsud %%tmm6, %%tmm4, %%tmm0\n\ttdpbsud %%tmm6, %%tmm5, %%tmm1\n\t" \
  "tdpbsud %%tmm7, %%tmm4, %%tmm2\n\ttdpbsud %%tmm7, %%tmm5, %%tmm3\n\t"
  asm volatile(
      "ldtilecfg (%1)\n\t"
      "1:\n\t" PIRX_FOUR_TILES PIRX_FOUR_TILES PIRX_FOUR_TILES PIRX_FOUR_TILES PIRX_FOUR_TILES PIRX_FOUR_TILES
      "dec %0\n\tjnz 1b\n\ttilerelease"
      : "+r"(loops)
      : "r"(config)
      : "cc", "memory");
}

struct Loop {
  const char* name;
  CpuFeatures needs;
  void (*run)(std::uint64_t loops);
};

constexpr Loop kLoops[] = {
    {"clock", 0, run_clock},
    {"vgf2p8affineqb_512", kCpuAvx512 | kCpuGfni, PIRX_LOOP(PIRX_ONE, "vgf2p8affineqb $0,", "zmm")},
    {"vgf2p8affineqb_256", kCpuAvx2 | kCpuGfni, PIRX_LOOP(PIRX_ONE, "vgf2p8affineqb $0,", "ymm")},
    {"vgf2p8mulb_512", kCpuAvx512 | kCpuGfni, PIRX_LOOP(PIRX_ONE, "vgf2p8mulb", "zmm")},
    {"vgf2p8mulb_256", kCpuAvx2 | kCpuGfni, PIRX_LOOP(PIRX_ONE, "vgf2p8mulb", "ymm")},
    {"vpmadd52luq_512", kCpuAvx512 | kCpuAvx512Ifma, PIRX_LOOP(PIRX_ONE, "vpmadd52luq", "zmm")},
    {"vpmadd52huq_512", kCpuAvx512 | kCpuAvx512Ifma, PIRX_LOOP(PIRX_ONE, "vpmadd52huq", "zmm")},
    {"tdpbsud", kCpuAmxInt8, run_tiles},
    {"vpdpbusd_512", kCpuAvx512 | kCpuAvx512Vnni, PIRX_LOOP(PIRX_ONE, "vpdpbusd", "zmm")},
    {"vpmaddwd_256", kCpuAvx2, PIRX_LOOP(PIRX_ONE, "vpmaddwd", "ymm")},
    {"vpshufb_512", kCpuAvx512, PIRX_LOOP(PIRX_ONE, "vpshufb", "zmm")},
    {"vpshufb_256", kCpuAvx2, PIRX_LOOP(PIRX_ONE, "vpshufb", "ymm")},
    {"vpternlogq_512", kCpuAvx512, PIRX_LOOP(PIRX_ONE, "vpternlogq $0x96,", "zmm")},
    {"vpxor_256", kCpuAvx2, PIRX_LOOP(PIRX_ONE, "vpxor", "ymm")},
    {"vpmuludq_256", kCpuAvx2, PIRX_LOOP(PIRX_ONE, "vpmuludq", "ymm")},
    {"vaesenc_512", kCpuAvx512 | kCpuVaes, PIRX_LOOP(PIRX_ONE, "vaesenc", "zmm")},
    {"vaesenc_128", kCpuAvx2 | kCpuAes, PIRX_LOOP(PIRX_ONE, "vaesenc", "xmm")},
    {"load_512", kCpuAvx512, PIRX_LOOP(PIRX_LOAD, "vmovdqu64", "zmm")},
};

}  // namespace

double instruction_rate(std::string_view name) {
  for (const Loop& of : kLoops) {
    if (of.name != name || (of.needs & ~detected_cpu_features()) != 0) continue;
    double best = 0;
    for (int round = 0; round < 5; ++round) {
      const double seconds = seconds_of([&] { of.run(kRuns); }, processor_clock);
      best = std::max(best, static_cast<double>(kRuns * kInLoop) / seconds);
    }
    return best;
  }
  return 0;
}

void add_instruction_rates() {
  for (const Loop& of : kLoops) {
    if ((of.needs & ~detected_cpu_features()) != 0) continue;
    const auto run = [instructions = of.run](benchmark::State& state) {
      for (auto _ : state) instructions(kRuns);
      state.counters["per_second"] = {kRuns * kInLoop, benchmark::Counter::kIsIterationInvariantRate};
    };
    benchmark::RegisterBenchmark((std::string("rate/instruction:") + of.name).c_str(), run);
  }
}

#else

double instruction_rate(std::string_view) { return 0; }
void add_instruction_rates() {}

#endif

}  // namespace pirx::bench
