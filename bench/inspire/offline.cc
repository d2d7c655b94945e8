// SPDX-License-Identifier: Apache-2.0
// Times what Inspire's server computes ahead of all queries: blocks of 2048 columns, at the rows of a
// database of 1 GiB by default.
//
// block/set:{8,16}/rows:.../threads:...
//
// Times are processor time, divided by the blocks, of which every thread builds one. A block is first built
// with the portable kernels, and the others must give the same bytes. The counter s_per_gib is for a GiB of
// data and one core; share_of_transforms is the time of the data's transforms alone, by that of a transform
// in the cache.
#include <cstring>
#include <random>

#include "bench/gbench.h"
#include "bench/measure.h"
#include "cpir/inspire/block_builder.h"
#include "pirx/cpir/spiral/profile.h"

namespace pirx::bench {
namespace {

using benchmark::State;
using cpir::inspire::BlockBuilder;
using cpir::inspire::Params;
using cpir::inspire::Set;

Params params_of(const Set& set, std::size_t rows, std::size_t blocks) {
  const auto geometry = need(database::Geometry::create({.records = rows,
                                                         .record_bytes = blocks * set.d() * set.word_bytes(),
                                                         .variable_length = false,
                                                         .digests = false}));
  Params::Spec spec{
      .geometry = geometry, .version = {}, .set = set, .layout = {}, .t = set.most_t(), .tr = set.w + 4};
  return need(Params::create(std::move(spec)));
}

struct Built {
  explicit Built(const Params& params)
      : masks(params.masks_bytes()),
        packing(params.set().l * params.d() * params.d() * params.set().packing_bytes) {}
  Bytes masks, packing;
};

void run_block(State& state, const Set& set, std::size_t rows, int threads) {
  const auto team = static_cast<std::size_t>(threads);
  const Params params = params_of(set, rows, team);
  const std::size_t row_bytes = params.row_bytes();
  auto data = need(AlignedBuffer::create(rows * row_bytes));
  std::mt19937_64 engine(rows);
  for (std::size_t i = 0; i < rows * row_bytes; i += 8) store_le(data.data() + i, std::uint64_t{engine()});
  const auto read = [&](std::size_t row, std::size_t first, std::size_t count, std::byte* out) {
    std::memcpy(out, data.data() + row * row_bytes + first * set.word_bytes(), count * set.word_bytes());
  };
  const cpir::Ring& ring = cpir::Ring::get(set.log_d);
  const auto builder = need(BlockBuilder::create(params, ring, threads));
  std::vector<cpir::inspire::BlockScratch> scratch;
  std::vector<Built> out(team, Built(params));
  for (std::size_t i = 0; i < team; ++i) scratch.push_back(need(builder.scratch()));
  const auto build = [&] {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::size_t i = 0; i < team; ++i)
      need(builder.build(i, read, scratch[i], {out[i].masks, out[i].packing}));
  };
  build();
  {
    const cpir::Ring plain(set.log_d, cpir::kPortableKernel);
    const auto reference = need(BlockBuilder::create(params, plain, 1));
    Built expected(params);
    need(reference.build(team - 1, read, scratch[0], {expected.masks, expected.packing}));
    spoil(expected.packing);
    if (expected.masks != out.back().masks || expected.packing != out.back().packing) {
      return Program::wrong(state, "a wrong answer");
    }
  }
  double transform = 1, wall = 0;
  for (const auto& kernel : cpir::spiral::kernel_times()) transform = std::min(transform, kernel.forward);
  const auto timed = [&] { wall += seconds_of(build); };
  const double seconds = processor_loop(
      state, [] {}, timed, 1.0 / threads);
  const double bytes = static_cast<double>(rows) * static_cast<double>(set.d() * set.word_bytes());
  const double transforms = 2 * static_cast<double>(params.row_blocks() * set.d());
  state.counters["wall_ms"] = wall / static_cast<double>(state.iterations()) * 1e3;
  state.counters["s_per_gib"] = seconds / bytes * (1 << 30);
  state.counters["share_of_transforms"] = transforms * transform / seconds;
  state.counters["scratch_mb"] = static_cast<double>(BlockBuilder::scratch_bytes(params)) / 1e6;
}

void run(Program& program) {
  const auto sets = program.numbers<unsigned>("set", "8,16", 8, 16);
  const auto rows_list = program.numbers<std::size_t>("rows", "20165", 1, Params::kMostRows);
  const auto threads_list = program.numbers<int>("threads", "1", 1, 64);
  program.start();
  benchmark::AddCustomContext("kernel", cpir::usable_kernels().back()->name);
  for (const unsigned w : sets) {
    for (const auto rows : rows_list) {
      for (const int threads : threads_list) {
        const std::string name = "block/set:" + std::to_string(w) + "/rows:" + std::to_string(rows) +
                                 "/threads:" + std::to_string(threads);
        benchmark::RegisterBenchmark(name.c_str(),
                                     [=](State& state) {
                                       run_block(state, w == 8 ? cpir::inspire::kS8 : cpir::inspire::kS16,
                                                 rows, threads);
                                     })
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}

}  // namespace
}  // namespace pirx::bench

int main(int argc, char** argv) {
  pirx::bench::Program program(argc, argv);
  pirx::bench::run(program);
  return pirx::bench::Program::run();
}
