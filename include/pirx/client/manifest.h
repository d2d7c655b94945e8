// SPDX-License-Identifier: Apache-2.0
// Manifests: what the publisher of a database signs. A client that checks it cannot be given another
// database, other parameters or an epoch that only it is told of (docs/manifest.md).
#pragma once

#include <functional>
#include <vector>

#include "pirx/base/ed25519.h"
#include "pirx/protocol.h"

namespace pirx::client {

/// What a client pins: one database of one publisher.
struct Pin {
  ed25519::PublicKey publisher{};
  std::string database;  ///< the publisher's name for it, the same at every epoch: as in a server's paths

  /// As people write it: the key's 64 hexadecimal digits, a colon and the name.
  std::string text() const;
  friend bool operator==(const Pin&, const Pin&) = default;
};

/// A signed statement about one epoch of a database. Immutable; its signature is right.
class Manifest {
 public:
  /// Parameters that servers of a protocol may give, as their Told::digest.
  struct Served {
    std::uint64_t protocol = 0;  ///< a ProtocolId, perhaps one that this program does not know
    Digest parameters{};
    friend auto operator<=>(const Served&, const Served&) = default;
  };
  struct Spec {
    database::Geometry geometry;
    database::Version version;
    std::vector<Served> served;  ///< ascending, no two alike
    Pin pin;                     ///< who signs, and which of the signer's databases this is
  };
  /// Gives the publisher's signature of a message.
  using Signer = std::function<ed25519::Signature(ByteSpan message)>;

  static constexpr std::size_t kMaxServed = 64;
  static constexpr std::size_t kMaxBytes = 304 + 40 * kMaxServed;

  /// Reads a manifest that anybody may have made. DataLoss: it has another form than create() gives it, to
  /// the byte. Unauthenticated: the signature is not that of the publisher whom it names.
  static Result<Manifest> parse(ByteSpan bytes);
  /// InvalidArgument: nothing is served, or more than kMaxServed parameters are, or they are out of order;
  /// the database's name is not 1 to 64 letters, digits, '-', '_' and '.'; or the signature or the
  /// publisher's key is wrong.
  static Result<Manifest> create(const Spec& spec, const Signer& sign);

  const Spec& spec() const noexcept { return spec_; }
  /// The manifest in the form that parse() reads and servers give.
  const Bytes& bytes() const noexcept { return bytes_; }
  /// Unauthenticated: another publisher signed it, or this one for another database.
  Result<void> check(const Pin& pin) const;
  /// StaleEpoch: the manifest is for other content or another epoch. The message says how they differ.
  Result<void> check(const database::Geometry& geometry, const database::Version& version) const;
  /// The same; StaleEpoch, too, if it does not name these parameters of the protocol.
  Result<void> check(const Protocol& protocol, const Told& told) const;
  /// The same for what is in a deployment file. If there are several servers, other members of the plan than
  /// the database's are not compared: queries say which field they are for.
  Result<void> check(const Plan& plan) const;
  /// Whether a manifest of the same publisher and database may follow this one. StaleEpoch: its epoch is
  /// older, or the same with other content. Else errors of check(pin).
  Result<void> check_next(const Manifest& next) const;

 private:
  Manifest(Spec spec, Bytes bytes) : spec_(std::move(spec)), bytes_(std::move(bytes)) {}
  Result<void> check_served(const Protocol& protocol, const Digest& parameters) const;
  Spec spec_;
  Bytes bytes_;
};

/// A publisher's key as people write it: 64 hexadecimal digits. InvalidArgument: it is something else, or no
/// key (ed25519::is_key).
Result<ed25519::PublicKey> parse_publisher(std::string_view text);
/// What Pin::text() gives. InvalidArgument: it is something else, or as parse_publisher().
Result<Pin> parse_pin(std::string_view text);

}  // namespace pirx::client
