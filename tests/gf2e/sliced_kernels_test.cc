// SPDX-License-Identifier: Apache-2.0
// Every function of every set of bit-sliced kernels (SlicedKernels) that this CPU has, against plain loops
// over bits: random shapes, strides and alignments, operands that end at an inaccessible page, and every byte
// around the outputs as it was.
#include "pirx/base/sliced_kernels.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <bitset>
#include <cstring>
#include <iostream>

#include "gf2e/kernels/schemes.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"
#include "support/guarded.h"
#include "support/kernels.h"
#include "support/seed.h"

namespace pirx::gf2e {
namespace {

using testing::below;
using testing::fill;
using Engine = std::mt19937_64;
constexpr std::size_t kColumns = SlicedKernels::kColumns;
constexpr int kRounds = 80;

std::size_t between(Engine& rng, std::size_t least, std::size_t most) {
  return least + below(rng, most - least + 1);
}
bool bit_of(const std::byte* at, std::size_t bit) {
  return (std::to_integer<unsigned>(at[bit / 8]) >> (bit % 8) & 1) != 0;
}
void flip_bit(std::byte* at, std::size_t bit, bool value) {
  if (value) at[bit / 8] ^= std::byte{1} << (bit % 8);
}

/// An operand at the end of accessible memory, with random bytes in and around it.
class Operand {
 public:
  std::byte* place(Engine& rng, std::size_t size, std::size_t alignment = 1) {
    at_ = memory_.tail(size, below(rng, 64) / alignment * alignment);
    fill(rng, {at_ - kAround,
               static_cast<std::size_t>(memory_.all().data() + memory_.all().size() - at_) + kAround});
    return at_;
  }
  /// Matrices: aligned as the engine aligns them, each of so many bytes.
  std::uint64_t* place_matrices(Engine& rng, std::size_t count, std::size_t matrix_bytes) {
    return reinterpret_cast<std::uint64_t*>(place(rng, count * matrix_bytes, 8));
  }
  /// Takes what is expected of a kernel's output: as it is now, to be changed at wanted().
  void expect_from_here() { want_.assign(memory_.all().begin(), memory_.all().end()); }
  std::byte* wanted() { return want_.data() + (at_ - memory_.all().data()); }
  /// Whether all is as wanted, the memory around the operand included.
  bool as_wanted() { return std::memcmp(want_.data(), memory_.all().data(), want_.size()) == 0; }

 private:
  static constexpr std::size_t kAround = 256;
  testing::Guarded memory_{std::size_t{1} << 17};
  std::byte* at_ = nullptr;
  Bytes want_;
};

/// 8 x 8 bits: bit k of row i.
using BitMatrix = std::array<std::uint8_t, 8>;

BitMatrix random_matrix(Engine& rng) {
  BitMatrix m;
  for (auto& row : m) row = static_cast<std::uint8_t>(rng());
  return m;
}
std::uint8_t product(const BitMatrix& m, std::uint8_t x) {
  unsigned y = 0;
  for (unsigned i = 0; i < 8; ++i) y |= (static_cast<unsigned>(__builtin_popcount(m[i] & x)) & 1) << i;
  return static_cast<std::uint8_t>(y);
}
/// A matrix as kernels take it: a qword whose byte 7 - i is row i, or its products with all low and with all
/// high nibbles.
void encode(const BitMatrix& m, std::size_t matrix_bytes, std::byte* to) {
  for (unsigned i = 0; i < 8 && matrix_bytes == 8; ++i) to[7 - i] = std::byte{m[i]};
  for (unsigned n = 0; n < 16 && matrix_bytes == 32; ++n) {
    to[n] = std::byte{product(m, static_cast<std::uint8_t>(n))};
    to[16 + n] = std::byte{product(m, static_cast<std::uint8_t>(n << 4))};
  }
}

/// Tiles of query groups: where the matrix of a query group and a group lies.
std::size_t tiled(std::size_t query_group, std::size_t group, std::size_t query_groups, std::size_t groups,
                  std::size_t tile) {
  const std::size_t first = query_group / tile * tile, width = std::min(tile, query_groups - first);
  return first * groups + group * width + (query_group - first);
}

/// The sums that a scheme multiplies: row p of A says which planes sum p adds up.
template <class F>
using AllSchemes = typename SchemesOf<F>::Type;
using Sums = std::bitset<81>;

template <class F>
std::vector<std::uint64_t> rows_of(std::size_t scheme) {
  std::vector<std::uint64_t> rows;
  std::size_t at = 0;
  const auto take = [&](const auto& data) {
    for (const Bits& row : data.A) {
      if (at == scheme) rows.push_back(row.low);
    }
    ++at;
  };
  std::apply([&](const auto&... each) { (take(each.kScheme), ...); }, AllSchemes<F>());
  return rows;
}
Sums evaluate(std::uint64_t a, const std::vector<std::uint64_t>& rows) {
  Sums sums;
  for (std::size_t p = 0; p < rows.size(); ++p) sums[p] = (std::popcount(a & rows[p]) & 1) != 0;
  return sums;
}

template <class F>
class SlicedKernelsTest : public ::testing::Test {
 protected:
  using Elem = typename F::Elem;
  static constexpr std::size_t kPlanes = F::tag().bits;
  static constexpr std::size_t kElem = sizeof(Elem);

