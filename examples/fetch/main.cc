// Private look-ups by key from running servers: fetch DEPLOYMENT KEY... A deployment file says who they are
// and which protocol they speak ('pirx deploy' writes one); nothing here depends on it.
#include <cstdio>
#include <string>
#include <vector>

#include "pirx/client/retrieve.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: fetch DEPLOYMENT KEY...\n");
    return 1;
  }
  const auto deployment = pirx::client::load_deployment(argv[1]);
  if (!deployment) {
    std::fprintf(stderr, "fetch: %s\n", deployment.error().to_string().c_str());
    return 2;
  }
  const std::vector<std::string> keys(argv + 2, argv + argc);  // secret: no server learns which
  const auto report = pirx::client::retrieve_keys(*deployment, keys);
  if (!report) {
    std::fprintf(stderr, "fetch: %s\n", report.error().to_string().c_str());
    return 2;
  }
  for (const auto& record : report->answer.records) {  // in the order of the keys; empty: no such key
    std::fwrite(record.data(), 1, record.size(), stdout);
    std::fputc('\n', stdout);
  }
  for (const auto i : report->answer.missing)
    std::fprintf(stderr, "fetch: no record for '%s'\n", keys[i].c_str());
  return report->answer.missing.empty() ? 0 : 3;
}
