// Measures the rates of protocols with several servers: the engine's pass over a database in memory, and the
// client's query and decoding. The replies that it decodes are those of a database of zeros.
#include <optional>

#include "measure.h"
#include "pirx/base/rng.h"
#include "pirx/batchcodes/encoding.h"
#include "pirx/fp/w160.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_8.h"
#include "pirx/itpir/chor/client.h"
#include "pirx/itpir/client.h"
#include "pirx/strassen/engine.h"

namespace pirx::planner {
namespace {

tl::unexpected<Error> no_such_field(const RateId& id) {
  return fail(ErrorCode::kInvalidArgument, "there is no rate " + id.name() + ": the field is unknown");
}

template <class F>
Result<double> measure_pass(const F& f, const RateId& id) {
  // About as long as wide, as balanced databases are.
  const unsigned log_rows = (id.of[1] + 1) / 2;
  const std::size_t rows = std::size_t{1} << log_rows;
  const std::size_t row_bytes = (std::size_t{1} << (id.of[1] - log_rows)) / f.word_bytes() * f.word_bytes();
  const std::size_t width = std::max(row_bytes, f.word_bytes());
  PIRX_ASSIGN(auto D, matrix::Matrix<std::byte>::create(rows, width));
  PIRX_ASSIGN(auto rng, Rng::from_os());
  for (std::size_t i = 0; i < rows; ++i) rng.fill({D.row(i), width});
  const strassen::Engine<F> engine(f);
  const int threads = static_cast<int>(id.of[2]);
  const auto data = std::as_const(D).view();
  PIRX_ASSIGN(const auto prepared, engine.prepare(data, {.threads = threads}));
  const double whole = static_cast<double>(std::size_t{1} << id.of[1]) / static_cast<double>(rows * width);
  const auto clock = threads == 1 ? &cpu_seconds : &wall_seconds;
  Result<void> done;
  if (id.quantity == Quantity::kPrepare) {
    return whole * clock(
                       [&] {
                         if (!engine.prepare(data, {.threads = threads})) {
                           done = fail(ErrorCode::kResourceExhausted, "no memory to measure preparation");
                         }
                       },
                       0.02);
  }
  PIRX_ASSIGN(auto Q, matrix::Matrix<typename F::Elem>::create(1, rows));
  PIRX_ASSIGN(auto R, matrix::Matrix<typename F::Sum>::create(1, prepared.cols()));
  f.random_fill(rng, std::span(Q.row(0), rows));
  const auto vector = std::as_const(Q).view();
  const double seconds =
      clock([&] { done = engine.multiply(vector, prepared, R.view(), {.threads = threads}); }, 0.05);
  PIRX_TRY(std::move(done));
  return whole * seconds;
}

/// The servers of a rate, and a client of them.
struct Deployment {
  FieldTag field;
  ProtocolId protocol;
  std::vector<std::uint64_t> coordinates;
  std::unique_ptr<const itpir::SharesClient> client;
};

Result<Deployment> deployment(const RateId& id, const database::Geometry& geometry, bool seeded) {
  const auto field = static_cast<ScanField>(id.of[0]);
  if (field == ScanField::kGf2) {
    Deployment made{kTagGf2, ProtocolId::kChor, {}, nullptr};
    for (std::uint64_t server = 1; server <= id.of[1]; ++server) made.coordinates.push_back(server);
    PIRX_ASSIGN(auto params, itpir::chor::Params::create({geometry, {}, made.coordinates}));
    made.client = std::make_unique<itpir::chor::Client>(std::move(params), itpir::ClientOptions{seeded});
    return made;
  }
  if (field != ScanField::kGf2_8 && field != ScanField::kW160) return no_such_field(id);
  Deployment made{field == ScanField::kGf2_8 ? kTagGf2_8 : kTagW160, ProtocolId::kGoldberg, {}, nullptr};
  PIRX_ASSIGN(made.coordinates, batchcodes::Encoding::suggested_coordinates(made.field, id.of[1]));
  PIRX_ASSIGN(auto params, itpir::Params::create({.field = made.field,
                                                  .geometry = geometry,
                                                  .version = {},
                                                  .coordinates = made.coordinates,
                                                  .threshold = id.of[2]}));
  made.client = std::make_unique<itpir::Client>(std::move(params), itpir::ClientOptions{seeded});
  return made;
}

Result<double> measure_share(const RateId& id) {
  PIRX_ASSIGN(const auto geometry, database::Geometry::create({.records = std::uint64_t{1} << id.of[3],
                                                               .record_bytes = 1,
                                                               .records_per_row = 1,
                                                               .variable_length = false,
                                                               .digests = false}));
  PIRX_ASSIGN(const auto servers, deployment(id, geometry, id.quantity == Quantity::kSeeds));
  const auto& client = *servers.client;
  PIRX_ASSIGN(auto rng, Rng::from_os());
  const std::uint64_t wanted[] = {0};
  PIRX_TRY(client.query(wanted, rng));
  return cpu_seconds([&] { static_cast<void>(client.query(wanted, rng)); });
}

Result<double> measure_gather(const RateId& id) {
  constexpr std::uint64_t kRecordBytes = 32;
  const std::uint64_t bytes = std::uint64_t{1} << id.of[3];
  PIRX_ASSIGN(const auto geometry,
              database::Geometry::create({.records = std::max<std::uint64_t>(bytes / kRecordBytes, 1),
                                          .record_bytes = std::min(bytes, kRecordBytes),
                                          .records_per_row = std::max<std::uint64_t>(bytes / kRecordBytes, 1),
                                          .variable_length = false,
                                          .digests = false}));
  PIRX_ASSIGN(const auto servers, deployment(id, geometry, false));
  const auto& client = *servers.client;
  const std::uint64_t reply_bytes = client.reply_bytes(1);
  const std::uint64_t body = reply_bytes - itpir::MessageHeader::kBytes;
  const std::uint64_t length =
      servers.protocol == ProtocolId::kChor
          ? geometry.row_bytes()
          : geometry.words_per_row(servers.field == kTagW160 ? fp::W160{}.word_bytes()
                                                             : gf2e::Gf2_8{}.word_bytes());
  std::vector<std::optional<Bytes>> replies;
  for (const auto coordinate : servers.coordinates) {
    Writer writer(reply_bytes);
    itpir::MessageHeader{
        itpir::MessageHeader::Type::kReply, servers.field, {}, coordinate, 1, length, servers.protocol}
        .encode(writer);
    writer.extend(static_cast<std::size_t>(body));
    replies.emplace_back(std::move(writer).take());
  }
  PIRX_ASSIGN(auto rng, Rng::from_os());
  const std::uint64_t wanted[] = {0};
  PIRX_ASSIGN(auto first, client.query(wanted, rng));
  PIRX_TRY(client.decode(std::move(first.state), replies));
  // Decoding consumes a query's state, and making one takes next to nothing over a single row.
  const double asking = cpu_seconds([&] { static_cast<void>(client.query(wanted, rng)); });
  const double together = cpu_seconds([&] {
    if (auto query = client.query(wanted, rng)) {
      static_cast<void>(client.decode(std::move(query->state), replies));
    }
  });
  return std::max(together - asking, 0.1 * together);
}

}  // namespace

Result<double> measure_several_servers(const RateId& id) {
  if (id.quantity == Quantity::kShare || id.quantity == Quantity::kSeeds) return measure_share(id);
  if (id.quantity == Quantity::kGather) return measure_gather(id);
  switch (static_cast<ScanField>(id.of[0])) {
    case ScanField::kGf2:
      return measure_pass(gf2e::Gf2{}, id);
    case ScanField::kGf2_8:
      return measure_pass(gf2e::Gf2_8{}, id);
    case ScanField::kW160:
      return measure_pass(fp::W160{}, id);
  }
  return no_such_field(id);
}

}  // namespace pirx::planner