  /// Calls check(kernels, rng) some times for every set of kernels that the CPU has.
  template <class Check>
  void for_each(std::uint64_t stream, const Check& check) {
    bool any = false;
    for (const Kernels<F>& kernels : testing::runnable(kernel_table(F()))) {
      if (kernels.sliced == nullptr) continue;
      any = true;
      SCOPED_TRACE(kernels.name);
      auto rng = testing::seeded_engine(100 * kPlanes + stream);
      for (int round = 0; round < kRounds && !::testing::Test::HasFailure(); ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        check(*kernels.sliced, rng);
      }
    }
    if (!any) GTEST_SKIP() << "no kernel of this CPU computes in planes";
  }
  /// The same for every scheme of every set; `check` also gets its rows of A.
  template <class Check>
  void for_each_scheme(std::uint64_t stream, const Check& check) {
    for_each(stream, [&](const SlicedKernels& kernels, Engine& rng) {
      for (std::size_t i = 0; i < kernels.schemes.size(); ++i) {
        SCOPED_TRACE(kernels.schemes[i].name);
        check(kernels, kernels.schemes[i], rows_of<F>(i), rng);
      }
    });
  }
  static std::uint64_t value_of(const std::byte* elem) { return load_le<Elem>(elem); }
  /// Random scalars of rows x elems, in Operand `to`.
  std::byte* place_scalars(Operand& to, Engine& rng, std::size_t rows, std::size_t elems,
                           std::size_t stride) {
    std::byte* from = to.place(rng, rows == 0 ? 0 : (rows - 1) * stride + elems * kElem);
    for (std::size_t i = 0; i < rows && kPlanes == 1; ++i) {
      for (std::size_t k = 0; k < elems; ++k) from[i * stride + k] &= std::byte{1};
    }
    return from;
  }

  Operand from_, matrices_, out_;
};
using Fields = ::testing::Types<Gf2, Gf2_8, Gf2_16>;
TYPED_TEST_SUITE(SlicedKernelsTest, Fields);

TYPED_TEST(SlicedKernelsTest, NumbersAreThoseOfTheField) {
  for (const auto& kernel : kernel_table(TypeParam())) {
    const bool there = (kernel.needs & ~detected_cpu_features()) == 0;
    if (kernel.sliced != nullptr && !there)
      std::cout << "not tested, this CPU lacks it: " << kernel.name << '\n';
  }
  this->for_each(0, [&](const SlicedKernels& kernels, Engine&) {
    EXPECT_EQ(kernels.planes, this->kPlanes);
    EXPECT_EQ(kernels.schemes[0].multiply_fused != nullptr, this->kPlanes > 1);
    const std::vector<std::size_t> products = this->kPlanes == 1   ? std::vector<std::size_t>{1}
                                              : this->kPlanes == 8 ? std::vector<std::size_t>{27, 24}
                                                                   : std::vector<std::size_t>{81, 60};
    ASSERT_EQ(kernels.schemes.size(), products.size());
    for (std::size_t i = 0; i < products.size(); ++i) {
      EXPECT_EQ(kernels.schemes[i].products, products[i]);
      EXPECT_EQ(products[i] % kernels.schemes[i].parts, 0u);
    }
    EXPECT_TRUE(kernels.matrix_bytes == 8 || kernels.matrix_bytes == 32);
    EXPECT_EQ(kernels.direct_tile > 0, kernels.planes > 1);
  });
}

TYPED_TEST(SlicedKernelsTest, Slice) {
  this->for_each(1, [&](const SlicedKernels& kernels, Engine& rng) {
    const std::size_t rows = between(rng, 0, 8), vectors = between(rng, 1, SlicedKernels::kPanelVectors);
    const std::size_t full = vectors * kernels.vector_bytes(),
                      bytes = below(rng, 3) == 0 ? full + below(rng, 70) : below(rng, full + 1);
    const std::size_t stride = bytes + below(rng, 70);
    const std::byte* from = this->from_.place(rng, rows == 0 ? 0 : (rows - 1) * stride + bytes);
    std::byte* group = this->out_.place(rng, kernels.group_bytes(vectors));
    this->out_.expect_from_here();
    std::byte* want = this->out_.wanted();
    std::memset(want, 0, kernels.group_bytes(vectors));
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t bit = 0; bit < 8 * std::min(bytes, full); ++bit) {
        const std::size_t plane = bit % kernels.planes, column = bit / kernels.planes;
        flip_bit(want + plane * vectors * kColumns + column, i, bit_of(from + i * stride, bit));
      }
    }
    kernels.slice(from, stride, rows, bytes, vectors, group);
    EXPECT_TRUE(this->out_.as_wanted()) << rows << " rows of " << bytes << " bytes, " << stride << " apart";
  });
}

