// Carries out every offer of a plan on small databases and prints, as JSON, what was predicted beside what it
// took. Fails where a message had another length than predicted.
#ifdef _OPENMP
#include <omp.h>
#endif
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <tuple>

#include "pirx/base/cpu.h"
#include "validate.h"

namespace {

using namespace pirx;
using Json = nlohmann::ordered_json;

int failed(const Error& error) {
  std::fprintf(stderr, "planner_validate: %s\n", error.to_string().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  planner::ValidateOptions options;
  CLI::App app("The planner's predictions beside measurements");
  app.add_option("--record_bytes", options.record_bytes)->capture_default_str();
  app.add_option("--one_server_bytes", options.one_server_bytes)->capture_default_str();
  app.add_option("--several_servers_bytes", options.several_servers_bytes)->capture_default_str();
  app.add_option("--servers", options.servers)->capture_default_str();
  app.add_option("--collusion", options.collusion)->capture_default_str();
  app.add_option("--modulus", options.modulus_bits)->capture_default_str();
  app.add_option("--runs", options.runs)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  options.reproduction = options.modulus_bits == 1024;
  options.note = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };

#ifdef _OPENMP
  omp_set_num_threads(1);
#endif
  std::string folder = (std::filesystem::temp_directory_path() / "pirx-validate-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    return failed({ErrorCode::kUnavailable, "cannot make a folder for databases: set TMPDIR"});
  }
  planner::Machine machine;
  const auto measured = planner::validate(options, folder, machine);
  std::filesystem::remove_all(folder);
  if (!measured) return failed(measured.error());
  const auto features = allowed_cpu_features();
  if (!features) return failed(features.error());

  Json json = {{"kind", "validation"}, {"cpu", cpu_features_name(*features)}, {"schemes", Json::array()}};
  bool exact = true;
  for (const auto& one : *measured) {
    const bool same = one.bytes_up == one.offer.bytes_up && one.bytes_down == one.offer.bytes_down;
    exact = exact && same;
    Json entry = {{"scheme", one.offer.scheme},
                  {"settings", one.offer.settings},
                  {"bytes_exact", same},
                  {"bytes_up", one.bytes_up},
                  {"bytes_down", one.bytes_down}};
    const std::tuple<const char*, double, double> times[] = {
        {"server", one.server_seconds, one.offer.server_seconds},
        {"client", one.client_seconds, one.offer.client_seconds},
        {"ahead", one.ahead_seconds, one.offer.ahead_seconds}};
    for (const auto& [name, took, predicted] : times) {
      entry[name] = {
          {"seconds", took}, {"predicted", predicted}, {"error", took > 0 ? predicted / took - 1 : 0}};
    }
    json["schemes"].push_back(std::move(entry));
  }
  std::printf("%s\n", json.dump(1).c_str());
  return exact ? 0 : failed({ErrorCode::kInternal, "a message had another length than predicted"});
}
