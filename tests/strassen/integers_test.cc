// SPDX-License-Identifier: Apache-2.0
// Products modulo powers of two equal sums of 64-bit integers, with every kernel of this machine.
#include "strassen/integers.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "strassen/product_check.h"

namespace pirx::strassen {
namespace {

using fp::IntegerKernels;

template <class Check>
void for_each_kernel(const Check& check) {
  for (const auto& kernels : fp::integer_kernel_table()) {
    if ((kernels.needs & ~allowed_cpu_features_or_die()) == 0) check(kernels);
  }
}

/// Words of a matrix, as bytes, whose rows lie `stride` bytes apart.
struct Words {
  Words(const IntegerShape& of, std::size_t gap) : shape(of), stride(of.columns * of.word_bytes + gap) {
    bytes.resize(shape.rows * stride);
  }
  /// A word as the number that it stands for, modulo 2^64.
  std::uint64_t at(std::size_t row, std::size_t column) const {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + row * stride + column * shape.word_bytes, shape.word_bytes);
    const unsigned spare = 64 - 8 * shape.word_bytes;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(word << spare) >> spare);
  }
  IntegerShape shape;
  std::size_t stride;
  std::vector<std::byte> bytes;
};

using Numbers = std::vector<std::vector<std::uint64_t>>;

AlignedBuffer packed_of(const Words& words, const IntegerKernels& kernels) {
  auto packed = AlignedBuffer::create(packed_bytes(words.shape)).value();
  std::memset(packed.data(), 0x5a, packed.size());
  pack_integers(words.shape, words.bytes.data(), words.stride, 0, words.shape.rows, packed.data(), kernels);
  return packed;
}

IntegerQueries queries_of(const Numbers& numbers, std::size_t rows, unsigned bytes,
                          const IntegerKernels& kernels) {
  auto queries = IntegerQueries::create(numbers.size(), rows, bytes, kernels).value();
  for (std::size_t k = 0; k < numbers.size(); ++k) queries.set(k, numbers[k]);
  return queries;
}

constexpr std::uint64_t kUntouched = 0x1122334455667788;

/// The answers of all queries, `gap` numbers more than columns apart.
std::vector<std::uint64_t> product_of(const IntegerShape& shape, const AlignedBuffer& packed,
                                      const IntegerQueries& queries, std::size_t first, std::size_t columns,
                                      std::size_t gap) {
  std::vector<std::uint64_t> out(queries.count() * (columns + gap), kUntouched);
  std::vector<std::byte> scratch(multiply_scratch_bytes(shape, queries, columns), std::byte{0xa5});
  multiply_integers(shape, packed.data(), queries, first, columns, out.data(), columns + gap, scratch);
  return out;
}

std::vector<std::uint64_t> oracle(const Words& words, const Numbers& numbers, unsigned bytes,
                                  std::size_t first, std::size_t columns, std::size_t gap) {
  std::vector<std::uint64_t> out(numbers.size() * (columns + gap), kUntouched);
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - 8 * bytes);
  std::vector<std::uint64_t> column(words.shape.rows);
  for (std::size_t j = 0; j < columns; ++j) {
    for (std::size_t i = 0; i < column.size(); ++i) column[i] = words.at(i, first + j);
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < column.size(); ++i) sum += numbers[k][i] * column[i];
      out[k * (columns + gap) + j] = sum & mask;
    }
  }
  return out;
}

class Integers : public ::testing::Test {
 protected:
  Words words(const IntegerShape& shape) {
    Words out(shape, engine_() % 5);
    for (auto& byte : out.bytes) byte = static_cast<std::byte>(engine_());
    return out;
  }
  /// Numbers that need not be reduced modulo 2^(8 bytes).
  Numbers numbers(std::size_t count, std::size_t rows) {
    Numbers out(count, std::vector<std::uint64_t>(rows));
    for (auto& query : out) {
      for (auto& number : query) number = engine_();
    }
    return out;
  }
  std::mt19937_64 engine_ = testing::seeded_engine(1);
};

