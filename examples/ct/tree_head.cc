// SPDX-License-Identifier: Apache-2.0
// Signs and checks tree heads with OpenSSL's ECDSA, and reads and writes them as JSON.
#include "tree_head.h"

#include <fcntl.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "files.h"
#include "merkle.h"
#include "openssl_handles.h"
#include "pirx/base/json.h"
#include "pirx/base/secret.h"

namespace pirx::ct {
namespace {

constexpr std::size_t kMaxKeyBytes = 64 << 10;
constexpr std::byte kHashSha256{4}, kSignatureEcdsa{3};  // RFC 5246 section 7.4.1.4.1

EVP_PKEY* key_of(const std::shared_ptr<void>& key) { return static_cast<EVP_PKEY*>(key.get()); }
const unsigned char* octets(ByteSpan bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

Bio bio_of(std::string_view text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

/// No pass phrase is asked for.
int no_passphrase(char*, int, int, void*) { return -1; }

/// Of text at most kMaxKeyBytes long.
Result<std::shared_ptr<void>> checked_key(EVP_PKEY* key, const char* kind) {
  ERR_clear_error();
  if (key == nullptr) {
    return fail(ErrorCode::kDataLoss, std::string("not a ") + kind + " key in PEM without a pass phrase");
  }
  std::shared_ptr<void> owned(key, [](void* k) { EVP_PKEY_free(static_cast<EVP_PKEY*>(k)); });
  char group[32] = "";
  std::size_t length = 0;
  if (EVP_PKEY_get_group_name(key, group, sizeof group, &length) != 1 || std::string(group) != "prime256v1") {
    ERR_clear_error();
    return invalid(std::string("the ") + kind + " key is not on the curve P-256, which logs sign with here");
  }
  return owned;
}

constexpr char kAdvice[] = "; take the file that 'ct-log' wrote";

Result<Bytes> get_bytes(const Json& value) {
  PIRX_ASSIGN(const auto text, value.string());
  auto bytes = decode_base64(text, "");
  if (!bytes) return value.error("is not base64 (RFC 4648)");
  return bytes;
}

Result<Digest> get_digest(const Json& value) {
  PIRX_ASSIGN(const Bytes bytes, get_bytes(value));
  Digest digest{};
  if (bytes.size() != digest.size()) return value.error("has not 32 bytes");
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

Result<Json> parse_object(std::string_view text) {
  return Json::parse(text, {.name = "tree head", .advice = kAdvice, .max_bytes = kMaxHeadBytes});
}

Result<TreeHead> head_of(const Json& json) {
  TreeHead head;
  PIRX_ASSIGN(head.tree_size, json["tree_size"].number());
  PIRX_ASSIGN(head.timestamp, json["timestamp"].number());
  PIRX_ASSIGN(head.root, get_digest(json["sha256_root_hash"]));
  PIRX_ASSIGN(head.signature, get_bytes(json["tree_head_signature"]));
  return head;
}

OutJson to_json(const TreeHead& head) {
  return {{"tree_size", head.tree_size},
          {"timestamp", head.timestamp},
          {"sha256_root_hash", encode_base64(head.root)},
          {"tree_head_signature", encode_base64(head.signature)}};
}

/// `roots` as many as the tree has subtrees, and they make its root.
Result<void> check_roots(const TreeHead& head, unsigned levels, std::span<const Digest> roots) {
  const auto broken = [](const char* what) {
    return fail(ErrorCode::kDataLoss, std::string("tree head: ") + what + kAdvice);
  };
  const std::uint64_t subtree = std::uint64_t{1} << levels;
  if (head.tree_size == 0 || head.tree_size > std::uint64_t{1} << 56 ||
      roots.size() != div_up(head.tree_size, subtree)) {
    return broken("another number of subtree roots than the tree has");
  }
  TreeRoot root;
  for (const auto& each : roots) root.add(each);
  if (root.root() != head.root) return broken("the subtree roots do not make the root that is signed");
  return {};
}

/// Where the proofs are, without the checksum.
OutJson proofs_of(const Publication& publication) {
  Bytes roots;
  for (const auto& root : publication.roots) roots.insert(roots.end(), root.begin(), root.end());
  Writer geometry;
  publication.geometry.encode(geometry);
  return {{"levels", publication.levels},
          {"subtree_roots", encode_base64(roots)},
          {"database_identity", encode_base64(publication.version.identity)},
          {"database_epoch", publication.version.epoch},
          {"database_geometry", encode_base64(std::move(geometry).take())}};
}

/// Nothing of this is signed, and with a wrong filter a certificate would seem to be missing.
std::string checksum_of(const OutJson& proofs) { return encode_base64(sha256(as_bytes(proofs.dump()))); }

}  // namespace

Bytes signed_bytes(const TreeHead& head) {
  Bytes bytes{std::byte{0}, std::byte{1}};  // version v1, signature_type tree_hash
  for (const std::uint64_t number : {head.timestamp, head.tree_size}) {
    for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::byte>(number >> shift));
  }
  bytes.insert(bytes.end(), head.root.begin(), head.root.end());
  return bytes;
}

Result<LogKey> LogKey::parse(std::string_view pem) {
  if (pem.size() > kMaxKeyBytes) return fail(ErrorCode::kDataLoss, "not a public key: too long");
  PIRX_ASSIGN(auto key,
              checked_key(PEM_read_bio_PUBKEY(bio_of(pem).get(), nullptr, no_passphrase, nullptr), "public"));
  unsigned char* data = nullptr;
  const int size = i2d_PUBKEY(key_of(key), &data);
  PIRX_CHECK(size > 0);
  const Digest id = sha256({reinterpret_cast<const std::byte*>(data), static_cast<std::size_t>(size)});
  OPENSSL_free(data);
  return LogKey(std::move(key), id);
}

Result<LogKey> LogKey::load(const std::filesystem::path& path) {
  PIRX_ASSIGN(const auto pem, read_file(path, kMaxKeyBytes));
  auto key = parse(pem);
  if (!key) return fail(key.error().code(), path.string() + ": " + key.error().message());
  return key;
}

Result<void> LogKey::verify(const TreeHead& head) const {
  const auto refuse = [](const char* why) {
    ERR_clear_error();
    return fail(ErrorCode::kUnauthenticated,
                std::string("the tree head is not signed by this log's key: ") + why);
  };
  const auto& s = head.signature;
  if (s.size() < 4 || s[0] != kHashSha256 || s[1] != kSignatureEcdsa)
    return refuse("it is no SHA-256 with ECDSA");
  if (s.size() - 4 != (std::to_integer<std::size_t>(s[2]) << 8 | std::to_integer<std::size_t>(s[3]))) {
    return refuse("its length is wrong");
  }
  const auto message = signed_bytes(head);
  const DigestContext context(EVP_MD_CTX_new());
  PIRX_CHECK(context != nullptr &&
             EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key_of(key_)) == 1);
  if (EVP_DigestVerify(context.get(), octets(s) + 4, s.size() - 4, octets(message), message.size()) != 1) {
    return refuse("the signature is wrong");
  }
  return {};
}

Result<SigningKey> SigningKey::generate() {
  char curve[] = "P-256";
  EVP_PKEY* key = EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", curve);
  if (key == nullptr) return fail(ErrorCode::kUnavailable, "OpenSSL cannot make a P-256 key");
  PIRX_ASSIGN(auto checked, checked_key(key, "private"));
  return SigningKey(std::move(checked));
}

Result<SigningKey> SigningKey::load(const std::filesystem::path& path) {
  PIRX_ASSIGN(auto pem, read_file(path, kMaxKeyBytes));
  auto key =
      checked_key(PEM_read_bio_PrivateKey(bio_of(pem).get(), nullptr, no_passphrase, nullptr), "private");
  secure_wipe(pem.data(), pem.size());
  if (!key) return fail(key.error().code(), path.string() + ": " + key.error().message());
  return SigningKey(std::move(*key));
}

Result<void> SigningKey::save(const std::filesystem::path& path) const {
  const Bio out(BIO_new(BIO_s_secmem()));
  PIRX_CHECK(out != nullptr &&
             PEM_write_bio_PrivateKey(out.get(), key_of(key_), nullptr, nullptr, 0, nullptr, nullptr) == 1);
  auto pem = contents(out.get());
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) {
    secure_wipe(pem.data(), pem.size());
    return fail(ErrorCode::kUnavailable, "cannot create " + path.string() + ": " + std::strerror(errno));
  }
  bool ok = write(file, pem.data(), pem.size()) == static_cast<ssize_t>(pem.size()) && fsync(file) == 0;
  ok = (close(file) == 0) && ok;
  secure_wipe(pem.data(), pem.size());
  if (!ok) return fail(ErrorCode::kUnavailable, "cannot write " + path.string());
  return {};
}

std::string SigningKey::public_pem() const {
  const Bio out(BIO_new(BIO_s_mem()));
  PIRX_CHECK(out != nullptr && PEM_write_bio_PUBKEY(out.get(), key_of(key_)) == 1);
  return contents(out.get());
}

Result<void> SigningKey::sign(TreeHead& head) const {
  const auto message = signed_bytes(head);
  const DigestContext context(EVP_MD_CTX_new());
  unsigned char signature[128];
  std::size_t size = sizeof signature;
  if (context == nullptr ||
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_of(key_)) != 1 ||
      EVP_DigestSign(context.get(), signature, &size, octets(message), message.size()) != 1) {
    ERR_clear_error();
    return fail(ErrorCode::kInternal, "OpenSSL cannot sign the tree head");
  }
  head.signature = {kHashSha256, kSignatureEcdsa, static_cast<std::byte>(size >> 8),
                    static_cast<std::byte>(size)};
  const auto* bytes = reinterpret_cast<const std::byte*>(signature);
  head.signature.insert(head.signature.end(), bytes, bytes + size);
  return {};
}

