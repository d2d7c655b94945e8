// SPDX-License-Identifier: Apache-2.0
// Chor's protocol in memory: records, servers, and a query answered by all of them.
#pragma once

#include <gtest/gtest.h>

#include "itpir/chor/server.h"
#include "pirx/itpir/chor/client.h"
#include "support/seed.h"

namespace pirx::itpir::chor::testing {

class ChorDeployment {
 public:
  ChorDeployment(const database::Geometry::Spec& geometry, unsigned l, std::mt19937_64& engine,
                 bool seeded = false)
      : spec_{database::Geometry::create(geometry).value(), {}, {}}, seeded_(seeded) {
    spec_.version.epoch = 7;
    spec_.version.identity.fill(std::byte{0x5A});
    for (unsigned j = 0; j < l; ++j) spec_.coordinates.push_back(10 + j);
    rows_ = matrix::Matrix<std::byte>::create(static_cast<std::size_t>(spec_.geometry.rows()),
                                              static_cast<std::size_t>(spec_.geometry.row_stride()))
                .value();
    for (std::uint64_t i = 0; i < spec_.geometry.records(); ++i) {
      const auto length =
          geometry.variable_length ? engine() % (geometry.record_bytes + 1) : geometry.record_bytes;
      auto& record = records.emplace_back(static_cast<std::size_t>(length));
      for (auto& byte : record) byte = static_cast<std::byte>(engine());
      const auto at = spec_.geometry.locate(i).value();
      spec_.geometry.fill_slot(i, record,
                               {rows_.row(static_cast<std::size_t>(at.row)) + at.offset,
                                static_cast<std::size_t>(spec_.geometry.slot_bytes())});
    }
    for (const auto coordinate : spec_.coordinates) servers.push_back(serve(coordinate, rows_.view()));
  }
  ChorDeployment(const ChorDeployment&) = delete;

  std::unique_ptr<AnyServer> serve(
      std::uint64_t coordinate, matrix::ConstView<std::byte> rows,
      strassen::Engine<gf2e::Gf2> engine = strassen::Engine<gf2e::Gf2>(gf2e::Gf2{})) const {
    ServerOptions options;
    options.coordinate = coordinate;
    options.threads = 1;
    options.max_queries_per_request = kMaxQueriesPerRequest;
    return make_server({.geometry = spec_.geometry, .version = spec_.version, .rows = rows, .owner = {}},
                       options, std::move(engine))
        .value();
  }
  const Params::Spec& spec() const { return spec_; }
  matrix::ConstView<std::byte> rows() const { return rows_.view(); }
  Client client() const { return Client(Params::create(spec_).value(), {.seeded = seeded_}); }

  static Result<Bytes> answer(const AnyServer& server, const Bytes& request) {
    const ByteSpan one = request;
    return std::move(server.answer({&one, 1}).at(0));
  }
  /// The honest replies of all servers.
  std::vector<std::optional<Bytes>> replies(const std::vector<Bytes>& requests) const {
    std::vector<std::optional<Bytes>> all;
    for (std::size_t j = 0; j < servers.size(); ++j)
      all.emplace_back(answer(*servers[j], requests[j]).value());
    return all;
  }

  std::vector<Bytes> records;
  std::vector<std::unique_ptr<AnyServer>> servers;

 private:
  Params::Spec spec_;
  bool seeded_;
  matrix::Matrix<std::byte> rows_;
};

}  // namespace pirx::itpir::chor::testing
