// SPDX-License-Identifier: Apache-2.0
// The product that every answer of a server needs, R = Q * D, without the field in its type. Something other
// than this process's engine may compute it: the rows of D can be spread over several machines.
#pragma once

#include <functional>

#include "pirx/base/field.h"
#include "pirx/base/matrix.h"

namespace pirx {

/// A window of the rows that a server answers from: some of the rows, and some words of each.
struct Part {
  std::size_t first_row = 0, rows = 0;
  std::size_t first_word = 0, words = 0;
  friend bool operator==(const Part&, const Part&) = default;
};

/// R = Q * D with a D of `rows` x `words`. Elements and sums have their form in memory (F::Elem, F::Sum), so
/// only programs of the same build can exchange them.
struct Product {
  FieldTag field;
  std::size_t rows = 0, words = 0;
  /// Of an element in memory, not on the wire: whole bytes, or 1. Then bit k of byte g of a row of Q is
  /// element 8 g + k; bits after the last one mean nothing.
  std::size_t elem_bits = 0;
  std::size_t sum_bytes = 0;          ///< in memory, not on the wire
  std::uint64_t workspace_bytes = 0;  ///< memory that multiply() takes beside Q and R, at most
  std::uint64_t bytes_per_query = 0;  ///< memory that it takes in addition for each query
  std::size_t preferred_queries = 0;  ///< see AnyServer::preferred_queries

  /// The bytes of the first `n` elements of a row of Q.
  std::size_t elems_bytes(std::size_t n) const noexcept {
    return elem_bits % 8 == 0 ? n * (elem_bits / 8) : n / 8 + (n % 8 != 0);
  }
  /// A part begins at a multiple of so many rows: where a byte of Q begins.
  std::size_t row_unit() const noexcept { return elem_bits % 8 == 0 ? 1 : 8; }

  /// Q: any number of rows of `rows` elements. R: the same number of rows of `words` sums, overwritten.
  /// Errors are those of Engine::multiply, and Unavailable if other machines take part.
  std::function<Result<void>(matrix::ConstView<std::byte> Q, matrix::View<std::byte> R)> multiply;
  /// As multiply() with the rows [first, first + rows) of D alone, if they need not all be at hand at a time:
  /// Q has `rows` elements to a row. Both are multiples of 16, unless these are the last rows. May be empty.
  std::function<Result<void>(std::size_t first, std::size_t rows, matrix::ConstView<std::byte> Q,
                             matrix::View<std::byte> R)>
      multiply_window;
  /// `to` += `from` over n sums. Adds up partial products.
  std::function<void(std::size_t n, const std::byte* from, std::byte* to)> add;
};

/// Makes the product with the whole D out of products with its parts. `whole` has every member but the
/// functions. `prepare` makes the product with a part, which may be empty, in this process; the server's
/// options decide on layout, threads and side file.
using Spread = std::function<Result<Product>(const Product& whole,
                                             const std::function<Result<Product>(const Part&)>& prepare)>;

}  // namespace pirx
