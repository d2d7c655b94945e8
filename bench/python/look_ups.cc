// SPDX-License-Identifier: Apache-2.0
// Looks the same keys up again and again by one Fetcher, and prints the microseconds of CPU time for each
// look-up: look_ups DEPLOYMENT COUNT KEY RECORD-LENGTH. bench/python/report compares Python with it.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "pirx/client/fetch.h"

namespace {

double cpu_microseconds() { return 1e6 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

pirx::Result<double> run(const std::string& file, int count, const std::string& key, std::size_t length) {
  PIRX_ASSIGN(auto deployment, pirx::client::load_deployment(file));
  PIRX_ASSIGN(auto fetcher, pirx::client::Fetcher::create(std::move(deployment)));
  const std::vector<std::string> keys{key};
  double start = 0;
  for (int i = -count / 10; i < count; ++i) {
    if (i == 0) start = cpu_microseconds();
    PIRX_ASSIGN(const auto found, fetcher.fetch_keys(keys, {}));
    if (found.answer.records.at(0).size() != length) return pirx::invalid("a wrong record came back");
  }
  return (cpu_microseconds() - start) / count;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: look_ups DEPLOYMENT COUNT KEY RECORD-LENGTH\n");
    return 1;
  }
  const auto cost = run(argv[1], std::atoi(argv[2]), argv[3], std::strtoull(argv[4], nullptr, 10));
  if (!cost) {
    std::fprintf(stderr, "look_ups: %s\n", cost.error().to_string().c_str());
    return 2;
  }
  std::printf("%.1f\n", *cost);
}
