// SPDX-License-Identifier: Apache-2.0
// The server half: the product over GF(2), of bits that are expanded out of keys.
#include "server.h"

#include <algorithm>

#include "expand.h"
#include "itpir/server_impl.h"
#include "pirx/gf2e/gf2.h"

namespace pirx::itpir::dpf {
namespace {

using gf2e::Gf2;

/// A query vector as the keys of so many points, whose functions are added up.
template <std::size_t kPoints>
struct PointVectors {
  static constexpr ProtocolId kProtocol = ProtocolId::kPointFunctions;
  static constexpr bool kSeeds = false;
  /// The bits of a window are made where they stay in the cache until they are multiplied.
  static constexpr std::size_t kWindowRows = kSubtreeRows;
  using Scratch = Expander;
  /// The leaves, of which the last may reach beyond the rows.
  template <class>
  using Entry = std::byte;
  static std::size_t entries(std::size_t rows) noexcept { return expansion_bytes(rows); }
  static std::size_t scratch_bytes(std::size_t rows) noexcept { return Expander::scratch_bytes(rows); }
  static std::uint64_t bytes(const Gf2&, std::uint64_t rows) noexcept { return kPoints * key_bytes(rows); }
  static Result<void> check(ByteSpan keys, std::uint64_t rows) { return check_keys(keys, rows); }
  static bool read(const Gf2&, std::size_t rows, const std::byte* from, std::size_t first, MutableByteSpan to,
                   Expander& expander) {
    const std::size_t each = key_bytes(rows);
    std::ranges::fill(to, std::byte{0});
    for (std::size_t i = 0; i < kPoints; ++i) expander.add({from + i * each, each}, rows, to, first);
    return true;
  }
};

/// The slots of a database, one a row.
Result<ServedRows> slots_as_rows(std::shared_ptr<const database::Database> database) {
  const auto& geometry = database->geometry();
  const auto rows = static_cast<std::size_t>(slots(geometry));
  const auto slot_bytes = static_cast<std::size_t>(geometry.slot_bytes());
  Writer writer;
  writer.put_bytes(as_bytes("pirx slots v1"));
  writer.put_bytes(database->version().identity);
  ServedRows served{
      .geometry = geometry,
      .version = database->version(),
      .rows = database->rows(),
      .owner = database,
      .row_bytes = slot_bytes,
      .rows_version = database::Version{sha256(std::move(writer).take()), database->version().epoch}};
  if (geometry.spec().records_per_row == 1) return served;
  constexpr std::size_t kBeyond = 31;  // a row is read as whole words
  PIRX_ASSIGN(auto made, matrix::Matrix<std::byte>::create(rows, slot_bytes + kBeyond));
  auto copy = std::make_shared<matrix::Matrix<std::byte>>(std::move(made));
  const auto per_row = static_cast<std::size_t>(geometry.spec().records_per_row);
  const auto from = database->rows();
  for (std::size_t i = 0; i < rows; ++i) {
    std::copy_n(from.row(i / per_row) + i % per_row * slot_bytes, slot_bytes, copy->row(i));
  }
  served.rows = std::as_const(*copy).view();
  served.owner = std::move(copy);
  return served;
}

template <std::size_t kPoints>
Result<std::unique_ptr<AnyServer>> serve_slots(ServedRows served, const ServerOptions& options) {
  return VectorServer<Gf2, PointVectors<kPoints>>::create(strassen::Engine<Gf2>(Gf2{}), std::move(served),
                                                          options);
}

}  // namespace

Result<std::unique_ptr<AnyServer>> make_server(std::shared_ptr<const database::Database> database,
                                               const ServerOptions& options) {
  PIRX_CHECK(database != nullptr);
  PIRX_ASSIGN(const auto chosen, check_xor_options(options, "dpf"));
  if (database->bucket() != nullptr) {
    return invalid("this file is one server's bucket of an encoded database: dpf serves plain ones");
  }
  if (!options.code.empty()) return invalid("dpf has no batch codes: leave the code away");
  const auto& geometry = database->geometry();
  PIRX_TRY(check_sizes(slots(geometry), points_of(geometry), geometry.slot_bytes()));
  const bool keyed = geometry.keyed();
  PIRX_ASSIGN(auto served, slots_as_rows(std::move(database)));
  return keyed ? serve_slots<kPointsOfAKey>(std::move(served), chosen)
               : serve_slots<1>(std::move(served), chosen);
}

}  // namespace pirx::itpir::dpf
