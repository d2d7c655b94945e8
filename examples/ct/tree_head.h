// SPDX-License-Identifier: Apache-2.0
// Signed tree heads, RFC 6962 section 3.5, by an ECDSA P-256 key; and what a log publishes beside its
// database of proofs.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pirx/base/sha256.h"
#include "pirx/database/database.h"

namespace pirx::ct {

struct TreeHead {
  std::uint64_t timestamp = 0;  ///< milliseconds since 1970
  std::uint64_t tree_size = 0;
  Digest root{};
  Bytes signature = {};  ///< a DigitallySigned (RFC 5246): SHA-256, ECDSA, length, ASN.1
};

/// What is signed: TreeHeadSignature, 50 bytes.
Bytes signed_bytes(const TreeHead& head);

/// A log's public key and its id: SHA-256 of the key (SubjectPublicKeyInfo).
class LogKey {
 public:
  /// PEM. Unavailable, DataLoss; InvalidArgument when it is no P-256 key.
  static Result<LogKey> load(const std::filesystem::path& path);
  static Result<LogKey> parse(std::string_view pem);
  const Digest& log_id() const noexcept { return log_id_; }
  /// Unauthenticated: not signed by this key, or signed in another way than SHA-256 with ECDSA.
  Result<void> verify(const TreeHead& head) const;

 private:
  friend class SigningKey;
  LogKey(std::shared_ptr<void> key, const Digest& log_id) : key_(std::move(key)), log_id_(log_id) {}
  std::shared_ptr<void> key_;  ///< EVP_PKEY
  Digest log_id_;
};

/// A log's private key.
class SigningKey {
 public:
  static Result<SigningKey> generate();
  static Result<SigningKey> load(const std::filesystem::path& path);
  /// Readable by the owner only. A file that is there is not replaced.
  Result<void> save(const std::filesystem::path& path) const;
  /// PEM of the public half.
  std::string public_pem() const;
  /// Fills in head.signature.
  Result<void> sign(TreeHead& head) const;

 private:
  explicit SigningKey(std::shared_ptr<void> key) : key_(std::move(key)) {}
  std::shared_ptr<void> key_;  ///< EVP_PKEY
};

/// What clients need beside the servers: the signed tree head and how a database of its proofs is to be read.
/// The same for every client and certificate, so that fetching it tells nothing. Only the head is signed; the
/// rest is checked against it (roots), or decides nothing but which replies are asked for (geometry and
/// version), and has a checksum against damage.
struct Publication {
  TreeHead head;
  unsigned levels = 0;             ///< hashes that a record of the database has room for
  std::vector<Digest> roots = {};  ///< of the subtrees of 2^levels leaves, the last may be smaller
  database::Geometry geometry;     ///< of the database of proofs
  database::Version version = {};  ///< likewise
};

inline constexpr unsigned kMaxLevels = 40;
inline constexpr std::size_t kMaxHeadBytes = std::size_t{256} << 20;  ///< of a file with a head

/// JSON: the members of RFC 6962 section 4.3 (get-sth), and `proofs`. A tree head alone has no `proofs`.
std::string format_tree_head(const TreeHead& head);
std::string format_publication(const Publication& publication);
/// DataLoss: malformed, roots that do not make the root of the head, or a wrong checksum.
Result<TreeHead> parse_tree_head(std::string_view text);
Result<Publication> parse_publication(std::string_view text);

/// A proof of consistency as RFC 6962 section 4.4 (get-sth-consistency) has it. DataLoss: malformed.
std::string format_consistency(std::span<const Digest> proof);
Result<std::vector<Digest>> parse_consistency(std::string_view text);

/// "2026-11-21 17:04:05 UTC".
std::string format_time(std::uint64_t milliseconds);

}  // namespace pirx::ct
