// SPDX-License-Identifier: Apache-2.0
// libFuzzer's side. One program has all targets; PIRX_FUZZ_TARGET names the one that runs.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const pirx::fuzz::Target* const target = [] {
    const char* name = std::getenv("PIRX_FUZZ_TARGET");
    const auto* found = pirx::fuzz::find_target(name == nullptr ? "" : name);
    if (found == nullptr) {
      std::fprintf(stderr, "PIRX_FUZZ_TARGET names no target of tests/fuzz/targets.txt\n");
      std::exit(2);
    }
    return found;
  }();
  pirx::fuzz::run(*target, {reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