TYPED_TEST(SlicedKernelsTest, SliceQueries) {
  this->for_each(2, [&](const SlicedKernels& kernels, Engine& rng) {
    const std::size_t rows = between(rng, 0, 8), groups = between(rng, 0, 30);
    const std::size_t elems = below(rng, 2) == 0 ? 8 * groups : below(rng, 8 * groups + 1);
    const std::size_t stride = elems * this->kElem + below(rng, 70);
    const std::size_t group_stride = between(rng, 1, 3);
    const std::size_t plane_stride = groups * group_stride + below(rng, 5);
    const std::byte* from = this->place_scalars(this->from_, rng, rows, elems, stride);
    std::uint64_t* to =
        this->matrices_.place_matrices(rng, kernels.planes * plane_stride, kernels.matrix_bytes);
    this->matrices_.expect_from_here();
    for (std::size_t b = 0; b < kernels.planes; ++b) {
      for (std::size_t g = 0; g < groups; ++g) {
        BitMatrix m{};
        for (std::size_t i = 0; i < rows; ++i) {
          for (std::size_t k = 0; k < 8 && 8 * g + k < elems; ++k) {
            const std::uint64_t value = this->value_of(from + i * stride + (8 * g + k) * this->kElem);
            m[i] = static_cast<std::uint8_t>(m[i] | (value >> b & 1) << k);
          }
        }
        encode(m, kernels.matrix_bytes,
               this->matrices_.wanted() + (b * plane_stride + g * group_stride) * kernels.matrix_bytes);
      }
    }
    kernels.slice_queries(from, stride, rows, elems, groups, to, plane_stride, group_stride);
    EXPECT_TRUE(this->matrices_.as_wanted()) << rows << " x " << elems << ", " << groups << " groups";
  });
}

TYPED_TEST(SlicedKernelsTest, SliceBits) {
  this->for_each(10, [&](const SlicedKernels& kernels, Engine& rng) {
    ASSERT_EQ(kernels.slice_bits != nullptr, kernels.planes == 1);
    if (kernels.slice_bits == nullptr) return;
    const std::size_t rows = between(rng, 0, 8), groups = between(rng, 0, 150);
    const std::size_t bytes = below(rng, 2) == 0 ? groups + below(rng, 3) : below(rng, groups + 1);
    const std::size_t stride = bytes + below(rng, 70), group_stride = between(rng, 1, 3);
    const std::byte* from = this->from_.place(rng, rows == 0 ? 0 : (rows - 1) * stride + bytes);
    std::uint64_t* to = this->matrices_.place_matrices(rng, groups * group_stride, kernels.matrix_bytes);
    this->matrices_.expect_from_here();
    for (std::size_t g = 0; g < groups; ++g) {
      BitMatrix m{};
      for (std::size_t i = 0; i < rows && g < bytes; ++i) {
        m[i] = std::to_integer<std::uint8_t>(from[i * stride + g]);
      }
      encode(m, kernels.matrix_bytes, this->matrices_.wanted() + g * group_stride * kernels.matrix_bytes);
    }
    kernels.slice_bits(from, stride, rows, bytes, groups, to, group_stride);
    EXPECT_TRUE(this->matrices_.as_wanted()) << rows << " x " << bytes << ", " << groups << " groups";
  });
}

