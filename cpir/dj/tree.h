// SPDX-License-Identifier: Apache-2.0
// The tree of products over one database for one checked query. All nodes of a level share the level's
// selectors.
#pragma once

#include <functional>
#include <vector>

#include "number.h"
#include "pirx/base/matrix.h"
#include "pirx/cpir/dj/common.h"
#include "powers.h"

namespace pirx::cpir::dj {

/// A query with its key, after all checks: for every level the one-hot selectors c_1 .. c_(a-1), units modulo
/// N^(level+1).
struct CheckedQuery {
  mpz_class n;
  std::vector<std::vector<mpz_class>> levels;
};

inline constexpr const char* kNoMemory = "no memory to answer a query: ask later";

struct TreeOptions {
  const RowKernel* kernel = &kGmpKernel;
  int threads = 1;
  std::uint64_t table_bytes = 0;
  std::function<void(double)> progress = nullptr;  ///< as in ServerSpec
  bool rerandomise = false;                        ///< as in ServerOptions
};

/// The roots of all chunks' trees, one after another, in ciphertext_bytes(levels) bytes each. On input `rows`
/// is the database: params.rows() rows of at least row_bytes() bytes. The result is the same for every
/// kernel, plan and thread count, except for the randomness of `rerandomise`. Throws std::bad_alloc.
/// ResourceExhausted: a thread found no memory. Unavailable: no randomness.
Result<Bytes> answer_tree(const Params& params, matrix::ConstView<std::byte> rows, const CheckedQuery& query,
                          const TreeOptions& options);

/// The bytes of memory that answer_tree() takes at most, approximately.
std::uint64_t tree_bytes(const Params& params, std::uint64_t table_bytes);

}  // namespace pirx::cpir::dj
