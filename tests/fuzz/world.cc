// SPDX-License-Identifier: Apache-2.0
// Builds the databases, and the halves of every protocol over them.
#include "world.h"

#include <map>

#include "cpir/rows_client.h"
#include "pirx/batchcodes/encode_database.h"
#include "pirx/batchcodes/fields.h"
#include "pirx/cpir/dj/client.h"
#include "pirx/cpir/dj/server.h"
#include "pirx/cpir/qr/client.h"
#include "pirx/cpir/qr/server.h"
#include "pirx/cpir/spiral/client.h"
#include "pirx/cpir/spiral/server.h"
#include "pirx/database/builder.h"
#include "support/serve.h"

namespace pirx::fuzz {
namespace {

constexpr unsigned kServers = 4;

/// Primes of 64 bits that are 3 modulo 4: a key for toys.
constexpr std::uint64_t kPrimes[] = {0xffffffffffffff43, 0xfffffffffffffeff};

Bytes prime(std::size_t i) {
  Bytes bytes;
  for (unsigned shift = 64; shift > 0; shift -= 8) {
    bytes.push_back(static_cast<std::byte>(kPrimes[i] >> (shift - 8) & 0xff));
  }
  return bytes;
}

/// Ring of dimension 256 without any security.
cpir::spiral::Scheme toy_scheme() {
  return {.policy = cpir::spiral::Policy::kToy,
          .log_d = 8,
          .log_p = 8,
          .log_columns = 2,
          .fold = {.z = 512, .drop = 3, .bits = 2}};
}

/// The client half of a protocol with one server, over a client with a toy key.
template <class Client>
class ToyClient final : public cpir::RowsClient {
 public:
  explicit ToyClient(Client client) : client_(std::move(client)) {}

 private:
  const database::Geometry& geometry() const override { return client_.params().spec().geometry; }
  Result<database::Location> locate(std::uint64_t slot) const override {
    if constexpr (requires { client_.params().locate(slot); }) {
      return client_.params().locate(slot);
    } else {
      return geometry().locate(slot);
    }
  }
  std::uint64_t reply_bytes() const override { return client_.params().reply_bytes(); }
  Result<Asked> query(std::uint64_t row, Rng& rng, const Stop&) const override {
    return client_.query(row, rng);
  }
  Result<SecretVector<std::byte>> decode(std::uint64_t row, std::unique_ptr<cpir::QuerySecret>,
                                         ByteSpan reply, const Stop&) const override {
    if constexpr (kHasKeys) {
      return client_.decode(row, reply);
    } else if constexpr (requires { client_.decode(reply, 1, Stop()); }) {
      return client_.decode(reply, 1);
    } else {
      return client_.decode(reply);
    }
  }
  const Bytes* lacking(ByteSpan reply) const override {
    if constexpr (kHasKeys) {
      if (client_.keys_unknown(reply)) return &client_.keys();
    }
    return nullptr;
  }
  Result<void> check_held(ByteSpan reply) const override {
    if constexpr (kHasKeys) return client_.check_keys_held(reply);
    return {};
  }
  static constexpr bool kHasKeys = std::is_same_v<Client, cpir::spiral::Client>;
  Client client_;
};

struct Shape {
  const char* protocol;
  Kind database = Kind::kPlain;
  const char* field = nullptr;
  const char* code = nullptr;
};

Shape shape_of(Room room) {
  switch (room) {
    case Room::kGoldberg:
      return {"goldberg", Kind::kPlain, "gf2_8"};
    case Room::kGoldbergKeyed:
      return {"goldberg", Kind::kKeyed, "gf2_16"};
    case Room::kGoldbergW160:
      return {"goldberg", Kind::kPlain, "w160"};
    case Room::kGoldbergW48:
      return {"goldberg", Kind::kPlain, "w48"};
    case Room::kGoldbergCode:
      return {"goldberg", Kind::kPlain, "gf2_8", "subcube:2,1"};
    case Room::kGoldbergEncoded:
      return {"goldberg", Kind::kBucket};
    case Room::kChor:
      return {"chor"};
    case Room::kChorCode:
      return {"chor", Kind::kPlain, nullptr, "subset:4,2"};
    case Room::kPoints:
      return {"dpf"};
    case Room::kPointsKeyed:
      return {"dpf", Kind::kKeyed};
    case Room::kTree:
    case Room::kTreePolynomial:
      return {"dj-tree"};
    case Room::kResidues:
      return {"qr"};
    case Room::kSpiral:
      return {"spiral"};
    case Room::kInspire:
    case Room::kInspireMasks:
      return {"inspire"};
    case Room::kDownload:
      return {"download", Kind::kIndexed};
    case Room::kDownloadKeyed:
      return {"download", Kind::kKeyed};
  }
  broken("there is such a room");
}

void build(Kind kind, const std::filesystem::path& path) {
  database::BuildOptions options;
  options.keyed = kind == Kind::kKeyed;
  options.records_per_row = kind == Kind::kKeyed ? 0 : 3;
  if (kind == Kind::kFixed) {
    options.fixed_record_bytes = record(0).size();
    options.digests = false;
  }
  auto builder = database::DatabaseBuilder::create(path, options).value();
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    auto data = record(i);
    if (kind == Kind::kFixed) data.resize(record(0).size());
    const bool with_key = kind == Kind::kIndexed || kind == Kind::kKeyed;
    expect(with_key ? builder.add(key(i), data).has_value() : builder.add(data).has_value(),
           "a record can be added");
  }
  expect(builder.finish().has_value(), "a database can be built");
}

}  // namespace

Bytes record(std::uint64_t i) { return bytes_of("record " + std::to_string(i * i)); }
std::string key(std::uint64_t i) { return "key" + std::to_string(i); }

