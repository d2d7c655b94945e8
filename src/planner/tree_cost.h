// What a tree of Damgard-Jurik ciphertexts costs its server, level by level: the products of the plans that
// the server itself would make (cpir/dj/powers.h), each at its measured rate.
#pragma once

#include <memory>
#include <vector>

#include "cpir/dj/powers.h"
#include "pirx/planner/planner.h"

namespace pirx::planner {

/// The leaves: rows of a database, in chunks of so many bits.
struct TreeShape {
  std::uint64_t rows = 0;
  std::uint64_t chunks = 1;
  std::size_t chunk_bits = 0;
};

/// Seconds of one level.
struct LevelCost {
  double prepare = 0;  ///< tables, of one core
  double longest = 0;  ///< of them, the longest that one core makes alone
  double nodes = 0;    ///< on all cores
};

class TreeCost {
 public:
  /// `rates` must outlive it.
  static Result<TreeCost> create(unsigned modulus_bits, int cores, std::uint64_t table_bytes, Rates& rates);

  /// Level s (the leaves' is 1) of `levels`, over so many children, `arity` to a node.
  Result<LevelCost> level(const TreeShape& shape, unsigned s, unsigned levels, std::uint64_t children,
                          std::uint32_t arity);
  /// The whole tree: tables of the upper levels are made beside the leaves.
  Result<double> tree(const TreeShape& shape, const std::vector<std::uint32_t>& arities);

 private:
  TreeCost(const cpir::dj::RowKernel& kernel, unsigned modulus_bits, int cores, std::uint64_t table_bytes,
           Rates& rates)
      : kernel_(&kernel),
        modulus_bits_(modulus_bits),
        cores_(cores),
        table_bytes_(table_bytes),
        rates_(&rates) {}
  const cpir::dj::Ring& ring(unsigned s);

  const cpir::dj::RowKernel* kernel_;
  unsigned modulus_bits_;
  int cores_;
  std::uint64_t table_bytes_;
  Rates* rates_;
  std::vector<std::unique_ptr<cpir::dj::Ring>> rings_;
};

}  // namespace pirx::planner
