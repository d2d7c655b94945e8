// SPDX-License-Identifier: Apache-2.0
// A look-up with evidence of the application's own: evidence DEPLOYMENT KEY PREFIX. If the replies alone
// prove no answer, the one that begins with PREFIX is taken. A real application would check a signature or a
// hash. Prints which servers lied.
#include <cstdio>
#include <string>
#include <vector>

#include "pirx/client/fetch.h"
#include "pirx/client/refresh.h"

namespace {

pirx::Result<void> look_up(const std::string& file, const std::string& key, const std::string& prefix) {
  PIRX_ASSIGN(const auto deployment, pirx::client::load_deployment(file));
  PIRX_ASSIGN(auto fetcher, pirx::client::Fetcher::create(deployment));  // keep it for many look-ups
  pirx::client::FetchOptions options;
  options.renew = [](const auto& stale) { return pirx::client::refresh(stale); };  // to the new epoch
  options.believe = [&](std::span<const std::optional<pirx::Bytes>> records) {
    return records[0] && pirx::as_text(*records[0]).starts_with(prefix);
  };
  PIRX_ASSIGN(const auto found, fetcher.fetch_keys(std::vector<std::string>{key}, options));
  const auto text =
      found.answer.missing.empty() ? std::string(pirx::as_text(found.answer.records[0])) : "no record";
  std::printf("%s (%s)\n", text.c_str(), std::string(pirx::certainty_name(found.answer.certainty)).c_str());
  for (std::size_t i = 0; i < found.servers.size(); ++i) {
    std::printf("%s: %s\n", deployment.servers[i].url.c_str(),
                std::string(pirx::server_status_name(found.servers[i].status)).c_str());
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: evidence DEPLOYMENT KEY PREFIX\n");
    return 1;
  }
  const auto done = look_up(argv[1], argv[2], argv[3]);
  if (!done) std::fprintf(stderr, "evidence: %s\n", done.error().to_string().c_str());
  return done ? 0 : 2;
}
