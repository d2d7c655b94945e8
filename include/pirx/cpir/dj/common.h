// Trees of Damgard-Jurik ciphertexts (paper 001, with one-hot selectors and any arity per level): the plan
// that client and server share, and the sizes of their messages. docs/protocols/damgard_jurik.md specifies
// the wire form.
#pragma once

#include <vector>

#include "pirx/cpir/dj/keys.h"
#include "pirx/database/geometry.h"

namespace pirx::cpir::dj {

/// Levels of a tree over so many rows where none are given: 32 children a leaf node, then 16, as few at the
/// top as are left.
std::vector<std::uint32_t> default_arities(std::uint64_t rows);
/// The given levels, then more with the last one's arity until the tree holds all rows, as few at the top as
/// are left: {8} is the paper's octree.
std::vector<std::uint32_t> repeat_last_arity(std::vector<std::uint32_t> arities, std::uint64_t rows);

/// What a level's selectors encrypt. The reply and all sizes are the same.
enum class Selectors : std::uint8_t {
  kOneHot = 0,      ///< for children 1, 2, ... whether they are on the way
  kPolynomial = 1,  ///< paper 001's: products of the bits of the child's number; 2, 4 or 8 children a node
};

/// Plan of a tree: public, set by the server, agreed on by its digest in every message. A validated value.
/// The client gets one row of the database, in chunks that each fit a plaintext modulo N; all share one
/// query.
class Params {
 public:
  struct Spec {
    database::Geometry geometry;
    database::Version version;
    std::vector<std::uint32_t> arities = {};  ///< leaves first; empty: default_arities
    unsigned modulus_bits = kDefaultModulusBits;
    KeyPolicy policy = KeyPolicy::kSecure;
    Selectors selectors = Selectors::kOneHot;
  };
  static constexpr std::uint32_t kMaxArity = 1024;
  /// Selectors in a query: bounds what a client does for a server it does not know.
  static constexpr std::size_t kMaxSelectors = 4096;

  /// InvalidArgument: a modulus that the policy forbids (or a toy's below 16 bits), arities out of 2 ..
  /// kMaxArity (2, 4 and 8 with polynomial selectors), too many levels or selectors, a tree too small for the
  /// rows or with a level more than they need, messages above kMaxMessageBytes.
  static Result<Params> create(Spec spec);

  const Spec& spec() const noexcept { return spec_; }
  const database::Geometry& geometry() const noexcept { return spec_.geometry; }
  const std::vector<std::uint32_t>& arities() const noexcept { return spec_.arities; }
  unsigned levels() const noexcept { return static_cast<unsigned>(spec_.arities.size()); }  ///< m
  std::uint64_t rows() const noexcept { return spec_.geometry.rows(); }                     ///< n

  /// Bytes of a row in one tree: (k - 1) / 8, or the row where it is shorter.
  std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }
  std::size_t chunks() const noexcept { return chunks_; }
  /// The bytes of a row that are chunk c: [c chunk_bytes, ...) of this many.
  std::size_t chunk_length(std::size_t chunk) const noexcept;
  std::size_t modulus_bytes() const noexcept { return (spec_.modulus_bits + 7) / 8; }
  std::size_t ciphertext_bytes(unsigned s) const noexcept {
    return ((s + std::size_t{1}) * spec_.modulus_bits + 7) / 8;
  }
  std::size_t request_bytes() const noexcept { return request_bytes_; }
  std::size_t reply_bytes() const noexcept { return reply_bytes_; }

  /// The parameters message.
  Bytes encode() const;
  /// DataLoss when malformed; InvalidArgument for a foreign protocol or version, or what create() refuses.
  /// Whether the policy is acceptable is the caller's to decide.
  static Result<Params> decode(ByteSpan bytes);
  /// SHA-256 of the parameters message.
  const Digest& digest() const noexcept { return digest_; }

  /// Start of a query or reply: 40 bytes that name the message, the protocol and the plan.
  static constexpr std::size_t kHeaderBytes = 40;
  enum class Message : std::uint8_t { kQuery = 1, kReply = 2, kParameters = 3 };
  void encode_header(Writer& writer, Message type) const;
  /// The bytes behind the header of a message of exactly the right length. DataLoss: malformed, or of another
  /// length; InvalidArgument: another protocol or version; StaleEpoch: another plan or version of the
  /// database.
  Result<ByteSpan> decode_header(ByteSpan message, Message type) const;

 private:
  explicit Params(Spec spec) : spec_(std::move(spec)) {}
  Spec spec_;
  std::size_t chunk_bytes_ = 0, chunks_ = 0, request_bytes_ = 0, reply_bytes_ = 0;
  Digest digest_{};
};

}  // namespace pirx::cpir::dj