TEST_F(Integers, EveryShapeEqualsTheOracle) {
  for (const std::size_t rows : {1, 63, 64, 65, 130, 300}) {
    for (unsigned word_bytes = 1; word_bytes <= 4; ++word_bytes) {
      const std::size_t columns = 1 + engine_() % 200;
      const Words d = words({rows, columns, word_bytes});
      std::vector<AlignedBuffer> packed;
      for_each_kernel([&](const IntegerKernels& kernels) {
        packed.push_back(packed_of(d, kernels));
        EXPECT_EQ(std::memcmp(packed.back().data(), packed[0].data(), packed_bytes(d.shape)), 0)
            << kernels.name;
      });
      for (unsigned bytes = 1; bytes <= 8; ++bytes) {
        const std::size_t count = 1 + engine_() % 33;
        const Numbers q = numbers(count, rows);
        const std::size_t first = engine_() % columns / 16 * 16, most = columns - first;
        const std::size_t width = engine_() % 2 == 0 ? most : 1 + engine_() % most, gap = engine_() % 3;
        const auto want = oracle(d, q, bytes, first, width, gap);
        for_each_kernel([&](const IntegerKernels& kernels) {
          const auto queries = queries_of(q, rows, bytes, kernels);
          EXPECT_EQ(product_of(d.shape, packed[0], queries, first, width, gap), want)
              << kernels.name << " rows=" << rows << " columns=" << columns << " words of " << word_bytes
              << " numbers of " << bytes << " count=" << count << " first=" << first << " width=" << width;
        });
      }
    }
  }
}

// All numbers of panels and queries that kernels take at a time, and what is left over.
TEST_F(Integers, EveryNumberOfPanelsAndQueries) {
  constexpr std::size_t kRows = 70;
  for (const unsigned word_bytes : {1u, 3u, 4u}) {
    const Words d = words({kRows, 9 * 16, word_bytes});
    for (const unsigned bytes : {4u, 6u, 8u}) {
      for (const std::size_t count : {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 32, 33}) {
        const Numbers q = numbers(count, kRows);
        const auto want = oracle(d, q, bytes, 0, d.shape.columns, 0);
        for_each_kernel([&](const IntegerKernels& kernels) {
          const AlignedBuffer packed = packed_of(d, kernels);
          const auto queries = queries_of(q, kRows, bytes, kernels);
          for (std::size_t panels = 1; panels <= 9; ++panels) {
            const auto out = product_of(d.shape, packed, queries, 0, 16 * panels, 0);
            for (std::size_t k = 0; k < count; ++k) {
              const auto* row = want.data() + k * d.shape.columns;
              const std::vector<std::uint64_t> part(row, row + 16 * panels);
              EXPECT_EQ(std::vector(out.begin() + static_cast<std::ptrdiff_t>(k * 16 * panels),
                                    out.begin() + static_cast<std::ptrdiff_t>((k + 1) * 16 * panels)),
                        part)
                  << kernels.name << " panels=" << panels << " count=" << count << " words of " << word_bytes
                  << " numbers of " << bytes;
            }
          }
        });
      }
    }
  }
}

// The largest sums of bytes, 255 * -128 in every row: 2^16 rows have room in 32 bits, 320 more do not.
TEST_F(Integers, SumsOf32BitsDoNotOverflow) {
  constexpr std::size_t kColumns = 17;
  for (const std::size_t rows : {std::size_t{1} << 16, (std::size_t{1} << 16) + 320}) {
    for (const auto& [word_bytes, bytes] : {std::pair{1u, 4u}, {1u, 6u}, {2u, 6u}, {3u, 6u}, {4u, 8u}}) {
      // The largest word: all of its bytes are 255 when it is packed.
      Words d({rows, kColumns, word_bytes}, 0);
      const std::uint32_t most = ~std::uint32_t{0} >> (33 - 8 * word_bytes);
      for (std::size_t i = 0; i < rows * kColumns; ++i) {
        std::memcpy(d.bytes.data() + i * word_bytes, &most, word_bytes);
      }
      Numbers q(1, std::vector<std::uint64_t>(rows, std::uint64_t{0} - 0x8080808080808080));
      q.push_back(numbers(1, rows)[0]);
      const auto want = oracle(d, q, bytes, 0, kColumns, 0);
      for_each_kernel([&](const IntegerKernels& kernels) {
        const auto packed = packed_of(d, kernels);
        EXPECT_TRUE(std::all_of(packed.data(), packed.data() + IntegerKernels::kBlockBytes * word_bytes,
                                [](std::byte b) { return b == std::byte{0xff}; }));
        EXPECT_EQ(product_of(d.shape, packed, queries_of(q, rows, bytes, kernels), 0, kColumns, 0), want)
            << kernels.name << " rows=" << rows << " words of " << word_bytes << " numbers of " << bytes;
      });
    }
  }
}

