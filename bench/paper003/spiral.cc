// SPDX-License-Identifier: Apache-2.0
// Times Spiral's server stage by stage on a database in memory. A benchmark is a plan. Its time is that of
// one pass of the server, as the library's profile finds it: the median of --samples, in CPU time if one
// thread computes, or in wall-clock time with --wall=1. Counters hold the milliseconds of each stage, and the
// bits of the error at each stage, measured and by the model.
//
// --study=1 compares bases of the gadget ("3-PIR", Figure 4). All plans have the same ring, security, kernels
// and form of folding. Each base comes twice: with everything else as in the chosen set, and with everything
// else chosen anew for this base.
#include <cmath>
#include <cstring>

#include "gbench.h"
#include "pirx/base/buffer.h"
#include "pirx/cpir/spiral/profile.h"

namespace {

using pirx::bench::need;
using pirx::bench::Program;
namespace spiral = pirx::cpir::spiral;

std::string gadget_name(const spiral::Gadget& gadget) {
  const auto& spec = gadget.spec();
  std::string name = std::to_string(spec.z) + "^" + std::to_string(gadget.digits());
  if (gadget.delta() > 1) name += " of " + std::to_string(gadget.delta());
  return name + (spec.domain == spiral::Domain::kResidues ? " residues" : "");
}

std::string plan_name(const spiral::Params& params) {
  const auto& scheme = params.scheme();
  return std::to_string(params.rows()) + " x " + std::to_string(params.columns()) + ", p 2^" +
         std::to_string(scheme.log_p) + ", pack " + std::to_string(scheme.pack) + ", trials " +
         std::to_string(params.trials()) + ", q2 2^" + std::to_string(scheme.log_q2) + ", fold " +
         gadget_name(params.fold()) + ", left " + gadget_name(params.left()) + ", right " +
         gadget_name(params.right()) + ", conversion " + gadget_name(params.conversion()) +
         ", log2 failure " + std::to_string(std::lround(params.noise().log2_failure));
}

/// A plan that cannot be has an error instead of a time.
void add_plan(const std::string& name, pirx::Result<spiral::Params> plan,
              const spiral::ProfileOptions& options) {
  const auto loop = [plan, options](benchmark::State& state) {
    if (!plan) return state.SkipWithError(plan.error().message().c_str());
    const auto& params = *plan;
    spiral::Profile found;
    for (auto _ : state) {
      found = need(spiral::profile(params, options));
      state.SetIterationTime(found.total);
    }
    if (found.wrong > 0) return Program::wrong(state, "an answer is wrong");
    state.SetLabel(plan_name(params));
    const double folds = static_cast<double>(params.polynomials() * (params.columns() - 1)) * options.queries;
    const auto encoded = static_cast<double>(params.encoded_bytes());
    state.counters = {{"expansion", found.expansion * 1e3},
                      {"conversion", found.conversion * 1e3},
                      {"first_dimension", found.first_dimension * 1e3},
                      {"folding", found.folding * 1e3},
                      {"packing", found.packing * 1e3},
                      {"external_product", folds > 0 ? found.folding / folds * 1e3 : 0},
                      {"first_dimension_gb_per_s", encoded / found.first_dimension * 1e-9},
                      {"client_keys", found.keys * 1e3},
                      {"client_query", found.query * 1e3},
                      {"client_decode", found.decode * 1e3},
                      {"once_encode", found.encode * 1e3},
                      {"once_hold_keys", found.hold_keys * 1e3},
                      {"keys_bytes", static_cast<double>(params.keys_bytes())},
                      {"query_bytes", static_cast<double>(params.request_bytes())},
                      {"reply_bytes", static_cast<double>(params.reply_bytes())},
                      {"encoded_bytes", encoded}};
    const auto deviation = [&](const std::string& stage, double spiral::Noise::*variance) {
      const auto bits = [](double x) { return x > 0 ? std::log2(x) / 2 : 0; };
      state.counters[stage + "_bits"] = bits(found.noise.*variance);
      state.counters[stage + "_bits_by_model"] = bits(params.noise().*variance);
    };
    deviation("expanded", &spiral::Noise::expanded);
    deviation("gsw_bit", &spiral::Noise::gsw_bit);
    deviation("gsw_secret", &spiral::Noise::gsw_secret);
    deviation("first", &spiral::Noise::first);
    deviation("folded", &spiral::Noise::folded);
    deviation("packed", &spiral::Noise::packed);
  };
  benchmark::RegisterBenchmark(name.c_str(), loop)
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

/// Looks for a byte that is not there, in memory as large as the encoded database, from 64 MiB to 1 GiB.
void read_memory(benchmark::State& state, std::uint64_t size) {
  auto buffer =
      need(pirx::AlignedBuffer::create(std::clamp(size, std::uint64_t{1} << 26, std::uint64_t{1} << 30)));
  std::memset(buffer.data(), 2, buffer.size());
  for (auto _ : state) benchmark::DoNotOptimize(std::memchr(buffer.data(), 1, buffer.size()));
  state.counters["gb_per_s"] = benchmark::Counter(static_cast<double>(buffer.size()) * 1e-9,
                                                  benchmark::Counter::kIsIterationInvariantRate);
}

void add_study(const pirx::database::Geometry& geometry, const spiral::Params& params,
               const spiral::ProfileOptions& options) {
  using Spec = spiral::Gadget::Spec;
  const auto with = [&](auto change) {
    auto scheme = params.scheme();
    change(scheme);
    return spiral::Params::create({geometry, {}, scheme});
  };
  // 638, 2319: the smallest bases with 6 and 5 digits.
  for (const auto& base : {Spec{.z = 2}, Spec{.z = 3}, Spec{.z = 4}, Spec{.z = 5}, Spec{.z = 7},
                           Spec{.z = 16}, Spec{.z = 27}, Spec{.z = 128}, Spec{.z = 256}, Spec{.z = 638},
                           Spec{.z = 2319}, Spec{.z = 4096}, Spec{.z = 3, .drop = 18},
                           Spec{.z = 512, .drop = 3, .bits = 2}, Spec{.z = 4096, .drop = 2, .bits = 8}}) {
    const auto name = "folding/" + gadget_name(need(spiral::Gadget::create(base)));
    const auto frozen = with([&](auto& scheme) { scheme.fold = base; });
    add_plan(name + "/frozen", frozen, options);
    if (base.z <= 3 && base.drop == 0) {
      auto as_in_the_paper = options;
      as_in_the_paper.two_products = true;
      add_plan(name + "/frozen, two products", frozen, as_in_the_paper);
    }
    add_plan(name + "/chosen", spiral::choose_params(geometry, {}, {.fold = base}), options);
  }
  for (const auto& base :
       {Spec{.z = 2}, Spec{.z = 3}, Spec{.z = 4}, Spec{.z = 8}, Spec{.z = 16}, Spec{.z = 64}}) {
    const auto name = "expansion/" + gadget_name(need(spiral::Gadget::create(base)));
    add_plan(name + "/frozen", with([&](auto& scheme) { scheme.left = scheme.right = base; }), options);
    add_plan(name + "/chosen",
             spiral::choose_params(geometry, {}, {.keys_bytes = 32'000'000, .expansion = base}), options);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Program program(argc, argv);
  const auto records = program.number("records", 1u << 20, 1, 1u << 30);
  const auto bytes = program.number("bytes", 256, 1, 1u << 24);
  const auto set = program.text("set", "s1");                // best: chosen for this database; c1 is insecure
  const auto log_columns = program.text("log_columns", "");  // instead of the set's
  spiral::ProfileOptions options;
  options.threads = static_cast<int>(program.number("threads", 1, 1, 1024));
  options.samples = static_cast<unsigned>(program.number("samples", 5, 1, 1000));
  options.queries = static_cast<unsigned>(program.number("queries", 1, 1, 64));  // in one pass
  options.wall = program.number("wall", 0, 0, 1) != 0;
  const bool study = program.number("study", 0, 0, 1) != 0;
  program.start();

  const auto geometry = need(pirx::database::Geometry::create({records, bytes, 1, false, false}));
  const auto plan = [&]() -> pirx::Result<spiral::Params> {
    if (set == "best") return spiral::choose_params(geometry, {});
    auto scheme = spiral::named_scheme(set);
    if (!scheme)
      return pirx::invalid("--set: no set is called " + set + ": there are " +
                           std::string(spiral::kSchemeNames));
    if (!log_columns.empty())
      scheme->log_columns = static_cast<unsigned>(need(pirx::parse_whole_number(log_columns, 0, 12)));
    return spiral::Params::create({geometry, {}, *scheme});
  };
  const auto params = need(plan());
  benchmark::AddCustomContext("threads", std::to_string(options.threads));
  benchmark::AddCustomContext("clock", options.threads == 1 && !options.wall ? "cpu" : "wall");
  add_plan(set, params, options);
  benchmark::RegisterBenchmark("read", read_memory, params.encoded_bytes())
      ->Repetitions(5)  // the report takes the fastest
      ->Unit(benchmark::kMillisecond);
  for (const auto& kernel : spiral::kernel_times()) {
    const auto report = [kernel](benchmark::State& state) {
      for (auto _ : state) state.SetIterationTime(kernel.forward);
      state.counters["inverse"] = kernel.inverse * 1e6;
    };
    benchmark::RegisterBenchmark((std::string("transform/") + kernel.kernel).c_str(), report)
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
  if (study) add_study(geometry, params, options);
  return Program::run();
}
