// SPDX-License-Identifier: Apache-2.0
// Merkle trees against the known answers of RFC 6962's reference implementations (8 leaves), the examples of
// its section 2.1.3 (7 leaves), Figure 1 of paper 000, the definition, and forgeries.
#include "examples/ct/merkle.h"

#include <gtest/gtest.h>

#include "support/files.h"
#include "support/seed.h"

namespace pirx::ct {
namespace {

Digest digest(std::string_view hex) {
  const auto bytes = from_hex(hex);
  Digest digest{};
  if (!bytes || bytes->size() != digest.size()) std::abort();
  std::copy(bytes->begin(), bytes->end(), digest.begin());
  return digest;
}

std::vector<Digest> digests(std::initializer_list<std::string_view> hex) {
  std::vector<Digest> all;
  for (const auto each : hex) all.push_back(digest(each));
  return all;
}

/// The leaves of the vectors that the reference implementations of RFC 6962 share.
std::vector<Digest> known_leaves() {
  std::vector<Digest> leaves;
  for (const auto* hex :
       {"", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"}) {
    leaves.push_back(leaf_hash(*from_hex(hex)));
  }
  return leaves;
}

std::vector<Digest> first(std::vector<Digest> leaves, std::size_t count) {
  leaves.resize(count);
  return leaves;
}

std::vector<Digest> random_leaves(std::size_t count) {
  auto engine = testing::seeded_engine(count);
  std::vector<Digest> leaves(count);
  for (auto& leaf : leaves) leaf = leaf_hash(testing::random_bytes(engine, 8));
  return leaves;
}

/// MTH as RFC 6962 section 2.1 defines it.
Digest mth(std::span<const Digest> leaves) {
  if (leaves.empty()) return sha256({});
  if (leaves.size() == 1) return leaves[0];
  std::size_t k = 1;
  while (2 * k < leaves.size()) k *= 2;
  return node_hash(mth(leaves.first(k)), mth(leaves.subspan(k)));
}

TEST(Merkle, KnownRoots) {
  const char* roots[] = {"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                         "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
                         "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
                         "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
                         "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
                         "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
                         "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
                         "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
                         "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};
  const auto leaves = known_leaves();
  TreeRoot root;
  for (std::size_t n = 0; n <= leaves.size(); ++n) {
    EXPECT_EQ(root.root(), digest(roots[n])) << n;
    if (n > 0) {
      EXPECT_EQ(MerkleTree(first(leaves, n)).root(), digest(roots[n])) << n;
    }
    if (n < leaves.size()) root.add(leaves[n]);
  }
}

TEST(Merkle, KnownProofs) {
  struct Case {
    std::uint64_t index, size;
    std::vector<Digest> proof;
  };
  const Case inclusion[] = {
      {0, 1, {}},
      {0, 8,
       digests({"96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
                "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"})},
      {5, 8,
       digests({"bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
                "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"})},
      {2, 3, digests({"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"})},
      {1, 5,
       digests({"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
                "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"})},
  };
  const auto leaves = known_leaves();
  for (const auto& c : inclusion) {
    const MerkleTree tree(first(leaves, c.size));
    EXPECT_EQ(tree.inclusion_proof(c.index), c.proof) << c.index << " of " << c.size;
    EXPECT_TRUE(verify_inclusion(leaves[c.index], c.index, c.size, c.proof, tree.root()));
  }
  const Case consistency[] = {
      {1, 1, {}},
      {1, 8,
       digests({"96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
                "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"})},
      {6, 8,
       digests({"0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
                "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"})},
      {2, 5,
       digests({"5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"})},
  };
  for (const auto& c : consistency) {
    const MerkleTree old_tree(first(leaves, c.index)), tree(first(leaves, c.size));
    EXPECT_EQ(tree.consistency_proof(c.index), c.proof) << c.index << " in " << c.size;
    EXPECT_TRUE(verify_consistency(c.index, old_tree.root(), c.size, tree.root(), c.proof));
  }
}

// RFC 6962 section 2.1.3: seven leaves d0 .. d6, with the names of its picture.
TEST(Merkle, ExamplesOfTheRfc) {
  const auto d = random_leaves(7);
  const Digest a = d[0], b = d[1], c = d[2], e = d[4], f = d[5];
  const Digest g = node_hash(a, b), h = node_hash(c, d[3]), i = node_hash(e, f), j = d[6];
  const Digest k = node_hash(g, h), l = node_hash(i, j);
  const MerkleTree tree(d);
  using Proof = std::vector<Digest>;
  EXPECT_EQ(tree.root(), node_hash(k, l));
  EXPECT_EQ(tree.inclusion_proof(0), (Proof{b, h, l}));
  EXPECT_EQ(tree.inclusion_proof(3), (Proof{c, g, l}));
  EXPECT_EQ(tree.inclusion_proof(4), (Proof{f, j, k}));
  EXPECT_EQ(tree.inclusion_proof(6), (Proof{i, k}));
  EXPECT_EQ(tree.consistency_proof(3), (Proof{c, d[3], g, l}));
  EXPECT_EQ(tree.consistency_proof(4), (Proof{l}));
  EXPECT_EQ(tree.consistency_proof(6), (Proof{i, j, k}));
}

// Paper 000, Figure 1: "for certificate c_3 the proof of inclusion consists of ... c_2, a and e"; "the
// inclusion proof of c_6 consists only of the nodes d and c".
TEST(Merkle, FigureOneOfThePaper) {
  const auto c = random_leaves(7);
  const Digest a = node_hash(c[0], c[1]), b = node_hash(c[2], c[3]), d = node_hash(c[4], c[5]);
  const Digest node_c = node_hash(a, b), e = node_hash(d, c[6]), f = node_hash(node_c, e);
  const MerkleTree tree(c);
  using Proof = std::vector<Digest>;
  EXPECT_EQ(tree.root(), f);
  EXPECT_EQ(tree.inclusion_proof(3), (Proof{c[2], a, e}));
  EXPECT_EQ(tree.inclusion_proof(6), (Proof{d, node_c}));
  EXPECT_TRUE(verify_inclusion(c[3], 3, 7, Proof{c[2], a, e}, f));
  EXPECT_FALSE(verify_inclusion(c[3], 2, 7, Proof{c[2], a, e}, f));
  EXPECT_FALSE(verify_inclusion(c[2], 3, 7, Proof{c[2], a, e}, f));
}

TEST(Merkle, EverySmallTree) {
  const auto leaves = random_leaves(70);
  TreeRoot running;
  for (std::size_t n = 1; n <= leaves.size(); ++n) {
    running.add(leaves[n - 1]);
    const auto some = std::span(leaves).first(n);
    const MerkleTree tree({some.begin(), some.end()});
    const Digest root = mth(some);
    ASSERT_EQ(tree.root(), root) << n;
    ASSERT_EQ(running.root(), root) << n;
    ASSERT_EQ(running.size(), n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto proof = tree.inclusion_proof(i);
      ASSERT_EQ(proof.size(), inclusion_proof_length(i, n)) << i << " of " << n;
      ASSERT_TRUE(verify_inclusion(leaves[i], i, n, proof, root)) << i << " of " << n;
    }
    for (std::size_t m = 1; m <= n; ++m) {
      const Digest old_root = mth(some.first(m));
      ASSERT_TRUE(verify_consistency(m, old_root, n, root, tree.consistency_proof(m))) << m << " in " << n;
    }
  }
}

TEST(Merkle, ForgedProofsAreRefused) {
  const auto leaves = random_leaves(37);
  const MerkleTree tree(leaves);
  for (std::uint64_t i = 0; i < leaves.size(); ++i) {
    auto proof = tree.inclusion_proof(i);
    const auto good = [&](std::uint64_t index, std::uint64_t size) {
      return verify_inclusion(leaves[i], index, size, proof, tree.root());
    };
    ASSERT_TRUE(good(i, 37));
    for (std::uint64_t other = 0; other < 40; ++other) ASSERT_EQ(good(other, 37), other == i);
    ASSERT_FALSE(good(37, 37));
    ASSERT_FALSE(good(i, 0));
    for (auto& hash : proof) {
      hash[i % 32] ^= std::byte{1};
      ASSERT_FALSE(good(i, 37));
      hash[i % 32] ^= std::byte{1};
    }
    const Digest last = proof.back();
    proof.pop_back();
    ASSERT_FALSE(good(i, 37)) << "one hash short";
    proof.push_back(last);
    proof.push_back(last);
    ASSERT_FALSE(good(i, 37)) << "one hash too many";
  }
  // A node passed off as a leaf.
  const auto proof = tree.inclusion_proof(0);
  const Digest inner = node_hash(leaves[0], leaves[1]);
  EXPECT_FALSE(verify_inclusion(inner, 0, 37, std::span(proof).subspan(1), tree.root()));
  EXPECT_FALSE(verify_inclusion(tree.root(), 0, 37, {}, tree.root()));
}

TEST(Merkle, RewrittenPastsAreRefused) {
  auto leaves = random_leaves(21);
  const MerkleTree tree(leaves);
  for (std::uint64_t m = 1; m < 21; ++m) {
    auto changed = first(leaves, m);
    changed[m / 2][0] ^= std::byte{1};
    const Digest old_root = MerkleTree(first(leaves, m)).root(), other_root = MerkleTree(changed).root();
    auto proof = tree.consistency_proof(m);
    const auto good = [&](const Digest& old) { return verify_consistency(m, old, 21, tree.root(), proof); };
    ASSERT_TRUE(good(old_root));
    ASSERT_FALSE(good(other_root)) << m;
    ASSERT_FALSE(verify_consistency(m, old_root, 21, other_root, proof)) << m;
    ASSERT_FALSE(verify_consistency(0, old_root, 21, tree.root(), proof));
    ASSERT_FALSE(verify_consistency(22, old_root, 21, tree.root(), proof));
    for (auto& hash : proof) {
      hash[5] ^= std::byte{2};
      ASSERT_FALSE(good(old_root)) << m;
      hash[5] ^= std::byte{2};
    }
    proof.push_back(old_root);
    ASSERT_FALSE(good(old_root)) << m;
    proof.resize(proof.size() - 2);
    ASSERT_FALSE(good(old_root)) << m;
    ASSERT_FALSE(verify_consistency(m, old_root, 21, tree.root(), {})) << m;
  }
  EXPECT_FALSE(verify_consistency(21, tree.root(), 21, leaves[0], {}));
  EXPECT_FALSE(verify_consistency(21, tree.root(), 21, tree.root(), leaves));
}

}  // namespace
}  // namespace pirx::ct
