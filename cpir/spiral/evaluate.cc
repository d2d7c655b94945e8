// SPDX-License-Identifier: Apache-2.0
// One key switch is enough where the expansion makes two ciphertexts of one: tau_r(x^(-e) v) = -x^(-e)
// tau_r(v) for e = 2^r, so the children are v + tau(v) and x^(-e) (v - tau(v)). All polynomials stay
// transformed, except those whose digits are taken.
#include "evaluate.h"

#include <algorithm>

#include "src/base/parallel_try.h"
#include "wire.h"

namespace pirx::cpir::spiral {
namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;

}  // namespace

Result<Evaluator> Evaluator::create(const Params& params, const Ring& ring, int threads) {
  Evaluator out(params, ring, threads);
  const unsigned digits =
      std::max({params.left().digits(), params.right().digits(), 2 * params.fold().digits(),
                std::max(2u, params.scheme().pack) * params.conversion().digits()});
  for (int i = 0; i < threads; ++i) {
    PIRX_ASSIGN(auto workspace, Workspace::create(ring.d(), digits));
    out.workspaces_.push_back(std::move(workspace));
  }
  return out;
}

void Evaluator::expand_node(unsigned round, const Gadget& gadget, const U32* key, U32* first, U32* second,
                            Workspace& workspace) const {
  const std::size_t stride = polynomial_stride(ring_.d());
  U32 *rotated = workspace.product[0], *switched = workspace.product[1];  // the second is a ciphertext
  ring_.automorphism(round, rotated, first);
  decompose(ring_, gadget, rotated, 0, workspace);
  multiply_digits(ring_, gadget.digits(), key, switched, workspace);
  ring_.automorphism(round, rotated, first + stride);
  ring_.add(switched + stride, switched + stride, rotated);
  for (std::size_t row = 0; row < 2; ++row, first += stride, switched += stride) {
    if (second != nullptr) {
      ring_.subtract(second, first, switched);
      ring_.multiply(second, second, ring_.monomial(round));
      second += stride;
    }
    ring_.add(first, first, switched);
  }
}

void Evaluator::split(const PublicKeys& keys, const U32* in, Polynomials& even_odd) {
  const std::size_t stride = polynomial_stride(ring_.d());
  std::copy(in, in + 2 * stride, even_odd[0]);
  expand_node(0, params_.right(), keys.right_key(0), even_odd[0], even_odd[2], workspaces_[0]);
}

void Evaluator::expand_tree(const PublicKeys& keys, bool left, unsigned rounds, std::size_t count,
                            Polynomials& ciphertexts) {
  const Gadget& gadget = left ? params_.left() : params_.right();
  for (unsigned round = 1; round < rounds; ++round) {
    const std::size_t half = std::size_t{1} << (round - 1);
    const U32* key = left ? keys.left_key(round) : keys.right_key(round);
    parallel_for(threads_, std::min(half, count), [&](std::size_t j, std::size_t worker) {
      U32* second = j + half < count ? ciphertexts[2 * (j + half)] : nullptr;
      expand_node(round, gadget, key, ciphertexts[2 * j], second, workspaces_[worker]);
    });
  }
}

Result<Evaluator::Query> Evaluator::expand(const PublicKeys& keys, const U32* c0, const U32* c1) {
  const std::size_t d = ring_.d(), stride = polynomial_stride(d);
  const std::size_t bits = std::size_t{params_.fold().digits()} * params_.scheme().log_columns;
  Query out;
  PIRX_ASSIGN(auto both, Polynomials::create(4, d));
  PIRX_ASSIGN(out.rows, Polynomials::create(2 * params_.rows(), d));
  PIRX_ASSIGN(out.bits, Polynomials::create(2 * bits, d));
  std::vector<U32> in(2 * stride);
  std::copy(c0, c0 + 2 * d, in.begin());
  std::copy(c1, c1 + 2 * d, in.begin() + static_cast<std::ptrdiff_t>(stride));
  split(keys, in.data(), both);
  std::copy(both[0], both[0] + 2 * stride, out.rows[0]);
  expand_tree(keys, true, params_.row_rounds(), params_.rows(), out.rows);
  if (bits == 0) return out;
  std::copy(both[2], both[2] + 2 * stride, out.bits[0]);
  expand_tree(keys, false, params_.bit_rounds(), bits, out.bits);
  return out;
}

