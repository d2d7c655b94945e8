// Quadratic-residuosity PIR (Kushilevitz and Ostrovsky 1997; paper 004 section 2.3) with one level: the plan
// that client and server share, and the sizes of their messages. docs/protocols/quadratic_residuosity.md
// specifies the wire form.
#pragma once

#include "pirx/cpir/qr/keys.h"
#include "pirx/database/geometry.h"

namespace pirx::cpir::qr {

/// How the database lies as a matrix of bits: public, set by the server, agreed on by its digest in every
/// message. A row of the matrix holds `slots` consecutive slots of the database, whatever rows the database
/// itself has; a client gets one row. The query has a number for each row, the reply one for each bit of a
/// row. A validated value.
class Params {
 public:
  struct Spec {
    database::Geometry geometry;
    database::Version version;
    std::uint64_t slots = 0;  ///< of a row; 0: balanced, which makes query and reply together smallest
    unsigned modulus_bits = dj::kDefaultModulusBits;
    KeyPolicy policy = KeyPolicy::kSecure;
  };

  /// InvalidArgument: a modulus that the policy forbids, more slots than records, a keyed database (whose
  /// records are sums of several slots), messages above kMaxMessageBytes.
  static Result<Params> create(Spec spec);

  const Spec& spec() const noexcept { return spec_; }
  const database::Geometry& geometry() const noexcept { return spec_.geometry; }
  std::uint64_t slots() const noexcept { return spec_.slots; }
  std::size_t rows() const noexcept { return rows_; }            ///< a, of the matrix
  std::size_t row_bytes() const noexcept { return row_bytes_; }  ///< b / 8, of the matrix
  std::size_t number_bytes() const noexcept { return (spec_.modulus_bits + std::size_t{7}) / 8; }
  std::size_t request_bytes() const noexcept { return request_bytes_; }
  std::size_t reply_bytes() const noexcept { return reply_bytes_; }

  /// Where a record's slot lies in the matrix. OutOfRange when there is none, without naming it.
  Result<database::Location> locate(std::uint64_t record) const;

  /// The parameters message.
  Bytes encode() const;
  /// DataLoss when malformed; InvalidArgument for a foreign protocol or version, or what create() refuses.
  /// Whether the policy is acceptable is the caller's to decide.
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
