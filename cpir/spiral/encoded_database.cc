// SPDX-License-Identifier: Apache-2.0
// Encodes the database, in parallel over items.
#include "encoded_database.h"

#include <algorithm>

#include "item.h"
#include "src/base/parallel_try.h"
#include "src/database/prepared_file.h"

namespace pirx::cpir::spiral {
namespace {

/// The bytes of an item: its slots, as far as there are any.
void read_item(const Params& params, const database::Database& database, std::uint64_t item,
               MutableByteSpan out) {
  const auto& geometry = params.geometry();
  const auto rows = database.rows();
  const auto bytes = static_cast<std::size_t>(params.slot_bytes());
  std::fill(out.begin(), out.end(), std::byte{0});
  for (std::uint64_t i = 0; i < params.slots(); ++i) {
    const std::uint64_t slot = item * params.slots() + i;
    database::Location at{slot, 0};
    if (geometry.keyed() ? slot >= geometry.rows() : slot >= geometry.records()) return;
    if (!geometry.keyed()) at = geometry.locate(slot).value();
    std::copy_n(rows.row(static_cast<std::size_t>(at.row)) + at.offset, bytes,
                out.begin() + static_cast<std::ptrdiff_t>(i * bytes));
  }
}

Result<void> encode_items(const Params& params, const EncodedDatabase::Items& items, int threads,
                          std::uint64_t* words) {
  const Ring& ring = Ring::get(params.scheme().log_d);
  const std::size_t d = ring.d(), blocks = d / kBlockSlots, rows = params.rows(), columns = params.columns();
  const auto p = std::int32_t{1} << params.scheme().log_p;
  const auto encode = [&](std::size_t item, std::size_t) -> Result<void> {
    Bytes bytes(params.item_bytes());
    items(item, bytes);
    std::vector<std::uint16_t> coefficients(params.polynomials() * d);
    item_to_coefficients(params, item, bytes, coefficients);
    const std::size_t row = item / columns, column = item % columns;
    std::vector<std::int32_t> small(d);
    std::vector<std::uint32_t> slots(2 * d);
    for (std::size_t polynomial = 0; polynomial < params.polynomials(); ++polynomial) {
      for (std::size_t i = 0; i < d; ++i) {
        const std::int32_t x = coefficients[polynomial * d + i];
        small[i] = x >= p / 2 ? x - p : x;
      }
      ring.forward_small(slots.data(), small.data());
      ring.to_montgomery(slots.data(), slots.data());
      for (std::size_t z = 0; z < blocks; ++z) {
        std::uint64_t* to =
            words + (((polynomial * blocks + z) * columns + column) * rows + row) * kBlockSlots;
        for (std::size_t s = 0; s < kBlockSlots; ++s) {
          to[s] = slots[z * kBlockSlots + s] | std::uint64_t{slots[d + z * kBlockSlots + s]} << 32;
        }
      }
    }
    return {};
  };
  return parallel_try(threads, static_cast<std::size_t>(params.items()), encode);
}

}  // namespace

Result<EncodedDatabase> EncodedDatabase::create(const Params& params, const Items& items, int threads,
                                                const std::filesystem::path& file,
                                                const std::function<void(const std::string&)>& note,
                                                const std::function<Result<void>()>& check) {
  EncodedDatabase out;
  PIRX_ASSIGN(out.buffer_, AlignedBuffer::create(params.encoded_bytes()));
  const MutableByteSpan words(out.buffer_.data(), params.encoded_bytes());
  const auto encode = [&] {
    return encode_items(params, items, threads, reinterpret_cast<std::uint64_t*>(words.data()));
  };
  // The plan's digest says all that decides how the words lie; the number tells the order of the words.
  const database::PreparedLabel label{params.spec().version,
                                      "transforms of spiral (order 1), plan " + to_hex(params.digest()), 1,
                                      params.encoded_bytes()};
  const auto make = [&]() -> Result<void> {
    PIRX_TRY(encode());
    return check ? check() : Result<void>();
  };
  PIRX_TRY(file.empty() ? encode()
                        : database::read_or_prepare(file, label, {&words, 1}, threads, make, note));
  return out;
}

EncodedDatabase::Items EncodedDatabase::items_of(const Params& params, const database::Database& database) {
  return [&](std::uint64_t item, MutableByteSpan out) { read_item(params, database, item, out); };
}

}  // namespace pirx::cpir::spiral