std::string format_tree_head(const TreeHead& head) { return to_json(head).dump(2) + "\n"; }

std::string format_publication(const Publication& publication) {
  OutJson json = to_json(publication.head);
  auto& proofs = json["proofs"] = proofs_of(publication);
  proofs["checksum"] = checksum_of(proofs);
  return json.dump(2) + "\n";
}

Result<TreeHead> parse_tree_head(std::string_view text) {
  PIRX_ASSIGN(const auto json, parse_object(text));
  return head_of(json);
}

Result<Publication> parse_publication(std::string_view text) {
  PIRX_ASSIGN(const auto json, parse_object(text));
  PIRX_ASSIGN(auto head, head_of(json));
  const auto proofs = json["proofs"];
  if (!proofs.exists()) return proofs.error("is missing: it belongs to no database of proofs");
  PIRX_ASSIGN(const std::uint64_t levels, proofs["levels"].number(0, kMaxLevels));
  PIRX_ASSIGN(const Bytes roots_bytes, get_bytes(proofs["subtree_roots"]));
  if (roots_bytes.size() % sizeof(Digest) != 0) return proofs["subtree_roots"].error("is cut short");
  std::vector<Digest> roots(roots_bytes.size() / sizeof(Digest));
  if (!roots.empty()) std::memcpy(roots.data(), roots_bytes.data(), roots_bytes.size());
  PIRX_TRY(check_roots(head, static_cast<unsigned>(levels), roots));
  database::Version version;
  PIRX_ASSIGN(version.identity, get_digest(proofs["database_identity"]));
  PIRX_ASSIGN(version.epoch, proofs["database_epoch"].number());
  PIRX_ASSIGN(const Bytes geometry_bytes, get_bytes(proofs["database_geometry"]));
  Reader reader(geometry_bytes, "database geometry");
  PIRX_ASSIGN(auto geometry, database::Geometry::decode(reader));
  PIRX_TRY(reader.expect_end());
  // The log signs the tree alone. A filter has room to spare, few keys need more of it in proportion.
  const std::uint64_t most = 4096 + 4 * std::min(head.tree_size, std::uint64_t{1} << 40);
  if (geometry.records() > head.tree_size || geometry.rows() > most / geometry.spec().records_per_row + 1) {
    return proofs["database_geometry"].error("is of more records than the tree has leaves");
  }
  Publication publication{std::move(head), static_cast<unsigned>(levels), std::move(roots),
                          std::move(geometry), version};
  PIRX_ASSIGN(const auto checksum, proofs["checksum"].string());
  if (checksum != checksum_of(proofs_of(publication))) {
    return proofs["checksum"].error("is not that of what the file says: it is damaged");
  }
  return publication;
}

std::string format_consistency(std::span<const Digest> proof) {
  OutJson hashes = OutJson::list();
  for (const auto& hash : proof) hashes.push_back(encode_base64(hash));
  return OutJson{{"consistency", hashes}}.dump(2) + "\n";
}

Result<std::vector<Digest>> parse_consistency(std::string_view text) {
  PIRX_ASSIGN(const auto json, Json::parse(text, {.name = "no proof of consistency",
                                                  .advice = "; take what 'ct-log consistency' prints"}));
  PIRX_ASSIGN(const auto list, json["consistency"].list());
  std::vector<Digest> proof;
  for (const auto& each : list) {
    PIRX_ASSIGN(proof.emplace_back(), get_digest(each));
  }
  return proof;
}

std::string format_time(std::uint64_t milliseconds) {
  const auto seconds = static_cast<std::time_t>(milliseconds / 1000);
  std::tm parts{};
  char text[64] = "";
  if (gmtime_r(&seconds, &parts) == nullptr || std::strftime(text, sizeof text, "%F %T UTC", &parts) == 0) {
    return std::to_string(milliseconds) + " ms after 1970";
  }
  return text;
}

}  // namespace pirx::ct
