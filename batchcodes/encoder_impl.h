// SPDX-License-Identifier: Apache-2.0
// Encoder<F>: makes row g of all buckets with small products of the field's kernel, one panel of columns at a
// time. encoder.cc instantiates it for the shipped fields, tests do for tiny ones.
#pragma once

#include <algorithm>

#include "pirx/batchcodes/encoder.h"
#include "pirx/batchcodes/fields.h"
#include "pirx/batchcodes/lagrange.h"
#include "src/base/threads.h"

namespace pirx::batchcodes {

template <SharingField F>
Result<Encoder<F>> Encoder<F>::create(const strassen::Engine<F>& engine, const Encoding& encoding,
                                      std::vector<std::size_t> servers) {
  const F& f = engine.field();
  const auto& spec = encoding.spec();
  if (!(spec.field == f.tag())) {
    return invalid("an encoding over " + spec.field.name() + " does not go with an engine over " +
                   f.tag().name());
  }
  if (servers.empty()) {
    for (std::size_t j = 0; j < spec.coordinates.size(); ++j) servers.push_back(j);
  }
  Encoder result(engine, encoding);
  for (const auto j : servers) {
    if (j >= spec.coordinates.size()) {
      return invalid("the encoding has " + std::to_string(spec.coordinates.size()) +
                     " servers: no position " + std::to_string(j));
    }
    result.x_.push_back(f.from_label(spec.coordinates[j]));
  }
  // The random rows lie at the coordinates of the first tau servers. These are no data coordinates, so the
  // random parts of any tau buckets are independent, and the field needs no elements beside them.
  for (unsigned k = 0; k < spec.independence; ++k) {
    result.noise_nodes_.push_back(f.from_label(spec.coordinates[k]));
  }
  constexpr std::uint64_t kMaxProducts = std::uint64_t{1} << 20;  // a second at most; as many weights, too
  const std::uint64_t classes = encoding.has_data_coordinates() ? spec.modulus / spec.arity : 1;
  const std::uint64_t nodes = std::uint64_t{spec.arity} + spec.independence;
  const std::uint64_t each = nodes * (nodes + servers.size());
  const std::uint64_t cached = classes <= kMaxProducts / each ? classes : 0;
  for (std::uint64_t row = 0; row < cached; ++row) {
    PIRX_ASSIGN(auto rows, result.lagrange_rows(row));
    result.cache_.push_back(std::move(rows));
  }
  return result;
}

/// The weights of the u blocks and tau random rows from which row `row` is made: a row for each bucket.
template <SharingField F>
Result<matrix::Matrix<typename F::Elem>> Encoder<F>::lagrange_rows(std::uint64_t row) const {
  const auto& spec = encoding_.spec();
  std::vector<Elem> nodes;
  for (unsigned h = 0; h < spec.arity; ++h) {
    nodes.push_back(engine_.field().from_label(encoding_.position(row * spec.arity + h, 0).coordinate));
  }
  nodes.insert(nodes.end(), noise_nodes_.begin(), noise_nodes_.end());
  return lagrange_matrix<F>(engine_.field(), nodes, x_);
}

template <SharingField F>
Result<void> Encoder<F>::encode(std::uint64_t first_row, matrix::ConstView<std::byte> blocks,
                                matrix::ConstView<Elem> noise, matrix::View<Sum> out,
                                [[maybe_unused]] const strassen::ExecOptions& exec) const {
  const F& f = engine_.field();
  const auto& kernels = engine_.kernels();
  const std::size_t u = encoding_.spec().arity, tau = encoding_.spec().independence;
  const std::size_t n = out.rows / buckets(), s = out.cols, width = f.word_bytes();
  if (n * buckets() != out.rows || blocks.rows > u * n || blocks.cols != s * width || noise.rows != tau * n ||
      (tau > 0 && noise.cols != s)) {
    return invalid(std::to_string(blocks.rows) + " blocks of " + std::to_string(blocks.cols) + " bytes and " +
                   std::to_string(noise.rows) + " random rows do not fill " + std::to_string(out.rows) +
                   " rows of " + std::to_string(s) + " words in " + std::to_string(buckets()) + " buckets");
  }
  if (n == 0 || s == 0) return {};
  std::vector<matrix::Matrix<Elem>> own;  // the weights of this call's rows, if none are cached
  if (cache_.empty()) {
    for (std::size_t g = 0; g < n; ++g) {
      PIRX_ASSIGN(auto rows, lagrange_rows(first_row + g));
      own.push_back(std::move(rows));
    }
  }
  // A panel of the u + tau inputs stays in the cache while it is added to the rows of all buckets.
  const std::size_t panel = std::max<std::size_t>(1, kernels.tile_bytes / width);
  const std::size_t panels = div_up(s, panel);
  const std::size_t tasks = n * panels;
#pragma omp parallel for num_threads(thread_count(exec.threads)) schedule(static) if (tasks > 1)
  for (std::size_t task = 0; task < tasks; ++task) {
    const std::size_t g = task / panels, first = task % panels * panel;
    const std::size_t words = std::min(panel, s - first);
    const auto& lambda = cache_.empty() ? own[g] : cache_[(first_row + g) % cache_.size()];
    const auto weights = lambda.view();
    Sum* to = out.row(g) + first;
    const std::size_t to_stride = n * out.stride;  // from one bucket's row g to the next one's
    for (std::size_t j = 0; j < buckets(); ++j) std::fill_n(out.row(j * n + g) + first, words, Sum{});
    const std::size_t there = blocks.rows > g * u ? std::min(u, blocks.rows - g * u) : 0;
    if (there > 0) {
      kernels.muladd_words(f, buckets(), there, words, weights.data, weights.stride,
                           blocks.row(g * u) + first * width, blocks.stride, to, to_stride);
    }
    if (tau > 0) {
      kernels.muladd_sums(f, buckets(), tau, words, weights.data + u, weights.stride,
                          noise.row(g * tau) + first, noise.stride, to, to_stride);
    }
  }
  return {};
}

// Instantiated once, in encoder.cc.
extern template class Encoder<gf2e::Gf2_8>;
extern template class Encoder<gf2e::Gf2_16>;
extern template class Encoder<fp::W160>;
extern template class Encoder<fp::W48>;
extern template class Encoder<fp::PrimeField>;

}  // namespace pirx::batchcodes
