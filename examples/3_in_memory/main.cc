// SPDX-License-Identifier: Apache-2.0
// Client and servers in one process, over a transport of your own: in_memory [PROTOCOL]. This works for every
// protocol of the table.
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "pirx/database/builder.h"
#include "pirx/database/database.h"
#include "pirx/protocol.h"

namespace {

pirx::Result<void> run(const std::filesystem::path& file, const std::string& name) {
  // The data owner builds a database file; every server gets a copy.
  PIRX_ASSIGN(auto builder, pirx::database::DatabaseBuilder::create(file, {}));
  for (int i = 0; i < 1000; ++i) PIRX_TRY(builder.add(pirx::as_bytes("record number " + std::to_string(i))));
  PIRX_TRY(builder.finish());
  PIRX_ASSIGN(const auto database, pirx::database::Database::open(file));
  PIRX_ASSIGN(const auto* protocol, pirx::find_protocol(name));

  // Servers. Of several, each has a public coordinate of its own.
  std::vector<std::unique_ptr<pirx::AnyServer>> servers;
  for (int i = 1; i <= (protocol->several ? 3 : 1); ++i) {
    pirx::Texts options;
    if (protocol->several) options["coordinate"] = std::to_string(i);
    PIRX_ASSIGN(auto server, pirx::serve(*protocol, {.database = database}, options));
    servers.push_back(std::move(server));
  }

  // What the servers tell becomes the client's plan; a deployment file holds the same.
  pirx::PlanSpec spec;
  for (const auto& server : servers) {
    PIRX_ASSIGN(const auto told, pirx::tell(server->parameters()));
    PIRX_ASSIGN(spec.members, pirx::Options::create(protocol->members, told.members, protocol->name));
    if (!protocol->describes_database) spec.geometry = told.geometry;
    spec.version = told.version;
    if (told.coordinate) spec.coordinates.push_back(*told.coordinate);
  }
  PIRX_ASSIGN(const auto plan, protocol->plan(spec));
  PIRX_ASSIGN(const auto client, pirx::join(*plan, {}, {}));

  // A retrieval gives messages and takes replies. Message.server gets its message and no other server does.
  const std::vector<std::uint64_t> wanted = {417};  // secret
  PIRX_ASSIGN(auto rng, pirx::Rng::from_os());
  PIRX_ASSIGN(auto retrieval, client->retrieve(wanted, {}, std::move(rng)));
  for (;;) {
    PIRX_ASSIGN(const auto wave, retrieval->outgoing());
    if (wave.empty()) break;
    for (const auto& message : wave) {
      if (!retrieval->waiting()) break;
      const pirx::ByteSpan request = message.bytes;
      const auto reply = servers[message.server]->answer({&request, 1}).front();
      // An error says what is wrong with a reply, which then counts as lost.
      static_cast<void>(reply ? retrieval->receive(message.id, *reply)
                              : retrieval->lost(message.id, reply.error()));
    }
  }
  PIRX_ASSIGN(const auto answer, std::move(*retrieval).finish());
  std::printf("%s (%s)\n", std::string(pirx::as_text(answer.records.front())).c_str(),
              std::string(pirx::certainty_name(answer.certainty)).c_str());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const auto file =
      std::filesystem::temp_directory_path() / ("pirx-in-memory-" + std::to_string(std::random_device{}()));
  const auto done = run(file, argc > 1 ? argv[1] : "goldberg");
  std::filesystem::remove(file);
  if (!done) {
    std::fprintf(stderr, "in_memory: %s\n", done.error().to_string().c_str());
    return 1;
  }
  std::printf("ok\n");
  return 0;
}
