// SPDX-License-Identifier: Apache-2.0
// Runs the client half of Goldberg's and Chor's protocols under valgrind with the wanted records, rows and
// keys marked as undefined: memcheck reports every branch and every address that depends on them, up to the
// finished requests. What reveal() reveals, that there are such records, is all that may show.
#include <valgrind/memcheck.h>

#include <cstdio>
#include <string>

#include "pirx/database/key_filter.h"
#include "pirx/itpir/chor/client.h"
#include "pirx/itpir/goldberg/client.h"

namespace {

using namespace pirx;
using namespace pirx::itpir;
using goldberg::Params;

/// Whether a mark arrived somewhere in it; defined from then on.
bool was_hidden(const void* data, std::size_t size) {
  std::vector<unsigned char> marks(size);
  static_cast<void>(VALGRIND_GET_VBITS(data, marks.data(), size));
  static_cast<void>(VALGRIND_MAKE_MEM_DEFINED(data, size));
  for (const auto mark : marks) {
    if (mark != 0) return true;
  }
  return false;
}

template <class T>
void hide(T& values) {
  static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(values.data(), values.size() * sizeof values[0]));
}

/// The requests carry the secret, to the servers that get no seed.
bool carry(const Result<Query>& query) {
  if (!query) {
    std::printf("no query: %s\n", query.error().to_string().c_str());
    return false;
  }
  bool marked = false;
  for (const auto& request : query->requests) marked |= was_hidden(request.data(), request.size());
  return marked;
}

Params::Spec deployment(const FieldTag& field) {
  return {field, database::Geometry::create({30, 5, 3, true, true}).value(), {}, {21, 22, 23, 24, 25}, 1};
}

bool check(const std::string& what, const SharesClient& client, const FieldTag& field) {
  auto rng = Rng::from_os().value();
  std::vector<std::uint64_t> records{3, 29, 3};
  hide(records);
  bool good = carry(client.query(records, rng));
  if (field.kind == FieldKind::kBinary) {
    std::vector<std::array<std::uint64_t, kSummedRows>> rows{{0, 4, 9}, {7, 7, 2}};
    hide(rows);
    good &= carry(client.query_sums(rows, rng));
  }
  if (!good) std::printf("%s over %s: the marks got lost\n", what.c_str(), field.name().c_str());
  return good;
}

bool check(const std::string& what, const Params::Spec& spec, bool seeded) {
  return check(what, goldberg::Client(Params::create(spec).value(), {.seeded = seeded}), spec.field);
}

/// Whether there is a record, its length and its place in the sum are as secret as the key.
bool check_sums(const database::KeyFilter& filter, std::string& key, const database::Geometry::Spec& spec) {
  const auto geometry = database::Geometry::create(spec).value();
  for (const bool present : {true, false}) {
    static_cast<void>(VALGRIND_MAKE_MEM_DEFINED(key.data(), key.size()));
    const auto offset = static_cast<std::size_t>(filter.place(key).offset);
    std::vector<std::byte> sum(geometry.row_bytes());
    const auto slot = MutableByteSpan(sum).subspan(offset, geometry.slot_bytes());
    if (present) filter.fill_slot(key, as_bytes("abc"), slot);
    hide(key);
    hide(sum);
    auto found = filter.read(key, sum);
    if (!found || !was_hidden(&*found, sizeof *found) || found->has_value() != present) {
      std::puts("sums: wrong, or the marks got lost");
      return false;
    }
  }
  return true;
}

bool check_keys() {
  database::Geometry::Spec spec{1000, 5, 4, true, true};
  spec.filter = database::FilterSpec{64, 5, 7, {}};
  const auto filter = database::KeyFilter::create(database::Geometry::create(spec).value()).value();
  std::string key = "a secret name";
  hide(key);
  const auto place = filter.place(key);
  const bool good = was_hidden(place.rows.data(), sizeof place.rows) && was_hidden(&place.offset, 8);
  if (!good) std::puts("keys: the marks got lost");
  return good && check_sums(filter, key, spec);
}

}  // namespace

int main() {
  bool good = check_keys();
  for (const auto& field : {kTagGf2_8, kTagGf2_16, kTagW160, kTagW48}) {
    const auto plain = deployment(field);
    good &= check("plain", plain, false);
    good &= check("seeds", plain, true);
    auto ramp = plain;
    ramp.ramp = 2;
    good &= check("ramp", ramp, false);
    auto encoded = ramp;
    encoded.arity = 2;
    encoded.modulus = 10;
    good &= check("encoded", encoded, false);
    good &= check("encoded, with seeds", encoded, true);
  }
  const auto plain = deployment(kTagGf2);
  for (const bool seeded : {false, true}) {
    const auto params = chor::Params::create({plain.geometry, plain.version, plain.coordinates}).value();
    good &=
        check(seeded ? "Chor's, with seeds" : "Chor's", chor::Client(params, {.seeded = seeded}), kTagGf2);
  }
  return good ? 0 : 1;
}
