// SPDX-License-Identifier: Apache-2.0
// Spiral, inspire, the ring under both, and the retrievals of one server.
#include "cases.h"
#include "cpir/inspire/client_core.h"
#include "cpir/inspire/rounding.h"
#include "cpir/rows_client.h"
#include "cpir/spiral/client_core.h"
#include "cpir/spiral/item.h"
#include "cpir/spiral/wire.h"
#include "pirx/cpir/spiral/client.h"
#include "pirx/database/key_filter.h"
#include "src/base/constant_time.h"

namespace pirx::constant_time {
namespace {

using namespace cpir;
using checkmem::hidden;
using checkmem::hide;
using checkmem::show;
using U64 = std::uint64_t;

/// Secret coins. Of `public_bytes` at a time, which are seeds that servers see, they are not.
Coins secret_coins(Rng& rng, std::size_t public_bytes = 0) {
  return [&rng, public_bytes](MutableByteSpan out) {
    rng.fill(out);
    if (out.size() != public_bytes) hide(out);
  };
}

bool samples() {
  auto rng = Rng::from_os().value();
  std::vector<std::int32_t> errors(100);
  centred_binomial(secret_coins(rng), 32, errors);
  return hidden(errors);
}

bool ring_operations() {
  const Ring& ring = Ring::get(6);
  auto rng = Rng::from_os().value();
  const SecretPolynomial a(ring, 8, secret_coins(rng)), b(ring, 8, secret_coins(rng));
  const std::size_t n = 2 * ring.d();
  std::vector<std::uint32_t> x(n), y(n);
  ring.multiply(x.data(), a.slots.expose().data(), b.montgomery.expose().data());
  ring.add(x.data(), x.data(), a.slots.expose().data());
  ring.subtract(x.data(), x.data(), b.slots.expose().data());
  ring.scale(x.data(), x.data(), {3, 5});
  ring.automorphism(2, y.data(), x.data());
  ring.kernel().inner_product(ring.prime(0), x.data(), y.data(), n, a.slots.expose().data(), n, 1);
  ring.inverse(y.data(), x.data());
  std::vector<std::int64_t> numbers(ring.d());
  ring.compose(numbers.data(), y.data());
  ring.forward(y.data(), y.data());
  return hidden(numbers) && hidden(y);
}

bool rounds() {
  U64 x = kModulus / 3;
  hide(x);
  const U64 made[] = {inspire::Rounding(1)(x), inspire::Rounding(28)(x), inspire::Rounding(48)(x)};
  return hidden(made[0]) && hidden(made[1]) && hidden(made[2]);
}

spiral::Params spiral_params(unsigned pack) {
  const spiral::Scheme scheme{
      .policy = spiral::Policy::kToy, .log_d = 6, .log_p = 4, .pack = pack, .log_columns = 1};
  return spiral::Params::create({database::Geometry::create({4, 64, 1, false, false}).value(), {}, scheme})
      .value();
}
bool spiral_core(unsigned pack) {
  const auto params = spiral_params(pack);
  auto rng = Rng::from_os().value();
  const Coins coins = secret_coins(rng, kSeedBytes);
  const spiral::ClientCore client(params, coins);
  const Bytes keys = client.keys(params, coins);
  U64 item = params.items() - 1;
  hide(item);
  Bytes query(kSeedBytes + params.polynomial_bytes());
  client.query(params, item, coins, query);
  Bytes body(params.reply_bytes());
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<std::byte>(37 * i);
  const auto coefficients = client.decode(params, body);
  Bytes bytes(params.item_bytes());
  spiral::coefficients_to_item(params, item, coefficients.expose(), bytes);
  return hidden(keys) && hidden(query) && hidden(coefficients.expose()) && hidden(bytes);
}
/// As programs ask: from a record, by the client around the core, whose coins are not marked.
bool spiral_query() {
  const auto params = spiral_params(1);
  U64 record = params.geometry().records() - 1;
  hide(record);
  const auto at = params.locate(record);
  if (!at) return false;
  const auto client = spiral::Client::create(params, true).value();
  auto rng = Rng::from_os().value();
  const auto query = client.query(at->row, rng);
  return query && hidden(*query);
}

bool inspire_core(const inspire::Set& like) {
  inspire::Params::Spec spec{
      .geometry = database::Geometry::create({.records = 1000, .record_bytes = 16, .digests = false}).value(),
      .version = {},
      .set = like,
      .layout = {.per_row = 7, .rows_each = 1},
      .t = like.w == 8 ? 28U : 43U,
      .tr = like.w + 3,
      .toy = true};
  spec.set.log_d = 6;
  const auto params = inspire::Params::create(spec).value();
  auto rng = Rng::from_os().value();
  const Coins coins = secret_coins(rng);
  const inspire::ClientCore core(params, inspire::ClientCore::expand(params));
  U64 record = 701;
  hide(record);
  const auto at = params.locate(record);
  if (!at) return false;
  Bytes key(params.key_bytes()), numbers(params.query_bytes());
  auto secret = core.query(inspire::FreshSecret(params, coins), at->row, coins, key, numbers);
  std::vector<std::shared_ptr<const inspire::MaskSlots>> masks;
  Bytes public_masks(params.masks_bytes());
  for (std::size_t i = 0; i < public_masks.size(); ++i) public_masks[i] = static_cast<std::byte>(31 * i);
  for (std::size_t block = 0; block < params.blocks(); ++block) {
    masks.push_back(std::make_shared<const inspire::MaskSlots>(core.mask_slots(public_masks)));
  }
  Bytes body(params.reply_bytes());
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<std::byte>(37 * i);
  const auto row = core.decode(std::move(secret), masks, body);
  return hidden(key) && hidden(numbers) && hidden(row.expose());
}

/// A client whose requests are the row and whose replies are the row's content.
class Plain final : public RowsClient {
 public:
  explicit Plain(database::Geometry geometry) : geometry_(geometry) {}

