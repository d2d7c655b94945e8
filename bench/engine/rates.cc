// Loops of one instruction on twelve registers, enough to hide its latency. In assembly, so that no compiler
// and no flag of the build decides what is measured; a loop runs only where the CPU has its instruction.
#include "bench/engine/peers.h"

namespace pirx::bench {

#if defined(__x86_64__)

#define PIRX_ONE(op, width, n) op " %%" width "12, %%" width #n ", %%" width #n "\n\t"
#define PIRX_LOAD(width, n) "vmovdqu64 64(%1), %%" width #n "\n\t"
#define PIRX_TWELVE(one) one(0) one(1) one(2) one(3) one(4) one(5) one(6) one(7) one(8) one(9) one(10) one(11)
#define PIRX_LOOP(body)                                                                                    \
  [](std::uint64_t loops) {                                                                                \
    alignas(64) static const unsigned char memory[128] = {};                                               \
    asm volatile("1:\n\t" body body "dec %0\n\tjnz 1b\n\tvzeroupper"                                       \
                 : "+r"(loops)                                                                             \
                 : "r"(memory)                                                                             \
                 : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
                   "xmm9", "xmm10", "xmm11", "xmm12");                                                     \
  }

namespace {

constexpr int kInLoop = 24;  // twelve, twice

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

#define PIRX_AFFINE_512(n) PIRX_ONE("vgf2p8affineqb $0,", "zmm", n)
#define PIRX_AFFINE_256(n) PIRX_ONE("vgf2p8affineqb $0,", "ymm", n)
#define PIRX_MUL_512(n) PIRX_ONE("vgf2p8mulb", "zmm", n)
#define PIRX_MUL_256(n) PIRX_ONE("vgf2p8mulb", "ymm", n)
#define PIRX_MADD_LOW_512(n) PIRX_ONE("vpmadd52luq", "zmm", n)
#define PIRX_MADD_HIGH_512(n) PIRX_ONE("vpmadd52huq", "zmm", n)
#define PIRX_SHUFFLE_512(n) PIRX_ONE("vpshufb", "zmm", n)
#define PIRX_SHUFFLE_256(n) PIRX_ONE("vpshufb", "ymm", n)
#define PIRX_TERNARY_512(n) PIRX_ONE("vpternlogq $0x96,", "zmm", n)
#define PIRX_XOR_256(n) PIRX_ONE("vpxor", "ymm", n)
#define PIRX_MULTIPLY_256(n) PIRX_ONE("vpmuludq", "ymm", n)
#define PIRX_DOT_512(n) PIRX_ONE("vpdpbusd", "zmm", n)
#define PIRX_MADDW_256(n) PIRX_ONE("vpmaddwd", "ymm", n)
#define PIRX_LOAD_512(n) PIRX_LOAD("zmm", n)

constexpr Loop kLoops[] = {
    {"clock", 0, run_clock},
    {"vgf2p8affineqb_512", kCpuAvx512 | kCpuGfni, PIRX_LOOP(PIRX_TWELVE(PIRX_AFFINE_512))},
    {"vgf2p8affineqb_256", kCpuAvx2 | kCpuGfni, PIRX_LOOP(PIRX_TWELVE(PIRX_AFFINE_256))},
    {"vgf2p8mulb_512", kCpuAvx512 | kCpuGfni, PIRX_LOOP(PIRX_TWELVE(PIRX_MUL_512))},
    {"vgf2p8mulb_256", kCpuAvx2 | kCpuGfni, PIRX_LOOP(PIRX_TWELVE(PIRX_MUL_256))},
    {"vpmadd52luq_512", kCpuAvx512 | kCpuAvx512Ifma, PIRX_LOOP(PIRX_TWELVE(PIRX_MADD_LOW_512))},
    {"vpmadd52huq_512", kCpuAvx512 | kCpuAvx512Ifma, PIRX_LOOP(PIRX_TWELVE(PIRX_MADD_HIGH_512))},
    {"tdpbsud", kCpuAmxInt8, run_tiles},
    {"vpdpbusd_512", kCpuAvx512 | kCpuAvx512Vnni, PIRX_LOOP(PIRX_TWELVE(PIRX_DOT_512))},
    {"vpmaddwd_256", kCpuAvx2, PIRX_LOOP(PIRX_TWELVE(PIRX_MADDW_256))},
    {"vpshufb_512", kCpuAvx512, PIRX_LOOP(PIRX_TWELVE(PIRX_SHUFFLE_512))},
    {"vpshufb_256", kCpuAvx2, PIRX_LOOP(PIRX_TWELVE(PIRX_SHUFFLE_256))},
    {"vpternlogq_512", kCpuAvx512, PIRX_LOOP(PIRX_TWELVE(PIRX_TERNARY_512))},
    {"vpxor_256", kCpuAvx2, PIRX_LOOP(PIRX_TWELVE(PIRX_XOR_256))},
    {"vpmuludq_256", kCpuAvx2, PIRX_LOOP(PIRX_TWELVE(PIRX_MULTIPLY_256))},
    {"load_512", kCpuAvx512, PIRX_LOOP(PIRX_TWELVE(PIRX_LOAD_512))},
};

}  // namespace

void add_instruction_rates() {
  constexpr std::uint64_t kRuns = 50000;
  for (const Loop& of : kLoops) {
    if ((of.needs & ~detected_cpu_features()) != 0) continue;
    const auto run = [instructions = of.run](benchmark::State& state) {
      const double seconds = loop(state, [&] { instructions(kRuns); });
      state.counters["per_second"] = kRuns * kInLoop / seconds;
    };
    benchmark::RegisterBenchmark((std::string("rate/instruction:") + of.name).c_str(), run);
  }
}

#else

void add_instruction_rates() {}

#endif

}  // namespace pirx::bench