Result<Polynomials> Evaluator::convert(const PublicKeys& keys, const Polynomials& bits) {
  const std::size_t stride = polynomial_stride(ring_.d()), digits = params_.fold().digits();
  const std::size_t count = digits * params_.scheme().log_columns;
  const Gadget& gadget = params_.conversion();
  PIRX_ASSIGN(auto out, Polynomials::create(4 * count, ring_.d()));
  parallel_for(threads_, count, [&](std::size_t i, std::size_t worker) {
    auto& workspace = workspaces_[worker];
    const std::size_t bit = i / digits, k = i % digits;
    U32 *secret = out[4 * bit * digits + 2 * k], *plain = out[(4 * bit + 2) * digits + 2 * k];
    decompose(ring_, gadget, bits[2 * i], 0, workspace);
    decompose(ring_, gadget, bits[2 * i + 1], gadget.digits(), workspace);
    multiply_digits(ring_, 2 * gadget.digits(), keys.conversion_key(), secret, workspace);
    for (std::size_t row = 0; row < 2; ++row) {
      ring_.to_montgomery(secret + row * stride, secret + row * stride);
      ring_.to_montgomery(plain + row * stride, bits[2 * i + row]);
    }
  });
  return out;
}

Result<AlignedBuffer> Evaluator::first_dimension_query(const Polynomials& query_rows) {
  const std::size_t d = ring_.d(), rows = params_.rows();
  PIRX_ASSIGN(auto out, AlignedBuffer::create((rows * 2 * d + 1) * sizeof(U64)));
  U64* words = reinterpret_cast<U64*>(out.data());
  parallel_for(threads_, d / kBlockSlots, [&](std::size_t z, std::size_t) {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t row = 0; row < 2; ++row) {
        const U32* slots = query_rows[2 * i + row] + z * kBlockSlots;
        U64* to = words + ((z * rows + i) * 2 + row) * kBlockSlots;
        for (std::size_t s = 0; s < kBlockSlots; ++s) to[s] = slots[s] | U64{slots[d + s]} << 32;
      }
    }
  });
  return out;
}

Result<void> Evaluator::first_dimension(const U64* database, std::size_t polynomial,
                                        std::span<const AlignedBuffer> queries, std::span<Polynomials> out) {
  const std::size_t d = ring_.d(), blocks = d / kBlockSlots, rows = params_.rows(),
                    columns = params_.columns();
  // Two blocks at a time: their residues fill a cache line of every ciphertext.
  constexpr std::size_t kBlocks = 2;
  const std::size_t each = columns * 2 * kBlockSlots;
  std::vector<std::vector<U64>> results(static_cast<std::size_t>(threads_));
  for (auto& result : results) result.resize(queries.size() * kBlocks * each);
  return parallel_try(threads_, blocks / kBlocks, [&](std::size_t pair, std::size_t worker) -> Result<void> {
    std::vector<const U64*> from(queries.size());
    std::vector<U64*> to(queries.size());
    for (std::size_t b = 0; b < kBlocks; ++b) {
      const std::size_t z = pair * kBlocks + b;
      for (std::size_t n = 0; n < queries.size(); ++n) {
        from[n] = reinterpret_cast<const U64*>(queries[n].data()) + z * rows * 2 * kBlockSlots;
        to[n] = results[worker].data() + (n * kBlocks + b) * each;
      }
      ring_.kernel().first_dimension(ring_.prime(0), ring_.prime(1),
                                     database + (polynomial * blocks + z) * columns * rows * kBlockSlots,
                                     rows, columns, from.data(), queries.size(), to.data());
    }
    for (std::size_t n = 0; n < queries.size(); ++n) {
      for (std::size_t column = 0; column < columns; ++column) {
        for (std::size_t row = 0; row < 2; ++row) {
          U32* slots = out[n][2 * column + row] + pair * kBlocks * kBlockSlots;
          for (std::size_t b = 0; b < kBlocks; ++b) {
            const U64* words =
                results[worker].data() + (n * kBlocks + b) * each + (column * 2 + row) * kBlockSlots;
            for (std::size_t s = 0; s < kBlockSlots; ++s) {
              slots[b * kBlockSlots + s] = static_cast<U32>(words[s]);
              slots[d + b * kBlockSlots + s] = static_cast<U32>(words[s] >> 32);
            }
          }
        }
      }
    }
    return {};
  });
}

