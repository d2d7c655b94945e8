// SPDX-License-Identifier: Apache-2.0
// Compares the planner's predictions with measurements. Carries out every offer of a plan on a small
// database, with client and servers in one process on one thread. Counters hold lengths of messages, and
// predictions. A record that is not the stored one is a wrong answer, and so is a message whose length is not
// the predicted one.
#ifdef _OPENMP
#include <omp.h>
#endif

#include "pirx/batchcodes/encoding.h"
#include "pirx/cpir/dj/client.h"
#include "pirx/cpir/dj/server.h"
#include "pirx/cpir/inspire/client.h"
#include "pirx/cpir/qr/client.h"
#include "pirx/cpir/qr/server.h"
#include "pirx/cpir/spiral/client.h"
#include "pirx/cpir/spiral/server.h"
#include "pirx/itpir/chor/client.h"
#include "pirx/itpir/dpf/client.h"
#include "pirx/itpir/goldberg/client.h"
#include "pirx/planner/planner.h"
#include "random_database.h"

namespace {

using namespace pirx;
using bench::add;
using bench::ask;
using bench::need;
namespace dj = cpir::dj;
namespace qr = cpir::qr;
namespace inspire = cpir::inspire;
namespace spiral = cpir::spiral;

/// An offer with the database that it wants.
struct Case {
  std::string name;
  Offer offer;
  std::shared_ptr<const database::Database> database;
  std::uint64_t wanted;
  Rng rng = need(Rng::from_os());

