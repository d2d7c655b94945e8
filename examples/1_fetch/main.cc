// SPDX-License-Identifier: Apache-2.0
// Private look-ups by key from running servers: fetch DEPLOYMENT KEY... The deployment file says where the
// servers are and which protocol they speak ('pirx deploy' writes one). This program works for every
// protocol.
#include <cstdio>
#include <string>
#include <vector>

#include "pirx/client/retrieve.h"

namespace {

pirx::Result<void> fetch(const std::string& file, const std::vector<std::string>& keys) {
  PIRX_ASSIGN(const auto deployment, pirx::client::load_deployment(file));  // public: who the servers are
  PIRX_ASSIGN(const auto found, pirx::client::retrieve_keys(deployment, keys));  // secret: the keys
  for (const auto& record : found.answer.records) {  // in the order of the keys; empty: no such key
    std::printf("%s\n", std::string(pirx::as_text(record)).c_str());
  }
  if (!found.answer.missing.empty() && found.answer.certainty != pirx::Certainty::kProven) {
    std::fprintf(stderr, "fetch: keys without a record are missing if no server lied: nothing proves it\n");
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: fetch DEPLOYMENT KEY...\n");
    return 1;
  }
  const auto done = fetch(argv[1], std::vector<std::string>(argv + 2, argv + argc));
  if (!done) std::fprintf(stderr, "fetch: %s\n", done.error().to_string().c_str());
  return done ? 0 : 2;
}
