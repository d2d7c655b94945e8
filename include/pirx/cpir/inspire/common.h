// SPDX-License-Identifier: Apache-2.0
// Keyless PIR with one server (InsPIRe, eprint 2025/1352, in the form of docs/protocols/inspire.md): the
// parameters that client and server share, how records lie in rows, the bound on failures, and the sizes of
// messages. docs/wire_format.md, section 15, specifies the messages.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "pirx/base/sha256.h"
#include "pirx/database/geometry.h"

namespace pirx::cpir::inspire {

/// The numbers of the scheme. A client accepts only kS8 and kS16.
struct Set {
  unsigned log_d = 11;  ///< log2 of d, the ring dimension
  unsigned eta = 32;    ///< errors and secrets are centred binomial with variance eta / 2
  unsigned w = 8;       ///< bits of a word of the database, 8 or 16
  unsigned l = 1;       ///< digits of a key switch, and polynomials of a key
  unsigned beta = 24;   ///< bits of a digit
  unsigned delta = 32;  ///< bits that are dropped below the digits
  unsigned kappa = 46;  ///< bits to which a key is rounded
  unsigned tm = 20;     ///< bits of a mask's coefficient
  /// The bytes of an entry of the packing matrix H.
  unsigned packing_bytes = 4;

  std::size_t d() const noexcept { return std::size_t{1} << log_d; }
  unsigned word_bytes() const noexcept { return w / 8; }
  /// The most bits of a number of the query: 32 for words of one byte, 48 for words of two.
  unsigned most_t() const noexcept { return 16 + 2 * w; }
  friend bool operator==(const Set&, const Set&) = default;
};
inline constexpr Set kS8{};
inline constexpr Set kS16{.w = 16, .l = 2, .beta = 16, .delta = 24, .tm = 28, .packing_bytes = 3};

/// What the choice of the number of rows aims at: fewest bytes of query and reply, or least time of the
/// server.
enum class Goal { kBytes, kTime };

using Salt = std::array<std::byte, 32>;

/// How units lie in rows. A unit is a slot, or a row of a keyed database. per_row units share a row, or a
/// unit takes rows_each rows; one of the two numbers is 1. The bytes of a unit follow each other from row to
/// row, and only its last row may have bytes to spare. A row holds as many units as its words have room for.
struct Layout {
  std::uint64_t per_row = 1;
  std::uint64_t rows_each = 1;
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// Everything public about a deployment. A validated value.
class Params {
 public:
  struct Spec {
    database::Geometry geometry;
    database::Version version;
    Set set;
    Layout layout;
    unsigned t = 0;   ///< bits of a number of the query
    unsigned tr = 0;  ///< bits of a word of the reply
    Salt salt{};      ///< names the public randomness
    /// The digest of each block's masks (mask_digest()). Empty: not computed yet; such parameters have no
    /// message.
    std::vector<Digest> masks = {};
    bool toy = false;  ///< any set and any failure; for tests, never on the wire
  };
  static constexpr double kFailureBound = -40;  ///< log2 of the probability that a row is not decoded
  static constexpr std::uint64_t kMostRows = std::uint64_t{1} << 17;
  static constexpr std::uint64_t kMostRowBytes = std::uint64_t{1} << 18;

  /// InvalidArgument: a set that is neither kS8 nor kS16, more than kMostRows rows, a row of more than
  /// kMostRowBytes, t or tr too small for the failure bound, a layout that wastes rows, or digests that are
  /// not one for each block.
  static Result<Params> create(Spec spec);

  const Spec& spec() const noexcept { return spec_; }
  const Set& set() const noexcept { return spec_.set; }
  const database::Geometry& geometry() const noexcept { return spec_.geometry; }
  std::size_t d() const noexcept { return spec_.set.d(); }
  /// The bytes of a slot, or of a row of a keyed database; and their number.
  std::uint64_t unit_bytes() const noexcept;
  std::uint64_t units() const noexcept;
  std::size_t rows() const noexcept { return rows_; }        ///< R
  std::size_t columns() const noexcept { return columns_; }  ///< C, in words
  std::size_t row_bytes() const noexcept { return columns_ * spec_.set.word_bytes(); }
  std::size_t row_blocks() const noexcept { return div_up(rows_, d()); }  ///< V
  std::size_t blocks() const noexcept { return div_up(columns_, d()); }   ///< of columns
  std::size_t columns_of(std::size_t block) const noexcept;               ///< d, or what is left

  std::size_t key_bytes() const noexcept;    ///< of y' in a query
  std::size_t query_bytes() const noexcept;  ///< of c in a query, after y'
  std::size_t masks_bytes() const noexcept;  ///< of a block's masks in a message
  std::size_t request_bytes() const noexcept;
  std::size_t reply_bytes() const noexcept;
  static constexpr std::size_t kMasksRequestBytes = 48;
  std::size_t masks_reply_bytes(std::size_t blocks) const noexcept;

  /// The first row of a unit (all of them are layout.rows_each), and the byte in it. Constant time.
  /// OutOfRange: there is no such unit; the message does not name it.
  Result<database::Location> locate(std::uint64_t unit) const;
  /// log2 of the bound on the probability that some word of a row is decoded wrongly.
  double log2_failure() const noexcept { return log2_failure_; }

  /// The parameters message. On input spec().masks is not empty and the set is no toy.
  Bytes encode() const;
  /// Reads a parameters message, whose sender may be anybody. DataLoss: malformed. InvalidArgument: another
  /// protocol or version, or what create() refuses.
  static Result<Params> decode(ByteSpan message);
  /// SHA-256 of the parameters message; of a toy, of what a message would say.
  const Digest& digest() const noexcept { return digest_; }

 private:
  explicit Params(Spec spec) : spec_(std::move(spec)) {}
  Bytes message() const;
  Spec spec_;
  std::size_t rows_ = 0, columns_ = 0;
  double log2_failure_ = 0;
  Digest digest_{};
};

/// The layout, t and tr that suit the goal best, without salt and digests. No set: both are tried.
/// InvalidArgument: the database is too large.
Result<Params> choose_params(const database::Geometry& geometry, const database::Version& version,
                             std::optional<Set> set, Goal goal);

/// The digest of a block's masks, as they stand in a masks message.
Digest mask_digest(const Salt& salt, std::uint64_t block, ByteSpan masks);

}  // namespace pirx::cpir::inspire
