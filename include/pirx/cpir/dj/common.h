// SPDX-License-Identifier: Apache-2.0
// Trees of Damgard-Jurik ciphertexts (paper 001, with one-hot selectors and any arity at each level): the
// plan that client and server share, and the sizes of their messages. docs/protocols/damgard_jurik.md
// specifies the messages.
#pragma once

#include <vector>

#include "pirx/cpir/dj/keys.h"
#include "pirx/database/geometry.h"

namespace pirx::cpir::dj {

/// The levels of a tree over `rows` rows if none are given: 32 children for each leaf node, then 16; the top
/// level has only as many as are needed.
std::vector<std::uint32_t> default_arities(std::uint64_t rows);
/// The given levels, and then more levels with the last one's arity until the tree holds all rows. The top
/// level has only as many children as are needed. {8} gives the paper's octree.
std::vector<std::uint32_t> repeat_last_arity(std::vector<std::uint32_t> arities, std::uint64_t rows);

/// What the selectors of a level encrypt. The reply and all sizes are the same for both.
enum class Selectors : std::uint8_t {
  kOneHot = 0,  ///< for each of the children 1, 2, ...: whether it is on the path
  /// As in paper 001: products of the bits of the child's number; 2, 4 or 8 children per node.
  kPolynomial = 1,
};

/// The plan of a tree. It is public and set by the server; every message carries its digest. The client gets
/// one row of the database in chunks, each of which fits a plaintext modulo N; one query serves all chunks. A
/// validated value.
class Params {
 public:
  struct Spec {
    database::Geometry geometry;
    database::Version version;
    std::vector<std::uint32_t> arities = {};  ///< leaves first; empty: default_arities
    unsigned modulus_bits = kDefaultModulusBits;
    KeyPolicy policy = KeyPolicy::kSecure;
    Selectors selectors = Selectors::kOneHot;
    /// s of the leaves' level, 1 to kMaxLeafLayer; each level above has one more. A chunk has s times as many
    /// bytes, and a reply of m levels takes (s + m) / s times its row. The server works longer.
    unsigned leaf_layer = 1;
  };
  static constexpr unsigned kMaxLeafLayer = 4;
  static constexpr std::uint32_t kMaxArity = 1024;
  /// The greatest number of selectors in a query. Limits the work that a client does for a server it does not
  /// know.
  static constexpr std::size_t kMaxSelectors = 4096;

  /// InvalidArgument: the policy forbids the modulus (or a toy's modulus has less than 16 bits), an arity is
  /// not in 2 .. kMaxArity (2, 4 or 8 with polynomial selectors), there are too many levels, layers or
  /// selectors, the tree is too small for the rows or has one level too many, or a message exceeds
  /// kMaxMessageBytes.
  static Result<Params> create(Spec spec);

  const Spec& spec() const noexcept { return spec_; }
  const database::Geometry& geometry() const noexcept { return spec_.geometry; }
  const std::vector<std::uint32_t>& arities() const noexcept { return spec_.arities; }
  unsigned levels() const noexcept { return static_cast<unsigned>(spec_.arities.size()); }  ///< m
  /// s of a level, of which the leaves' is level 1.
  unsigned layer(unsigned level) const noexcept { return spec_.leaf_layer + level - 1; }
  std::uint64_t rows() const noexcept { return spec_.geometry.rows(); }  ///< n

  /// The bytes of a row that one tree holds: leaf_layer * (k - 1) / 8, or the whole row if it is shorter.
  std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }
  std::size_t chunks() const noexcept { return chunks_; }
  /// The length of chunk c, which starts at byte c * chunk_bytes() of a row.
  std::size_t chunk_length(std::size_t chunk) const noexcept;
  std::size_t modulus_bytes() const noexcept { return (spec_.modulus_bits + 7) / 8; }
  std::size_t ciphertext_bytes(unsigned s) const noexcept {
    return ((s + std::size_t{1}) * spec_.modulus_bits + 7) / 8;
  }
  std::size_t request_bytes() const noexcept { return request_bytes_; }
  std::size_t reply_bytes() const noexcept { return reply_bytes_; }

  /// The parameters message.
  Bytes encode() const;
  /// Reads a parameters message. The caller must decide whether the policy is acceptable. DataLoss: it is
  /// malformed. InvalidArgument: another protocol or version, or what create() refuses.
  static Result<Params> decode(ByteSpan bytes);
  /// SHA-256 of the parameters message.
  const Digest& digest() const noexcept { return digest_; }

 private:
  explicit Params(Spec spec) : spec_(std::move(spec)) {}
  Spec spec_;
  std::size_t chunk_bytes_ = 0, chunks_ = 0, request_bytes_ = 0, reply_bytes_ = 0;
  Digest digest_{};
};

}  // namespace pirx::cpir::dj
