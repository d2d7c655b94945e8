// SPDX-License-Identifier: Apache-2.0
// What all messages and files are made of: numbers, runs of bits, hexadecimal digits, geometries; and the
// slots of keyed databases.
#include "cpir/ring/bits.h"
#include "pirx/base/wire.h"
#include "pirx/database/key_filter.h"
#include "world.h"

namespace pirx::fuzz {
namespace {

Seeds geometries() {
  Seeds seeds;
  for (const auto kind : {Kind::kPlain, Kind::kKeyed, Kind::kFixed}) {
    Writer writer;
    database::Database::open(database_file(kind)).value()->geometry().encode(writer);
    seeds.push_back(std::move(writer).take());
  }
  return seeds;
}

}  // namespace

PIRX_FUZZ(wire_reader, [] { return texts({"\x03\x01\x02\x04\x05\x06hello, wire"}); }) {
  Script script(input);
  const auto orders = script.piece();
  const auto rest = script.rest();
  const Bytes message(rest.begin(), rest.end());
  Reader reader(message, "message");
  std::size_t at = 0;
  for (const auto order : orders) {
    const auto before = reader.remaining();
    expect(before == message.size() - at, "the reader knows what is left");
    const auto read = [&](auto value, std::size_t size) {
      if (value) {
        expect(std::memcmp(&*value, message.data() + at, size) == 0, "a number is what was written");
        at += size;
      } else {
        expect(before < size && reader.remaining() == before, "only too few bytes are an error");
      }
    };
    const auto kind = std::to_integer<unsigned>(order);
    if (kind % 6 == 0) read(reader.get<std::uint8_t>(), 1);
    if (kind % 6 == 1) read(reader.get<std::uint16_t>(), 2);
    if (kind % 6 == 2) read(reader.get<std::uint32_t>(), 4);
    if (kind % 6 == 3) read(reader.get<std::uint64_t>(), 8);
    if (kind % 6 == 4) {
      const std::uint64_t count = kind > 200 ? ~std::uint64_t{0} >> (kind - 200) : kind / 6;
      const auto piece = reader.get_bytes(count);
      expect(piece.has_value() == (count <= before), "bytes are there or not");
      if (piece) at += piece->size();
    }
    if (kind % 6 == 5) {
      std::array<std::byte, 16> array{};
      if (reader.read(array)) at += array.size();
    }
  }
  expect(reader.expect_end().has_value() == (reader.remaining() == 0), "the end is where nothing is left");
}

PIRX_FUZZ(bit_reader, [] { return texts({"\x07\x20\x38\x01some bits"}); }) {
  Script script(input);
  const auto orders = script.piece();
  const auto run = script.rest();
  cpir::BitReader reader(run);
  std::size_t at = 0;
  std::vector<std::pair<std::uint64_t, unsigned>> numbers;
  for (const auto order : orders) {
    const unsigned bits = 1 + std::to_integer<unsigned>(order) % cpir::kMostBits;
    std::uint64_t truth = 0;
    for (unsigned i = 0; i < bits; ++i, ++at) {
      const auto byte = at / 8 < run.size() ? std::to_integer<std::uint64_t>(run[at / 8]) : 0;
      truth |= (byte >> at % 8 & 1) << i;
    }
    const auto value = reader.get(bits);
    expect(value == truth, "a number is what its bits say");
    numbers.emplace_back(value, bits);
  }
  Bytes again(cpir::run_bytes(at, 1));
  cpir::BitWriter writer(again);
  for (const auto& [value, bits] : numbers) writer.put(value, bits);
  writer.finish();
  for (std::size_t i = 0; i < at && i / 8 < run.size(); ++i) {
    expect(((again[i / 8] ^ run[i / 8]) >> (i % 8) & std::byte{1}) == std::byte{0},
           "what is read can be written");
  }
}

PIRX_FUZZ(hex, [] { return texts({"00ffA1", "0", "xy", ""}); }) {
  const auto bytes = from_hex(as_text(input));
  expect_error(bytes, {kInvalid}, "from_hex");
  if (bytes) expect(bytes->size() * 2 == input.size() && *from_hex(to_hex(*bytes)) == *bytes, "hex is exact");
  expect(*from_hex(to_hex(input)) == Bytes(input.begin(), input.end()), "all bytes have digits");
}

PIRX_FUZZ(geometry, geometries) {
  Reader reader(input, "geometry");
  const auto geometry = database::Geometry::decode(reader);
  expect_error(geometry, {kLoss, kInvalid}, "decode");
  if (!geometry) return;
  Writer writer;
  geometry->encode(writer);
  const auto again = std::move(writer).take();
  expect(again.size() == database::Geometry::kBytes && std::equal(again.begin(), again.end(), input.begin()),
         "a geometry has one encoding");
  expect(geometry->row_stride() % 64 == 0 && geometry->row_stride() >= geometry->row_bytes() + 31,
         "rows have room");
  expect(geometry->data_bytes() / geometry->row_stride() == geometry->rows(), "no size overflows");
  const auto& spec = geometry->spec();
  for (const auto i :
       {std::uint64_t{0}, spec.records / 2, spec.records - 1, spec.records, ~std::uint64_t{0}}) {
    const auto at = geometry->locate(i);
    expect_error(at, {kInvalid, ErrorCode::kOutOfRange}, "locate");
    expect(geometry->keyed() || at.has_value() == (i < spec.records), "each record has a place");
    if (!at) continue;
    expect(at->row < geometry->rows() && at->offset + geometry->slot_bytes() <= geometry->row_bytes(),
           "a slot lies in its row");
  }
  if (geometry->keyed()) {
    const auto filter = database::KeyFilter::create(*geometry).value();
    const auto place = filter.place(as_text(input));
    expect(place.rows[0] < place.rows[1] && place.rows[1] < place.rows[2] &&
               place.rows[2] < geometry->rows() &&
               place.offset + geometry->slot_bytes() <= geometry->row_bytes(),
           "a key has three rows");
  }
}

PIRX_FUZZ(slots, [] { return texts({"\x05hello\x03keyworld", "\x80\x04key1\x00"}); }) {
  Script script(input);
  database::Geometry::Spec spec;
  const auto first = script.byte();
  spec.records = 100;
  spec.record_bytes = 1 + first % 64;
  spec.records_per_row = 2;
  spec.variable_length = (first & 64) != 0;
  const bool keyed = (first & 128) != 0;
  if (keyed) spec.filter = database::FilterSpec{32, 4, 1, {}};
  const auto geometry = database::Geometry::create(spec);
  if (!geometry) return;
  const auto name = script.text();
  const auto position = script.below(spec.records);
  auto data = script.piece();
  data = data.first(std::min<std::size_t>(data.size(), spec.record_bytes));
  if (!spec.variable_length) data = data.first(data.size() == spec.record_bytes ? data.size() : 0);
  const bool writable = spec.variable_length || data.size() == spec.record_bytes;
  Bytes slot(geometry->slot_bytes());
  const auto rest = script.rest();
  const auto read = [&](ByteSpan from) -> Result<std::optional<Bytes>> {
    if (!keyed) {
      PIRX_ASSIGN(const auto found, geometry->read_slot(position, from));
      return Bytes(found.begin(), found.end());
    }
    PIRX_ASSIGN(auto found, database::KeyFilter::create(*geometry).value().read_slot(name, from));
    return std::optional<Bytes>(std::move(found));
  };
  if (writable) {
    if (keyed) {
      database::KeyFilter::create(*geometry).value().fill_slot(name, data, slot);
    } else {
      geometry->fill_slot(position, data, slot);
    }
    const auto again = read(slot);
    expect(again && *again && std::equal((*again)->begin(), (*again)->end(), data.begin(), data.end()),
           "a slot gives back what was put into it");
  }
  const auto before = slot;
  Script changes(rest);
  for (unsigned n = 0; n < 8 && !changes.empty(); ++n) change(slot, changes);
  slot.resize(geometry->slot_bytes());
  const auto found = read(slot);
  expect_error(found, {kLoss}, "read_slot");
  if (found && *found && slot != before) expect((*found)->size() <= spec.record_bytes, "no record is longer");
  if (!keyed && slot != before) expect(!found.has_value() || !writable, "a damaged slot is noticed");
}

}  // namespace pirx::fuzz
