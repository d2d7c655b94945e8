// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <cstdio>
#include <cstdlib>

#include "pirx/batchcodes/encode_database.h"
#include "pirx/batchcodes/fields.h"
#include "pirx/database/builder.h"
#include "support/serve.h"

namespace pirx::simulation {
namespace {

constexpr std::size_t kSharedHeaderBytes = 80;  // of protocols with several servers (docs/wire_format.md)
constexpr std::size_t kTypeAt = 6;

std::uint64_t fingerprint(ByteSpan bytes, std::uint64_t seed) {
  std::uint64_t h = (seed + 1) * 0x9e3779b97f4a7c15u;
  for (const auto b : bytes) {
    h = (h ^ std::to_integer<std::uint64_t>(b)) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  return h;
}

/// The bucket of each server, beside the database.
std::vector<std::shared_ptr<const database::Database>> buckets_of(const database::Database& database,
                                                                  const Setting& setting,
                                                                  const std::filesystem::path& path) {
  batchcodes::Encoding::Spec spec;
  spec.field = batchcodes::field_by_name(setting.field).value();
  spec.threshold = setting.threshold;
  spec.arity = setting.arity;
  spec.coordinates = batchcodes::Encoding::suggested_coordinates(spec.field, setting.servers).value();
  const auto prefix = path.string() + ".bucket";
  const auto encoding = batchcodes::Encoding::create(spec).value();
  require(batchcodes::encode_database(database, encoding, prefix, {.threads = 1}).has_value(), "no buckets");
  std::vector<std::shared_ptr<const database::Database>> buckets;
  for (unsigned i = 1; i <= setting.servers; ++i) {
    buckets.push_back(database::Database::open(prefix + "." + std::to_string(i)).value());
  }
  return buckets;
}

}  // namespace

void require(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "the simulation is broken: %s\n", what.c_str());
  std::exit(2);
}

std::string Setting::name() const {
  std::string name(protocol->name);
  if (keyed) name += " keyed";
  if (protocol->several) name += " l=" + std::to_string(servers) + " t=" + std::to_string(threshold);
  if (!field.empty()) name += " " + field;
  if (seeded) name += " seeded";
  if (!code.empty()) name += " " + code;
  if (arity > 1) name += " u=" + std::to_string(arity);
  return name;
}

std::vector<Setting> settings() {
  std::vector<Setting> all;
  const auto has = [](std::span<const Option> options, std::string_view name) {
    return find_option(options, name) != nullptr;
  };
  for (const auto* protocol : protocols()) {
    for (const bool keyed : {false, true}) {
      if (keyed && protocol->id == ProtocolId::kQuadraticResiduosity) continue;
      if (!protocol->several) {
        all.push_back({.protocol = protocol, .keyed = keyed});
        continue;
      }
      const bool can_seed = has(protocol->client_options, "seeded");
      const bool can_code = !keyed && has(protocol->options, "code");
      // Protocols of which k of l replies decide have fields, and a threshold that is chosen.
      if (has(protocol->options, "field") && has(protocol->chosen, "threshold")) {
        struct Row {
          unsigned servers, threshold;
          const char* field;
          bool seeded;
        };
        for (const auto& row :
             {Row{4, 1, "gf2_8", false}, Row{5, 1, "gf2_16", true}, Row{6, 2, "gf2_8", true},
              Row{7, 1, "w48", false}, Row{4, 1, "w160", false}, Row{9, 2, "gf2_8", false}}) {
          if (keyed && std::string_view(row.field).substr(0, 3) != "gf2") continue;
          all.push_back({.protocol = protocol,
                         .keyed = keyed,
                         .servers = row.servers,
                         .threshold = row.threshold,
                         .field = row.field,
                         .seeded = row.seeded && can_seed,
                         .needed = row.threshold + 1});
        }
        if (keyed) continue;
        const Setting plain{.protocol = protocol, .servers = 5, .field = "gf2_8", .needed = 2};
        if (can_code) {
          all.push_back(plain);
          all.back().code = "subcube:2,1";
          all.push_back({.protocol = protocol, .servers = 6, .threshold = 2, .field = "gf2_16", .needed = 3});
          all.back().code = "subset:4,2";
        }
        all.push_back(plain);
        all.back().arity = 2;
        all.back().needed = 3;  // replies are of degree t + u - 1
        continue;
      }
      for (unsigned servers = 2; servers <= std::min(4u, protocol->most_servers); servers += 2) {
        all.push_back({.protocol = protocol,
                       .keyed = keyed,
                       .servers = servers,
                       .threshold = servers - 1,
                       .seeded = servers == 2 && can_seed,
                       .needed = servers});
      }
      if (can_code) {
        all.push_back({.protocol = protocol, .servers = 2, .code = "subcube:2,2", .needed = 2});
      }
    }
  }
  return all;
}

std::vector<std::uint64_t> ledger_pieces(const Protocol& protocol, std::size_t server, ByteSpan request) {
  if (request.size() <= kTypeAt) return {fingerprint(request, server)};
  if (!protocol.several) {
    if (request[kTypeAt] != static_cast<std::byte>(MessageType::kQuery)) return {};
    return {fingerprint(request, 0)};
  }
  constexpr std::size_t kPiece = 16, kMostPieces = 8;
  std::vector<std::uint64_t> pieces;
  request = request.subspan(std::min(request.size(), kSharedHeaderBytes));
  for (std::size_t at = 0; at + kPiece <= request.size() && pieces.size() < kMostPieces; at += kPiece) {
    pieces.push_back(fingerprint(request.subspan(at, kPiece), server + 1));
  }
  if (pieces.empty()) pieces.push_back(fingerprint(request, server + 1));
  return pieces;
}

World::World(Setting setting)
    : setting_(std::move(setting)), records_(setting_.protocol->several ? 640 : 40) {
  const auto& protocol = *setting_.protocol;
  Texts texts, chosen;
  if (find_option(protocol.options, "paper_reproduction") != nullptr) texts["paper_reproduction"] = "on";
  if (!setting_.field.empty() && setting_.arity == 1)
    texts["field"] = setting_.field;  // a bucket knows its own
  if (!setting_.code.empty()) texts["code"] = setting_.code;
  if (find_option(protocol.chosen, "threshold") != nullptr) {
    chosen["threshold"] = std::to_string(setting_.threshold);
  }
  for (unsigned content = 0; content < kContents; ++content) {
    const auto path = folder_ / ("db" + std::to_string(content));
    database::BuildOptions options{
        .epoch = content == kNew ? 2u : 1u, .digests = true, .keyed = setting_.keyed};
    if (protocol.several) options.records_per_row = 1;
    auto builder = database::DatabaseBuilder::create(path, options);
    require(builder.has_value(), "no database");
    for (std::uint64_t i = 0; i < records_; ++i) {
      const auto bytes = record(static_cast<Content>(content), i);
      require((setting_.keyed ? builder->add(key(i), bytes) : builder->add(bytes)).has_value(), "no record");
    }
    require(builder->finish().has_value(), "no build");
    if (content == kOld) file_ = testing::read_file(path);
    const auto database = database::Database::open(path);
    require(database.has_value(), "no open");
    auto databases = std::vector(setting_.servers, *database);
    if (setting_.arity > 1) databases = buckets_of(**database, setting_, path);
    auto deployed = testing::deploy(protocol, databases, texts, chosen);
    require(deployed.has_value(), deployed ? "" : deployed.error().to_string());
    servers_[content] = std::move(deployed->servers);
    plans_[content] = std::move(deployed->plan);
  }
  learn_what_is_public();
}

Content World::content_of(const database::Version& version) const {
  for (const auto content : {kOld, kNew, kOther}) {
    if (plans_[content]->version() == version) return content;
  }
  require(false, "a version of no database");
  return kOld;
}

client::Deployment World::deployment(Content content) const {
  client::Deployment deployment{plans_[content], {}};
  for (unsigned i = 1; i <= setting_.servers; ++i) {
    deployment.servers.push_back({.url = "http://127.0.0.1:" + std::to_string(8000 + i)});
  }
  return deployment;
}

Texts World::client_options() const {
  Texts texts;
  if (find_option(setting_.protocol->client_options, "paper_reproduction") != nullptr) {
    texts["paper_reproduction"] = "on";
  }
  if (setting_.seeded) texts["seeded"] = "on";
  return texts;
}

Bytes World::record(Content content, std::uint64_t i) const {
  constexpr std::string_view kNames[] = {"old", "new", "other"};
  return testing::to_bytes(std::string(kNames[content]) + " record " + std::to_string(i * i));
}

Result<std::unique_ptr<AnyClient>> World::join(Content content) const {
  return pirx::join(*plans_[content], {.loopback = true}, client_options());
}

Result<std::unique_ptr<Retrieval>> World::begin(const AnyClient& client,
                                                const std::vector<std::uint64_t>& wanted,
                                                const RetrieveOptions& options) const {
  PIRX_ASSIGN(auto rng, Rng::from_os());
  if (!setting_.keyed) return client.retrieve(wanted, options, std::move(rng));
  std::vector<std::string> keys;
  for (const auto i : wanted) keys.push_back(key(i));
  return client.retrieve(keys, options, std::move(rng));
}

double World::seconds() const {
  const auto work = plans_[kOld]->work();
  return 3e-4 + work.once_seconds + work.once_server_seconds + 2 * (work.seconds + work.server_seconds);
}

// Two clients want different records: what both send is no secret.
void World::learn_what_is_public() {
  for (const auto content : {kNew, kOld}) {
    std::set<std::uint64_t> before;
    for (const std::uint64_t wanted : {1, 2}) {
      foreign_.clear();
      const auto client = join(content);
      require(client.has_value(), client ? "" : client.error().to_string());
      auto retrieval = begin(**client, {wanted}, {});
      require(retrieval.has_value(), retrieval ? "" : retrieval.error().to_string());
      for (auto wave = (*retrieval)->outgoing();; wave = (*retrieval)->outgoing()) {
        require(wave.has_value(), "no wave");
        if (wave->empty()) break;
        for (const auto& message : *wave) {
          if (foreign_.size() <= message.server) foreign_.push_back(message.bytes);
          for (const auto piece : ledger_pieces(*setting_.protocol, message.server, message.bytes)) {
            if (wanted == 1) before.insert(piece);
            if (wanted == 2 && before.contains(piece)) public_.insert(piece);
          }
          if (!(*retrieval)->waiting()) continue;
          const ByteSpan request = message.bytes;
          auto reply = server(message.server, content).answer({&request, 1});
          require(reply.front().has_value(), reply.front() ? "" : reply.front().error().to_string());
          require((*retrieval)->receive(message.id, *reply.front()).has_value(),
                  "an honest reply was refused");
        }
      }
      const auto answer = std::move(**retrieval).finish();
      require(answer && answer->records[0] == record(content, wanted), setting_.name() + " finds nothing");
    }
  }
}

}  // namespace pirx::simulation