TYPED_TEST(SlicedKernelsTest, Form) {
  this->for_each_scheme(3, [&](const SlicedKernels& kernels, const SlicedScheme& scheme,
                               const std::vector<std::uint64_t>& rows, Engine& rng) {
    const std::size_t planes = kernels.planes, sums = scheme.products / scheme.parts;
    const std::size_t part = below(rng, scheme.parts), items = between(rng, 0, 5);
    const std::size_t item_bytes = kColumns * between(rng, 1, 7);
    const std::size_t plane_stride = item_bytes + below(rng, 100),
                      item_stride = planes * plane_stride + below(rng, 100);
    const std::size_t product_stride = items * item_bytes + below(rng, 100);
    const std::byte* from = this->from_.place(
        rng, items == 0 ? 0 : (items - 1) * item_stride + (planes - 1) * plane_stride + item_bytes);
    std::byte* out = this->out_.place(rng, items == 0 ? 0 : (sums - 1) * product_stride + items * item_bytes);
    this->out_.expect_from_here();
    for (std::size_t i = 0; i < items; ++i) {
      for (std::size_t c = 0; c < item_bytes; ++c) {
        for (std::size_t p = 0; p < sums; ++p) {
          std::byte sum{0};
          for (std::size_t b = 0; b < planes; ++b) {
            if ((rows[part * sums + p] >> b & 1) != 0) sum ^= from[i * item_stride + b * plane_stride + c];
          }
          this->out_.wanted()[p * product_stride + i * item_bytes + c] = sum;
        }
      }
    }
    scheme.form(part, from, items, item_stride, plane_stride, item_bytes, out, product_stride);
    EXPECT_TRUE(this->out_.as_wanted()) << "part " << part << ", " << items << " items of " << item_bytes;
  });
}

/// Random matrices for query_groups x groups of a product, tiled, written to `to`.
std::vector<BitMatrix> random_matrices(Engine& rng, std::size_t query_groups, std::size_t groups,
                                       std::size_t tile, std::size_t matrix_bytes, std::byte* to) {
  std::vector<BitMatrix> all(query_groups * groups);
  for (std::size_t q = 0; q < query_groups; ++q) {
    for (std::size_t g = 0; g < groups; ++g) {
      BitMatrix& m = all[q * groups + g];
      m = random_matrix(rng);
      encode(m, matrix_bytes, to + tiled(q, g, query_groups, groups, tile) * matrix_bytes);
    }
  }
  return all;
}

TYPED_TEST(SlicedKernelsTest, Multiply) {
  this->for_each(4, [&](const SlicedKernels& kernels, Engine& rng) {
    const std::size_t query_groups = below(rng, 11), groups = 2 * below(rng, 8);
    const std::size_t vectors = between(rng, 1, SlicedKernels::kPanelVectors), width = vectors * kColumns;
    const std::byte* D = this->from_.place(rng, groups * width);
    std::uint64_t* A = this->matrices_.place_matrices(rng, query_groups * groups, kernels.matrix_bytes);
    const auto matrices = random_matrices(rng, query_groups, groups, kernels.tile, kernels.matrix_bytes,
                                          reinterpret_cast<std::byte*>(A));
    std::byte* out = this->out_.place(rng, query_groups * width);
    this->out_.expect_from_here();
    for (std::size_t q = 0; q < query_groups; ++q) {
      for (std::size_t g = 0; g < groups; ++g) {
        for (std::size_t c = 0; c < width; ++c) {
          this->out_.wanted()[q * width + c] ^=
              std::byte{product(matrices[q * groups + g], std::to_integer<std::uint8_t>(D[g * width + c]))};
        }
      }
    }
    kernels.multiply(query_groups, groups, vectors, A, D, out, {D, below(rng, 3)});
    EXPECT_TRUE(this->out_.as_wanted())
        << query_groups << " x " << groups << " groups, " << vectors << " vectors";
  });
}

