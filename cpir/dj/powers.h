// Products of powers with shared bases: for many rows of exponents, prod_i c_i^e_(row,i) modulo N^(s+1).
// Straus's windows or Lim and Lee's combs, whichever the plan finds cheaper; the exponents are data of the
// server and their digits choose addresses. Rows, and parts of a row where rows are few, fill the lanes of
// the kernel.
#pragma once

#include <memory>
#include <span>

#include "pirx/base/buffer.h"
#include "ring.h"

namespace pirx::cpir::dj {

/// How the powers of one level are computed.
struct PowerPlan {
  bool comb = false;  ///< Lim-Lee combs of `window` teeth; else Straus's windows of `window` bits
  unsigned window = 1;
  std::size_t rows_per_block = 1;  ///< a divisor of the kernel's lanes; the other lanes share a row's bases
  std::uint64_t table_bytes = 0;
  double cost = 0;  ///< in products of the kernel
};

/// What there is to compute: pure numbers.
struct PowerShape {
  std::size_t bases = 0;
  std::size_t bits = 0;  ///< of the longest exponent, at least 1
  std::size_t rows = 0;
};

/// The cheapest plan whose tables fit, or the smallest tables where none does.
PowerPlan plan_powers(const Ring& ring, const PowerShape& shape, std::uint64_t table_bytes, int threads);

/// Where exponents come from.
class Exponents {
 public:
  virtual ~Exponents() = default;
  /// The exponent of a row and base, little-endian; `words` cover the shape's bits, and what is beyond them
  /// is zero.
  virtual void load(std::size_t row, std::size_t base, std::span<std::uint64_t> words) const = 0;
  /// What else the row's product is multiplied with.
  virtual mpz_class factor(std::size_t /*row*/) const { return 1; }
};

class Powers {
 public:
  /// `bases` are stride() words each, as import_number makes them. ResourceExhausted: no memory for tables.
  static Result<Powers> create(const Ring& ring, const PowerShape& shape, const PowerPlan& plan,
                               std::vector<std::uint64_t> bases);

  /// Tables are made in so many independent parts, each once, before any block.
  std::size_t parts() const noexcept;
  void prepare(std::size_t part);

  /// Rows are computed in so many independent blocks. Row r becomes words [r words_each, (r+1) words_each) of
  /// `out`, a number below N^(s+1), little-endian.
  std::size_t blocks() const noexcept;
  void evaluate(std::size_t block, const Exponents& exponents, std::span<std::uint64_t> out,
                std::size_t words_each) const;

 private:
  Powers(const Ring& ring, const PowerShape& shape, const PowerPlan& plan, std::vector<std::uint64_t> bases,
         AlignedBuffer table);
  const std::uint64_t* entry(std::size_t base, std::size_t digit) const noexcept;
  std::uint64_t* entry(std::size_t base, std::size_t digit) noexcept;
  std::size_t steps() const noexcept;

  const Ring* ring_;
  PowerShape shape_;
  PowerPlan plan_;
  std::vector<std::uint64_t> bases_, one_;
  AlignedBuffer table_;
};

}  // namespace pirx::cpir::dj
