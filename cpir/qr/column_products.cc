// SPDX-License-Identifier: Apache-2.0
// Rows are taken w at a time. A table has the products of all 2^w subsets of their numbers, and each column
// needs one product with the entry that its w bits choose. Threads make the tables of several windows at
// once; then each thread takes its share of the columns through one table after another. Eight columns, or
// eight entries of a table, fill the lanes of the kernel.
#include "column_products.h"

#include <algorithm>
#include <array>

#include "cpir/dj/number.h"
#include "pirx/base/buffer.h"
#include "src/base/parallel_try.h"

namespace pirx::cpir::qr {
namespace {

using Word = std::uint64_t;
constexpr std::size_t kByteColumns = 8;
constexpr std::size_t kMaxTables = 64;       // at once
constexpr std::size_t kTablesPerThread = 8;  // so that threads seldom wait for each other
static_assert(kMaxWindow <= 16);

/// Transposes 8 x 8 bits; byte i is row i.
Word transpose(Word x) {
  Word t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AA;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCC;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0;
  return x ^ t ^ (t << 28);
}

std::size_t tables_at_once(int threads) {
  return threads == 1 ? 1 : std::min(static_cast<std::size_t>(threads) * kTablesPerThread, kMaxTables);
}

class ColumnProducts {
 public:
  ColumnProducts(const dj::Ring& ring, std::span<const mpz_class> y, const BitMatrix& bits,
                 const ColumnPlan& plan, int threads)
      : ring_(ring),
        kernel_(ring.kernel()),
        y_(y),
        bits_(bits),
        window_(plan.window),
        threads_(threads),
        tables_(tables_at_once(threads)) {
    PIRX_CHECK(ring.view().s == 0 && y.size() == bits.rows() && threads >= 1);
    PIRX_CHECK(window_ >= 1 && window_ <= kMaxWindow && kByteColumns % kernel_.lanes == 0);
  }

  Result<void> run(MutableByteSpan out, const std::function<void(double)>& progress) {
    PIRX_TRY(allocate());
    const std::size_t windows = div_up(y_.size(), window_);
    // More would load the tables into caches more often.
    const std::size_t shares = threads_ == 1 ? 1 : 2 * static_cast<std::size_t>(threads_);
    for (std::size_t first = 0; first < windows; first += tables_) {
      const std::size_t count = std::min(tables_, windows - first);
      PIRX_TRY(parallel_try(threads_, count, [&](std::size_t i, std::size_t) -> Result<void> {
        make_table(i, (first + i) * window_);
        return {};
      }));
      parallel_for(threads_, shares, [&](std::size_t i, std::size_t) {
        multiply_columns(bits_.row_bytes() * i / shares, bits_.row_bytes() * (i + 1) / shares, first, count);
      });
      if (progress) progress(static_cast<double>(first + count) / static_cast<double>(windows));
    }
    const std::size_t number_bytes = out.size() / (bits_.row_bytes() * kByteColumns);
    return parallel_try(threads_, bits_.row_bytes(), [&](std::size_t byte, std::size_t) -> Result<void> {
      write_numbers(byte, number_bytes, out);
      return {};
    });
  }

 private:
  Result<void> allocate() {
    table_words_ = ring_.stride() << window_;
    const auto create = [](std::size_t words) { return AlignedBuffer::create(words * sizeof(Word)); };
    PIRX_ASSIGN(table_, create(tables_ * table_words_));
    PIRX_ASSIGN(sums_, create(bits_.row_bytes() * kByteColumns * ring_.stride()));
    one_.resize(ring_.stride());
    ring_.import_number(1, one_.data());
    PIRX_ASSIGN(unit_, create(ring_.block_words()));
    std::vector<Word> plain(ring_.stride());
    plain[0] = 1;
    gather_all(plain.data(), words(unit_));
    return {};
  }
  static Word* words(AlignedBuffer& buffer) { return reinterpret_cast<Word*>(buffer.data()); }
  Word* table(std::size_t i) { return words(table_) + i * table_words_; }
  /// The blocks of the eight columns of a byte.
  Word* columns(std::size_t byte) { return words(sums_) + byte * kByteColumns * ring_.stride(); }
  /// A block with the same number in all lanes.
  void gather_all(const Word* number, Word* block) const {
    std::array<const Word*, kByteColumns> numbers;
    numbers.fill(number);
    kernel_.gather(ring_.view(), block, numbers.data());
  }

  /// Entry 2^t + S is entry S times y_t.
  void make_table(std::size_t i, std::size_t first_row) {
    alignas(64) Word from[kBlockWords], by[kBlockWords], product[kBlockWords];
    std::vector<Word> factor(ring_.stride());
    const std::size_t stride = ring_.stride(), lanes = kernel_.lanes, limbs = ring_.view().limbs;
    Word* entries = table(i);
    std::copy_n(one_.data(), stride, entries);
    const std::size_t rows = std::min<std::size_t>(window_, y_.size() - first_row);
    for (std::size_t t = 0; t < rows; ++t) {
      ring_.import_number(y_[first_row + t], factor.data());
      gather_all(factor.data(), by);
      const std::size_t half = std::size_t{1} << t;
      for (std::size_t at = 0; at < half; at += lanes) {
        std::array<const Word*, kByteColumns> numbers;
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          numbers[lane] = entries + std::min(at + lane, half - 1) * stride;
        }
        kernel_.gather(ring_.view(), from, numbers.data());
        kernel_.multiply(ring_.view(), product, from, by);
        const std::size_t used = std::min(lanes, half - at);
        for (std::size_t lane = 0; lane < used; ++lane) {
          Word* to = entries + (half + at + lane) * stride;
          for (std::size_t w = 0; w < limbs; ++w) to[w] = product[w * lanes + lane];
        }
      }
    }
  }