  std::unique_ptr<AnyServer> serve(const Texts& more = {}) const {
    Texts options = offer.options;
    options.insert(more.begin(), more.end());
    return need(pirx::serve(*need(find_protocol(offer.protocol)),
                            {.database = database, .threads = 1, .loopback = true}, options));
  }
  bool is_record(ByteSpan got) const {
    const auto record = need(database->record(wanted));
    return std::equal(record.begin(), record.end(), got.begin(), got.end());
  }
  /// Whether this row holds the record at `at`.
  bool is_row(const SecretVector<std::byte>& row, const database::Location& at) const {
    const auto& geometry = database->geometry();
    const auto slot = row.expose().subspan(static_cast<std::size_t>(at.offset),
                                           static_cast<std::size_t>(geometry.slot_bytes()));
    return is_record(need(geometry.read_slot(wanted, slot)));
  }
  benchmark::UserCounters server_counters() const {
    return {{"predicted_ms", 1e3 * offer.server_seconds},
            {"bytes_up", static_cast<double>(offer.bytes_up)},
            {"bytes_down", static_cast<double>(offer.bytes_down)}};
  }
};

benchmark::UserCounters predicted(double seconds) { return {{"predicted_ms", 1e3 * seconds}}; }

/// A protocol with one server: `open` decodes a reply to the row that holds the record at `at`.
template <class Client, class Open>
void add_single(const std::shared_ptr<Case>& c, std::shared_ptr<const AnyServer> server,
                std::shared_ptr<const Client> client, const database::Location& at, Open open) {
  const auto is_row = [c, at](const SecretVector<std::byte>& row) { return c->is_row(row, at); };
  const auto request = need(client->query(at.row, c->rng));
  const auto reply = ask(*server, request);
  add(
      c->name + "/server", [=] { return ask(*server, request); },
      [=](const Bytes& got) { return got.size() == c->offer.bytes_down && is_row(open(got)); },
      c->server_counters());
  // The coins of a tree's query do not depend on the wish, and nearly all of its time is theirs.
  const bool ahead = c->offer.ahead_seconds > 0;
  add(
      c->name + (ahead ? "/ahead" : "/query"), [=] { return need(client->query(at.row, c->rng)); },
      [=](const Bytes& asked) {
        return asked.size() == c->offer.bytes_up && is_row(open(ask(*server, asked)));
      },
      ahead ? predicted(c->offer.ahead_seconds) : benchmark::UserCounters());
  add(
      c->name + "/decode", [=] { return open(reply); }, is_row, predicted(c->offer.client_seconds));
}

void add_tree(const std::shared_ptr<Case>& c) {
  std::shared_ptr<const AnyServer> server = c->serve();
  const auto params = need(dj::Params::decode(server->parameters()));
  const auto key = need(dj::SecretKey::generate(params.spec().modulus_bits, params.spec().policy));
  const auto client = std::make_shared<const dj::Client>(need(dj::Client::create(params, key)));
  add_single(c, server, client, need(c->database->geometry().locate(c->wanted)),
             [client](ByteSpan reply) { return need(client->decode(reply)); });
}

void add_residuosity(const std::shared_ptr<Case>& c) {
  std::shared_ptr<const AnyServer> server = c->serve();
  const auto params = need(qr::Params::decode(server->parameters()));
  const auto key = need(qr::SecretKey::generate(params.spec().modulus_bits, params.spec().policy));
  const auto client = std::make_shared<const qr::Client>(need(qr::Client::create(params, key)));
  add_single(c, server, client, need(params.locate(c->wanted)),
             [client](ByteSpan reply) { return need(client->decode(reply, 1)); });
}

void add_spiral(const std::shared_ptr<Case>& c) {
  std::shared_ptr<const AnyServer> server = c->serve();
  const auto params = need(spiral::Params::decode(server->parameters()));
  const auto client = std::make_shared<const spiral::Client>(need(spiral::Client::create(params)));
  need(client->check_keys_held(ask(*server, client->keys())));
  const auto at = need(params.locate(c->wanted));
  add_single(c, server, client, at,
             [client, at](ByteSpan reply) { return need(client->decode(at.row, reply)); });
}

/// A query's secret decodes one reply, so the client's two steps are timed together.
void add_inspire(const std::shared_ptr<Case>& c) {
  std::shared_ptr<const AnyServer> server = c->serve();
  const auto client = std::make_shared<const inspire::Client>(
      need(inspire::Client::create(need(inspire::Params::decode(server->parameters())))));
  need(client->take_masks(ask(*server, client->masks_request())));
  const auto at = need(client->params().locate(c->wanted));
  const auto query = need(client->query(at.row, c->rng));
  const auto opens = [=](inspire::Client::Query own, const Bytes& reply) {
    return need(client->decode(std::move(own.secret), reply));
  };
  const auto is_row = [=] {
    auto own = need(client->query(at.row, c->rng));
    const Bytes message = own.message, reply = ask(*server, message);
    return message.size() == c->offer.bytes_up && c->is_row(opens(std::move(own), reply), at);
  };
  const auto request = query.message;
  const auto reply = ask(*server, request);
  add(
      c->name + "/server", [=] { return ask(*server, request); },
      [=](const Bytes& got) { return got.size() == c->offer.bytes_down && is_row(); }, c->server_counters());
  add(
      c->name + "/decode", [=] { return opens(need(client->query(at.row, c->rng)), reply).size(); },
      [=](std::size_t size) { return size == client->params().row_bytes() && is_row(); },
      predicted(c->offer.client_seconds));
}

void add_several(const std::shared_ptr<Case>& c) {
  const auto& offer = c->offer;
  std::vector<std::uint64_t> coordinates;
  std::shared_ptr<const itpir::SharesClient> client;
  const auto& database = *c->database;
  const itpir::ClientOptions options{.seeded = offer.seeded};
  if (offer.protocol == "chor") {
    for (std::uint64_t server = 1; server <= offer.servers; ++server) coordinates.push_back(server);
    client = std::make_shared<itpir::chor::Client>(
        need(itpir::chor::Params::create({database.geometry(), database.version(), coordinates})), options);
  } else if (offer.protocol == "dpf") {
    coordinates = {1, 2};
    client = std::make_shared<itpir::dpf::Client>(
        need(itpir::dpf::Params::create({database.geometry(), database.version(), coordinates})));
  } else {
    const auto field = need(itpir::field_by_name(offer.options.at("field")));
    coordinates = need(batchcodes::Encoding::suggested_coordinates(field, offer.servers));
    client = std::make_shared<itpir::goldberg::Client>(
        need(itpir::goldberg::Params::create(
            {field, database.geometry(), database.version(), coordinates, offer.threshold})),
        options);
  }
  std::vector<std::shared_ptr<const AnyServer>> servers;
  for (const auto coordinate : coordinates) {
    servers.push_back(c->serve({{"coordinate", std::to_string(coordinate)}}));
  }
  const auto query = [=] { return need(client->query({&c->wanted, 1}, c->rng)); };
  const auto answers = [=](const itpir::Query& asked) {
    std::vector<std::optional<Bytes>> replies;
    for (std::size_t i = 0; i < servers.size(); ++i)
      replies.emplace_back(ask(*servers[i], asked.requests[i]));
    return replies;
  };
  const auto total = [](const auto& messages, auto size) {
    std::uint64_t bytes = 0;
    for (const auto& message : messages) bytes += size(message);
    return bytes;
  };
  add(c->name + "/query", query, [=](const itpir::Query& asked) {
    return total(asked.requests, [](const Bytes& one) { return one.size(); }) == c->offer.bytes_up;
  });
  // The last server gets a vector where others may have seeds.
  const auto request = query().requests.back();
  const auto reply = ask(*servers.back(), request);
  add(
      c->name + "/server", [=] { return ask(*servers.back(), request); },
      [=](const Bytes& got) { return got == reply; }, c->server_counters());
  // A query is decoded once.
  constexpr int kQueries = 20;
  const auto decode = [=](benchmark::State& state) {
    std::vector<itpir::Query> asked;
    std::vector<std::vector<std::optional<Bytes>>> replies;
    for (int i = 0; i < kQueries; ++i) {
      asked.push_back(query());
      replies.push_back(answers(asked.back()));
    }
    std::vector<Bytes> records;
    std::size_t at = 0;
    for (auto _ : state) {
      records = need(client->decode(std::move(asked[at].state), replies[at])).records;
      ++at;
    }
    state.counters = predicted(c->offer.client_seconds);
    const auto down = total(replies[0], [](const auto& one) { return one->size(); });
    if (down != c->offer.bytes_down || !c->is_record(records.at(0))) {
      bench::Program::wrong(state, "a wrong answer");
    }
  };
  benchmark::RegisterBenchmark((c->name + "/decode").c_str(), decode)
      ->Iterations(kQueries)
      ->MeasureProcessCPUTime()
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Program program(argc, argv);
  Question question;
  question.record_bytes = program.number("record_bytes", 256, 1, std::uint64_t{1} << 30);
  const auto bytes_at_one = program.number("one_server_bytes", 1u << 20, 1, std::uint64_t{1} << 40);
  const auto bytes_at_several = program.number("several_servers_bytes", 16u << 20, 1, std::uint64_t{1} << 40);
  const auto servers = static_cast<unsigned>(program.number("servers", 3, 2, 255));
  question.collusion = static_cast<unsigned>(program.number("collusion", 1, 1, 254));
  question.modulus_bits = static_cast<unsigned>(program.number("modulus", 3072, 1024, 4096));
  program.start();
#ifdef _OPENMP
  omp_set_num_threads(1);
#endif

  question.reproduction = question.modulus_bits == 1024;
  question.link = {1e7, 1e7, 0};
  planner::Machine machine;
  for (const bool several : {false, true}) {
    question.records =
        std::max<std::uint64_t>(1, (several ? bytes_at_several : bytes_at_one) / question.record_bytes);
    question.servers = several ? servers : 1;
    for (const Offer& offer : need(planner::make_plan(question, machine)).offers) {
      if (offer.whole || (offer.servers > 1) != several) continue;
      auto database = bench::random_database(question.records, {.records_per_row = offer.records_per_row,
                                                                .fixed_record_bytes = question.record_bytes});
      const auto name = offer.protocol + (offer.settings.empty() ? "" : " (" + offer.settings + ")");
      const auto c = std::make_shared<Case>(Case{name, offer, std::move(database), question.records / 3});
      if (offer.protocol == "dj-tree") {
        add_tree(c);
      } else if (offer.protocol == "spiral") {
        add_spiral(c);
      } else if (offer.protocol == "qr") {
        add_residuosity(c);
      } else if (offer.protocol == "inspire") {
        add_inspire(c);
      } else {
        add_several(c);
      }
    }
  }
  return bench::Program::run();
}
