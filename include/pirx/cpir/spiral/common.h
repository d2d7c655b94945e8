// SPDX-License-Identifier: Apache-2.0
// Spiral (Menon and Wu, eprint 2022/368) with gadgets that can be chosen: the plan that client and server
// share, the bound on its failures, and the sizes of its messages. docs/wire_format.md, section 12,
// specifies the messages.
#pragma once

#include <optional>
#include <string_view>

#include "pirx/cpir/spiral/gadget.h"
#include "pirx/database/geometry.h"

namespace pirx::cpir::spiral {

/// What a plan may contain. It is sent on the wire; a client refuses all but kSecure unless told otherwise.
enum class Policy : std::uint8_t {
  /// d = 2048, q of 55.9 bits, errors and secrets with deviation 4, failure at most 2^-40.
  kSecure = 0,
  /// For comparison with other implementations, with their choices: any errors, digits that are not balanced,
  /// failure at most 2^-20. Insecure.
  kComparison = 1,
  kToy = 2  ///< any dimension, any failure; insecure, for tests
};

/// How two ciphertexts are folded: by b (c1 - c0) + c0, or by b c1 + (1 - b) c0 as in the paper.
enum class FoldForm : std::uint8_t { kCmux, kTwoProducts };

/// The parameters of the lattice scheme.
struct Scheme {
  Policy policy = Policy::kSecure;
  unsigned log_d = 11;  ///< log2 of d, the ring dimension
  unsigned eta = 32;    ///< errors and secrets are centred binomial with variance eta / 2
  unsigned log_p = 8;   ///< bits of a plaintext coefficient, 1 to 16
  /// n, 1 to 8: the polynomials of n^2 results are packed into one ciphertext of n + 1 rows.
  unsigned pack = 1;
  /// Bits to which the random row of the reply is cut, 14 to 28.
  unsigned log_q2 = 24;
  unsigned log_columns = 0;  ///< nu2: the number of folds, 0 to 12
  Gadget::Spec fold{.z = 256}, left{.z = 16}, right{.z = 16}, conversion{.z = 4096};
  friend bool operator==(const Scheme&, const Scheme&) = default;
};

/// Variances of the error after each stage, as means over all coefficients, and the bound that follows. The
/// database counts as uniform, because a public pad is added to it.
struct Noise {
  double expanded = 0;    ///< of a ciphertext that multiplies a row of the database
  double gsw_bit = 0;     ///< of an expanded column of a GSW ciphertext
  double gsw_secret = 0;  ///< of a converted column
  double first = 0;       ///< after the first dimension
  double folded = 0;
  double packed = 0;
  double deviation = 0;     ///< of the decoded value, in plaintext steps
  double log2_failure = 0;  ///< log2 of the probability that an item is not decoded
};

/// Everything public about a deployment, and how the database lies in items of polynomials. A query fetches
/// one item: `slots` consecutive slots of the database, or rows if the database is keyed. A validated value.
class Params {
 public:
  struct Spec {
    database::Geometry geometry;
    database::Version version;
    Scheme scheme;
  };
  static constexpr double kFailureBound = -40;  ///< log2 of the failure probability, for kSecure

  /// InvalidArgument: a number is out of range, an insecure scheme claims to be secure, the failure
  /// probability exceeds the policy's bound, or the database is too large for the scheme's rows and columns.
  /// In a keyed database, rows take the place of slots.
  static Result<Params> create(Spec spec);

  const Spec& spec() const noexcept { return spec_; }
  const Scheme& scheme() const noexcept { return spec_.scheme; }
  const database::Geometry& geometry() const noexcept { return spec_.geometry; }
  const Gadget& fold() const noexcept { return fold_; }
  const Gadget& left() const noexcept { return left_; }
  const Gadget& right() const noexcept { return right_; }
  const Gadget& conversion() const noexcept { return conversion_; }
  /// The paper's form if digits are not balanced. Such digits have a mean other than zero, which a single
  /// product would multiply with the errors' lowest frequency; it cancels only in the difference of two
  /// products.
  FoldForm fold_form() const noexcept {
    return fold_.spec().domain == Domain::kUnsigned ? FoldForm::kTwoProducts : FoldForm::kCmux;
  }