  /// The columns of bytes `from` to `to` of a row, through `count` tables.
  void multiply_columns(std::size_t from, std::size_t to, std::size_t first_window, std::size_t count) {
    if (first_window == 0) {
      for (std::size_t byte = from; byte < to; ++byte) {
        for (std::size_t j = 0; j < kByteColumns; j += kernel_.lanes) {
          gather_all(one_.data(), columns(byte) + j * ring_.stride());
        }
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t byte = from; byte < to;) {
        const std::size_t slot = byte / bits_.slot_bytes(), at = byte % bits_.slot_bytes();
        const std::size_t end = std::min(to, (slot + 1) * bits_.slot_bytes());
        std::array<const std::byte*, 16> rows;
        for (std::size_t r = 0; r < rows.size(); ++r) {
          // Rows of other windows count as zero.
          const std::size_t row = r < window_ ? (first_window + i) * window_ + r : bits_.rows();
          rows[r] = bits_.slot(row, slot) + at;
        }
        for (std::size_t offset = 0; byte < end; ++byte, ++offset) {
          multiply_byte(table(i), rows, offset, columns(byte));
        }
      }
    }
  }

  /// The eight columns of a byte by the entries that its bits choose.
  void multiply_byte(const Word* entries, const std::array<const std::byte*, 16>& rows, std::size_t offset,
                     Word* sums) const {
    alignas(64) Word product[kBlockWords], by[kBlockWords];
    Word low = 0, high = 0;
    for (std::size_t r = 0; r < 8; ++r) {
      low |= std::to_integer<Word>(rows[r][offset]) << (8 * r);
      high |= std::to_integer<Word>(rows[r + 8][offset]) << (8 * r);
    }
    low = transpose(low);
    high = transpose(high);
    std::array<const Word*, kByteColumns> numbers;
    for (std::size_t j = 0; j < kByteColumns; ++j) {
      const std::size_t entry = (low >> (8 * j) & 0xFF) | (high >> (8 * j) & 0xFF) << 8;
      numbers[j] = entries + entry * ring_.stride();
    }
    for (std::size_t j = 0; j < kByteColumns; j += kernel_.lanes) {
      Word* sum = sums + j * ring_.stride();
      kernel_.gather(ring_.view(), by, numbers.data() + j);
      kernel_.multiply(ring_.view(), product, sum, by);
      std::copy_n(product, ring_.view().limbs * kernel_.lanes, sum);
    }
  }

  /// Out of Montgomery's form: a product with 1 is below or at N.
  void write_numbers(std::size_t byte, std::size_t number_bytes, MutableByteSpan out) {
    alignas(64) Word plain[kBlockWords];
    std::vector<Word> number(ring_.view().limbs);
    mpz_class z;
    for (std::size_t j = 0; j < kByteColumns; ++j) {
      const std::size_t lanes = kernel_.lanes, lane = j % lanes;
      if (lane == 0) kernel_.multiply(ring_.view(), plain, columns(byte) + j * ring_.stride(), words(unit_));
      for (std::size_t w = 0; w < number.size(); ++w) number[w] = plain[w * lanes + lane];
      mpz_import(z.get_mpz_t(), number.size(), -1, 8, 0, 64 - kernel_.limb_bits, number.data());
      if (z >= ring_.modulus()) z -= ring_.modulus();
      dj::number_to_bytes(z, out.subspan((byte * kByteColumns + j) * number_bytes, number_bytes));
    }
  }

  static constexpr std::size_t kBlockWords = round_up(dj::kMaxLimbs, 8) * kByteColumns;
  const dj::Ring& ring_;
  const dj::RowKernel& kernel_;
  std::span<const mpz_class> y_;
  const BitMatrix& bits_;
  unsigned window_;
  int threads_;
  std::size_t tables_, table_words_ = 0;  // of a table
  AlignedBuffer table_, sums_, unit_;
  std::vector<Word> one_;
};

}  // namespace

ColumnPlan plan_columns(std::size_t rows, std::size_t columns, const dj::Ring& ring) {
  ColumnPlan best;
  for (unsigned w = 1; w <= kMaxWindow && (w == 1 || w <= rows); ++w) {
    const std::uint64_t bytes = (ring.stride() * sizeof(Word)) << w;
    if (w > 1 && bytes > kMaxTableBytes) break;
    const auto windows = static_cast<double>(div_up(rows, w));
    const double cost = windows * (static_cast<double>((1u << w) - 1) + static_cast<double>(columns));
    if (w == 1 || cost < best.multiplications) best = {w, cost, bytes};
  }
  return best;
}

std::uint64_t column_products_bytes(const dj::RowKernel& kernel, unsigned modulus_bits, std::size_t columns,
                                    int threads) {
  const std::uint64_t words =
      (modulus_bits + kernel.slack_bits) / kernel.limb_bits + kernel.limb_multiple + 8;
  return tables_at_once(threads) * kMaxTableBytes + columns * words * sizeof(Word);
}

Result<void> column_products(const dj::Ring& ring, std::span<const mpz_class> y, const BitMatrix& bits,
                             const ColumnPlan& plan, int threads, MutableByteSpan out,
                             const std::function<void(double)>& progress) {
  return ColumnProducts(ring, y, bits, plan, threads).run(out, progress);
}

}  // namespace pirx::cpir::qr
