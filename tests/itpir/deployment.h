// SPDX-License-Identifier: Apache-2.0
// A deployment in memory over any field, the tiny ones included: records, servers, the client half, and
// tampering.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "batchcodes/encoder_impl.h"
#include "batchcodes/polynomial_code_impl.h"
#include "itpir/goldberg/client_impl.h"
#include "itpir/goldberg/collector_impl.h"
#include "itpir/goldberg/server_elements.h"
#include "support/files.h"
#include "support/random_element.h"
#include "support/seed.h"
#include "support/tiny_engine.h"

namespace pirx::itpir::goldberg::testing {

using pirx::testing::EngineSource;
using pirx::testing::expect_error;

/// The wish for records.
inline Wishes records_of(std::span<const std::uint64_t> records) {
  return {QueryKind::kRecords, SecretVector<std::uint64_t>(records)};
}

inline batchcodes::Encoding encoding_of(const Params::Spec& spec) {
  return batchcodes::Encoding::create(spec.encoding()).value();
}

/// A polynomial code as in Params::Spec; the default is plain Goldberg.
struct Code {
  unsigned ramp = 1, arity = 1, independence = 0;
  std::uint64_t modulus = 0;
};

template <class F>
class Deployment {
 public:
  /// Random records; over a field of fewer than 256 elements their bytes are elements, and `spec` keeps
  /// nothing else. The servers are at 1, 2, ..., or clear of the data coordinates where `code` has them.
  Deployment(const F& f, const database::Geometry::Spec& spec, unsigned l, unsigned t,
             std::mt19937_64& engine, const Code& code = {});
  Deployment(const Deployment&) = delete;

  /// A server half over any rows of this geometry, which the caller keeps, or its bucket of them.
  std::unique_ptr<AnyServer> serve(std::uint64_t coordinate, matrix::ConstView<std::byte> rows) const;
  const F& field() const { return f_; }
  const Params::Spec& spec() const { return spec_; }
  matrix::ConstView<std::byte> rows() const { return rows_.view(); }
  GoldbergClient<F> client(Blinding blinding = Blinding::kOn) const;
  /// For replies to `blinding`, which ask() gives; for replies without blinding when there is none.
  GoldbergCollector<F> collector(std::span<const std::uint64_t> wanted,
                                 std::span<const typename F::Elem> blinding = {},
                                 DecodeOptions options = {}) const;
  SecretVector<typename F::Elem> scalars(std::span<const std::uint64_t> wanted,
                                         std::span<const typename F::Elem> blinding) const;

  /// Query vectors for so many records.
  std::size_t vectors(std::size_t wanted) const;

  /// A query and the honest replies of all servers to it.
  struct Exchange {
    std::vector<Bytes> requests, replies;
    std::vector<typename F::Elem> blinding;
  };
  Exchange exchange(std::span<const std::uint64_t> wanted, std::mt19937_64& engine,
                    Blinding blinding = Blinding::kOn) const;
  /// The honest replies of all servers, without blinding.
  std::vector<Bytes> ask(std::span<const std::uint64_t> wanted, std::mt19937_64& engine) const;
  static Bytes answer(const AnyServer& server, const Bytes& request);
  /// Decodes the replies of these servers.
  Result<Answer> decode(std::span<const std::uint64_t> wanted, const std::vector<Bytes>& replies,
                        std::span<const std::size_t> from, std::span<const typename F::Elem> blinding = {},
                        DecodeOptions options = {}) const;

  std::vector<Bytes> records;
  std::vector<std::unique_ptr<AnyServer>> servers;

