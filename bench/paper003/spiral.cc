// Spiral's server stage by stage on a database in memory, and with --study what the base of the gadget is
// worth ("3-PIR", Figure 4 and beyond): every base with the same ring, security, kernels and form of folding,
// once with everything else as in the chosen set, once with everything else chosen anew for the base. Answers
// are checked, and the error at every stage is measured beside the model. Prints JSON. Times of one thread
// are times of its CPU.
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "pirx/base/buffer.h"
#include "pirx/base/cpu.h"
#include "pirx/cpir/spiral/profile.h"

namespace {

using Json = nlohmann::ordered_json;
namespace spiral = pirx::cpir::spiral;

struct Arguments {
  std::uint64_t records = std::uint64_t{1} << 20, bytes = 256;
  std::string set = "s1";
  int log_columns = -1, threads = 1;
  unsigned samples = 5, queries = 1;
  bool study = false, wall = false;
};

template <class T>
T need(pirx::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "paper003_spiral: %s\n", result.error().to_string().c_str());
    std::exit(1);
  }
  return std::move(*result);
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Bytes a second of looking for a byte that is not there in memory as large as the encoded database, from 64
/// MiB to 1 GiB: the best of five.
double read_bandwidth(std::uint64_t size) {
  auto buffer =
      need(pirx::AlignedBuffer::create(std::clamp(size, std::uint64_t{1} << 26, std::uint64_t{1} << 30)));
  std::memset(buffer.data(), 2, buffer.size());
  double best = 0;
  for (int sample = 0; sample < 5; ++sample) {
    const double start = cpu_seconds();
    if (std::memchr(buffer.data(), 1, buffer.size()) != nullptr) return 0;
    best = std::max(best, static_cast<double>(buffer.size()) / (cpu_seconds() - start));
  }
  return best;
}

std::string gadget_name(const spiral::Gadget& gadget) {
  const auto& spec = gadget.spec();
  std::string name = std::to_string(spec.z) + "^" + std::to_string(gadget.digits());
  if (gadget.delta() > 1) name += " of " + std::to_string(gadget.delta());
  return name + (spec.domain == spiral::Domain::kResidues ? " residues" : "");
}

/// Bits of a deviation.
double bits(double variance) { return variance > 0 ? std::log2(variance) / 2 : 0; }

