// SPDX-License-Identifier: Apache-2.0
// Deployments of encoded databases over shipped fields, behind the public client: nothing here instantiates a
// protocol half.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "itpir/goldberg/server_elements.h"
#include "pirx/batchcodes/encoder.h"
#include "pirx/batchcodes/fields.h"
#include "pirx/itpir/goldberg/client.h"
#include "pirx/itpir/goldberg/server.h"
#include "support/seed.h"

namespace pirx::itpir::goldberg::testing {

/// Random bytes of a test, reproducible by its seed.
class TestRng {
 public:
  explicit TestRng(std::mt19937_64& engine) : engine_(&engine) {}
  void fill(MutableByteSpan out) {
    for (auto& byte : out) byte = static_cast<std::byte>((*engine_)());
  }

 private:
  std::mt19937_64* engine_;
};

/// l servers with their buckets of random records.
class Encoded {
 public:
  struct Setting {
    unsigned t, q, u, tau, l;
    std::uint64_t M;
    database::Geometry::Spec geometry;
  };

  Encoded(const FieldTag& field, const Setting& set, std::mt19937_64& engine,
          const ClientOptions& options = {})
      : setting(set) {
    Params::Spec spec{field, database::Geometry::create(set.geometry).value(), {}, {}, set.t};
    spec.version.epoch = 7;
    spec.version.identity.fill(std::byte{0x5A});
    spec.coordinates = batchcodes::Encoding::suggested_coordinates(field, set.l).value();
    spec.ramp = set.q;
    spec.arity = set.u;
    spec.independence = set.tau;
    spec.modulus = set.M;
    client.emplace(Params::create(spec).value(), options);
    const auto& geometry = spec.geometry;
    rows = matrix::Matrix<std::byte>::create(static_cast<std::size_t>(geometry.rows()),
                                             static_cast<std::size_t>(geometry.row_stride()))
               .value();
    for (std::uint64_t i = 0; i < geometry.records(); ++i) {
      Bytes record(set.geometry.variable_length ? engine() % (set.geometry.record_bytes + 1)
                                                : set.geometry.record_bytes);
      for (auto& byte : record) byte = static_cast<std::byte>(engine());
      const auto at = geometry.locate(i).value();
      geometry.fill_slot(i, record,
                         {rows.row(static_cast<std::size_t>(at.row)) + at.offset,
                          static_cast<std::size_t>(geometry.slot_bytes())});
      records.push_back(std::move(record));
    }
    const auto made = with_field(field, [&](const auto& f) { return serve(f, engine); });
    EXPECT_TRUE(made.has_value()) << made.error().to_string();
  }
  Encoded(const Encoded&) = delete;

  const Params& params() const { return client->params(); }
  /// The honest replies of all servers.
  std::vector<Bytes> answer(const std::vector<Bytes>& requests) const {
    std::vector<Bytes> replies;
    for (std::size_t j = 0; j < servers.size(); ++j) {
      const ByteSpan one = requests[j];
      replies.push_back(servers[j]->answer({&one, 1}).at(0).value());
    }
    return replies;
  }

  Setting setting;
  std::optional<Client> client;
  std::vector<Bytes> records;
  std::vector<std::unique_ptr<AnyServer>> servers;
  matrix::Matrix<std::byte> rows;  ///< of the plain database

 private:
  template <class F>
  Result<void> serve(const F& f, std::mt19937_64& engine) {
    const auto& spec = params().spec();
    const auto& encoding = params().encoding();
    const bool plain = !encoding.has_data_coordinates();
    const auto R = static_cast<std::size_t>(encoding.rows(spec.geometry.rows()));
    const auto s = static_cast<std::size_t>(spec.geometry.words_per_row(f.word_bytes()));
    PIRX_ASSIGN(const auto encoder,
                batchcodes::Encoder<F>::create(strassen::Engine<F>(f), params().encoding()));
    PIRX_ASSIGN(auto noise, matrix::Matrix<typename F::Elem>::create(R * spec.independence, s));
    for (std::size_t i = 0; i < noise.rows(); ++i) {
      TestRng rng(engine);
      f.random_fill(rng, std::span(noise.row(i), s));
    }
    PIRX_ASSIGN(auto sums, matrix::Matrix<typename F::Sum>::create(setting.l * R, s));
    PIRX_TRY(encoder.encode(0, rows.view().window(0, 0, rows.rows(), s * f.word_bytes()), noise.view(),
                            sums.view()));
    for (std::size_t j = 0; j < setting.l; ++j) {
      auto& bucket = buckets_.emplace_back(matrix::Matrix<std::byte>::create(R, s * f.word_bytes()).value());
      for (std::size_t g = 0; g < R; ++g) {
        EXPECT_TRUE(batchcodes::store_words(f, {sums.row(j * R + g), s}, {bucket.row(g), bucket.cols()}));
      }
      ServedRows served{spec.geometry, spec.version, std::as_const(bucket).view(), nullptr};
      served.arity = spec.arity;
      served.independence = spec.independence;
      served.modulus = plain ? 0 : spec.modulus;
      PIRX_ASSIGN(auto server, serve_rows(std::move(served), {f.tag(), spec.coordinates[j], 1, 256}));
      servers.push_back(std::move(server));
    }
    return {};
  }
  std::vector<matrix::Matrix<std::byte>> buckets_;
};

}  // namespace pirx::itpir::goldberg::testing