 private:
  const database::Geometry& geometry() const override { return geometry_; }
  Result<database::Location> locate(U64 slot_or_row) const override {
    if (geometry_.keyed()) return database::Location{slot_or_row, 0};
    return geometry_.locate(slot_or_row);
  }
  U64 reply_bytes() const override { return geometry_.row_bytes(); }
  Result<Asked> query(U64 row, Rng&, const Stop&) const override {
    Writer writer;
    writer.put(row);
    return Asked(std::move(writer).take());
  }
  Result<SecretVector<std::byte>> decode(U64, std::unique_ptr<QuerySecret>, ByteSpan reply,
                                         const Stop&) const override {
    SecretVector<std::byte> row(reply);
    hide(row.expose());
    return row;
  }
  const database::Geometry geometry_;
};

/// Records in sound slots, or a key that is or is not there: its rows are zero but for one that has the slot.
bool retrieves(bool keyed, bool present) {
  database::Geometry::Spec spec{1000, 5, 4, true, true};
  if (keyed) spec.filter = database::FilterSpec{64, 5, 7, {}};
  const auto geometry = database::Geometry::create(spec).value();
  const Plain client(geometry);
  std::vector<std::string> keys{"a secret name"};
  std::vector<U64> positions{701, present ? 5u : 5000u};
  Bytes slot(geometry.slot_bytes());
  std::size_t offset = 0;
  if (keyed) {
    const auto filter = database::KeyFilter::create(geometry).value();
    filter.fill_slot(keys[0], as_bytes("found"), slot);
    offset = static_cast<std::size_t>(filter.place(keys[0]).offset);
  }
  hide(keys[0]);
  hide(positions);
  auto rng = Rng::from_os().value();
  auto made = keyed ? client.retrieve(std::span<const std::string>(keys), {}, std::move(rng))
                    : client.retrieve(std::span<const U64>(positions), {}, std::move(rng));
  if (!made) return false;
  auto& retrieval = **made;
  bool marked = true;
  std::size_t asked = 0;
  for (auto wave = retrieval.outgoing(); wave && !wave->empty(); wave = retrieval.outgoing(), ++asked) {
    const auto& message = wave->front();
    marked &= hidden(message.bytes);
    show(message.bytes);
    Bytes row(geometry.row_bytes());
    if (!keyed) {
      const U64 position = asked == 0 ? 701 : present ? 5 : 0;
      const auto at = static_cast<std::size_t>(geometry.locate(position)->offset);
      geometry.fill_slot(position, as_bytes("found"), MutableByteSpan(row).subspan(at, slot.size()));
    } else if (present && asked == 0) {
      std::copy(slot.begin(), slot.end(), row.begin() + static_cast<std::ptrdiff_t>(offset));
    }
    if (!retrieval.receive(message.id, row)) return false;
  }
  const auto answer = std::move(retrieval).finish();
  if (!keyed && !present) return marked && !answer;
  if (!answer) return false;
  if (!present) return marked && answer->missing.size() == 1;
  return marked && hidden(answer->records[0]);
}

}  // namespace

void add_lattice_cases(std::vector<Case>& cases) {
  cases.push_back({"ring: centred_binomial", "coins", samples});
  cases.push_back({"ring: transforms, products, automorphisms", "polynomials", ring_operations});
  cases.push_back({"inspire: Rounding", "residues", rounds});
  cases.push_back({"inspire: query and decoding, 8-bit words", "coins, record",
                   [] { return inspire_core(inspire::kS8); }});
  cases.push_back({"inspire: query and decoding, 16-bit words", "coins, record",
                   [] { return inspire_core(inspire::kS16); }});
  cases.push_back({"spiral: keys, query, decoding, item", "coins, item", [] { return spiral_core(1); }});
  cases.push_back({"spiral: the same, packed", "coins, item", [] { return spiral_core(2); }});
  cases.push_back({"spiral: Client::query", "record", spiral_query});
  cases.push_back({"one server: retrieval", "positions, rows", [] { return retrieves(false, true); }});
  cases.push_back({"one server: retrieval of what there is not", "positions, rows",
                   [] { return retrieves(false, false); }});
  cases.push_back({"one server: retrieval by key", "key, rows", [] { return retrieves(true, true); }});
  cases.push_back(
      {"one server: retrieval of a missing key", "key, rows", [] { return retrieves(true, false); }});
}

}  // namespace pirx::constant_time
