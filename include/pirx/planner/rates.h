// Rates: the time that one step of a protocol takes on a machine. Cost models depend on rates and shapes
// alone, so the same models serve a machine that is measured now, a machine that was measured before, and
// tests.
#pragma once

#include <array>
#include <compare>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "pirx/base/result.h"

namespace pirx::planner {

/// The steps, each with the numbers in RateId::of. A rate is in seconds of one core; only kScan and kPrepare
/// are in seconds of the clock, on `threads` threads. k is the bits of a modulus, s a layer. `window` says
/// how large a table is, and so from which cache or memory its entries come.
enum class Quantity : std::uint8_t {
  /// k, s, window: a product of rows modulo N^(s+1) with an entry that is chosen and loaded from a table.
  kDjProduct,
  kDjSquare,   ///< k, s: a square
  kDjEntry,    ///< k, s, window: a product that becomes an entry of a table
  kDjRow,      ///< k, s: the costs of a node beside its products
  kDjCheck,    ///< k: the check of a query's modulus
  kDjZero,     ///< k, s: the client makes E_s(0)
  kDjBit,      ///< k, s: the client turns E_s(0) into E_s(bit)
  kDjOpen,     ///< k, s: the client decrypts all s layers
  kQrCheck,    ///< k: the check of one number of a query
  kQrEntry,    ///< k, window: an entry of a table
  kQrProduct,  ///< k, window: the product for a column with an entry
  kQrColumn,   ///< k, window: the costs of a column beside its products
  kQrHide,     ///< k: the client makes a number
  kQrTell,     ///< k: the client reads a number
  /// The real time of one second that spiral::server_seconds predicts, without the pass and the folds.
  kSpiralExpand,
  kSpiralFold,    ///< the real time of one second that it predicts for folds
  kSpiralColumn,  ///< a column of a polynomial in the pass
  kSpiralScan,    ///< an encoded byte in the pass
  kSpiralEncode,  ///< an encoded byte, when the database is prepared
  kSpiralQuery,   ///< the client makes a query
  kSpiralDecode,  ///< the client decodes a polynomial of the reply
  kScan,          ///< field, log2 of bytes, threads: one query over a prepared database
  kPrepare,       ///< field, log2 of bytes, threads: the preparation of a database
  kShare,         ///< field, servers, threshold, log2 of rows: the client makes a query
  kSeeds,         ///< the same, for a query with seeds
  /// field, servers, threshold, log2 of bytes: the client makes a row out of replies.
  kGather,
  kHash,  ///< log2 of bytes: SHA-256
};

/// The fields of kScan, kPrepare, kShare and kGather. kGf2 stands for Chor's protocol.
enum class ScanField : std::uint32_t { kGf2 = 1, kGf2_8 = 8, kW160 = 160 };

/// Names one rate: a quantity, and its numbers in the order of the quantity's description. Unused numbers are
/// 0.
struct RateId {
  Quantity quantity = Quantity::kDjProduct;
  std::array<std::uint32_t, 4> of{};
  /// The name in text: "dj_product/3072/2".
  std::string name() const;
  /// Reads a name. DataLoss: no rate has this name.
  static Result<RateId> parse(std::string_view name);
  friend auto operator<=>(const RateId&, const RateId&) = default;
};

/// A source of rates. Not thread-safe.
class Rates {
 public:
  virtual ~Rates() = default;
  /// The seconds of one step, above zero. Unavailable: the rate is not known and cannot be measured here.
  virtual Result<double> seconds(const RateId& id) = 0;
};

/// Rates that are known.
class RateTable final : public Rates {
 public:
  /// InvalidArgument: `seconds` is not above 0 and below 10^6.
  Result<void> set(const RateId& id, double seconds);
  Result<double> seconds(const RateId& id) override;
  const std::map<RateId, double>& all() const noexcept { return rates_; }

 private:
  std::map<RateId, double> rates_;
};

/// Measures this machine as rates are asked for: each rate once, in about a twentieth of a second, by the
/// processor's clock if one thread is enough. Rates that depend on a size exist for powers of two.
class Machine final : public Rates {
 public:
  /// The rates in `known` were measured before and are not measured again.
  explicit Machine(RateTable known = {});
  ~Machine() override;
  /// InvalidArgument: no protocol has this modulus, level, field or number of servers. ResourceExhausted: no
  /// memory.
  Result<double> seconds(const RateId& id) override;
  const RateTable& known() const noexcept { return known_; }

 private:
  Result<double> measure(const RateId& id);
  struct Keys;
  RateTable known_;
  std::unique_ptr<Keys> keys_;
};

/// The seconds for a `size` that need not be a power of two. id.of[at] is the number that holds the log2 of
/// the size. Interpolates between the measured powers of two along straight lines in logarithms; beyond the
/// largest, seconds grow in proportion to size.
Result<double> seconds_at(Rates& rates, RateId id, std::size_t at, double size);

}  // namespace pirx::planner
