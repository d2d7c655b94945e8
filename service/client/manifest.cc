// SPDX-License-Identifier: Apache-2.0
// Reads, writes and compares manifests.
#include "pirx/client/manifest.h"

#include <algorithm>
#include <array>

#include "pirx/base/printable.h"
#include "service/http/paths.h"

namespace pirx::client {
namespace {

constexpr std::string_view kMagic = "PIRXMF\r\n";
constexpr std::uint32_t kFormat = 2;
constexpr std::string_view kDomain = "pirx manifest v2";
constexpr std::size_t kNameBytes = 64;  // http::is_database_name allows no more

/// All but the signature.
Bytes body_of(const Manifest::Spec& spec) {
  Writer writer(Manifest::kMaxBytes);
  writer.put_bytes(as_bytes(kMagic));
  writer.put(kFormat);
  writer.put(static_cast<std::uint32_t>(spec.served.size()));
  spec.geometry.encode(writer);
  spec.version.encode(writer);
  for (const auto& one : spec.served) {
    writer.put(one.protocol);
    writer.put_bytes(one.parameters);
  }
  std::array<std::byte, kNameBytes> name{};
  std::ranges::copy(as_bytes(spec.pin.database).first(std::min(spec.pin.database.size(), kNameBytes)),
                    name.begin());
  writer.put_bytes(name);
  writer.put_bytes(spec.pin.publisher);
  return std::move(writer).take();
}

/// What is signed: the body after a text that no other signed message of pirx begins with.
Bytes signed_text(ByteSpan body) {
  Writer writer(kDomain.size() + body.size());
  writer.put_bytes(as_bytes(kDomain));
  writer.put_bytes(body);
  return std::move(writer).take();
}

tl::unexpected<Error> malformed(const std::string& what) {
  return fail(ErrorCode::kDataLoss, "the manifest is damaged or no manifest: " + what);
}

bool in_order(std::span<const Manifest::Served> served) {
  return std::adjacent_find(served.begin(), served.end(),
                            [](const auto& a, const auto& b) { return !(a < b); }) == served.end();
}

tl::unexpected<Error> not_signed(const std::string& what) {
  return fail(ErrorCode::kStaleEpoch, "the publisher's manifest is for " + what);
}

tl::unexpected<Error> wrong_name(std::string_view name) {
  return invalid(
      "'" + printable_ascii(name, 100) +
      "' is no name of a database: 1 to 64 letters, digits, '-', '_' and '.', the first a letter or digit");
}

std::string epoch_of(const database::Version& version) { return "epoch " + std::to_string(version.epoch); }

}  // namespace

Result<Manifest> Manifest::parse(ByteSpan bytes) {
  if (bytes.size() > kMaxBytes) return malformed("it is longer than any");
  Reader reader(bytes, "manifest");
  PIRX_ASSIGN(const auto magic, reader.get_bytes(kMagic.size()));
  if (as_text(magic) != kMagic) return malformed("it begins with other bytes than every manifest");
  PIRX_ASSIGN(const auto format, reader.get<std::uint32_t>());
  if (format != kFormat) {
    return malformed("it has version " + std::to_string(format) + ", and this pirx reads version 2");
  }
  PIRX_ASSIGN(const auto count, reader.get<std::uint32_t>());
  if (count == 0 || count > kMaxServed) return malformed("it names " + std::to_string(count) + " parameters");
  auto geometry = database::Geometry::decode(reader);
  if (!geometry) return malformed(geometry.error().message());
  PIRX_ASSIGN(const auto version, database::Version::decode(reader));
  Spec spec{.geometry = std::move(*geometry), .version = version, .served = {}, .pin = {}};
  for (std::uint32_t i = 0; i < count; ++i) {
    Served one;
    PIRX_ASSIGN(one.protocol, reader.get<std::uint64_t>());
    PIRX_TRY(reader.read(one.parameters));
    spec.served.push_back(one);
  }
  if (!in_order(spec.served)) return malformed("its parameters are not in order");
  PIRX_ASSIGN(const auto name, reader.get_bytes(kNameBytes));
  const auto end = as_text(name).find('\0');
  spec.pin.database = as_text(name).substr(0, end);
  const bool padded = std::ranges::all_of(name.subspan(spec.pin.database.size()),
                                          [](std::byte b) { return b == std::byte(); });
  if (!padded || !http::is_database_name(spec.pin.database)) return malformed("it names no database");
  PIRX_TRY(reader.read(spec.pin.publisher));
  ed25519::Signature signature;
  PIRX_TRY(reader.read(signature));
  PIRX_TRY(reader.expect_end());
  const auto body = bytes.first(bytes.size() - signature.size());
  if (!ed25519::verify(spec.pin.publisher, signed_text(body), signature)) {
    return fail(ErrorCode::kUnauthenticated,
                "the signature of the manifest is wrong: it was changed, or never signed by " +
                    to_hex(spec.pin.publisher));
  }
  return Manifest(std::move(spec), Bytes(bytes.begin(), bytes.end()));
}

Result<Manifest> Manifest::create(const Spec& spec, const Signer& sign) {
  if (spec.served.empty() || spec.served.size() > kMaxServed || !in_order(spec.served)) {
    return invalid("a manifest names 1 to " + std::to_string(kMaxServed) + " parameters, in order");
  }
  if (!http::is_database_name(spec.pin.database)) return wrong_name(spec.pin.database);
  auto bytes = body_of(spec);
  const auto signature = sign(signed_text(bytes));
  bytes.insert(bytes.end(), signature.begin(), signature.end());
  auto manifest = parse(bytes);
  if (!manifest) return invalid(manifest.error().message());
  return manifest;
}

Result<void> Manifest::check(const Pin& pin) const {
  if (spec_.pin.publisher != pin.publisher) {
    return fail(ErrorCode::kUnauthenticated, "the manifest is signed by " + to_hex(spec_.pin.publisher) +
                                                 ", not by the publisher " + to_hex(pin.publisher));
  }
  if (spec_.pin.database != pin.database) {
    return fail(ErrorCode::kUnauthenticated, "the publisher signed the manifest for the database '" +
                                                 spec_.pin.database + "', not for '" + pin.database + "'");
  }
  return {};
}

Result<void> Manifest::check(const database::Geometry& geometry, const database::Version& version) const {
  if (version.epoch != spec_.version.epoch) {
    return not_signed(epoch_of(spec_.version) + ", not for " + epoch_of(version));
  }
  if (version.identity != spec_.version.identity) {
    return not_signed("another content of " + epoch_of(version) + ": identity " +
                      to_hex(spec_.version.identity).substr(0, 16) + "..., not " +
                      to_hex(version.identity).substr(0, 16) + "...");
  }
  if (geometry != spec_.geometry) {
    return not_signed(std::to_string(spec_.geometry.records()) + " records of " +
                      std::to_string(spec_.geometry.record_bytes()) + " bytes, not for " +
                      std::to_string(geometry.records()) + " of " + std::to_string(geometry.record_bytes()) +
                      ", or for others in a row");
  }
  return {};
}

Result<void> Manifest::check_served(const Protocol& protocol, const Digest& parameters) const {
  const Served wanted{static_cast<std::uint64_t>(protocol.id), parameters};
  if (std::ranges::find(spec_.served, wanted) != spec_.served.end()) return {};
  return not_signed("other parameters of protocol " + std::string(protocol.name) +
                    " than those with the digest " + to_hex(parameters));
}

Result<void> Manifest::check(const Protocol& protocol, const Told& told) const {
  PIRX_TRY(check(told.geometry, told.version));
  return check_served(protocol, told.digest);
}

Result<void> Manifest::check(const Plan& plan) const {
  PIRX_TRY(check(plan.geometry(), plan.version()));
  const auto digest = plan.digest();
  return digest ? check_served(plan.protocol(), *digest) : Result<void>();
}

Result<void> Manifest::check_next(const Manifest& next) const {
  const auto &was = spec_.version, &is = next.spec_.version;
  PIRX_TRY(next.check(spec_.pin));
  if (is.epoch < was.epoch) {
    return fail(ErrorCode::kStaleEpoch, "the manifest is for " + epoch_of(is) + ", older than " +
                                            epoch_of(was) + " before: epochs never go back");
  }
  const bool other = is.identity != was.identity || next.spec_.geometry != spec_.geometry;
  if (is.epoch == was.epoch && other) {
    return fail(ErrorCode::kStaleEpoch, "the publisher signed two contents for " + epoch_of(is) +
                                            ": clients are told apart, or the publisher made a mistake");
  }
  return {};
}

Result<ed25519::PublicKey> parse_publisher(std::string_view text) {
  const std::optional<ed25519::PublicKey> key = digest_from_hex(text);
  if (!key) return invalid("a publisher's key is 64 hexadecimal digits ('pirx manifest key' prints it)");
  if (!ed25519::is_key(*key)) return invalid("these 64 hexadecimal digits are no Ed25519 key");
  return *key;
}

std::string Pin::text() const { return to_hex(publisher) + ":" + database; }

Result<Pin> parse_pin(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == text.npos) return invalid("it names no database of the publisher: write KEY:NAME");
  Pin pin{.database = std::string(text.substr(colon + 1))};
  PIRX_ASSIGN(pin.publisher, parse_publisher(text.substr(0, colon)));
  if (!http::is_database_name(pin.database)) return wrong_name(pin.database);
  return pin;
}

}  // namespace pirx::client
