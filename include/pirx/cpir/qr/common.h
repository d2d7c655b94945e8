// SPDX-License-Identifier: Apache-2.0
// Quadratic-residuosity PIR with one level (Kushilevitz and Ostrovsky 1997; paper 004, section 2.3): the plan
// that client and server share, and the sizes of their messages. docs/protocols/quadratic_residuosity.md
// specifies the messages.
#pragma once

#include "pirx/cpir/qr/keys.h"
#include "pirx/database/geometry.h"

namespace pirx::cpir::qr {

/// How the database lies as a matrix of bits. Public, set by the server; every message carries its digest. A
/// row of the matrix holds `slots` consecutive slots of the database, whatever the rows of the database are.
/// A client gets one row of the matrix. The query has a number for each row, the reply has a number for each
/// bit of a row. A validated value.
class Params {
 public:
  struct Spec {
    database::Geometry geometry;
    database::Version version;
    /// Slots in a row of the matrix. 0: balanced, so that query and reply together are smallest.
    std::uint64_t slots = 0;
    unsigned modulus_bits = dj::kDefaultModulusBits;
    KeyPolicy policy = KeyPolicy::kSecure;
  };

  /// InvalidArgument: the policy forbids the modulus, there are more slots than records, the database is
  /// keyed (its records are sums of several slots), or a message exceeds kMaxMessageBytes.
  static Result<Params> create(Spec spec);

  const Spec& spec() const noexcept { return spec_; }
  const database::Geometry& geometry() const noexcept { return spec_.geometry; }
  std::uint64_t slots() const noexcept { return spec_.slots; }
  std::size_t rows() const noexcept { return rows_; }  ///< a, the rows of the matrix
  /// b / 8, where b is the columns of the matrix
  std::size_t row_bytes() const noexcept { return row_bytes_; }
  std::size_t number_bytes() const noexcept { return (spec_.modulus_bits + std::size_t{7}) / 8; }
  std::size_t request_bytes() const noexcept { return request_bytes_; }
  std::size_t reply_bytes() const noexcept { return reply_bytes_; }

  /// Where a record's slot lies in the matrix. OutOfRange: there is no such record; the message does not name
  /// it.
  Result<database::Location> locate(std::uint64_t record) const;

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
  std::size_t rows_ = 0, row_bytes_ = 0, request_bytes_ = 0, reply_bytes_ = 0;
  Digest digest_{};
};

}  // namespace pirx::cpir::qr
