// SPDX-License-Identifier: Apache-2.0
// The fast server against one multiplication for every bit: random shapes of database and matrix, every
// kernel, window and number of threads.
#include <gtest/gtest.h>

#include "cpir/qr/column_products.h"
#include "qr_support.h"
#include "support/seed.h"

namespace pirx::cpir::qr {
namespace {

using dj::testing::odd_number;
using dj::testing::usable_kernels;
using testing::column_products_ref;
using testing::random_below;

/// Records of equal length without anything else in their slots, with rows of the database and of the matrix
/// as they come.
class Matrix {
 public:
  Matrix(std::uint64_t records, std::uint64_t record_bytes, std::uint64_t per_row, std::uint64_t slots,
         unsigned modulus_bits, std::mt19937_64& engine)
      : geometry_(database::Geometry::create({records, record_bytes, per_row, false, false}).value()),
        params_(Params::create({geometry_, {}, slots, modulus_bits, KeyPolicy::kToy}).value()),
        data_(matrix::Matrix<std::byte>::create(static_cast<std::size_t>(geometry_.rows()),
                                                static_cast<std::size_t>(geometry_.row_stride()))
                  .value()),
        rows_(params_.rows(), Bytes(params_.row_bytes())) {
    for (std::uint64_t record = 0; record < records; ++record) {
      const auto from = geometry_.locate(record).value();
      const auto to = params_.locate(record).value();
      for (std::uint64_t i = 0; i < record_bytes; ++i) {
        const auto byte = static_cast<std::byte>(engine());
        data_.row(static_cast<std::size_t>(from.row))[from.offset + i] = byte;
        rows_[to.row][to.offset + i] = byte;
      }
    }
  }
  const Params& params() const { return params_; }
  const std::vector<Bytes>& rows() const { return rows_; }
  BitMatrix bits() const { return BitMatrix(params_, std::as_const(data_).view()); }

 private:
  database::Geometry geometry_;
  Params params_;
  matrix::Matrix<std::byte> data_;
  std::vector<Bytes> rows_;
};

Bytes run(const dj::RowKernel& kernel, const mpz_class& n, const std::vector<mpz_class>& y,
          const Matrix& matrix, unsigned window, int threads) {
  const dj::Ring ring(kernel, n, 0);
  const auto bits = matrix.bits();
  auto plan = plan_columns(bits.rows(), 8 * bits.row_bytes(), ring);
  if (window != 0) plan.window = window;
  Bytes out(8 * bits.row_bytes() * matrix.params().number_bytes());
  EXPECT_TRUE(column_products(ring, y, bits, plan, threads, out));
  return out;
}

Bytes expected(const mpz_class& n, const std::vector<mpz_class>& y, const Matrix& matrix) {
  const auto each = matrix.params().number_bytes();
  const auto z = column_products_ref(n, y, matrix.rows());
  Bytes out(z.size() * each);
  for (std::size_t j = 0; j < z.size(); ++j)
    dj::number_to_bytes(z[j], std::span(out).subspan(j * each, each));
  return out;
}

TEST(ColumnProducts, RandomShapesEqualTheReference) {
  auto engine = pirx::testing::seeded_engine();
  for (int round = 0; round < 40; ++round) {
    const std::uint64_t records = 1 + engine() % 90;
    const std::uint64_t record_bytes = 1 + engine() % (round % 4 == 0 ? 70 : 5);
    const unsigned sizes[] = {9, 64, 100, 512, 1024, 2048, 3072, 4096};
    const unsigned bits = sizes[engine() % (round % 8 == 0 ? 8 : 5)];
    const Matrix matrix(records, record_bytes, 1 + engine() % records, 1 + engine() % records, bits, engine);
    const mpz_class n = odd_number(bits, engine);
    std::vector<mpz_class> y(matrix.params().rows());
    for (auto& number : y) number = random_below(n, engine);
    const auto reference = expected(n, y, matrix);
    for (const auto* kernel : usable_kernels()) {
      ASSERT_EQ(run(*kernel, n, y, matrix, 0, 1 + static_cast<int>(engine() % 3)), reference)
          << kernel->name << " " << bits << " bits, " << records << " records of " << record_bytes;
    }
  }
}

TEST(ColumnProducts, EveryWindowAndThreadCountIsTheSame) {
  auto engine = pirx::testing::seeded_engine(1);
  const Matrix matrix(61, 3, 7, 2, 192, engine);
  const mpz_class n = odd_number(192, engine);
  std::vector<mpz_class> y(matrix.params().rows());
  for (auto& number : y) number = random_below(n, engine);
  const auto reference = expected(n, y, matrix);
  for (const auto* kernel : usable_kernels()) {
    for (unsigned window = 1; window <= kMaxWindow; ++window) {
      for (const int threads : {1, 3}) {
        ASSERT_EQ(run(*kernel, n, y, matrix, window, threads), reference)
            << kernel->name << " window " << window;
      }
    }
  }
}

/// Specification section 6: N = 77, rows 1011, 0110, 1100; the columns of a byte count from its lowest bit.
TEST(ColumnProducts, KnownAnswer) {
  const auto geometry = database::Geometry::create({3, 1, 1, false, false}).value();
  const auto params = Params::create({geometry, {}, 1, 7, KeyPolicy::kToy}).value();
  auto data = matrix::Matrix<std::byte>::create(3, static_cast<std::size_t>(geometry.row_stride())).value();
  data.row(0)[0] = std::byte{0b1101};
  data.row(1)[0] = std::byte{0b0110};
  data.row(2)[0] = std::byte{0b0011};
  const BitMatrix bits(params, std::as_const(data).view());
  for (const auto* kernel : usable_kernels()) {
    const dj::Ring ring(*kernel, 77, 0);
    const std::vector<mpz_class> y{4, 68, 25};
    Bytes out(8);
    ASSERT_TRUE(column_products(ring, y, bits, plan_columns(3, 8, ring), 1, out));
    const unsigned z[] = {23, 6, 41, 4, 1, 1, 1, 1};
    for (std::size_t j = 0; j < 8; ++j) EXPECT_EQ(std::to_integer<unsigned>(out[j]), z[j]) << kernel->name;
  }
}

TEST(ColumnPlan, CountsOfTheSpecification) {
  // 1 MB, 10 MB, 100 MB and 1 GB as squares of bits; tables of 160 bytes an entry.
  const dj::Ring ring(dj::kGmpKernel, (mpz_class(1) << 1023) + 1, 0);
  const struct {
    std::size_t side;
    unsigned window;
    double gain;
  } cases[] = {{2829, 9, 7.6}, {8945, 10, 9.0}, {28285, 12, 10.5}, {89443, 13, 11.9}};
  for (const auto& each : cases) {
    const auto plan = plan_columns(each.side, each.side, ring);
    EXPECT_EQ(plan.window, each.window);
    EXPECT_NEAR(static_cast<double>(each.side) * static_cast<double>(each.side) / plan.multiplications,
                each.gain, 0.06);
    EXPECT_LE(plan.table_bytes, kMaxTableBytes);
  }
  EXPECT_EQ(plan_columns(1, 8, ring).window, 1u);
}

}  // namespace
}  // namespace pirx::cpir::qr
