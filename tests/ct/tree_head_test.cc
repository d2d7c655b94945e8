// SPDX-License-Identifier: Apache-2.0
// Signed tree heads, published files and proof records: bytes as RFC 6962 says, other keys refused, hostile
// input.
#include "examples/ct/tree_head.h"

#include <gtest/gtest.h>
#include <openssl/ui.h>

#include "examples/ct/certificate.h"
#include "examples/ct/files.h"
#include "examples/ct/merkle.h"
#include "examples/ct/proof_record.h"
#include "support/files.h"
#include "support/seed.h"

namespace pirx::ct {
namespace {

using testing::expect_error;
using testing::good;

SigningKey new_key() {
  auto key = SigningKey::generate();
  if (!key) std::abort();
  return std::move(*key);
}

/// A log of `size` generated certificates, published with so many levels.
struct Sample {
  std::vector<Bytes> certificates;
  std::vector<Bytes> records;
  Publication publication;
};

Sample sample(const SigningKey& key, std::uint64_t size, unsigned levels) {
  const auto generator = CertificateGenerator::create();
  std::vector<Bytes> certificates, records;
  std::vector<Digest> leaves, roots;
  for (std::uint64_t i = 0; i < size; ++i) {
    certificates.push_back(generator->make(i));
    leaves.push_back(leaf_hash(merkle_tree_leaf(1000 + i, certificates.back())));
  }
  const std::uint64_t subtree = std::uint64_t{1} << levels;
  for (std::uint64_t from = 0; from < size; from += subtree) {
    const auto some = std::span(leaves).subspan(from, std::min(subtree, size - from));
    const MerkleTree tree({some.begin(), some.end()});
    roots.push_back(tree.root());
    for (std::uint64_t i = 0; i < some.size(); ++i) {
      records.push_back(encode_proof_record({1000 + from + i, from + i, tree.inclusion_proof(i)}, levels));
    }
  }
  TreeHead head{.timestamp = 1'795'280'000'000, .tree_size = size, .root = MerkleTree(leaves).root()};
  if (!key.sign(head)) std::abort();
  auto geometry = database::Geometry::create(
      {.records = size, .record_bytes = proof_record_bytes(levels), .variable_length = false});
  return {std::move(certificates),
          std::move(records),
          {head, levels, roots, std::move(*geometry), {sha256({}), 3}}};
}

TEST(TreeHead, SignedBytesAreThoseOfTheRfc) {
  const TreeHead head{.timestamp = 0x0102030405060708, .tree_size = 0x1112131415161718, .root = sha256({})};
  EXPECT_EQ(to_hex(signed_bytes(head)),
            "0001"
            "0102030405060708"
            "1112131415161718"
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(TreeHead, LeafIsThatOfTheRfc) {
  // version, leaf_type, timestamp, entry_type, 24 bits of length, certificate, no extensions
  EXPECT_EQ(to_hex(merkle_tree_leaf(0x0102030405060708, *from_hex("aabbcc"))),
            "00"
            "00"
            "0102030405060708"
            "0000"
            "000003"
            "aabbcc"
            "0000");
}

TEST(TreeHead, SignedAndVerified) {
  const auto key = new_key(), other = new_key();
  auto publication = sample(key, 7, 3).publication;
  auto& head = publication.head;
  const auto public_key = LogKey::parse(key.public_pem());
  ASSERT_TRUE(good(public_key));
  EXPECT_TRUE(good(public_key->verify(head)));
  expect_error(LogKey::parse(other.public_pem())->verify(head), ErrorCode::kUnauthenticated,
               "the signature is wrong");
  EXPECT_NE(public_key->log_id(), LogKey::parse(other.public_pem())->log_id());
  // Whatever was signed and is changed.
  for (const int what : {0, 1, 2}) {
    auto changed = head;
    if (what == 0) ++changed.timestamp;
    if (what == 1) ++changed.tree_size;
    if (what == 2) changed.root[31] ^= std::byte{1};
    expect_error(public_key->verify(changed), ErrorCode::kUnauthenticated, "the signature is wrong");
  }
  // Hostile signatures: every prefix, other algorithms, lengths that lie, bits.
  for (std::size_t cut = 0; cut < head.signature.size(); ++cut) {
    auto changed = head;
    changed.signature.resize(cut);
    EXPECT_FALSE(public_key->verify(changed)) << cut;
  }
  for (std::size_t at = 0; at < head.signature.size(); ++at) {
    auto changed = head;
    changed.signature[at] ^= std::byte{1};
    EXPECT_FALSE(public_key->verify(changed)) << at;
  }
  auto longer = head;
  longer.signature.push_back(std::byte{0});
  expect_error(public_key->verify(longer), ErrorCode::kUnauthenticated, "length");
  longer.signature.assign(70000, std::byte{4});
  EXPECT_FALSE(public_key->verify(longer));
}

TEST(TreeHead, KeysInFiles) {
  const testing::TemporaryFolder folder;
  const auto key = new_key();
  const auto path = folder / "key.pem";
  ASSERT_TRUE(good(key.save(path)));
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  expect_error(key.save(path), ErrorCode::kUnavailable, "cannot create");
  const auto again = SigningKey::load(path);
  ASSERT_TRUE(good(again));
  EXPECT_EQ(again->public_pem(), key.public_pem());
  testing::write_file(folder / "public.pem", as_bytes(key.public_pem()));
  const auto loaded = LogKey::load(folder / "public.pem");
  ASSERT_TRUE(good(loaded));
  EXPECT_EQ(loaded->log_id(), LogKey::parse(key.public_pem())->log_id());
  // Keys of another kind, and no keys.
  expect_error(LogKey::load(path), ErrorCode::kDataLoss, "key.pem");
  expect_error(LogKey::load(folder / "none"), ErrorCode::kUnavailable, "none");
  expect_error(LogKey::parse(""), ErrorCode::kDataLoss, "not a public key");
  expect_error(LogKey::parse(std::string(100'000, 'A')), ErrorCode::kDataLoss, "too long");
  const auto pem = key.public_pem();
  for (std::size_t cut = 0; cut + 2 < pem.size(); cut += 5) EXPECT_FALSE(LogKey::parse(pem.substr(0, cut)));
  const char* p384 =
      "-----BEGIN PUBLIC KEY-----\n"
      "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAESCsau6YKX9hmQMeFBmRkfR/BS9j7jD5w\n"
      "XaltWuNSNoUn0HiTceewV3vg4ZTctVWWr3azrk+U6w4yPKTnGQbKFQt9NgANRPsq\n"
      "hYHr3+wl2SP8Ormq2pGkdOxKhMfP/qKJ\n"
      "-----END PUBLIC KEY-----\n";
  expect_error(LogKey::parse(p384), ErrorCode::kInvalidArgument, "P-256");
}

/// Stands before a terminal, and counts how often something would be asked on it.
int asked = 0;
int count_and_fail(UI*) {
  ++asked;
  return 0;
}

TEST(TreeHead, NoPassphraseIsAskedForAKey) {
  const std::unique_ptr<UI_METHOD, decltype(&UI_destroy_method)> terminal(UI_create_method("counts"),
                                                                          &UI_destroy_method);
  UI_method_set_opener(terminal.get(), &count_and_fail);
  const auto* const usual = UI_get_default_method();
  UI_set_default_method(terminal.get());
  const testing::TemporaryFolder folder;
  const auto key = new_key();
  ASSERT_TRUE(good(key.save(folder / "key.pem")));
  const auto locked = [](std::string pem) {
    return pem.insert(pem.find('\n') + 1,
                      "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00112233445566778899AABBCCDDEEFF\n\n");
  };
  expect_error(LogKey::parse(locked(key.public_pem())), ErrorCode::kDataLoss,
               "not a public key in PEM without a pass phrase");
  const auto plain = testing::read_file(folder / "key.pem");
  testing::write_file(folder / "locked.pem", as_bytes(locked(std::string(as_text(plain)))));
  expect_error(SigningKey::load(folder / "locked.pem"), ErrorCode::kDataLoss,
               "not a private key in PEM without a pass phrase");
  UI_set_default_method(usual);
  EXPECT_EQ(asked, 0);
}

TEST(TreeHead, FilesSayTheSameAgain) {
  for (const unsigned levels : {1u, 2u, 3u, 12u}) {
    const auto before = sample(new_key(), 13, levels).publication;
    const auto text = format_publication(before);
    const auto after = parse_publication(text);
    ASSERT_TRUE(good(after));
    EXPECT_EQ(after->head.signature, before.head.signature);
    EXPECT_EQ(after->head.timestamp, before.head.timestamp);
    EXPECT_EQ(after->roots, before.roots);
    EXPECT_EQ(after->levels, levels);
    EXPECT_EQ(after->geometry, before.geometry);
    EXPECT_EQ(after->version, before.version);
    EXPECT_EQ(format_publication(*after), text);
    // A get-sth of RFC 6962 is a tree head, but no publication.
    const auto head_text = format_tree_head(before.head);
    const auto head = parse_tree_head(head_text);
    ASSERT_TRUE(good(head));
    EXPECT_EQ(head->root, before.head.root);
    ASSERT_TRUE(good(parse_tree_head(text)));
    expect_error(parse_publication(head_text), ErrorCode::kDataLoss, "'proofs' is missing");
  }
}

TEST(TreeHead, HostileFiles) {
  const auto text = format_publication(sample(new_key(), 13, 2).publication);
  expect_error(parse_publication(""), ErrorCode::kDataLoss, "not a JSON object");
  expect_error(parse_publication("[1]"), ErrorCode::kDataLoss, "not a JSON object");
  EXPECT_FALSE(parse_publication(std::string(100'000, '[')));
  for (std::size_t cut = 0; cut < text.size() - 2; cut += 3)
    EXPECT_FALSE(parse_publication(text.substr(0, cut)));

  // The file with another value of a member.
  const auto with = [&](std::string_view member, std::string_view value) {
    auto changed = text;
    const auto from = changed.find(":", changed.find("\"" + std::string(member) + "\"")) + 2;
    const auto to = changed[from] == '{' ? changed.find('}', from) + 1 : changed.find_first_of(",\n", from);
    return parse_publication(changed.replace(from, to - from, value));
  };
  const auto quoted = [](ByteSpan bytes) { return "\"" + encode_base64(bytes) + "\""; };
  ASSERT_TRUE(good(with("timestamp", "1")));
  const auto& number = "whole number";
  const auto& roots = "number of subtree roots";
  expect_error(with("tree_size", "-1"), ErrorCode::kDataLoss, number);
  expect_error(with("tree_size", "\"13\""), ErrorCode::kDataLoss, number);
  expect_error(with("tree_size", "0"), ErrorCode::kDataLoss, roots);
  expect_error(with("tree_size", "12"), ErrorCode::kDataLoss, roots);
  expect_error(with("tree_size", "17"), ErrorCode::kDataLoss, roots);
  expect_error(with("tree_size", "18446744073709551615"), ErrorCode::kDataLoss, roots);
  expect_error(with("tree_size", "18446744073709551616"), ErrorCode::kDataLoss, number);
  expect_error(with("timestamp", "1.5"), ErrorCode::kDataLoss, number);
  expect_error(with("sha256_root_hash", "\"AAAA\""), ErrorCode::kDataLoss, "32 bytes");
  expect_error(with("sha256_root_hash", "7"), ErrorCode::kDataLoss, "not a string");
  expect_error(with("sha256_root_hash", quoted(sha256({}))), ErrorCode::kDataLoss, "do not make the root");
  expect_error(with("tree_head_signature", "\"A\""), ErrorCode::kDataLoss, "base64");
  expect_error(with("proofs", "1"), ErrorCode::kDataLoss, "'proofs.levels' is missing");
  expect_error(with("proofs", "{}"), ErrorCode::kDataLoss, "'proofs.levels' is missing");
  expect_error(with("levels", "41"), ErrorCode::kDataLoss, "above 40");
  expect_error(with("levels", "1152921504606846976"), ErrorCode::kDataLoss, "above 40");
  expect_error(with("levels", "3"), ErrorCode::kDataLoss, roots);
  expect_error(with("subtree_roots", "\"\""), ErrorCode::kDataLoss, roots);
  expect_error(with("subtree_roots", "\"AAAA\""), ErrorCode::kDataLoss, "cut short");
  expect_error(with("subtree_roots", quoted(Bytes(4 * 32))), ErrorCode::kDataLoss, "do not make");
  expect_error(with("database_identity", "\"\""), ErrorCode::kDataLoss, "32 bytes");
  expect_error(with("database_epoch", "null"), ErrorCode::kDataLoss, number);
  expect_error(with("database_geometry", "\"\""), ErrorCode::kDataLoss, "geometry");
  expect_error(with("database_geometry", quoted(Bytes(88))), ErrorCode::kDataLoss, "geometry");
  EXPECT_FALSE(with("database_geometry", quoted(Bytes(89, std::byte{1}))));
  // Else a certificate would seem to be missing, with proof.
  auto moved = sample(new_key(), 13, 2).publication.geometry.spec();
  moved.records_per_row += 1;
  Writer other;
  database::Geometry::create(moved)->encode(other);
  expect_error(with("database_geometry", quoted(std::move(other).take())), ErrorCode::kDataLoss,
               "'proofs.checksum' is not that of");
  expect_error(with("database_epoch", "77"), ErrorCode::kDataLoss, "'proofs.checksum' is not that of");
  expect_error(with("checksum", "7"), ErrorCode::kDataLoss, "'proofs.checksum' is not a string");
  // What the log does not sign makes nobody send gigabytes.
  const auto geometry_of = [&](std::uint64_t records) {
    auto spec = sample(new_key(), 13, 2).publication.geometry.spec();
    spec.records = records;
    Writer writer;
    database::Geometry::create(spec)->encode(writer);
    return with("database_geometry", quoted(std::move(writer).take()));
  };
  EXPECT_TRUE(good(geometry_of(13)));
  expect_error(geometry_of(14), ErrorCode::kDataLoss, "more records than the tree has leaves");
  expect_error(geometry_of(1'000'000'000), ErrorCode::kDataLoss, "more records than the tree has leaves");
}

TEST(TreeHead, ConsistencyFiles) {
  const std::vector<Digest> proof{sha256({}), sha256(as_bytes("x"))};
  const auto text = format_consistency(proof);
  const auto back = parse_consistency(text);
  ASSERT_TRUE(good(back));
  EXPECT_EQ(*back, proof);
  EXPECT_TRUE(parse_consistency(R"({"consistency": []})")->empty());
  for (const auto* bad : {"", "[]", "{}", R"({"consistency": 1})", R"({"consistency": [1]})",
                          R"({"consistency": ["AAAA"]})", R"({"consistency": ["!"]})"}) {
    expect_error(parse_consistency(bad), ErrorCode::kDataLoss, "no proof of consistency");
  }
  for (std::size_t cut = 0; cut + 2 < text.size(); ++cut)
    EXPECT_FALSE(parse_consistency(text.substr(0, cut)));
}

TEST(TreeHead, Base64IsStrict) {
  auto engine = testing::seeded_engine();
  for (std::size_t size = 0; size < 100; ++size) {
    const auto bytes = testing::random_bytes(engine, size);
    const auto back = decode_base64(encode_base64(bytes), "x");
    ASSERT_TRUE(good(back));
    EXPECT_EQ(*back, bytes);
  }
  EXPECT_EQ(encode_base64(as_bytes("foobar")), "Zm9vYmFy");
  for (const auto* bad :
       {"Zg", "Zg=", "Zh==", "Zg==Zg==", "====", "Z===", " Zg==", "Zg==\n", "Zm9v\nmFy", "Zm9vYmF!"}) {
    expect_error(decode_base64(bad, "x"), ErrorCode::kDataLoss, "x is not base64");
  }
}

TEST(ProofRecord, EveryLeafOfEverySize) {
  const auto key = new_key();
  for (const unsigned levels : {1u, 2u, 3u, 6u}) {
    for (const std::uint64_t size : {1u, 2u, 3u, 7u, 8u, 9u, 21u}) {
      const auto made = sample(key, size, levels);
      for (std::uint64_t i = 0; i < size; ++i) {
        ASSERT_EQ(made.records[i].size(), proof_record_bytes(levels));
        const auto found = check_proof_record(made.publication, made.certificates[i], made.records[i]);
        ASSERT_TRUE(good(found)) << i << " of " << size << ", " << levels << " levels";
        EXPECT_EQ(found->index, i);
        EXPECT_EQ(found->timestamp, 1000 + i);
        EXPECT_LE(found->hashes, levels);
      }
    }
  }
}

TEST(ProofRecord, ForgedAndHostile) {
  const auto made = sample(new_key(), 21, 3);
  const auto check = [&](std::uint64_t certificate, ByteSpan record) {
    return check_proof_record(made.publication, made.certificates[certificate], record);
  };
  for (std::uint64_t i = 0; i < 21; ++i) {
    for (std::uint64_t other = 0; other < 21; ++other) {
      EXPECT_EQ(check(i, made.records[other]).has_value(), i == other);
    }
    for (std::size_t at = 0; at < made.records[i].size(); ++at) {
      auto forged = made.records[i];
      forged[at] ^= std::byte{0x10};
      EXPECT_FALSE(check(i, forged)) << "byte " << at << " of record " << i;
    }
  }
  const auto& record = made.records[5];
  for (std::size_t cut = 0; cut < record.size(); ++cut) {
    expect_error(check(5, ByteSpan(record).first(cut)), ErrorCode::kDataLoss, "length");
  }
  auto longer = record;
  longer.push_back(std::byte{0});
  expect_error(check(5, longer), ErrorCode::kDataLoss, "length");
  auto beyond = record;
  for (const std::uint64_t index : {std::uint64_t{21}, ~std::uint64_t{0}}) {
    store_le(beyond.data() + 8, index);
    expect_error(check(5, beyond), ErrorCode::kDataLoss, "beyond the tree");
  }
  // The last subtree has five leaves, so that the last leaf's proof is one hash; the rest must be zero.
  auto padded = made.records[20];
  padded.back() = std::byte{1};
  expect_error(check(20, padded), ErrorCode::kDataLoss, "more hashes");
  EXPECT_EQ(check(20, made.records[20])->hashes, 1u);
  expect_error(check(6, record), ErrorCode::kDataLoss, "does not lead");
}

}  // namespace
}  // namespace pirx::ct