  std::size_t d() const noexcept { return std::size_t{1} << spec_.scheme.log_d; }
  /// The bytes of a slot, or of a row of a keyed database. An item holds slots() of them.
  std::uint64_t slot_bytes() const noexcept {
    return geometry().keyed() ? geometry().row_bytes() : geometry().slot_bytes();
  }
  std::uint64_t slots() const noexcept { return slots_; }
  std::uint64_t items() const noexcept { return items_; }
  std::size_t rows() const noexcept { return rows_; }  ///< of the first dimension, at most d / 2
  std::size_t columns() const noexcept { return std::size_t{1} << spec_.scheme.log_columns; }
  std::size_t trials() const noexcept { return trials_; }  ///< ciphertexts in a reply
  /// The polynomials of an item: trials n^2.
  std::size_t polynomials() const noexcept { return trials_ * spec_.scheme.pack * spec_.scheme.pack; }
  std::size_t item_bytes() const noexcept;                      ///< the bytes of slots() slots
  unsigned row_rounds() const noexcept { return row_rounds_; }  ///< g1 of the expansion
  unsigned bit_rounds() const noexcept { return bit_rounds_; }  ///< g2 of the expansion
  const Noise& noise() const noexcept { return noise_; }

  /// The bytes of 2d residues on the wire.
  std::size_t polynomial_bytes() const noexcept { return 7 * d(); }
  std::size_t keys_bytes() const noexcept { return keys_bytes_; }
  std::size_t request_bytes() const noexcept { return request_bytes_; }
  std::size_t reply_bytes() const noexcept { return reply_bytes_; }
  /// The bytes of the database as polynomials. The server reads all of them for every query.
  std::uint64_t encoded_bytes() const noexcept { return encoded_bytes_; }

  /// The item of a record's slot, or of a row of a keyed database, and the byte offset in the item.
  /// OutOfRange: there is none; the message does not name it.
  Result<database::Location> locate(std::uint64_t slot) const;

  /// The parameters message.
  Bytes encode() const;
  /// Reads a parameters message. DataLoss: it is malformed. InvalidArgument: another protocol or version, or
  /// what create() refuses.
  static Result<Params> decode(ByteSpan bytes);
  /// SHA-256 of the parameters message.
  const Digest& digest() const noexcept { return digest_; }
  /// A digest of everything that a client's keys depend on; the database's version is not part of it.
  const Digest& keys_digest() const noexcept { return keys_digest_; }

 private:
  Params(Spec spec, Gadget fold, Gadget left, Gadget right, Gadget conversion)
      : spec_(std::move(spec)), fold_(fold), left_(left), right_(right), conversion_(conversion) {}
  Spec spec_;
  Gadget fold_, left_, right_, conversion_;
  std::uint64_t slots_ = 0, items_ = 0, encoded_bytes_ = 0;
  std::size_t rows_ = 0, trials_ = 0, keys_bytes_ = 0, request_bytes_ = 0, reply_bytes_ = 0;
  unsigned row_rounds_ = 0, bit_rounds_ = 0;
  Noise noise_;
  Digest digest_{}, keys_digest_{};
};

/// The parameter sets of docs/protocols/spiral.md: s1, s1c, s2, s2s, s3, s3b, and c1, which is of
/// kComparison. Nothing for another name.
std::optional<Scheme> named_scheme(std::string_view name);
inline constexpr std::string_view kSchemeNames = "s1, s1c, s2, s2s, s3, s3b";  ///< the secure ones

/// A simple model of a server's speed: rates of one core.
struct CostModel {
  double transform = 2.0e-6;  ///< seconds for one polynomial modulo one prime
  double digit = 0.3e-6;      ///< seconds for one polynomial
  double scan_bytes_per_second = 10e9;
};
double server_seconds(const Params& params, const CostModel& model = {});

/// Bounds for choose_params(), which returns the secure plan with the least server_seconds(). keys_bytes
/// bounds the keys, message_bytes bounds query and reply together; gadgets that are set must be used.
/// InvalidArgument: no plan fits.
struct Limits {
  std::size_t keys_bytes = 16'000'000;
  std::size_t message_bytes = std::size_t{1} << 24;
  std::optional<Gadget::Spec> fold = {};
  std::optional<Gadget::Spec> expansion = {};  ///< the gadget of both left and right
};
Result<Params> choose_params(const database::Geometry& geometry, const database::Version& version,
                             const Limits& limits = {}, const CostModel& model = {});

}  // namespace pirx::cpir::spiral
