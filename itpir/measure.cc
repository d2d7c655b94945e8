// SPDX-License-Identifier: Apache-2.0
// Measures the rates of protocols with several servers: the engine's pass over a database in memory, and the
// client's query and decoding. The replies that it decodes are those of a database of zeros.
#include <optional>

#include "cost.h"
#include "pirx/base/rng.h"
#include "pirx/base/sha256.h"
#include "pirx/fp/w160.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_8.h"
#include "pirx/itpir/common.h"
#include "pirx/strassen/engine.h"
#include "src/protocol/stopwatch.h"

namespace pirx::itpir {
namespace {

constexpr unsigned kMostLogSize = 30;

Result<FieldTag> field_of(const RateId& id) {
  switch (id.of[0]) {
    case 1:
      return kTagGf2;
    case 8:
      return kTagGf2_8;
    case 160:
      return kTagW160;
    default:
      return invalid("there is no rate " + id.name() + ": the field is unknown");
  }
}
template <class F>
Result<double> pass_seconds(const F& f, const RateId& id) {
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
  if (id.step == "prepare") {
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

tl::unexpected<Error> too_large() { return invalid("the size of a rate is above 2^30"); }

}  // namespace

Result<double> measure_share(const RateServers& servers, unsigned log_rows, bool seeded) {
  if (log_rows > kMostLogSize) return too_large();
  PIRX_ASSIGN(const auto geometry, database::Geometry::create({.records = std::uint64_t{1} << log_rows,
                                                               .record_bytes = 1,
                                                               .records_per_row = 1,
                                                               .variable_length = false,
                                                               .digests = false}));
  PIRX_ASSIGN(const auto client, servers.client(geometry, {}, {.seeded = seeded}));
  PIRX_ASSIGN(auto rng, Rng::from_os());
  const std::uint64_t wanted[] = {0};
  PIRX_TRY(client->query(wanted, rng));
  return cpu_seconds([&] { static_cast<void>(client->query(wanted, rng)); });
}

Result<double> measure_gather(const RateServers& servers, unsigned log_bytes, std::uint64_t records) {
  if (log_bytes > kMostLogSize) return too_large();
  constexpr std::uint64_t kRecordBytes = 32;
  const std::uint64_t bytes = std::uint64_t{1} << log_bytes;
  if (records == 0) records = std::max<std::uint64_t>(bytes / kRecordBytes, 1);
  PIRX_ASSIGN(const auto geometry, database::Geometry::create({.records = records,
                                                               .record_bytes = bytes / records,
                                                               .records_per_row = records,
                                                               .variable_length = false,
                                                               .digests = false}));
  PIRX_ASSIGN(const auto client, servers.client(geometry, {}, {}));
  const std::uint64_t reply_bytes = client->reply_bytes(1);
  const std::uint64_t word_bytes = servers.field == kTagW160 ? fp::W160{}.word_bytes() : 1;
  std::vector<std::optional<Bytes>> replies;
  for (const auto coordinate : servers.coordinates) {
    Writer writer(reply_bytes);
    MessageHeader{MessageType::kReply, servers.field, {}, coordinate, 1, geometry.words_per_row(word_bytes),
                  servers.protocol}
        .encode(writer);
    writer.extend(static_cast<std::size_t>(reply_bytes - MessageHeader::kBytes));
    replies.emplace_back(std::move(writer).take());
  }
  PIRX_ASSIGN(auto rng, Rng::from_os());
  const std::uint64_t wanted[] = {0};
  PIRX_ASSIGN(auto first, client->query(wanted, rng));
  PIRX_TRY(client->decode(std::move(first.state), replies));
  // Decoding consumes a query's state, and making one takes next to nothing over a single row.
  const double asking = cpu_seconds([&] { static_cast<void>(client->query(wanted, rng)); });
  const double together = cpu_seconds([&] {
    if (auto query = client->query(wanted, rng)) {
      static_cast<void>(client->decode(std::move(query->state), replies));
    }
  });
  return std::max(together - asking, 0.1 * together);
}

Result<double> measure_pass(const RateId& id, RateTable& /*others*/) {
  PIRX_ASSIGN(const auto field, field_of(id));
  if (id.of[1] > kMostLogSize) return too_large();
  if (id.of[2] < 1) return invalid("there is no rate " + id.name() + ": no thread computes");
  if (field == kTagGf2) return pass_seconds(gf2e::Gf2{}, id);
  if (field == kTagGf2_8) return pass_seconds(gf2e::Gf2_8{}, id);
  return pass_seconds(fp::W160{}, id);
}

Result<double> measure_hash(const RateId& id, RateTable& /*others*/) {
  if (id.of[0] > kMostLogSize) return too_large();
  const Bytes bytes(std::size_t{1} << id.of[0]);
  std::byte all{0};
  return cpu_seconds([&] { all |= sha256(bytes)[0]; });
}

}  // namespace pirx::itpir