TEST_F(Integers, QueriesOfOnePassEqualSingles) {
  const Words d = words({500, 100, 2});
  const Numbers q = numbers(70, 500);  // in several chunks of rows
  for_each_kernel([&](const IntegerKernels& kernels) {
    const auto packed = packed_of(d, kernels);
    for (const std::size_t count : {5, 70}) {
      const Numbers some(q.begin(), q.begin() + static_cast<std::ptrdiff_t>(count));
      const auto all = product_of(d.shape, packed, queries_of(some, 500, 6, kernels), 0, 100, 0);
      for (std::size_t k = 0; k < count; ++k) {
        const auto one = product_of(d.shape, packed, queries_of({q[k]}, 500, 6, kernels), 0, 100, 0);
        EXPECT_EQ(std::vector(all.begin() + static_cast<std::ptrdiff_t>(k * 100),
                              all.begin() + static_cast<std::ptrdiff_t>((k + 1) * 100)),
                  one)
            << kernels.name << " count=" << count;
      }
    }
  });
}

// Many queries and columns: several chunks of rows and several runs of panels.
TEST_F(Integers, PartsOfALargeProduct) {
  const Words d = words({1000, 1100, 1});
  const Numbers q = numbers(130, 1000);
  const auto want = oracle(d, q, 4, 0, 1100, 0);
  for_each_kernel([&](const IntegerKernels& kernels) {
    const auto packed = packed_of(d, kernels);
    EXPECT_EQ(product_of(d.shape, packed, queries_of(q, 1000, 4, kernels), 0, 1100, 0), want) << kernels.name;
  });
}

TEST_F(Integers, RowsPackedInPartsAreTheSame) {
  for (unsigned word_bytes = 1; word_bytes <= 4; ++word_bytes) {
    const Words d = words({210, 90, word_bytes});
    for_each_kernel([&](const IntegerKernels& kernels) {
      const auto whole = packed_of(d, kernels);
      auto parts = AlignedBuffer::create(packed_bytes(d.shape)).value();
      for (const auto& [first, count] : {std::pair{128, 82}, {64, 64}, {0, 64}}) {
        const auto row = static_cast<std::size_t>(first);
        pack_integers(d.shape, d.bytes.data() + row * d.stride, d.stride, row,
                      static_cast<std::size_t>(count), parts.data(), kernels);
      }
      EXPECT_EQ(std::memcmp(whole.data(), parts.data(), packed_bytes(d.shape)), 0) << kernels.name;
    });
  }
}

// Numbers set anew replace those before; queries that were never set are zero.
TEST_F(Integers, NumbersCanBeSetAnew) {
  const Words d = words({100, 20, 1});
  const Numbers before = numbers(3, 100), after = numbers(3, 100);
  for_each_kernel([&](const IntegerKernels& kernels) {
    const auto packed = packed_of(d, kernels);
    auto queries = IntegerQueries::create(3, 100, 5, kernels).value();
    EXPECT_EQ(product_of(d.shape, packed, queries, 0, 20, 0), std::vector<std::uint64_t>(60, 0));
    for (std::size_t k = 0; k < 3; ++k) queries.set(k, before[k]);
    for (std::size_t k = 0; k < 3; ++k) queries.set(k, after[k]);
    EXPECT_EQ(product_of(d.shape, packed, queries, 0, 20, 0), oracle(d, after, 5, 0, 20, 0));
  });
}

TEST(IntegerKernels, TheFastestThatTheCpuHas) {
  EXPECT_STREQ(fp::choose_integer_kernels(0).name, "portable");
  for (CpuFeatures subset = 0; subset < 128; ++subset) {
    const auto& kernels = fp::choose_integer_kernels(subset);
    const auto has = [subset](CpuFeatures features) { return (features & ~subset) == 0; };
    const CpuFeatures vnni = kCpuAvx512 | kCpuAvx512Vnni;
    const char* want = fp::integer_kernel_table().size() == 1 ? "portable"
                       : has(vnni | kCpuAmxInt8)              ? "amx"
                       : has(vnni)                            ? "vnni"
                       : has(kCpuAvx2)                        ? "avx2"
                                                              : "portable";
    EXPECT_STREQ(kernels.name, want) << subset;
  }
  EXPECT_STREQ(integer_kernels().name, fp::choose_integer_kernels(allowed_cpu_features_or_die()).name);
}

TEST(IntegerQueries, MemoryThatIsNotThere) {
  EXPECT_EQ(IntegerQueries::memory(~std::size_t{0}, ~std::size_t{0}, 6), ~std::uint64_t{0});
  const auto made = IntegerQueries::create(std::size_t{1} << 40, std::size_t{1} << 40, 6);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_EQ(packed_bytes({65, 17, 3}), 2u * 2 * 3 * 1024);
}

}  // namespace
}  // namespace pirx::strassen
