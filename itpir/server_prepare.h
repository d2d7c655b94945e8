// SPDX-License-Identifier: Apache-2.0
// Prepares the rows of a server half for the engine, keeps them in a file between runs if one is named,
// and multiplies with them.
#pragma once

#include "pirx/itpir/server_options.h"
#include "pirx/strassen/engine.h"
#include "served_rows.h"

namespace pirx::itpir {

/// `rows` prepared, and kept in options.prepared_file if one is named.
template <class F>
Result<strassen::PreparedMatrix<F>> prepare_rows(const strassen::Engine<F>& engine,
                                                 matrix::ConstView<std::byte> rows,
                                                 const database::Version& version,
                                                 const ServerOptions& options) {
  strassen::PrepareOptions how = options.layout;
  how.threads = options.threads;
  if (!options.prepared_file.empty()) {
    const strassen::KeepIn keep{options.prepared_file, version, options.note, options.check};
    return engine.prepare(rows, how, &keep);
  }
  auto made = engine.prepare(rows, how);
  if (made && options.note && (how.depth > 0 || how.layout == strassen::Layout::kResidues)) {
    const bool stored = made->depth() > 0 || made->layout() == strassen::Layout::kResidues;
    options.note(stored
                     ? "the layout that was asked for takes " + std::to_string(made->bytes() >> 20) + " MiB"
                     : "there is no such layout for this field, CPU and database: it makes no difference");
  }
  return made;
}

/// The shape of the product with all rows. `bits`: the elements of Q lie in bits.
template <class F>
Product whole_product(const F& f, const ServedRows& served, bool bits) {
  Product whole;
  whole.field = f.tag();
  whole.rows = served.rows.rows;
  whole.words = static_cast<std::size_t>(
      div_up(served.row_bytes.value_or(served.geometry.row_bytes()), f.word_bytes()));
  whole.elem_bits = bits ? 1 : 8 * sizeof(typename F::Elem);
  whole.sum_bytes = sizeof(typename F::Sum);
  return whole;
}

/// The product with a part of the rows, in this process. A part has a side file of its own, bound to which
/// part it is.
template <class F>
Result<Product> prepare_product(const strassen::Engine<F>& engine, const ServedRows& served, bool bits,
                                const Part& part, ServerOptions options) {
  using Elem = typename F::Elem;
  using Sum = typename F::Sum;
  Product product = whole_product(engine.field(), served, bits);
  database::Version version = served.rows_version.value_or(served.version);
  if (part != Part{0, product.rows, 0, product.words}) {
    Writer writer;
    writer.put_bytes(version.identity);
    std::string name = ".part";
    for (const auto number : {part.first_row, part.rows, part.first_word, part.words}) {
      writer.put(std::uint64_t{number});
      name += "-" + std::to_string(number);
    }
    version.identity = sha256(std::move(writer).take());
    if (!options.prepared_file.empty()) options.prepared_file += name;
  }
  const std::size_t word = engine.field().word_bytes();
  PIRX_ASSIGN(auto prepared, prepare_rows(engine,
                                          served.rows.window(part.first_row, part.first_word * word,
                                                             part.rows, part.words * word),
                                          version, options));
  product.rows = part.rows;
  product.words = part.words;
  for (std::size_t q = 1; q <= kMaxQueriesPerRequest; ++q) {
    const auto plan = engine.plan({q, part.rows, part.words}, {.threads = options.threads}, options.layout);
    product.workspace_bytes = std::max(product.workspace_bytes, plan.workspace_bytes);
    // Stored levels pay a little where the plan begins to use them, and well from twice as many queries on.
    if (product.preferred_queries == 0 && plan.stored > 0 && plan.depth > 0) {
      product.preferred_queries = 2 * q;
    }
  }
  product.multiply = [engine, prepared, threads = options.threads, bits, owner = served.owner](
                         matrix::ConstView<std::byte> Q, matrix::View<std::byte> R) {
    const matrix::View<Sum> sums{reinterpret_cast<Sum*>(R.data), R.rows, R.cols / sizeof(Sum), R.stride};
    if constexpr (std::same_as<F, gf2e::Gf2>) {
      if (bits) return engine.multiply_bits(Q, prepared, sums, {.threads = threads});
    }
    PIRX_CHECK(!bits);
    return engine.multiply({reinterpret_cast<const Elem*>(Q.data), Q.rows, Q.cols / sizeof(Elem), Q.stride},
                           prepared, sums, {.threads = threads});
  };
  if constexpr (std::same_as<F, gf2e::Gf2>) {
    if (bits && prepared.window(0, part.rows)) {
      product.multiply_window = [engine, prepared, threads = options.threads, owner = served.owner](
                                    std::size_t first, std::size_t rows, matrix::ConstView<std::byte> Q,
                                    matrix::View<std::byte> R) {
        const auto some = prepared.window(first, rows);
        return engine.multiply_bits(Q, *some, {reinterpret_cast<Sum*>(R.data), R.rows, R.cols, R.stride},
                                    {.threads = threads});
      };
    }
  }
  product.add = [engine](std::size_t n, const std::byte* from, std::byte* to) {
    auto* sums = reinterpret_cast<Sum*>(to);
    engine.kernels().add(engine.field(), n, sums, reinterpret_cast<const Sum*>(from), sums);
  };
  return product;
}

}  // namespace pirx::itpir
