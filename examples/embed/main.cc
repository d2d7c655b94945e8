// pirx as a library, without a network: three servers and a client in one process.
#include <cstdio>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "pirx/database/builder.h"
#include "pirx/itpir/client.h"
#include "pirx/itpir/server.h"

namespace {

pirx::Result<void> run(const std::filesystem::path& file) {
  // The data owner builds a database file; every server gets a copy.
  PIRX_ASSIGN(auto builder, pirx::database::DatabaseBuilder::create(file, {}));
  for (int i = 0; i < 1000; ++i) PIRX_TRY(builder.add(pirx::as_bytes("record number " + std::to_string(i))));
  PIRX_TRY(builder.finish());
  PIRX_ASSIGN(const auto database, pirx::database::Database::open(file));

  // Three servers with the public coordinates 1, 2 and 3. Any one of them learns nothing (threshold 1).
  std::vector<std::unique_ptr<pirx::AnyServer>> servers;
  for (std::uint64_t coordinate = 1; coordinate <= 3; ++coordinate) {
    PIRX_ASSIGN(auto server, pirx::itpir::make_goldberg_server(database, {.coordinate = coordinate}));
    servers.push_back(std::move(server));
  }

  // The client knows the deployment's public parameters, and has a secret: which record it wants.
  PIRX_ASSIGN(auto params, pirx::itpir::Params::create({.field = pirx::kTagGf2_8,
                                                        .geometry = database->geometry(),
                                                        .version = database->version(),
                                                        .coordinates = {1, 2, 3},
                                                        .threshold = 1}));
  const pirx::itpir::Client client(std::move(params));
  PIRX_ASSIGN(auto rng, pirx::Rng::from_os());
  const std::uint64_t wanted[] = {417};
  PIRX_ASSIGN(auto query, client.query(wanted, rng));

  // Over a network, requests[i] goes to server i and to nobody else.
  std::vector<std::optional<pirx::Bytes>> replies;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const pirx::ByteSpan request = query.requests[i];
    auto reply = servers[i]->answer({&request, 1}).front();
    replies.push_back(reply ? std::optional(std::move(*reply)) : std::nullopt);
  }
  PIRX_ASSIGN(const auto answer, client.decode(std::move(query.state), replies));
  std::printf("%s (%s)\n", std::string(pirx::as_text(answer.records.front())).c_str(),
              std::string(pirx::certainty_name(answer.certainty)).c_str());
  return {};
}

}  // namespace

int main() {
  const auto file =
      std::filesystem::temp_directory_path() / ("pirx-embed-" + std::to_string(std::random_device{}()));
  const auto done = run(file);
  std::filesystem::remove(file);
  if (!done) {
    std::fprintf(stderr, "%s\n", done.error().to_string().c_str());
    return 1;
  }
  std::puts("ok");
  return 0;
}
