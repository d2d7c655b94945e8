// SPDX-License-Identifier: Apache-2.0
// Column masks, ring FFT, chains, ring FFT of the digits, and the certificate, block by block.
#include "block_builder.h"

#include <algorithm>
#include <cmath>

#include "cpir/inspire/certificate.h"
#include "cpir/inspire/chains.h"
#include "cpir/inspire/column_masks.h"
#include "cpir/inspire/public_randomness.h"
#include "cpir/inspire/ring_fft.h"
#include "cpir/ring/bits.h"
#include "src/base/threads.h"

namespace pirx::cpir::inspire {
namespace {

__extension__ typedef unsigned __int128 Wide;

std::uint64_t rows_bytes(std::size_t d) noexcept { return Rows<float>::words(d) * sizeof(float); }

/// The memory of the Rows: two of residues, and behind them one for each digit and one of what the digits
/// leave, where the columns of the data are before.
constexpr std::size_t kResidueRows = 2;
std::size_t row_sets(const Set& set) noexcept { return kResidueRows + set.l + 1; }
std::uint64_t columns_bytes(const Params& params) noexcept {
  return std::max((row_sets(params.set()) - kResidueRows) * rows_bytes(params.d()),
                  column_bytes(params.rows(), params.set().word_bytes(), params.d()));
}
std::uint64_t all_rows_bytes(const Params& params) noexcept {
  return kResidueRows * rows_bytes(params.d()) + columns_bytes(params);
}

/// round_tm(x), and the error in units of q: x + error is the rounded number's worth.
struct Rounded {
  std::uint64_t value;
  float error;
};
Rounded round_mask(std::int64_t x, unsigned tm) noexcept {
  const auto canonical = static_cast<std::uint64_t>(x + (x < 0 ? static_cast<std::int64_t>(kModulus) : 0));
  const std::uint64_t half = (kModulus - 1) / 2;
  const Wide scaled = (static_cast<Wide>(canonical) << tm) + half;
  const auto rest = static_cast<std::int64_t>(static_cast<std::uint64_t>(scaled % kModulus));
  const auto error =
      std::ldexp(static_cast<double>(static_cast<std::int64_t>(half) - rest), -static_cast<int>(tm));
  return {static_cast<std::uint64_t>(scaled / kModulus) & ((std::uint64_t{1} << tm) - 1),
          static_cast<float>(error)};
}

/// Integers of three bytes. False if one needs more.
bool write_24_bits(std::span<const std::int32_t> row, std::byte* out) noexcept {
  std::uint32_t more = 0;
  for (const std::int32_t x : row) more |= (static_cast<std::uint32_t>(x) + (1u << 23)) >> 24;
  const auto bits = [&row](std::size_t k) { return static_cast<std::uint32_t>(row[k]) & 0xffffff; };
  std::size_t k = 0;
  for (; k + 4 <= row.size(); k += 4, out += 12) {
    store_le(out, bits(k) | bits(k + 1) << 24);
    store_le(out + 4, bits(k + 1) >> 8 | bits(k + 2) << 16);
    store_le(out + 8, bits(k + 2) >> 16 | bits(k + 3) << 8);
  }
  for (; k < row.size(); ++k) {
    for (unsigned i = 0; i < 3; ++i) *out++ = static_cast<std::byte>(bits(k) >> (8 * i));
  }
  return more == 0;
}

/// The first numbers of each row, as integers of 3 or 4 bytes, and their squares, which are added up. False
/// if one needs more bytes.
bool write_rows(const Rows<std::int32_t>& rows, unsigned bytes, std::span<float> squares,
                std::byte* out) noexcept {
  bool fit = true;
  for (std::size_t n = 0; n < rows.d(); ++n, out += squares.size() * bytes) {
    const std::span<const std::int32_t> row(rows[n], squares.size());
    if (bytes == 4) {
      for (std::size_t k = 0; k < row.size(); ++k) store_le(out + 4 * k, static_cast<std::uint32_t>(row[k]));
    } else {
      fit &= write_24_bits(row, out);
    }
    add_squares(row, squares);
  }
  return fit;
}

}  // namespace

Result<BlockBuilder> BlockBuilder::create(const Params& params, const Ring& ring, int threads) {
  const Salt& salt = params.spec().salt;
  return create(
      params, ring, [&](std::uint64_t v, std::uint32_t* slots) { query_mask(ring, salt, v, slots); },
      [&](std::uint64_t j, std::uint32_t* slots) { key_mask(ring, salt, j, slots); }, threads);
}

Result<BlockBuilder> BlockBuilder::create(const Params& params, const Ring& ring, const DrawMask& query_mask,
                                          const DrawMask& key_mask, int threads) {
  PIRX_CHECK(ring.d() == params.d());
  const std::size_t d = ring.d();
  BlockBuilder out(params, ring);
  PIRX_ASSIGN(out.query_masks_, Polynomials::create(params.row_blocks(), d));
  parallel_for(threads, params.row_blocks(), [&](std::size_t v, std::size_t) {
    std::uint32_t* slots = out.query_masks_[v];
    query_mask(v, slots);
    std::array<std::uint32_t, 2> factor{};
    for (std::size_t k = 0; k < 2; ++k) {
      // tau_(-1) turns the order of the slots around.
      std::reverse(slots + k * d, slots + (k + 1) * d);
      const PrimeTable& prime = ring.prime(k);
      factor[k] = static_cast<std::uint32_t>(std::uint64_t{prime.one} * prime.inverse_d % prime.q);
    }
    ring.scale(slots, slots, factor);
  });
  PIRX_ASSIGN(auto key_masks, Polynomials::create(params.set().l, d));
  for (unsigned j = 0; j < params.set().l; ++j) key_mask(j, key_masks[j]);
  PIRX_ASSIGN(out.key_masks_, KeyMasks::create(ring, key_masks, params.set().l));
  return out;
}

std::uint64_t BlockBuilder::scratch_bytes(const Params& params) noexcept {
  const std::size_t d = params.d(), polynomial = polynomial_stride(d) * sizeof(std::uint32_t);
  return all_rows_bytes(params) +
         (params.row_blocks() + ChainScratch::polynomials(params.set().l)) * polynomial;
}

Result<BlockScratch> BlockBuilder::scratch() const {
  const std::size_t d = params_.d(), sets = row_sets(params_.set());
  BlockScratch out;
  PIRX_ASSIGN(out.rows_, AlignedBuffer::create(all_rows_bytes(params_)));
  PIRX_ASSIGN(out.workspace_, Polynomials::create(params_.row_blocks(), d));
  PIRX_ASSIGN(out.chain_, ChainScratch::create(d, params_.set().l));
  out.order_.resize(sets * (d + 1));
  out.squares_.resize(2 * d);
  return out;
}

Result<void> BlockBuilder::build(std::size_t block, const ReadWords& words, BlockScratch& scratch,
                                 const Block& out) const {
  const Ring& ring = *ring_;
  const Set& set = params_.set();
  const std::size_t d = ring.d(), columns = params_.columns_of(block);
  const auto log_d = ring.prime(0).log_d;
  PIRX_CHECK(out.masks.size() == params_.masks_bytes() &&
             out.packing.size() == set.l * d * columns * set.packing_bytes);

  std::size_t taken = 0;
  const auto next_rows = [&]() -> RowMemory {
    const std::size_t i = taken++;
    return {scratch.rows_.data() + i * rows_bytes(d), std::span(scratch.order_).subspan(i * (d + 1), d + 1)};
  };
  const std::array<Rows<std::uint32_t>, kResidueRows> sums{next_rows(), next_rows()};
  std::vector<Rows<std::int32_t>> digits;
  for (unsigned j = 0; j < set.l; ++j) digits.emplace_back(next_rows());
  const Rows<float> residues(next_rows());
  const MutableByteSpan data(scratch.rows_.data() + kResidueRows * rows_bytes(d), columns_bytes(params_));

  column_masks(ring, query_masks_, {words, set.word_bytes(), params_.rows(), block * d, columns},
               scratch.workspace_, data, sums);
  for (std::size_t k = 0; k < 2; ++k) ring_fft(ring.kernel(), ring.prime(k), sums[k]);

  std::array<std::int64_t, std::size_t{1} << kLogDimension> mask{};
  for (const int sign : {1, -1}) {
    chain(ring, set, key_masks_, {sums, digits, residues}, sign, scratch.chain_, std::span(mask).first(d));
    float* errors = residues[row_of(sign > 0 ? 1 : 2 * d - 1, log_d)];
    BitWriter bits(out.masks.subspan(sign > 0 ? 0 : out.masks.size() / 2, out.masks.size() / 2));
    for (std::size_t n = 0; n < d; ++n) {
      const Rounded rounded = round_mask(mask[n], set.tm);
      bits.put(rounded.value, set.tm);
      errors[n] = -rounded.error;
    }
    bits.finish();
  }

  const auto squares = std::span(scratch.squares_);
  std::fill(squares.begin(), squares.end(), 0.0f);
  const auto packing_squares = squares.first(columns), secret_squares = squares.subspan(d, columns);
  for (unsigned j = 0; j < set.l; ++j) {
    const std::size_t bytes = d * columns * set.packing_bytes;
    if (!ring_fft_transposed(ring.kernel(), digits[j]) ||
        !write_rows(digits[j], set.packing_bytes, packing_squares, out.packing.data() + j * bytes)) {
      return fail(ErrorCode::kInternal, "an entry of the packing matrix of block " + std::to_string(block) +
                                            " does not fit its bytes: draw another salt and build again");
    }
  }
  if (params_.spec().toy) return {};
  ring_fft_transposed(ring.kernel(), residues);
  for (std::size_t n = 0; n < d; ++n)
    add_squares(std::span<const float>(residues[n], columns), secret_squares);
  const double failure = log2_failure(params_, packing_squares, secret_squares);
  // Each block has its share.
  const double most = Params::kFailureBound - std::log2(static_cast<double>(params_.blocks()));
  if (!(failure <= most)) {
    return fail(ErrorCode::kInternal, "words of block " + std::to_string(block) +
                                          " would be wrong with probability 2^" + std::to_string(failure) +
                                          ", more than 2^" + std::to_string(most) +
                                          ": draw another salt and build again");
  }
  return {};
}

}  // namespace pirx::cpir::inspire
