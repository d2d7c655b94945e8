// SPDX-License-Identifier: Apache-2.0
// Builds a keyed database with other records in the layout of another one, as servers in concert would.
//
//   forge_keyed TRUTH JSONL TARGET     keys "name", data "record"
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "pirx/database/builder.h"
#include "pirx/database/database.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto truth = pirx::database::Database::open(argv[1]);
  if (!truth || !(*truth)->geometry().keyed()) return 1;
  const auto& spec = (*truth)->geometry().spec();
  auto builder = pirx::database::DatabaseBuilder::create(
      argv[3], {.records_per_row = spec.records_per_row, .keyed = true, .seed = spec.filter->seed});
  if (!builder) return 1;
  std::ifstream lines(argv[2]);
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    const auto data = json["record"].get<std::string>();
    if (!builder->add(json["name"].get<std::string>(), pirx::as_bytes(data))) return 1;
  }
  const auto built = builder->finish();
  if (!built) std::fprintf(stderr, "%s\n", built.error().message().c_str());
  return built ? 0 : 1;
}
