// Rates: what one step of a protocol takes on a machine. Cost models are functions of rates and shapes alone,
// so that the same models serve a machine that is measured now, one that was measured before, and tests.
#pragma once

#include <array>
#include <compare>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "pirx/base/result.h"

namespace pirx::planner {

/// Steps. Seconds of one core each, but for kScan and kPrepare, which are seconds of the clock on as many
/// threads as the rate names. A table's window says how large it is, and so from where its entries come.
enum class Quantity : std::uint8_t {
  kDjProduct,  ///< k, s, window: a product of rows modulo N^(s+1) with an entry of a table, chosen and loaded
  kDjSquare,   ///< k, s
  kDjEntry,    ///< k, s, window: a product that becomes an entry of a table
  kDjRow,      ///< k, s: what each node costs beside its products
  kDjCheck,    ///< k: of a query's modulus
  kDjZero,     ///< k, s: the client's E_s(0)
  kDjBit,      ///< k, s: E_s(0) made E_s(bit)
  kDjOpen,     ///< k, s: decryption of all s layers
  kQrCheck,    ///< k: of a number of the query
  kQrEntry,    ///< k, window: of a table
  kQrProduct,  ///< k, window: a column times an entry
  kQrColumn,   ///< k, window: what each column costs beside its products
  kQrHide,     ///< k: the client's making of a number
  kQrTell,     ///< k: the client's reading of a number
  kSpiralExpand,  ///< a second of spiral::server_seconds without its pass and folds
  kSpiralFold,    ///< a second of its folds
  kSpiralColumn,  ///< of the pass: a column of a polynomial
  kSpiralScan,    ///< an encoded byte of the pass
  kSpiralEncode,  ///< an encoded byte
  kSpiralQuery,   ///< the client's query
  kSpiralDecode,  ///< a polynomial of the reply
  kScan,          ///< field, log2 of bytes, threads: one query over a prepared database
  kPrepare,       ///< field, log2 of bytes, threads
  kShare,         ///< field, servers, threshold, log2 of rows: the client's query
  kSeeds,         ///< likewise, with seeds
  kGather,        ///< field, servers, threshold, log2 of bytes: a row from replies
  kHash,          ///< log2 of bytes: SHA-256
};

/// The fields of kScan, kPrepare, kShare and kGather; gf2 is Chor's protocol.
enum class ScanField : std::uint32_t { kGf2 = 1, kGf2_8 = 8, kW160 = 160 };

/// One rate: a quantity and what it is of, in the order of its description; what is not used is 0.
struct RateId {
  Quantity quantity = Quantity::kDjProduct;
  std::array<std::uint32_t, 4> of{};
  /// "dj_product/3072/2".
  std::string name() const;
  /// Back again. DataLoss for a name of no rate.
  static Result<RateId> parse(std::string_view name);
  friend auto operator<=>(const RateId&, const RateId&) = default;
};

/// Where rates come from. Not thread-safe.
class Rates {
 public:
  virtual ~Rates() = default;
  /// Seconds, above zero. Unavailable: not known and not to be measured here.
  virtual Result<double> seconds(const RateId& id) = 0;
};

/// Known rates.
class RateTable final : public Rates {
 public:
  /// InvalidArgument unless 0 < seconds < 10^6.
  Result<void> set(const RateId& id, double seconds);
  Result<double> seconds(const RateId& id) override;
  const std::map<RateId, double>& all() const noexcept { return rates_; }

 private:
  std::map<RateId, double> rates_;
};

/// This machine, measured as far as it is asked for: each rate once, in about a twentieth of a second, by the
/// processor's clock where one thread is enough. Rates that depend on a size are for powers of two.
class Machine final : public Rates {
 public:
  /// `known`: measured before, not again.
  explicit Machine(RateTable known = {});
  ~Machine() override;
  /// InvalidArgument: a modulus, level, field or number of servers that no protocol has. ResourceExhausted.
  Result<double> seconds(const RateId& id) override;
  const RateTable& known() const noexcept { return known_; }

 private:
  Result<double> measure(const RateId& id);
  struct Keys;
  RateTable known_;
  std::unique_ptr<Keys> keys_;
};

/// Seconds at `size` between the powers of two in `id.of[at]` that were measured: straight lines in
/// logarithms; beyond the largest, in proportion.
Result<double> seconds_at(Rates& rates, RateId id, std::size_t at, double size);

}  // namespace pirx::planner
