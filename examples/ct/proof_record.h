// SPDX-License-Identifier: Apache-2.0
// A record of the database of proofs: what an auditor needs beside the certificate and the signed tree head
// (paper 000, section 4.3). docs/certificate_transparency.md describes its bytes.
#pragma once

#include "tree_head.h"

namespace pirx::ct {

/// MerkleTreeLeaf of a certificate, RFC 6962 section 3.4: version 1, timestamped_entry, x509_entry, no
/// extensions.
Bytes merkle_tree_leaf(std::uint64_t timestamp, ByteSpan der);

struct ProofRecord {
  std::uint64_t timestamp = 0;     ///< of the leaf, milliseconds since 1970
  std::uint64_t index = 0;         ///< of the leaf in the log
  std::vector<Digest> siblings{};  ///< within its subtree of 2^levels leaves, from the leaf up
};

/// Bytes of every record of a database: the paper's 32 for each level, and 16 for timestamp and index.
constexpr std::size_t proof_record_bytes(unsigned levels) {
  return 16 + sizeof(Digest) * std::size_t{levels};
}
/// At most `levels` siblings; zeros fill the record.
Bytes encode_proof_record(const ProofRecord& record, unsigned levels);

/// Where the certificate stands in the log.
struct Inclusion {
  std::uint64_t timestamp = 0, index = 0;
  std::size_t hashes = 0;  ///< checked on the way to the root of the subtree
};

/// Whether the record proves that the certificate is a leaf of the tree of publication.head, whose signature
/// the caller has checked. DataLoss says what is wrong with the record, without a word about which it is.
Result<Inclusion> check_proof_record(const Publication& publication, ByteSpan der, ByteSpan record);

}  // namespace pirx::ct
