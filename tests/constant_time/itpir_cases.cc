// SPDX-License-Identifier: Apache-2.0
// Whole retrievals from several servers: the wishes are marked until requests are finished, and replies until
// a record is handed over. Replies are such that every protocol takes them: zeros are a codeword of each
// polynomial code, and the first server's reply is the answer where replies are added up.
#include "cases.h"
#include "itpir/chor/client_impl.h"
#include "itpir/client_plan.h"
#include "itpir/dpf/keys.h"
#include "itpir/goldberg/client_impl.h"
#include "itpir/make_client.h"
#include "pirx/database/key_filter.h"
#include "pirx/itpir/chor/client.h"
#include "pirx/itpir/dpf/client.h"
#include "pirx/itpir/goldberg/client.h"

namespace pirx::constant_time {
namespace {

using namespace itpir;
using checkmem::hidden;
using checkmem::hide;
using checkmem::show;
using database::Geometry;

const std::vector<std::uint64_t> kPositions{3, 29, 3};
const std::string kKey = "a secret name";

Geometry by_position(bool digests) { return Geometry::create({30, 5, 3, digests, digests}).value(); }
Geometry by_key() {
  Geometry::Spec spec{1000, 5, 4, true, true};
  spec.filter = database::FilterSpec{64, 5, 7, {}};
  return Geometry::create(spec).value();
}

using Fill = std::function<void(std::size_t server, std::size_t query, MutableByteSpan words)>;
void zeros(std::size_t, std::size_t, MutableByteSpan) {}

/// The reply to a request that may be read, with marked words.
Bytes reply_to(ByteSpan request, std::size_t server, std::uint64_t bytes, std::size_t word_bytes,
               const Fill& fill) {
  const auto protocol = static_cast<ProtocolId>(request[7]);
  Reader reader(request, "request");
  auto header = MessageHeader::decode(reader, protocol).value();
  const auto each = static_cast<std::size_t>((bytes - MessageHeader::kBytes) / header.queries);
  header.type = MessageType::kReply;
  header.length = each / word_bytes;
  Writer writer(static_cast<std::size_t>(bytes));
  header.encode(writer);
  for (std::size_t i = 0; i < header.queries; ++i) {
    const auto words = writer.extend(each);
    fill(server, i, words);
    hide(words);
  }
  return std::move(writer).take();
}

/// Whether requests and records carry marks, up to an answer, or up to an error if one is expected.
template <class Wishes>
bool retrieves(const AnyClient& client, const Wishes& wishes, std::size_t word_bytes, const Fill& fill,
               bool answers) {
  auto made = client.retrieve(wishes, {}, Rng::from_os().value());
  if (!made) return false;
  auto& retrieval = **made;
  bool marked = false;
  for (auto wave = retrieval.outgoing(); wave && !wave->empty(); wave = retrieval.outgoing()) {
    for (const auto& message : *wave) {
      marked |= hidden(message.bytes);
      show(message.bytes);
      if (!retrieval.waiting()) continue;
      const auto reply = reply_to(message.bytes, message.server, message.reply_bytes, word_bytes, fill);
      if (!retrieval.receive(message.id, reply)) return false;
    }
  }
  const auto answer = std::move(retrieval).finish();
  if (answer.has_value() != answers) return false;
  if (!answer || answer->records[0].empty()) return marked;
  return marked && hidden(answer->records[0]);
}

bool retrieves(const Geometry& geometry, MakeClient make, bool seeded, std::size_t word_bytes,
               const Fill& fill, bool answers) {
  const auto client = make_shares_client({.protocol = nullptr,
                                          .geometry = geometry,
                                          .version = {},
                                          .coordinates = {},
                                          .threshold = 1,
                                          .client = std::move(make)},
                                         {.seeded = seeded})
                          .value();
  if (geometry.keyed()) {
    std::vector<std::string> keys{kKey, "another one"};
    for (auto& key : keys) hide(key);
    return retrieves(*client, std::span<const std::string>(keys), word_bytes, fill, answers);
  }
  auto positions = kPositions;
  hide(positions);
  return retrieves(*client, std::span<const std::uint64_t>(positions), word_bytes, fill, answers);
}

goldberg::Params::Spec deployment(const FieldTag& field, const Geometry& geometry) {
  return {field, geometry, {}, {21, 22, 23, 24, 25}, 1};
}
MakeClient goldberg_client(const goldberg::Params::Spec& like) {
  return make_clients<goldberg::Params, goldberg::Client>([like](const auto& geometry, const auto& version) {
    auto spec = like;
    spec.geometry = geometry;
    spec.version = version;
    return spec;
  });
}
std::size_t sum_bytes(const FieldTag& field) {
  return *batchcodes::with_field(field, [](const auto& f) -> Result<std::size_t> { return f.sum_bytes(); });
}

/// With the coins and the blinding marked, too.
template <class F>
bool secret_coins(const F& f, bool seeded, unsigned arity) {
  auto spec = deployment(f.tag(), by_position(true));
  spec.ramp = spec.arity = arity;
  spec.modulus = arity > 1 ? 10 : 0;
  const auto params = goldberg::Params::create(spec).value();
  const goldberg::GoldbergClient<F> client(strassen::Engine<F>(f), params.spec(), params.encoding(),
                                           goldberg::Blinding::kOn, {.seeded = seeded});
  Wishes wishes{QueryKind::kRecords, SecretVector<std::uint64_t>(kPositions)};
  hide(wishes.indices.expose());
  HiddenRng rng;
  const auto query = client.query(wishes, rng);
  return query && hidden(query->requests.back()) && hidden(query->blinding.expose());
}

const MakeClient kChorClients = make_clients_at<chor::Params, chor::Client>({21, 22, 23});
const MakeClient kDpfClients = make_clients_at<dpf::Params, dpf::Client>({1, 2});

/// The first server's reply holds the records, as whole rows (Chor) or slots (dpf).
Fill answers_of(const Geometry& geometry, bool slots, bool damaged) {
  return [=](std::size_t server, std::size_t query, MutableByteSpan words) {
    if (server != 0) return;
    if (geometry.keyed()) {
      const auto filter = database::KeyFilter::create(geometry).value();
      const auto offset = slots ? 0 : static_cast<std::size_t>(filter.place(kKey).offset);
      if (query == 0) filter.fill_slot(kKey, as_bytes("found"), words.subspan(offset, geometry.slot_bytes()));
      return;
    }
    const auto record = kPositions[query];
    const auto offset = slots ? 0 : static_cast<std::size_t>(geometry.locate(record)->offset);
    geometry.fill_slot(record, as_bytes("found"), words.subspan(offset, geometry.slot_bytes()));
    if (damaged) words[offset + 5] ^= std::byte{1};
  };
}

bool chor_coins(bool seeded) {
  const auto params = chor::Params::create({by_position(true), {}, {1, 2, 3}}).value();
  std::vector<std::uint64_t> rows{0, 9, 9, 5};
  hide(rows);
  HiddenRng rng;
  const auto requests = chor::make_requests(params.spec(), seeded, rows, 2, rng);
  return requests && hidden(requests->front()) && hidden(requests->back());
}
bool dpf_coins() {
  constexpr std::uint64_t kRows = 100'000;
  std::uint64_t point = 77'777;
  hide(point);
  HiddenRng rng;
  dpf::Hash hash;
  Bytes first(dpf::key_bytes(kRows)), second(first.size());
  dpf::write_keys(hash, point, kRows, rng, first, second);
  return hidden(first) && hidden(second);
}

void add_goldberg(std::vector<Case>& cases) {
  const auto add = [&](const std::string& what, const goldberg::Params::Spec& spec, bool seeded,
                       bool answers) {
    cases.push_back({"goldberg: " + what + " over " + spec.field.name(), "positions or keys, replies",
                     [spec, seeded, answers] {
                       return retrieves(spec.geometry, goldberg_client(spec), seeded, sum_bytes(spec.field),
                                        zeros, answers);
                     }});
  };
  for (const auto& field : {kTagGf2_8, kTagGf2_16, kTagW160, kTagW48}) {
    const auto plain = deployment(field, by_position(false));
    add("plain", plain, false, true);
    add("seeded", plain, true, true);
    add("digests that are wrong", deployment(field, by_position(true)), false, false);
    auto ramp = plain;
    ramp.ramp = 2;
    add("ramp", ramp, false, true);
    auto encoded = ramp;
    encoded.arity = 2;
    encoded.modulus = 10;
    add("u-ary", encoded, false, true);
    add("u-ary, seeded", encoded, true, true);
    auto independent = encoded;
    independent.independence = 1;
    add("u-ary, independent buckets", independent, false, true);
    if (field.kind != FieldKind::kBinary) continue;
    auto keyed = deployment(field, by_key());
    add("keyed", keyed, false, true);
    keyed.ramp = keyed.arity = 2;
    keyed.modulus = 20;
    add("keyed, u-ary", keyed, false, true);
  }
  for (const bool seeded : {false, true}) {
    for (const unsigned arity : {1u, 2u}) {
      const std::string what = std::string(seeded ? ", seeded" : "") + (arity > 1 ? ", u-ary" : "");
      cases.push_back({"goldberg: GoldbergClient::query over gf2_8" + what, "positions, coins, blinding",
                       [=] { return secret_coins(gf2e::Gf2_8{}, seeded, arity); }});
      cases.push_back({"goldberg: GoldbergClient::query over gf2_16" + what, "positions, coins, blinding",
                       [=] { return secret_coins(gf2e::Gf2_16{}, seeded, arity); }});
    }
  }
}

}  // namespace

void add_itpir_cases(std::vector<Case>& cases) {
  add_goldberg(cases);
  for (const bool seeded : {false, true}) {
    const std::string with = seeded ? ", seeded" : "";
    cases.push_back({"chor: make_requests" + with, "rows, coins", [=] { return chor_coins(seeded); }});
    for (const auto& geometry : {by_position(true), by_key()}) {
      cases.push_back({std::string("chor: retrieval") + (geometry.keyed() ? " by key" : "") + with,
                       "positions or keys, replies", [=] {
                         return retrieves(geometry, kChorClients, seeded, 1,
                                          answers_of(geometry, false, false), true);
                       }});
    }
  }
  cases.push_back({"chor: retrieval of damaged records", "positions, replies", [] {
                     return retrieves(by_position(true), kChorClients, false, 1,
                                      answers_of(by_position(true), false, true), false);
                   }});
  cases.push_back({"dpf: write_keys", "row, coins", dpf_coins});
  for (const auto& geometry : {by_position(true), by_key()}) {
    cases.push_back({std::string("dpf: retrieval") + (geometry.keyed() ? " by key" : ""),
                     "positions or keys, replies", [=] {
                       return retrieves(geometry, kDpfClients, false, 1, answers_of(geometry, true, false),
                                        true);
                     }});
  }
}

}  // namespace pirx::constant_time