 private:
  std::size_t words() const {
    return static_cast<std::size_t>(spec_.geometry.words_per_row(f_.word_bytes()));
  }
  F f_;
  Params::Spec spec_;
  matrix::Matrix<std::byte> rows_;
  matrix::Matrix<typename F::Elem> noise_;  ///< of the encoding
};

// Outside of the class, so that they are not inline: whoever includes this would compile them again.
template <class F>
Deployment<F>::Deployment(const F& f, const database::Geometry::Spec& spec, unsigned l, unsigned t,
                          std::mt19937_64& engine, const Code& code)
    : f_(f), spec_{f.tag(), database::Geometry::create(spec).value(), {}, {}, t} {
  spec_.version.epoch = 7;
  spec_.version.identity.fill(std::byte{0x5A});
  spec_.ramp = code.ramp;
  spec_.arity = code.arity;
  spec_.independence = code.independence;
  spec_.modulus = code.modulus;
  if (code.modulus == 0) {
    for (unsigned j = 0; j < l; ++j) spec_.coordinates.push_back(j + 1);
  } else {
    spec_.coordinates = batchcodes::Encoding::suggested_coordinates(f.tag(), l).value();
  }
  const auto& geometry = spec_.geometry;
  noise_ =
      matrix::Matrix<typename F::Elem>::create(
          static_cast<std::size_t>(encoding_of(spec_).rows(geometry.rows())) * code.independence, words())
          .value();
  EngineSource rng{engine};
  for (std::size_t i = 0; i < noise_.rows(); ++i) f.random_fill(rng, std::span(noise_.row(i), words()));
  rows_ = matrix::Matrix<std::byte>::create(static_cast<std::size_t>(geometry.rows()),
                                            static_cast<std::size_t>(geometry.row_stride()))
              .value();
  const auto below = static_cast<unsigned>(std::min<std::uint64_t>(f.size_limit(), 256));
  for (std::uint64_t i = 0; i < geometry.records(); ++i) {
    const auto length = spec.variable_length ? engine() % (spec.record_bytes + 1) : spec.record_bytes;
    auto& record = records.emplace_back(static_cast<std::size_t>(length));
    for (auto& byte : record) byte = static_cast<std::byte>(engine() % below);
    const auto at = geometry.locate(i).value();
    geometry.fill_slot(i, record,
                       {rows_.row(static_cast<std::size_t>(at.row)) + at.offset,
                        static_cast<std::size_t>(geometry.slot_bytes())});
  }
  for (const auto coordinate : spec_.coordinates) servers.push_back(serve(coordinate, rows_.view()));
}

template <class F>
std::unique_ptr<AnyServer> Deployment<F>::serve(std::uint64_t coordinate,
                                                matrix::ConstView<std::byte> rows) const {
  const ServerOptions options{f_.tag(), coordinate, 1, kMaxQueriesPerRequest};
  const strassen::Engine<F> engine(f_);
  ServedRows served{spec_.geometry, spec_.version, rows, nullptr};
  const auto encoding = encoding_of(spec_);
  if (encoding.has_data_coordinates()) {
    const auto& x = spec_.coordinates;
    const auto own = static_cast<std::size_t>(std::find(x.begin(), x.end(), coordinate) - x.begin());
    const auto encoder = batchcodes::Encoder<F>::create(engine, encoding, {own}).value();
    const auto R = static_cast<std::size_t>(encoding.rows(rows.rows));
    const std::size_t bytes = words() * f_.word_bytes();
    auto sums = matrix::Matrix<typename F::Sum>::create(R, words()).value();
    EXPECT_TRUE(
        encoder.encode(0, rows.window(0, 0, rows.rows, bytes), noise_.view(), sums.view()).has_value());
    const auto bucket = std::make_shared<matrix::Matrix<std::byte>>();
    *bucket = matrix::Matrix<std::byte>::create(R, bytes).value();
    for (std::size_t g = 0; g < R; ++g) {
      EXPECT_TRUE(batchcodes::store_words(f_, {sums.row(g), words()}, {bucket->row(g), bytes}));
    }
    served.rows = std::as_const(*bucket).view();
    served.owner = bucket;
    served.arity = spec_.arity;
    served.independence = spec_.independence;
    served.modulus = spec_.modulus;
  }
  return GoldbergServer<F>::create(engine, std::move(served), options).value();
}

template <class F>
GoldbergClient<F> Deployment<F>::client(Blinding blinding) const {
  return {strassen::Engine<F>(f_), spec_, encoding_of(spec_), blinding};
}

template <class F>
GoldbergCollector<F> Deployment<F>::collector(std::span<const std::uint64_t> wanted,
                                              std::span<const typename F::Elem> blinding,
                                              DecodeOptions options) const {
  return {strassen::Engine<F>(f_), spec_, encoding_of(spec_), records_of(wanted), scalars(wanted, blinding),
          std::move(options)};
}

template <class F>
SecretVector<typename F::Elem> Deployment<F>::scalars(std::span<const std::uint64_t> wanted,
                                                      std::span<const typename F::Elem> blinding) const {
  if (!blinding.empty()) return SecretVector<typename F::Elem>(blinding);
  const std::vector<typename F::Elem> ones(vectors(wanted.size()) * spec_.coordinates.size(), f_.one());
  return SecretVector<typename F::Elem>(std::span<const typename F::Elem>(ones));
}

template <class F>
std::size_t Deployment<F>::vectors(std::size_t wanted) const {
  return static_cast<std::size_t>(
      query_vectors(encoding_of(spec_), spec_.geometry, QueryKind::kRecords, wanted));
}

template <class F>
typename Deployment<F>::Exchange Deployment<F>::exchange(std::span<const std::uint64_t> wanted,
                                                         std::mt19937_64& engine, Blinding blinding) const {
  EngineSource rng{engine};
  auto query = client(blinding).query(records_of(wanted), rng).value();
  const auto scalars = std::as_const(query.blinding).expose();
  Exchange result{std::move(query.requests), {}, {scalars.begin(), scalars.end()}};
  for (std::size_t j = 0; j < servers.size(); ++j)
    result.replies.push_back(answer(*servers[j], result.requests[j]));
  return result;
}

template <class F>
std::vector<Bytes> Deployment<F>::ask(std::span<const std::uint64_t> wanted, std::mt19937_64& engine) const {
  return exchange(wanted, engine, Blinding::kOff).replies;
}

template <class F>
Bytes Deployment<F>::answer(const AnyServer& server, const Bytes& request) {
  const ByteSpan one = request;
  return server.answer({&one, 1}).at(0).value();
}

template <class F>
Result<Answer> Deployment<F>::decode(std::span<const std::uint64_t> wanted, const std::vector<Bytes>& replies,
                                     std::span<const std::size_t> from,
                                     std::span<const typename F::Elem> blinding,
                                     DecodeOptions options) const {
  auto gathered = collector(wanted, blinding, std::move(options));
  for (const auto j : from) {
    const auto added = gathered.add(j, replies[j]);
    EXPECT_TRUE(added.has_value()) << added.error().to_string();
  }
  return std::move(gathered).finish();
}

/// Adds `delta` to word w of a reply.
template <class F>
void tamper(const F& f, Bytes& reply, std::size_t w, typename F::Sum delta) {
  std::byte* at = reply.data() + MessageHeader::kBytes + w * f.sum_bytes();
  typename F::Sum value{};
  ASSERT_TRUE(f.decode_sum(at, value));
  f.encode_sum(f.sum_add(value, delta), at);
}

inline std::vector<std::size_t> range(std::size_t n) {
  std::vector<std::size_t> all(n);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

/// The subsets of {0..n-1} as lists.
inline std::vector<std::vector<std::size_t>> subsets(std::size_t n) {
  std::vector<std::vector<std::size_t>> all;
  for (std::size_t mask = 0; mask < (std::size_t{1} << n); ++mask) {
    all.emplace_back();
    for (std::size_t i = 0; i < n; ++i) {
      if (mask >> i & 1) all.back().push_back(i);
    }
  }
  return all;
}

// Made once, in deployment.cc.
extern template class Deployment<gf2e::Gf2_8>;
extern template class Deployment<gf2e::Gf2_16>;
extern template class Deployment<fp::W160>;
extern template class Deployment<fp::W48>;
extern template class Deployment<fp::PrimeField>;
extern template class Deployment<pirx::testing::TinyGf4>;
extern template class Deployment<pirx::testing::TinyPrime<7>>;
extern template class Deployment<pirx::testing::TinyPrime<97>>;

}  // namespace pirx::itpir::goldberg::testing

namespace pirx::itpir::goldberg {

extern template class GoldbergCollector<pirx::testing::TinyGf4>;
extern template class GoldbergCollector<pirx::testing::TinyPrime<7>>;
extern template class GoldbergCollector<pirx::testing::TinyPrime<97>>;

}  // namespace pirx::itpir::goldberg
