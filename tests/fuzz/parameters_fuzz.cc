// SPDX-License-Identifier: Apache-2.0
// Parameters messages: what a hostile server may say of itself, and what a client then makes of it.
#include "download/common.h"
#include "itpir/dpf/common.h"
#include "pirx/client/manifest.h"
#include "pirx/client/work.h"
#include "pirx/cpir/dj/common.h"
#include "pirx/cpir/inspire/common.h"
#include "pirx/cpir/qr/common.h"
#include "pirx/cpir/qr/keys.h"
#include "pirx/cpir/spiral/common.h"
#include "pirx/itpir/common.h"
#include "world.h"

namespace pirx::fuzz {
namespace {

/// A plan of that message alone, and a retrieval by it, if it asks for little.
void follow(const Protocol& protocol, const Told& told, std::size_t servers) {
  PlanSpec spec;
  const auto members = Options::create(protocol.members, told.members, "");
  if (!members) return;
  spec.members = *members;
  spec.version = told.version;
  if (!protocol.describes_database) spec.geometry = told.geometry;
  for (std::size_t i = 0; told.coordinate && i < servers; ++i) {
    spec.coordinates.push_back(*told.coordinate + i);
  }
  const auto plan = protocol.plan(spec);
  expect_error(plan, {kLoss, kInvalid}, "plan");
  if (!plan) return;
  expect(!(*plan)->summary().empty(), "a plan can be described");
  expect((*plan)->geometry() == told.geometry, "the plan is for the database that was told");
  static_cast<void>((*plan)->coordinates());
  const auto work = (*plan)->work();
  const client::WorkLimits limits{std::uint64_t{1} << 20, std::uint64_t{8} << 20,
                                  std::chrono::milliseconds(20)};
  if (protocol.slow || protocol.id == ProtocolId::kSpiral) return;  // its clients make large keys
  if (!client::check_work(work, 3, limits, std::chrono::milliseconds(20)) ||
      !(*plan)->check({.loopback = true})) {
    return;
  }
  const auto client = (*plan)->join({.loopback = true});
  if (!client) return;
  const std::uint64_t wanted[] = {0, told.geometry.records() - 1};
  const std::string keys[] = {"a", "b"};
  auto rng = Rng::from_os().value();
  auto retrieval = told.geometry.keyed() ? (*client)->retrieve(keys, {}, std::move(rng))
                                         : (*client)->retrieve(wanted, {}, std::move(rng));
  if (!retrieval) return;
  const auto wave = (*retrieval)->outgoing();
  if (!wave) return;
  for (const auto& message : *wave) {
    expect(message.bytes.size() <= kMaxMessageBytes, "no message is longer than allowed");
    static_cast<void>((*retrieval)->receive(message.id, message.bytes));
  }
}

void parameters(ByteSpan input, std::size_t servers) {
  const auto epoch = parameters_epoch(input);
  const auto told = tell(input);
  expect_error(told, {kLoss, kInvalid}, "tell");
  if (!told) return;
  expect(epoch == told->version.epoch, "the epoch is that of the message");
  const auto protocol = find_protocol_of(input);
  expect(protocol.has_value(), "a message that is read has a protocol");
  follow(**protocol, *told, servers);
}

/// What is read is what was written: no two messages say the same.
template <class Params>
void strict(ByteSpan input) {
  const auto params = Params::decode(input);
  expect_error(params, {kLoss, kInvalid}, "decode");
  if (params) {
    const auto again = params->encode();
    expect(std::equal(again.begin(), again.end(), input.begin(), input.end()), "one message a plan");
  }
}

template <Room... rooms>
Seeds told_by() {
  return {Bytes(World::of(rooms).server(0).parameters())...};
}

Seeds of_inspire() {
  const auto database = database::Database::open(database_file(Kind::kPlain)).value();
  const auto chosen =
      cpir::inspire::choose_params(database->geometry(), database->version(), {}, cpir::inspire::Goal::kBytes)
          .value();
  auto spec = chosen.spec();
  spec.masks.resize(chosen.blocks());
  return {cpir::inspire::Params::create(spec).value().encode()};
}

Seeds keys_of_toys() {
  // Policy, bits, and the modulus, which is behind the header of a request.
  const auto& request = World::of(Room::kTree).honest().first;
  Bytes seed{std::byte{2}, std::byte{128}, std::byte{0}};
  seed.insert(seed.end(), request.begin() + 40, request.begin() + 56);
  return {seed};
}

/// A key of this program. Whoever finds a way to its signatures without it has broken Ed25519.
ed25519::Signature sign_manifest(ByteSpan message) { return ed25519::sign(ed25519::Seed(), message); }

Seeds manifests() {
  Seeds seeds;
  for (const auto room : {Room::kGoldberg, Room::kPointsKeyed}) {
    const auto message = World::of(room).server(0).parameters();
    const auto told = tell(message).value();
    const auto id = static_cast<std::uint64_t>(find_protocol_of(message).value()->id);
    seeds.push_back(client::Manifest::create({.geometry = told.geometry,
                                              .version = told.version,
                                              .served = {{id, told.digest}, {id + 1, {}}},
                                              .pin = {ed25519::public_key(ed25519::Seed()), "packages"}},
                                             sign_manifest)
                        .value()
                        .bytes());
  }
  return seeds;
}

/// What is read is what was written, and says something of itself.
void read_manifest(ByteSpan bytes) {
  const auto manifest = client::Manifest::parse(bytes);
  expect_error(manifest, {kLoss, ErrorCode::kUnauthenticated}, "Manifest::parse");
  if (!manifest) return;
  expect(std::ranges::equal(manifest->bytes(), bytes), "one manifest a file");
  const auto& spec = manifest->spec();
  expect(manifest->check(spec.geometry, spec.version).has_value(), "a manifest is for its own database");
  expect(manifest->check_next(*manifest).has_value(), "a manifest follows itself");
  const auto again = client::Manifest::create(spec, [&](ByteSpan message) {
    return spec.pin.publisher == ed25519::public_key(ed25519::Seed()) ? sign_manifest(message)
                                                                      : ed25519::Signature{};
  });
  if (again) expect(again->bytes() == manifest->bytes(), "one form of every content");
}

}  // namespace

PIRX_FUZZ(manifest, manifests) {
  read_manifest(input);
  // Behind the signature: the same bytes, signed.
  constexpr std::size_t kSigned = sizeof(ed25519::PublicKey) + sizeof(ed25519::Signature);
  if (input.size() < kSigned || input.size() > client::Manifest::kMaxBytes) return;
  Bytes sealed(input.begin(), input.end());
  const auto key = sealed.end() - kSigned, signature = key + sizeof(ed25519::PublicKey);
  std::ranges::copy(ed25519::public_key(ed25519::Seed()), key);
  Bytes message;
  for (const auto c : std::string_view("pirx manifest v2")) message.push_back(static_cast<std::byte>(c));
  message.insert(message.end(), sealed.begin(), signature);
  std::ranges::copy(sign_manifest(message), signature);
  read_manifest(sealed);
}
PIRX_FUZZ(keys, keys_of_toys) {
  Script script(input);
  const auto policy = static_cast<cpir::dj::KeyPolicy>(script.byte() % 3);
  const unsigned bits = script.word();
  const auto bytes = script.rest(), half = bytes.first(bytes.size() / 2);
  expect_error(cpir::dj::PublicKey::create(bytes, bits, policy), {kInvalid}, "PublicKey::create");
  expect_error(cpir::qr::make_public_key(bytes, bits, policy), {kInvalid}, "make_public_key");
  const auto secret = cpir::dj::SecretKey::from_primes(half, bytes.subspan(half.size()), policy);
  expect_error(secret, {kInvalid}, "from_primes");
}
PIRX_FUZZ(parameters_shares, (told_by<Room::kGoldberg, Room::kGoldbergKeyed, Room::kGoldbergW160, Room::kChor,
                                      Room::kPoints, Room::kPointsKeyed>)) {
  strict<itpir::ServerParameters>(input);
  parameters(input, 4);
}
PIRX_FUZZ(parameters_dj, told_by<Room::kTree>) {
  strict<cpir::dj::Params>(input);
  parameters(input, 1);
}
PIRX_FUZZ(parameters_qr, told_by<Room::kResidues>) {
  strict<cpir::qr::Params>(input);
  parameters(input, 1);
}
PIRX_FUZZ(parameters_spiral, told_by<Room::kSpiral>) {
  strict<cpir::spiral::Params>(input);
  parameters(input, 1);
}
PIRX_FUZZ(parameters_inspire, of_inspire) {
  strict<cpir::inspire::Params>(input);
  parameters(input, 1);
}
PIRX_FUZZ(parameters_download, (told_by<Room::kDownload, Room::kDownloadKeyed>)) {
  strict<download::Params>(input);
  parameters(input, 1);
}

}  // namespace pirx::fuzz
