// SPDX-License-Identifier: Apache-2.0
// Products of powers with shared bases, for many rows of exponents: prod_i c_i^e_(row,i) modulo N^(s+1). The
// plan chooses the cheaper of Straus's windows and Lim and Lee's combs. Exponents are the server's data, and
// their digits choose addresses. The lanes of the kernel are filled with rows, or with parts of a row if
// there are few rows.
#pragma once

#include <memory>
#include <span>

#include "pirx/base/buffer.h"
#include "ring.h"

namespace pirx::cpir::dj {

/// How the powers of one level are computed.
struct PowerPlan {
  bool comb = false;  ///< true: Lim-Lee combs with `window` teeth; false: Straus's windows of `window` bits
  unsigned window = 1;
  /// A divisor of the number of lanes. The remaining lanes share the bases of a row.
  std::size_t rows_per_block = 1;
  std::uint64_t table_bytes = 0;
  double cost = 0;  ///< in products of the kernel
};

/// The size of a level's work.
struct PowerShape {
  std::size_t bases = 0;
  std::size_t bits = 0;  ///< of the longest exponent, at least 1
  std::size_t rows = 0;
};

/// The cheapest plan whose tables fit in table_bytes; if none fits, the plan with the smallest tables.
PowerPlan plan_powers(const Ring& ring, const PowerShape& shape, std::uint64_t table_bytes, int threads);

/// The source of the exponents.
class Exponents {
 public:
  virtual ~Exponents() = default;
  /// Loads the exponent of a row and base, little-endian. `words` cover the shape's bits; higher bits are
  /// zero.
  virtual void load(std::size_t row, std::size_t base, std::span<std::uint64_t> words) const = 0;
  /// A number by which the row's product is also multiplied.
  virtual mpz_class factor(std::size_t /*row*/) const { return 1; }
};

class Powers {
 public:
  /// On input each of `bases` has stride() words, made by import_number. ResourceExhausted: no memory for the
  /// tables.
  static Result<Powers> create(const Ring& ring, const PowerShape& shape, const PowerPlan& plan,
                               std::vector<std::uint64_t> bases);

  /// The number of independent parts of the tables. Each part is made once, before any block.
  std::size_t parts() const noexcept;
  void prepare(std::size_t part);

  /// The number of independent blocks of rows. Row r is written to words [r words_each, (r+1) words_each) of
  /// `out`, as a little-endian number below N^(s+1).
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
