// SPDX-License-Identifier: Apache-2.0
// Figure 4 of paper 003 (Litchev 2024): one product of a query ciphertext and a ciphertext, for many bases of
// the gadget. Processor time of one thread, everything in the cache, medians of --samples.
//
// product/gadget:...   the time is that of the fused product; counters have its parts in microseconds.
// noise_bits is half the log2 of the sum of the squares of a coefficient's digits, by which a product
// multiplies the deviation of a key's errors; noise_bits_by_model is what the library's noise model says.
#include <cmath>

#include "gbench.h"
#include "pirx/cpir/spiral/profile.h"

namespace pirx::bench {
namespace {

using cpir::spiral::Domain;
using cpir::spiral::Gadget;

void add_gadget(const Gadget::Spec& spec, unsigned samples) {
  const auto gadget = need(Gadget::create(spec));
  std::string name = "product/gadget:" + std::to_string(spec.z);
  if (spec.domain == Domain::kUnsigned) name += "_unsigned";
  if (gadget.delta() > 1) name += "_cut";
  const auto loop = [gadget, samples](benchmark::State& state) {
    const auto found = need(cpir::spiral::profile_product(gadget, samples));
    if (!found.right) return Program::wrong(state, "a wrong product");
    for (auto _ : state) state.SetIterationTime(found.fused);
    const double by_model = std::log2(gadget.mean_square()) / 2;
    state.counters = {{"digits", gadget.digits()},
                      {"inversion", found.inversion * 1e6},
                      {"separate", found.separate * 1e6},
                      {"fused", found.fused * 1e6},
                      {"noise_bits", std::log2(found.squares) / 2},
                      {"noise_bits_by_model", by_model}};
  };
  benchmark::RegisterBenchmark(name.c_str(), loop)
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace
}  // namespace pirx::bench

int main(int argc, char** argv) {
  pirx::bench::Program program(argc, argv);
  const auto bases = program.numbers<std::uint32_t>(
      "bases", "2,3,4,5,7,8,9,16,27,32,64,81,128,243,256,512,638,1024,2048,2319,4096", 2, 1u << 16);
  const auto samples = static_cast<unsigned>(program.number("samples", 101, 1, 1'000'000));
  program.start();
  using pirx::bench::add_gadget;
  add_gadget({.z = 2, .domain = pirx::cpir::spiral::Domain::kUnsigned}, samples);  // as Spiral has base 2
  for (const auto z : bases) add_gadget({.z = z}, samples);
  add_gadget({.z = 512, .drop = 3, .bits = 2}, samples);  // those of sets s1 and s3
  add_gadget({.z = 4096, .drop = 2, .bits = 8}, samples);
  return pirx::bench::Program::run();
}