std::filesystem::path database_file(Kind kind) {
  static const char* const kNames[] = {"plain.db", "indexed.db", "keyed.db", "fixed.db", "bucket.db.1"};
  const auto path = scratch() / kNames[static_cast<std::size_t>(kind)];
  if (std::filesystem::exists(path)) return path;
  if (kind != Kind::kBucket) {
    build(kind, path);
    return path;
  }
  batchcodes::Encoding::Spec spec;
  spec.field = batchcodes::field_by_name("gf2_8").value();
  spec.arity = 2;
  spec.modulus = 2;
  spec.coordinates = batchcodes::Encoding::suggested_coordinates(spec.field, kServers).value();
  const auto plain = database::Database::open(database_file(Kind::kPlain)).value();
  const auto encoding = batchcodes::Encoding::create(spec).value();
  expect(batchcodes::encode_database(*plain, encoding, scratch() / "bucket.db", {.threads = 1}).has_value(),
         "a database can be encoded");
  return path;
}

const World& World::of(Room room) {
  static std::map<Room, std::unique_ptr<const World>> worlds;
  auto& world = worlds[room];
  if (!world) {
    std::unique_ptr<World> made(new World(room));
    made->honest_.first = made->requests().at(0).bytes;
    made->honest_.second = made->reply(0, made->honest_.first);
    world = std::move(made);
  }
  restart_coins();
  return *world;
}

World::World(Room room) {
  const auto shape = shape_of(room);
  keyed_ = shape.database == Kind::kKeyed;
  const auto database = database::Database::open(database_file(shape.database)).value();
  const auto p = prime(0), q = prime(1);
  if (room == Room::kTree || room == Room::kTreePolynomial) {
    cpir::dj::ServerOptions options;
    options.arities = {4, 4};
    if (room == Room::kTreePolynomial) options.selectors = cpir::dj::Selectors::kPolynomial;
    options.modulus_bits = 128;
    options.policy = cpir::dj::KeyPolicy::kToy;
    options.threads = 1;
    servers_.push_back(cpir::dj::make_dj_server(database, options).value());
    auto params = cpir::dj::Params::decode(servers_[0]->parameters()).value();
    const auto secret = cpir::dj::SecretKey::from_primes(p, q, cpir::dj::KeyPolicy::kToy).value();
    client_ = std::make_unique<ToyClient<cpir::dj::Client>>(
        cpir::dj::Client::create(std::move(params), secret).value());
    return;
  }
  if (room == Room::kResidues) {
    cpir::qr::ServerOptions options;
    options.modulus_bits = 128;
    options.policy = cpir::qr::KeyPolicy::kToy;
    options.threads = 1;
    servers_.push_back(cpir::qr::make_qr_server(database, options).value());
    auto params = cpir::qr::Params::decode(servers_[0]->parameters()).value();
    const auto secret = cpir::qr::SecretKey::from_primes(p, q, cpir::qr::KeyPolicy::kToy).value();
    client_ = std::make_unique<ToyClient<cpir::qr::Client>>(
        cpir::qr::Client::create(std::move(params), secret).value());
    return;
  }
  if (room == Room::kSpiral) {
    cpir::spiral::ServerOptions options;
    options.scheme = toy_scheme();
    options.allow_insecure = true;
    options.threads = 1;
    options.key_memory = std::uint64_t{16} << 20;
    servers_.push_back(cpir::spiral::make_spiral_server(database, options).value());
    auto params = cpir::spiral::Params::decode(servers_[0]->parameters()).value();
    client_ = std::make_unique<ToyClient<cpir::spiral::Client>>(
        cpir::spiral::Client::create(std::move(params), true).value());
    return;
  }
  const auto& protocol = *find_protocol(shape.protocol).value();
  const unsigned count = protocol.several ? std::min(kServers, protocol.most_servers) : 1;
  Texts options;
  if (shape.field != nullptr) options["field"] = shape.field;
  if (shape.code != nullptr) options["code"] = shape.code;
  std::vector databases(count, database);
  if (shape.database == Kind::kBucket) {
    for (unsigned i = 1; i < count; ++i) {
      auto file = database_file(Kind::kBucket);
      databases[i] = database::Database::open(file.replace_extension(std::to_string(i + 1))).value();
    }
  }
  auto deployed = testing::deploy(protocol, databases, options).value();
  servers_ = std::move(deployed.servers);
  plan_ = std::move(deployed.plan);
  client_ = join(*plan_, {.loopback = true}, {}).value();
  forgets_ = room == Room::kInspireMasks;
  if (room != Room::kInspire) return;
  const auto retrieval = begin().value();
  const auto masks = retrieval->outgoing().value();
  expect(retrieval->receive(masks.at(0).id, reply(0, masks[0].bytes)).has_value(), "honest masks are taken");
}

Result<std::unique_ptr<Retrieval>> World::begin(const RetrieveOptions& options) const {
  auto rng = Rng::from_os().value();
  if (forgets_) client_ = join(*plan_, {.loopback = true}, {}).value();
  if (!keyed_) return client_->retrieve(kWanted, options, std::move(rng));
  std::vector<std::string> keys;
  for (const auto i : kWanted) keys.push_back(key(i));
  return client_->retrieve(keys, options, std::move(rng));
}

Bytes World::reply(std::size_t server, ByteSpan request) const {
  const std::string_view sender = "honest";
  auto replies = servers_[server]->answer_from({&request, 1}, {&sender, 1});
  expect(replies.size() == 1 && replies[0], "a server answers its client");
  return std::move(*replies[0]);
}

std::vector<Message> World::requests() const {
  restart_coins();
  return begin().value()->outgoing().value();
}

}  // namespace pirx::fuzz