TYPED_TEST(SlicedKernelsTest, MultiplyFused) {
  this->for_each_scheme(5, [&](const SlicedKernels& kernels, const SlicedScheme& scheme,
                               const std::vector<std::uint64_t>& rows, Engine& rng) {
    if (scheme.multiply_fused == nullptr) return;
    const std::size_t most = SlicedKernels::fused_groups(kernels.planes);
    const std::size_t query_groups = below(rng, 4), groups = below(rng, most + 1);
    const std::size_t vectors = between(rng, 1, SlicedKernels::kPanelVectors), width = vectors * kColumns;
    const std::size_t products = query_groups * scheme.products, group_bytes = kernels.group_bytes(vectors);
    const std::byte* D = this->from_.place(rng, groups * group_bytes);
    std::uint64_t* A = this->matrices_.place_matrices(rng, products * most, kernels.matrix_bytes);
    const auto matrices =
        random_matrices(rng, products, most, 1, kernels.matrix_bytes, reinterpret_cast<std::byte*>(A));
    std::byte* out = this->out_.place(rng, products * width);
    this->out_.expect_from_here();
    for (std::size_t i = 0; i < products; ++i) {
      for (std::size_t g = 0; g < groups; ++g) {
        for (std::size_t c = 0; c < width; ++c) {
          std::byte x{0};
          for (std::size_t b = 0; b < kernels.planes; ++b) {
            if ((rows[i % scheme.products] >> b & 1) != 0) x ^= D[g * group_bytes + b * width + c];
          }
          this->out_.wanted()[i * width + c] ^=
              std::byte{product(matrices[i * most + g], std::to_integer<std::uint8_t>(x))};
        }
      }
    }
    const std::span<const std::byte> next(out, below(rng, 3) * width);
    scheme.multiply_fused(query_groups, groups, vectors, A, D, out, next);
    EXPECT_TRUE(this->out_.as_wanted())
        << query_groups << " query groups x " << groups << " groups, " << vectors << " vectors";
  });
}

// Products of sums of a and sums of b have to become a * b.
TYPED_TEST(SlicedKernelsTest, Finish) {
  const TypeParam f;
  this->for_each_scheme(6, [&](const SlicedKernels& kernels, const SlicedScheme& scheme,
                               const std::vector<std::uint64_t>& sum_rows, Engine& rng) {
    const std::size_t n = kernels.planes, rows = between(rng, 0, 8);
    const std::size_t vectors = between(rng, 1, SlicedKernels::kPanelVectors), width = vectors * kColumns;
    const std::size_t full = vectors * kernels.vector_bytes(),
                      bytes = below(rng, 3) == 0 ? full : below(rng, full + 1);
    const std::size_t stride = bytes + below(rng, 70), product_stride = width + below(rng, 70);
    std::byte* from = this->from_.place(rng, (scheme.products - 1) * product_stride + width);
    for (std::size_t p = 0; p < scheme.products; ++p) std::memset(from + p * product_stride, 0, width);
    // Some products; what a column holds is a sum of two of them.
    struct Known {
      Sums sums;
      std::uint64_t word;
    };
    std::array<Known, 64> known;
    for (Known& k : known) {
      const std::uint64_t a = rng() & ((1u << n) - 1), b = rng() & ((1u << n) - 1);
      const auto elem = f.mul(f.from_label(a), f.from_label(b));
      k = {evaluate(a, sum_rows) & evaluate(b, sum_rows), load_le<typename TypeParam::Elem>(&elem)};
    }
    std::vector<std::uint64_t> words(8 * width);
    for (std::size_t i = 0; i < 8; ++i) {
      for (std::size_t c = 0; c < width; ++c) {
        const Known &a = known[below(rng, 64)], &b = known[below(rng, 64)];
        const Sums sums = a.sums ^ b.sums;
        for (std::size_t p = 0; p < scheme.products; ++p) flip_bit(from + p * product_stride + c, i, sums[p]);
        words[i * width + c] = a.word ^ b.word;
      }
    }
    std::byte* to = this->out_.place(rng, rows == 0 ? 0 : (rows - 1) * stride + bytes);
    this->out_.expect_from_here();
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t bit = 0; bit < 8 * bytes; ++bit) {
        flip_bit(this->out_.wanted() + i * stride, bit, (words[i * width + bit / n] >> (bit % n) & 1) != 0);
      }
    }
    scheme.finish(from, product_stride, vectors, rows, bytes, to, stride);
    EXPECT_TRUE(this->out_.as_wanted()) << rows << " rows of " << bytes << " bytes";
  });
}

TYPED_TEST(SlicedKernelsTest, Add) {
  this->for_each(7, [&](const SlicedKernels& kernels, Engine& rng) {
    const std::size_t bytes = below(rng, 600);
    const std::byte* from = this->from_.place(rng, bytes);
    std::byte* to = this->out_.place(rng, bytes);
    this->out_.expect_from_here();
    for (std::size_t i = 0; i < bytes; ++i) this->out_.wanted()[i] ^= from[i];
    kernels.add(from, bytes, to);
    EXPECT_TRUE(this->out_.as_wanted()) << bytes;
  });
}

