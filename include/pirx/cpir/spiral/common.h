// Spiral (Menon and Wu, eprint 2022/368) with a pluggable gadget: the plan that client and server share, its
// failure bound, and the sizes of its messages. docs/wire_format.md, section 12, specifies the wire form.
#pragma once

#include <optional>
#include <string_view>

#include "pirx/cpir/spiral/gadget.h"
#include "pirx/database/geometry.h"

namespace pirx::cpir::spiral {

/// What a plan may be. On the wire; a client refuses all but kSecure unless told otherwise.
enum class Policy : std::uint8_t {
  kSecure = 0,  ///< d = 2048, q of 55.9 bits, errors and secrets of deviation 4; failure at most 2^-40
  /// As other implementations have it, to compare with them: any errors, digits that are not balanced;
  /// failure at most 2^-20. Insecure.
  kComparison = 1,
  kToy = 2  ///< any dimension, any failure: tests, insecure
};

/// Which product folds two ciphertexts: b (c1 - c0) + c0, or b c1 + (1 - b) c0 as in the paper.
enum class FoldForm : std::uint8_t { kCmux, kTwoProducts };

/// The lattice side of a plan.
struct Scheme {
  Policy policy = Policy::kSecure;
  unsigned log_d = 11;   ///< ring dimension
  unsigned eta = 32;     ///< errors and secrets are centred binomial of variance eta / 2
  unsigned log_p = 8;    ///< bits in a coefficient of the plaintext, 1 to 16
  unsigned pack = 1;     ///< n: polynomials of n^2 results packed into one ciphertext of n + 1 rows, 1 to 8
  unsigned log_q2 = 24;  ///< bits to which the random row of the reply is cut, 14 to 28
  unsigned log_columns = 0;  ///< nu2: folds, 0 to 12
  Gadget::Spec fold{.z = 256}, left{.z = 16}, right{.z = 16}, conversion{.z = 4096};
  friend bool operator==(const Scheme&, const Scheme&) = default;
};

/// Variances of the error, the mean over all coefficients, stage by stage, and the bound that follows. The
/// database counts as uniform, which a public pad makes it.
struct Noise {
  double expanded = 0;    ///< a ciphertext that multiplies a row of the database
  double gsw_bit = 0;     ///< expanded column of a GSW ciphertext
  double gsw_secret = 0;  ///< converted column
  double first = 0;       ///< behind the first dimension
  double folded = 0;
  double packed = 0;
  double deviation = 0;     ///< of the decoded value, in steps of the plaintext
  double log2_failure = 0;  ///< that an item is not decoded
};

/// A validated value: how a database lies in items of polynomials, and everything public about a deployment.
/// An item is what a query fetches: `slots` consecutive slots of the database; of a keyed one, rows instead.
class Params {
 public:
  struct Spec {
    database::Geometry geometry;
    database::Version version;
    Scheme scheme;
  };
  static constexpr double kFailureBound = -40;  ///< log2, of kSecure
  static constexpr std::size_t kMaxMessageBytes = std::size_t{1} << 30;

  /// InvalidArgument: numbers out of range, an insecure scheme that claims to be secure, a failure
  /// probability above the policy's bound, or a database too large for the scheme's rows and columns. A keyed
  /// database has rows for slots.
  static Result<Params> create(Spec spec);

  const Spec& spec() const noexcept { return spec_; }
  const Scheme& scheme() const noexcept { return spec_.scheme; }
  const database::Geometry& geometry() const noexcept { return spec_.geometry; }
  const Gadget& fold() const noexcept { return fold_; }
  const Gadget& left() const noexcept { return left_; }
  const Gadget& right() const noexcept { return right_; }
  const Gadget& conversion() const noexcept { return conversion_; }
  /// The paper's form where digits are not balanced: only in the difference of two products does their mean
  /// cancel, which one product would multiply with the errors' lowest frequency.
  FoldForm fold_form() const noexcept {
    return fold_.spec().domain == Domain::kUnsigned ? FoldForm::kTwoProducts : FoldForm::kCmux;
  }

  std::size_t d() const noexcept { return std::size_t{1} << spec_.scheme.log_d; }
  /// Bytes of a slot, or of a row of a keyed database, and how many of them an item holds.
  std::uint64_t slot_bytes() const noexcept {
    return geometry().keyed() ? geometry().row_bytes() : geometry().slot_bytes();
  }
  std::uint64_t slots() const noexcept { return slots_; }
  std::uint64_t items() const noexcept { return items_; }
  std::size_t rows() const noexcept { return rows_; }  ///< first dimension, at most d / 2
  std::size_t columns() const noexcept { return std::size_t{1} << spec_.scheme.log_columns; }
  std::size_t trials() const noexcept { return trials_; }  ///< ciphertexts of a reply
  /// Polynomials of an item: trials n^2.
  std::size_t polynomials() const noexcept { return trials_ * spec_.scheme.pack * spec_.scheme.pack; }
  std::size_t item_bytes() const noexcept;                      ///< slots() of them
  unsigned row_rounds() const noexcept { return row_rounds_; }  ///< g1, of the expansion
  unsigned bit_rounds() const noexcept { return bit_rounds_; }  ///< g2
  const Noise& noise() const noexcept { return noise_; }

  /// Bytes of 2d residues on the wire.
  std::size_t polynomial_bytes() const noexcept { return 7 * d(); }
  std::size_t keys_bytes() const noexcept { return keys_bytes_; }
  std::size_t request_bytes() const noexcept { return request_bytes_; }
  std::size_t reply_bytes() const noexcept { return reply_bytes_; }
  /// Of the database as polynomials, which the server reads for every query.
  std::uint64_t encoded_bytes() const noexcept { return encoded_bytes_; }

  /// Item and offset in it of a record's slot, or of a row of a keyed database. OutOfRange when there is
  /// none, without naming it.
  Result<database::Location> locate(std::uint64_t slot) const;

  /// The parameters message.
  Bytes encode() const;
  /// DataLoss when malformed; InvalidArgument for a foreign protocol or version, or what create() refuses.
  static Result<Params> decode(ByteSpan bytes);
  /// SHA-256 of the parameters message.
  const Digest& digest() const noexcept { return digest_; }
  /// Of what a client's keys depend on: not on the database's version.
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

/// The sets of docs/protocols/spiral.md by name: s1, s1c, s2, s2s, s3, s3b, and c1, which is of kComparison.
/// Nothing for another name.
std::optional<Scheme> named_scheme(std::string_view name);
inline constexpr std::string_view kSchemeNames = "s1, s1c, s2, s2s, s3, s3b";  ///< the secure ones

/// Seconds that a server needs for a query by a simple model: rates of one core.
struct CostModel {
  double transform = 2.0e-6;  ///< of one polynomial modulo one prime
  double digit = 0.3e-6;      ///< of one polynomial
  double scan_bytes_per_second = 10e9;
};
double server_seconds(const Params& params, const CostModel& model = {});

/// The secure plan of least server_seconds among those with keys, and query and reply together, of at most so
/// many bytes, and with the given gadgets where some are. InvalidArgument when there is none.
struct Limits {
  std::size_t keys_bytes = 16'000'000;
  std::size_t message_bytes = std::size_t{1} << 24;
  std::optional<Gadget::Spec> fold = {};
  std::optional<Gadget::Spec> expansion = {};  ///< left and right
};
Result<Params> choose_params(const database::Geometry& geometry, const database::Version& version,
                             const Limits& limits = {}, const CostModel& model = {});

}  // namespace pirx::cpir::spiral
