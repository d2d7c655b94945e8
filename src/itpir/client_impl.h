// GoldbergClient<F>: shares of unit vectors (Goldberg 2007; paper 002 section 2). Instantiated in client.cc
// for the shipped fields, in the privacy test for fields small enough to enumerate every coin.
#pragma once

#include <new>
#include <stdexcept>

#include "blinding.h"
#include "pirx/itpir/common.h"
#include "pirx/strassen/engine.h"
#include "vectors.h"

namespace pirx::itpir {

/// The client half over one field. Const and thread-safe.
template <SharingField F>
class GoldbergClient {
 public:
  using Elem = typename F::Elem;

  /// `spec` is what Params::create accepts, but for its field, which is the engine's; a test may also go
  /// without t < l, and without blinding.
  GoldbergClient(strassen::Engine<F> engine, const Params::Spec& spec, Blinding blinding = Blinding::kOn)
      : engine_(std::move(engine)), spec_(&spec), blinding_(blinding) {}

  struct Query {
    std::vector<Bytes> requests;  ///< one per server, in the order of spec.coordinates
    SecretVector<Elem> blinding;  ///< of query i and server j at i * servers + j; ones without blinding
  };

  std::uint64_t request_bytes(std::size_t queries) const noexcept {
    return message_bytes(queries, spec_->geometry.rows(), field().elem_bytes());
  }
  std::uint64_t reply_bytes(std::size_t queries) const noexcept {
    return message_bytes(queries, spec_->geometry.words_per_row(field().word_bytes()), field().sum_bytes());
  }

  /// Fresh coins for every query vector: t x rows elements, then one non-zero element for each server. No
  /// address and no branch depends on a record. Errors as Client::query, and ResourceExhausted.
  template <RandomSource R>
  Result<Query> query(std::span<const std::uint64_t> records, R& rng) const {
    const std::size_t l = spec_->coordinates.size(), t = spec_->threshold;
    PIRX_TRY(check_size(records.size()));
    const auto r = static_cast<std::size_t>(spec_->geometry.rows());
    SecretVector<std::uint64_t> rows(records.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      PIRX_ASSIGN(const auto location, spec_->geometry.locate(records[i]));
      rows.expose()[i] = location.row;
    }
    PIRX_ASSIGN(auto requests, empty_requests(records.size()));
    Query query{std::move(requests), SecretVector<Elem>(records.size() * l)};
    PIRX_ASSIGN(auto terms, SecretMatrix<Elem>::create(t + 1, r));
    PIRX_ASSIGN(auto shares, SecretMatrix<Elem>::create(l, r));
    const std::size_t vector_bytes = r * field().elem_bytes();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      write_unit_vector(rows.expose()[i], {terms.expose().row(0), r});
      for (std::size_t a = 1; a <= t; ++a) {
        field().random_fill(rng, std::span<Elem>(terms.expose().row(a), r));
      }
      const auto blinding = query.blinding.expose().subspan(i * l, l);
      std::fill(blinding.begin(), blinding.end(), field().one());
      if (blinding_ == Blinding::kOn) random_nonzero_fill(field(), rng, blinding);
      PIRX_TRY(share(blinding, std::as_const(terms).expose().view(), shares.expose().view()));
      for (std::size_t j = 0; j < l; ++j) {
        encode_elems(field(), {shares.expose().row(j), r},
                     query.requests[j].data() + MessageHeader::kBytes + i * vector_bytes);
      }
    }
    return query;
  }

  /// shares[j] = blinding[j] * sum_{a = 0..t} x_j^a * terms[a], for every server j: points, times the
  /// blinding, of a polynomial of degree t whose value at 0 is terms[0], the unit vector; terms[1..t] are
  /// coins. One product, whose time does not depend on the terms.
  Result<void> share(std::span<const Elem> blinding, matrix::ConstView<Elem> terms,
                     matrix::View<Elem> shares) const {
    PIRX_ASSIGN(auto vandermonde, SecretMatrix<Elem>::create(shares.rows, terms.rows));
    for (std::size_t j = 0; j < shares.rows; ++j) {
      const Elem x = field().from_label(spec_->coordinates[j]);
      Elem power = blinding[j];
      for (std::size_t a = 0; a < terms.rows; ++a) {
        vandermonde.expose().at(j, a) = power;
        power = field().mul(power, x);
      }
    }
    return engine_.multiply_sums(std::as_const(vandermonde).expose().view(), terms, shares);
  }

 private:
  const F& field() const noexcept { return engine_.field(); }

  /// Writes every position: `one` under a mask, else zeros.
  void write_unit_vector(std::uint64_t row, std::span<Elem> out) const {
    const Elem one = field().one();
    std::byte pattern[sizeof(Elem)];
    std::memcpy(pattern, &one, sizeof one);
    for (std::uint64_t k = 0; k < out.size(); ++k) {
      const std::uint64_t difference = k ^ row;
      // All ones when the difference is zero: its top bit or its negation's is set otherwise.
      const auto mask = static_cast<std::byte>(((difference | (0 - difference)) >> 63) - 1);
      std::byte value[sizeof(Elem)];
      for (std::size_t b = 0; b < sizeof(Elem); ++b) value[b] = pattern[b] & mask;
      std::memcpy(&out[k], value, sizeof value);
    }
  }

  Result<void> check_size(std::size_t queries) const {
    if (queries == 0)
      return fail(ErrorCode::kInvalidArgument, "a query needs at least one record to ask for");
    if (queries > kMaxQueriesPerRequest) {
      return fail(ErrorCode::kInvalidArgument,
                  std::to_string(queries) + " records in one query are too many: at most " +
                      std::to_string(kMaxQueriesPerRequest) + ", ask in several");
    }
    const auto bytes = std::max(request_bytes(queries), reply_bytes(queries));
    if (bytes > kMaxMessageBytes) {
      return fail(ErrorCode::kResourceExhausted,
                  std::to_string(queries) + " records in one query take messages of " +
                      std::to_string(bytes) + " bytes, the limit is " + std::to_string(kMaxMessageBytes) +
                      ": ask for fewer at a time");
    }
    return {};
  }

  /// Requests with their headers written and room for the query vectors.
  Result<std::vector<Bytes>> empty_requests(std::size_t queries) const {
    const auto bytes = request_bytes(queries);
    try {
      std::vector<Bytes> requests;
      for (const auto coordinate : spec_->coordinates) {
        Writer writer(static_cast<std::size_t>(bytes));
        MessageHeader{MessageHeader::Type::kQuery,         field().tag(),         spec_->version, coordinate,
                      static_cast<std::uint32_t>(queries), spec_->geometry.rows()}
            .encode(writer);
        writer.extend(static_cast<std::size_t>(bytes) - MessageHeader::kBytes);
        requests.push_back(std::move(writer).take());
      }
      return requests;
    } catch (const std::bad_alloc&) {
      return fail(ErrorCode::kResourceExhausted, "no memory for " +
                                                     std::to_string(spec_->coordinates.size()) +
                                                     " requests of " + std::to_string(bytes) + " bytes");
    }
  }

  strassen::Engine<F> engine_;
  const Params::Spec* spec_;
  Blinding blinding_;
};

}  // namespace pirx::itpir
