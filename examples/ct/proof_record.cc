// SPDX-License-Identifier: Apache-2.0
// Encodes proof records and checks them against a publication.
#include "proof_record.h"

#include <algorithm>

#include "certificate.h"
#include "merkle.h"

namespace pirx::ct {

Bytes merkle_tree_leaf(std::uint64_t timestamp, ByteSpan der) {
  PIRX_CHECK(der.size() <= kMaxCertificateBytes);
  Bytes leaf;
  leaf.reserve(17 + der.size());
  const auto put = [&leaf](std::uint64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
      leaf.push_back(static_cast<std::byte>(value >> shift));
  };
  put(0, 1);  // version v1
  put(0, 1);  // leaf_type timestamped_entry
  put(timestamp, 8);
  put(0, 2);  // entry_type x509_entry
  put(der.size(), 3);
  leaf.insert(leaf.end(), der.begin(), der.end());
  put(0, 2);  // no extensions
  return leaf;
}

Bytes encode_proof_record(const ProofRecord& record, unsigned levels) {
  PIRX_CHECK(record.siblings.size() <= levels);
  Writer writer(proof_record_bytes(levels));
  writer.put(record.timestamp);
  writer.put(record.index);
  for (const auto& sibling : record.siblings) writer.put_bytes(sibling);
  writer.extend(sizeof(Digest) * (levels - record.siblings.size()));
  return std::move(writer).take();
}

Result<Inclusion> check_proof_record(const Publication& publication, ByteSpan der, ByteSpan record) {
  const auto wrong = [](const char* what) {
    return fail(ErrorCode::kDataLoss, std::string("the proof ") + what);
  };
  const unsigned levels = publication.levels;
  if (record.size() != proof_record_bytes(levels)) return wrong("has not the length that the tree head says");
  const auto timestamp = load_le<std::uint64_t>(record.data());
  const auto index = load_le<std::uint64_t>(record.data() + 8);
  const std::uint64_t size = publication.head.tree_size;
  if (index >= size) return wrong("is of a leaf beyond the tree");
  const std::uint64_t subtree = index >> levels, first = subtree << levels;
  const std::uint64_t leaves = std::min(std::uint64_t{1} << levels, size - first);
  std::vector<Digest> siblings(inclusion_proof_length(index - first, leaves));
  const auto hashes = record.subspan(16);
  if (!siblings.empty()) std::memcpy(siblings.data(), hashes.data(), siblings.size() * sizeof(Digest));
  const auto rest = hashes.subspan(siblings.size() * sizeof(Digest));
  if (!std::all_of(rest.begin(), rest.end(), [](std::byte b) { return b == std::byte{0}; })) {
    return wrong("has more hashes than lead to the root");
  }
  if (!verify_inclusion(leaf_hash(merkle_tree_leaf(timestamp, der)), index - first, leaves, siblings,
                        publication.roots[subtree])) {
    return wrong("does not lead from the certificate to the signed root");
  }
  return Inclusion{timestamp, index, siblings.size()};
}

}  // namespace pirx::ct