Json measure(const spiral::Params& params, const Arguments& a, bool two_products, double& total) {
  const auto found = need(spiral::profile(params, {.threads = a.threads,
                                                   .wall = a.wall,
                                                   .samples = a.samples,
                                                   .queries = a.queries,
                                                   .two_products = two_products}));
  const auto& model = params.noise();
  const auto& scheme = params.scheme();
  if (found.wrong > 0) {
    std::fprintf(stderr, "paper003_spiral: an answer is wrong\n");
    std::exit(1);
  }
  total = found.total;
  const double folds = static_cast<double>(params.polynomials() * (params.columns() - 1)) * a.queries;
  const auto noise = [](double measured, double expected) {
    return Json{{"measured", bits(measured)}, {"model", bits(expected)}};
  };
  return {
      {"plan",
       {{"rows", params.rows()},
        {"columns", params.columns()},
        {"log_p", scheme.log_p},
        {"pack", scheme.pack},
        {"trials", params.trials()},
        {"log_q2", scheme.log_q2},
        {"fold", gadget_name(params.fold())},
        {"left", gadget_name(params.left())},
        {"right", gadget_name(params.right())},
        {"conversion", gadget_name(params.conversion())},
        {"log2_failure", model.log2_failure}}},
      {"bytes",
       {{"keys", params.keys_bytes()},
        {"query", params.request_bytes()},
        {"reply", params.reply_bytes()},
        {"encoded_database", params.encoded_bytes()}}},
      {"server_ms",
       {{"expansion", found.expansion * 1e3},
        {"conversion", found.conversion * 1e3},
        {"first_dimension", found.first_dimension * 1e3},
        {"folding", found.folding * 1e3},
        {"packing", found.packing * 1e3},
        {"total", found.total * 1e3}}},
      {"external_product_us", folds > 0 ? found.folding / folds * 1e6 : 0},
      {"first_dimension_gb_per_s",
       static_cast<double>(params.encoded_bytes()) / found.first_dimension * 1e-9},
      {"client_ms",
       {{"keys", found.keys * 1e3}, {"query", found.query * 1e3}, {"decode", found.decode * 1e3}}},
      {"once_s", {{"encode", found.encode}, {"hold_keys", found.hold_keys}}},
      {"deviation_bits",
       {{"expanded", noise(found.noise.expanded, model.expanded)},
        {"gsw_bit", noise(found.noise.gsw_bit, model.gsw_bit)},
        {"gsw_secret", noise(found.noise.gsw_secret, model.gsw_secret)},
        {"first", noise(found.noise.first, model.first)},
        {"folded", noise(found.noise.folded, model.folded)},
        {"packed", noise(found.noise.packed, model.packed)}}},
  };
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  CLI::App app("Spiral stage by stage, and the study of the gadget's base");
  app.add_option("--records", a.records)->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 30));
  app.add_option("--bytes", a.bytes, "Of a record")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 24));
  app.add_option("--set", a.set, std::string(spiral::kSchemeNames) + ", best, or c1, which is insecure");
  app.add_option("--log-columns", a.log_columns, "Instead of the set's")->check(CLI::Range(0, 12));
  app.add_option("--threads", a.threads)->check(CLI::Range(1, 1024));
  app.add_option("--samples", a.samples)->check(CLI::Range(1, 1000));
  app.add_option("--queries", a.queries, "Of several clients, in one pass")->check(CLI::Range(1, 64));
  app.add_flag("--wall", a.wall, "Times of one thread by the clock on the wall, too");
  app.add_flag("--study", a.study, "Every base in turn");
  CLI11_PARSE(app, argc, argv);

  const auto geometry = need(pirx::database::Geometry::create({a.records, a.bytes, 1, false, false}));
  const auto plan = [&]() -> pirx::Result<spiral::Params> {
    if (a.set == "best") return spiral::choose_params(geometry, {});
    auto scheme = spiral::named_scheme(a.set);
    if (!scheme) return pirx::fail(pirx::ErrorCode::kInvalidArgument, "no set is called " + a.set);
    if (a.log_columns >= 0) scheme->log_columns = static_cast<unsigned>(a.log_columns);
    return spiral::Params::create({geometry, {}, *scheme});
  };
  const auto params = need(plan());
  double total = 0;
  Json json = {{"kind", "spiral"},
               {"cpu", pirx::cpu_features_name(need(pirx::allowed_cpu_features()))},
               {"compiler", __VERSION__},
               {"records", a.records},
               {"record_bytes", a.bytes},
               {"threads", a.threads},
               {"clock", a.threads == 1 && !a.wall ? "cpu" : "wall"},
               {"samples", a.samples},
               {"queries", a.queries},
               {"read_gb_per_s", read_bandwidth(params.encoded_bytes()) * 1e-9}};
  for (const auto& kernel : spiral::kernel_times()) {
    json["transform_us"][kernel.kernel] = {{"forward", kernel.forward * 1e6},
                                           {"inverse", kernel.inverse * 1e6}};
  }
  json["set"] = a.set;
  json["result"] = measure(params, a, false, total);
  if (a.study) {
    using Spec = spiral::Gadget::Spec;
    // 638, 2319: the smallest bases with 6 and 5 digits.
    const Spec bases[] = {{.z = 2},
                          {.z = 3},
                          {.z = 4},
                          {.z = 5},
                          {.z = 7},
                          {.z = 16},
                          {.z = 27},
                          {.z = 128},
                          {.z = 256},
                          {.z = 638},
                          {.z = 2319},
                          {.z = 3, .drop = 18},
                          {.z = 512, .drop = 3, .bits = 2},
                          {.z = 4096, .drop = 2, .bits = 8}};
    const auto row = [&](const Spec& base, const char* how, const pirx::Result<spiral::Params>& with,
                         bool two_products) {
      Json out = {{"base", base.z},
                  {"gadget", gadget_name(need(spiral::Gadget::create(base)))},
                  {"rest", how},
                  {"form", two_products ? "two products" : "cmux"}};
      if (with) {
        double time = 0;
        out.update(measure(*with, a, two_products, time));
      } else {
        out["impossible"] = with.error().message();
      }
      json["study"].push_back(out);
    };
    for (const auto& base : bases) {
      auto scheme = params.scheme();
      scheme.fold = base;
      row(base, "frozen", spiral::Params::create({geometry, {}, scheme}), false);
      if (base.z <= 3 && base.drop == 0)
        row(base, "frozen", spiral::Params::create({geometry, {}, scheme}), true);
      row(base, "chosen", spiral::choose_params(geometry, {}, {.fold = base}), false);
    }
    for (const auto& base :
         {Spec{.z = 2}, Spec{.z = 3}, Spec{.z = 4}, Spec{.z = 8}, Spec{.z = 16}, Spec{.z = 64}}) {
      auto scheme = params.scheme();
      scheme.left = scheme.right = base;
      row(base, "expansion, frozen", spiral::Params::create({geometry, {}, scheme}), false);
      row(base, "expansion, chosen",
          spiral::choose_params(geometry, {}, {.keys_bytes = 32'000'000, .expansion = base}), false);
    }
  }
  std::printf("%s\n", json.dump(2).c_str());
  return 0;
}
