// SPDX-License-Identifier: Apache-2.0
// How often per second the CPU runs the instructions of the kernels.
#pragma once

#include "bench/measure.h"

namespace pirx::bench {

/// Registers rate/instruction:<mnemonic>_<bits of the vector> for each instruction of the kernels that this
/// CPU has, and rate/instruction:clock, the cycles. The counter per_second is of one core.
void add_instruction_rates();

/// The rate of one of these instructions, by a measurement of some milliseconds of processor time. 0: the CPU
/// does not have it.
double instruction_rate(std::string_view name);

}  // namespace pirx::bench
