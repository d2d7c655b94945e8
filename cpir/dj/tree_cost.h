// SPDX-License-Identifier: Apache-2.0
// The cost of a tree of Damgard-Jurik ciphertexts for its server, level by level: the products of the plans
// that the server itself would make (cpir/dj/powers.h), at measured rates.
#pragma once

#include <memory>
#include <vector>

#include "cpir/dj/powers.h"
#include "pirx/protocol/rates.h"

namespace pirx::cpir::dj {

/// The leaves: rows of a database, in chunks of `chunk_bits` bits.
struct TreeShape {
  std::uint64_t rows = 0;
  std::uint64_t chunks = 1;
  std::size_t chunk_bits = 0;
};

/// The seconds of one level.
struct LevelCost {
  double prepare = 0;  ///< all tables, on one core
  double longest = 0;  ///< the longest part of them that one core must do alone
  double nodes = 0;    ///< on all cores
};

class TreeCost {
 public:
  /// `rates` must outlive it.
  TreeCost(const RowKernel& kernel, unsigned modulus_bits, int cores, std::uint64_t table_bytes, Rates& rates)
      : kernel_(&kernel),
        modulus_bits_(modulus_bits),
        cores_(cores),
        table_bytes_(table_bytes),
        rates_(&rates) {}

  /// The cost of level s of `levels` (the leaves are level 1), with `children` children in all and `arity` in
  /// each node.
  Result<LevelCost> level(const TreeShape& shape, unsigned s, unsigned levels, std::uint64_t children,
                          std::uint32_t arity);
  /// The seconds of the whole tree. Tables of the upper levels are made while the leaves are computed.
  Result<double> tree(const TreeShape& shape, const std::vector<std::uint32_t>& arities);

 private:
  const Ring& ring(unsigned s);

  const RowKernel* kernel_;
  unsigned modulus_bits_;
  int cores_;
  std::uint64_t table_bytes_;
  Rates* rates_;
  std::vector<std::unique_ptr<Ring>> rings_;
};

}  // namespace pirx::cpir::dj
