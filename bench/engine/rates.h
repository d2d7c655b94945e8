// How many of the instructions that the kernels live on this CPU runs per second, on one core.
#pragma once

#include <string>
#include <vector>

namespace pirx::bench {

struct InstructionRate {
  std::string name;  ///< mnemonic, "_", bits of the vector; "clock": cycles
  double per_second;
};

/// The best of several short loops for each instruction that this CPU has. Takes about a fifth of a second.
std::vector<InstructionRate> measure_instruction_rates();

}  // namespace pirx::bench
