// The one product of a server half, R = Q * D, with its field erased, and the hook that lets others than this
// process's engine compute it: the rows of D may lie on several machines.
#pragma once

#include <functional>

#include "pirx/base/field.h"
#include "pirx/matrix/matrix.h"

namespace pirx {

/// A window of the rows that a server half answers from: some of its rows, and some words of each.
struct Part {
  std::size_t first_row = 0, rows = 0;
  std::size_t first_word = 0, words = 0;
  friend bool operator==(const Part&, const Part&) = default;
};

/// R = Q * D with a D of `rows` x `words`. Elements and sums are as they lie in memory (F::Elem, F::Sum), so
/// they mean the same only to programs of one build.
struct Product {
  FieldTag field;
  std::size_t rows = 0, words = 0;
  std::size_t elem_bytes = 0, sum_bytes = 0;  ///< in memory, not on the wire
  std::uint64_t workspace_bytes = 0;          ///< that multiply() takes at most beside Q and R
  std::uint64_t bytes_per_query = 0;          ///< and beside that for each query
  std::size_t preferred_queries = 0;          ///< see AnyServer
  /// Q: any number of rows of `rows` elements. R: as many of `words` sums, overwritten. Errors as
  /// Engine::multiply, and Unavailable where others take part.
  std::function<Result<void>(matrix::ConstView<std::byte> Q, matrix::View<std::byte> R)> multiply;
  /// `to` += `from` over n sums: how partial products add up.
  std::function<void(std::size_t n, const std::byte* from, std::byte* to)> add;
};

/// Makes the product with the whole from whatever holds its parts. `whole` has all but the functions.
/// `prepare` makes the product with a part in this process (layout, threads and side file as the server's
/// options say), also with an empty one.
using Spread = std::function<Result<Product>(const Product& whole,
                                             const std::function<Result<Product>(const Part&)>& prepare)>;

}  // namespace pirx