/// The matrix of multiply_direct for plane b of eight rows and byte h of the product: row i is bit 8h + i of
/// the scalars times x^b.
template <class F>
BitMatrix direct_matrix(const F& f, const std::array<std::uint64_t, 8>& scalars, std::size_t b,
                        std::size_t h) {
  BitMatrix m{};
  for (std::size_t k = 0; k < 8; ++k) {
    const auto elem = f.mul(f.from_label(scalars[k]), f.from_label(std::uint64_t{1} << b));
    const std::uint64_t value = load_le<typename F::Elem>(&elem);
    for (std::size_t i = 0; i < 8; ++i) {
      m[i] = static_cast<std::uint8_t>(m[i] | (value >> (8 * h + i) & 1) << k);
    }
  }
  return m;
}

TYPED_TEST(SlicedKernelsTest, SliceDirect) {
  const TypeParam f;
  this->for_each(8, [&](const SlicedKernels& kernels, Engine& rng) {
    if (kernels.planes == 1) return;
    const std::size_t groups = between(rng, 1, 20), queries = between(rng, 1, kernels.direct_tile);
    const std::size_t elems = below(rng, 2) == 0 ? 8 * groups : below(rng, 8 * groups + 1);
    const std::size_t each = queries * this->kElem;  // matrices of a plane of a group
    const std::byte* from = this->place_scalars(this->from_, rng, 1, elems, 0);
    const std::size_t last = (groups * kernels.planes - 1) * each + this->kElem;
    std::uint64_t* to = this->matrices_.place_matrices(rng, last, kernels.matrix_bytes);
    this->matrices_.expect_from_here();
    for (std::size_t g = 0; g < groups; ++g) {
      std::array<std::uint64_t, 8> scalars{};
      for (std::size_t k = 0; k < 8 && 8 * g + k < elems; ++k) {
        scalars[k] = this->value_of(from + (8 * g + k) * this->kElem);
      }
      for (std::size_t b = 0; b < kernels.planes; ++b) {
        for (std::size_t h = 0; h < this->kElem; ++h) {
          encode(direct_matrix(f, scalars, b, h), kernels.matrix_bytes,
                 this->matrices_.wanted() + ((g * kernels.planes + b) * each + h) * kernels.matrix_bytes);
        }
      }
    }
    kernels.slice_direct(from, elems, groups, queries, to);
    EXPECT_TRUE(this->matrices_.as_wanted())
        << elems << " scalars, " << groups << " groups, " << queries << " queries";
  });
}

TYPED_TEST(SlicedKernelsTest, MultiplyDirect) {
  this->for_each(9, [&](const SlicedKernels& kernels, Engine& rng) {
    if (kernels.planes == 1) return;
    const std::size_t queries = between(rng, 1, kernels.direct_tile), groups = 2 * below(rng, 4);
    const std::size_t vectors = between(rng, 1, SlicedKernels::kPanelVectors), width = vectors * kColumns;
    const std::size_t full = vectors * kernels.vector_bytes(),
                      bytes = below(rng, 3) == 0 ? full : below(rng, full + 1);
    const std::size_t stride = bytes + below(rng, 70), each = queries * this->kElem;
    const std::byte* D = this->from_.place(rng, groups * kernels.group_bytes(vectors));
    std::uint64_t* A =
        this->matrices_.place_matrices(rng, groups * kernels.planes * each, kernels.matrix_bytes);
    std::byte* to = this->out_.place(rng, (queries - 1) * stride + bytes);
    this->out_.expect_from_here();
    for (std::size_t plane = 0; plane < groups * kernels.planes; ++plane) {
      for (std::size_t m = 0; m < each; ++m) {
        const BitMatrix matrix = random_matrix(rng);
        encode(matrix, kernels.matrix_bytes,
               reinterpret_cast<std::byte*>(A) + (plane * each + m) * kernels.matrix_bytes);
        for (std::size_t c = 0; c < width; ++c) {
          const std::size_t byte = c * this->kElem + m % this->kElem;
          if (byte >= bytes) continue;
          this->out_.wanted()[m / this->kElem * stride + byte] ^=
              std::byte{product(matrix, std::to_integer<std::uint8_t>(D[plane * width + c]))};
        }
      }
    }
    kernels.multiply_direct(queries, groups, vectors, A, D, to, stride, bytes);
    EXPECT_TRUE(this->out_.as_wanted())
        << queries << " queries, " << groups << " groups, " << bytes << " bytes";
  });
}

}  // namespace
}  // namespace pirx::gf2e