void Evaluator::external_product(const U32* columns, const U32* in, U32* out, Workspace& workspace) const {
  const Gadget& gadget = params_.fold();
  decompose(ring_, gadget, in, 0, workspace);
  decompose(ring_, gadget, in + polynomial_stride(ring_.d()), gadget.digits(), workspace);
  multiply_digits(ring_, 2 * gadget.digits(), columns, out, workspace);
}

void Evaluator::fold(const Polynomials& gsw, Polynomials& ciphertexts, FoldForm form) {
  const std::size_t stride = polynomial_stride(ring_.d()), digits = params_.fold().digits();
  for (std::size_t bit = params_.scheme().log_columns; bit-- > 0;) {
    const std::size_t half = std::size_t{1} << bit;
    const U32* columns = gsw[4 * bit * digits];
    parallel_for(threads_, half, [&](std::size_t i, std::size_t worker) {
      auto& workspace = workspaces_[worker];
      U32 *c0 = ciphertexts[2 * i], *c1 = ciphertexts[2 * (half + i)];
      U32 *product = workspace.product[0], *other = workspace.product[2];
      if (form == FoldForm::kCmux) {
        for (std::size_t row = 0; row < 2; ++row)
          ring_.subtract(c1 + row * stride, c1 + row * stride, c0 + row * stride);
        external_product(columns, c1, product, workspace);
      } else {
        // (G - GSW) c0 = c0 - GSW c0, up to what digits forget.
        external_product(columns, c1, product, workspace);
        external_product(columns, c0, other, workspace);
        for (std::size_t row = 0; row < 2; ++row)
          ring_.subtract(product + row * stride, product + row * stride, other + row * stride);
      }
      for (std::size_t row = 0; row < 2; ++row)
        ring_.add(c0 + row * stride, c0 + row * stride, product + row * stride);
    });
  }
}

void Evaluator::pack(const PublicKeys& keys, const Polynomials& in, Polynomials& out) {
  const std::size_t n = params_.scheme().pack, d = ring_.d(), stride = polynomial_stride(d);
  if (n == 1) {
    std::copy(in[0], in[0] + 2 * stride, out[0]);
    return;
  }
  const Gadget& gadget = params_.conversion();
  const unsigned digits = gadget.digits();
  parallel_for(threads_, n, [&](std::size_t column, std::size_t worker) {
    auto& workspace = workspaces_[worker];
    for (std::size_t i = 0; i < n; ++i) {
      decompose(ring_, gadget, in[2 * (i * n + column)], static_cast<unsigned>(i) * digits, workspace);
    }
    transform_digits(ring_, static_cast<unsigned>(n) * digits, workspace);
    for (std::size_t row = 0; row <= n; ++row) {
      U32* to = out[column * (n + 1) + row];
      for (std::size_t k = 0; k < 2; ++k) {
        ring_.kernel().inner_product(ring_.prime(k), to + k * d, workspace.digits[0] + k * d, stride,
                                     keys.packing_key() + row * stride + k * d, (n + 1) * stride, n * digits);
      }
      if (row > 0) ring_.add(to, to, in[2 * ((row - 1) * n + column) + 1]);
    }
  });
}

void Evaluator::switch_modulus(const Polynomials& packed, BitWriter& out) {
  __extension__ using Wide = unsigned __int128;
  const std::size_t n = params_.scheme().pack, d = ring_.d();
  auto& workspace = workspaces_[0];
  for (std::size_t column = 0; column < n; ++column) {
    for (std::size_t row = 0; row <= n; ++row) {
      const unsigned bits = row == 0 ? params_.scheme().log_q2 : params_.scheme().log_p + 2;
      ring_.inverse(workspace.coefficients[0], packed[column * (n + 1) + row]);
      ring_.compose(workspace.numbers(), workspace.coefficients[0]);
      for (std::size_t i = 0; i < d; ++i) {
        const auto x = static_cast<U64>(workspace.numbers()[i]);
        const U64 positive = x + (kModulus & (0 - (x >> 63)));
        const Wide rounded = ((Wide{positive} << bits) + kModulus / 2) / kModulus;
        out.put(static_cast<U32>(rounded) & ((U32{1} << bits) - 1), bits);
      }
    }
  }
}

}  // namespace pirx::cpir::spiral
