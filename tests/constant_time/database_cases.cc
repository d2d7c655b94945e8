// SPDX-License-Identifier: Apache-2.0
// Where records lie, keyed look-ups, and records out of slots.
#include "cases.h"
#include "pirx/database/key_filter.h"
#include "src/database/stand_in.h"

namespace pirx::constant_time {
namespace {

using checkmem::hidden;
using checkmem::hide;
using checkmem::show;

database::Geometry geometry_of(database::Geometry::Spec spec) {
  return database::Geometry::create(spec).value();
}
database::Geometry keyed() {
  database::Geometry::Spec spec{1000, 5, 4, true, true};
  spec.filter = database::FilterSpec{64, 5, 7, {}};
  return geometry_of(spec);
}

bool locates() {
  std::uint64_t record = 29;
  hide(record);
  const auto at = geometry_of({30, 5, 3, true, true}).locate(record);
  return at && hidden(at->row) && hidden(at->offset);
}

bool stand_ins() {
  const auto geometry = geometry_of({30, 5, 3, true, true});
  std::vector<std::uint64_t> records{3, 29, 30, ~std::uint64_t{0}};
  hide(records);
  const auto asked = database::with_stand_ins(records, geometry);
  return hidden(asked.expose()) && !database::check_in_range(records, geometry);
}

/// A slot that is sound, or one with a changed byte: only the verdict may show, and the length.
bool reads_slot(bool variable, bool digests, std::optional<std::size_t> damaged) {
  const auto geometry = geometry_of({30, 9, 3, variable, digests});
  std::uint64_t record = 7;
  std::vector<std::byte> slot(geometry.slot_bytes());
  geometry.fill_slot(record, as_bytes(variable ? "short" : "nine byte"), slot);
  if (damaged) slot[*damaged] ^= std::byte{0xff};
  hide(record);
  hide(slot);
  const auto data = geometry.read_slot(record, slot);
  if (damaged) return !data;
  return data && data->size() == (variable ? 5 : 9) && hidden(*data);
}

bool places() {
  const auto filter = database::KeyFilter::create(keyed()).value();
  std::string key = "a secret name";
  hide(key);
  const auto place = filter.place(key);
  return hidden(place.rows) && hidden(place.offset);
}

bool reads_sum(bool present) {
  const auto geometry = keyed();
  const auto filter = database::KeyFilter::create(geometry).value();
  std::string key = "a secret name";
  const auto offset = static_cast<std::size_t>(filter.place(key).offset);
  std::vector<std::byte> sum(geometry.row_bytes());
  const auto slot = MutableByteSpan(sum).subspan(offset, geometry.slot_bytes());
  if (present) filter.fill_slot(key, as_bytes("abc"), slot);
  hide(key);
  hide(sum);
  auto found = filter.read(key, sum);
  if (!found || !hidden(&*found, sizeof *found)) return false;
  return found->has_value() == present;
}

}  // namespace

void add_database_cases(std::vector<Case>& cases) {
  cases.push_back({"database: Geometry::locate", "position", locates});
  cases.push_back({"database: with_stand_ins, check_in_range", "positions", stand_ins});
  cases.push_back({"database: read_slot", "position, slot", [] { return reads_slot(true, true, {}); }});
  cases.push_back(
      {"database: read_slot, fixed lengths", "position, slot", [] { return reads_slot(false, true, {}); }});
  cases.push_back(
      {"database: read_slot, no digests", "position, slot", [] { return reads_slot(true, false, {}); }});
  cases.push_back(
      {"database: read_slot, a wrong length", "position, slot", [] { return reads_slot(true, true, 2); }});
  cases.push_back(
      {"database: read_slot, a wrong digest", "position, slot", [] { return reads_slot(true, true, 9); }});
  cases.push_back(
      {"database: read_slot, wrong padding", "position, slot", [] { return reads_slot(true, true, 28); }});
  cases.push_back({"database: KeyFilter::place", "key", places});
  cases.push_back({"database: KeyFilter::read, there", "key, sum", [] { return reads_sum(true); }});
  cases.push_back({"database: KeyFilter::read, not there", "key, sum", [] { return reads_sum(false); }});
}

}  // namespace pirx::constant_time
