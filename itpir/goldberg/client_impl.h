// SPDX-License-Identifier: Apache-2.0
// GoldbergClient<F>: query messages from wishes (Goldberg 2007; paper 002). Instantiated in client.cc for the
// shipped fields, in the privacy tests for fields small enough to enumerate every coin.
#pragma once

#include "blinding.h"
#include "itpir/client_messages.h"
#include "pirx/batchcodes/polynomial_code.h"
#include "pirx/itpir/goldberg/client.h"
#include "vectors.h"
#include "wishes.h"

namespace pirx::itpir::goldberg {

/// The client half over one field. Const and thread-safe.
template <SharingField F>
class GoldbergClient {
 public:
  using Elem = typename F::Elem;

  /// `spec` is what Params::create accepts, but for its field, which is the engine's; `encoding` is its own.
  GoldbergClient(strassen::Engine<F> engine, const Params::Spec& spec, batchcodes::Encoding encoding,
                 Blinding blinding = Blinding::kOn, const ClientOptions& options = {})
      : code_(std::move(engine), std::move(encoding)),
        spec_(&spec),
        version_(bound_version(spec.version, spec.arity, spec.independence, code_.encoding().spec().modulus)),
        blinding_(blinding),
        seeded_(options.seeded ? spec.threshold : 0) {}

  struct Query {
    std::vector<Bytes> requests;  ///< one per server, in the order of spec.coordinates
    SecretVector<Elem> blinding;  ///< of vector i and server j at i * servers + j; ones without blinding
  };

  /// Fresh coins for every query vector: t x rows elements, or t seeds, then one non-zero element for each
  /// server. No address and no branch depends on a wish. Errors as Client::query and query_sums, and
  /// ResourceExhausted.
  template <RandomSource R>
  Result<Query> query(const Wishes& wishes, R& rng) const {
    const auto& encoding = code_.encoding();
    const std::size_t l = encoding.servers(), t = spec_->threshold;
    const auto vectors = query_vectors(encoding, spec_->geometry, wishes.kind, wishes.size());
    const auto r = static_cast<std::size_t>(encoding.rows(spec_->geometry.rows()));
    const std::uint64_t words = spec_->geometry.words_per_row(field().word_bytes());
    PIRX_TRY(check_query_size(wishes.size(), vectors,
                              {message_bytes(vectors, r, field().elem_bytes()),
                               message_bytes(vectors, words, field().sum_bytes())}));
    PIRX_ASSIGN(const auto plan, plan_wishes(encoding, spec_->geometry, wishes));
    const std::size_t vector_bytes = r * field().elem_bytes();
    const MessageHeader header{{}, field().tag(), version_, 0, static_cast<std::uint32_t>(plan.queries()), r};
    PIRX_ASSIGN(auto requests, empty_requests(header, spec_->coordinates, vector_bytes, seeded_));
    Query query{std::move(requests), SecretVector<Elem>(plan.queries() * l)};
    PIRX_ASSIGN(auto coins, SecretMatrix<Elem>::create(t, r));
    PIRX_ASSIGN(auto shares, SecretMatrix<Elem>::create(l, r));
    for (std::size_t i = 0; i < plan.queries(); ++i) {
      for (std::size_t a = 0; a < t; ++a) {
        const std::span<Elem> row(coins.expose().row(a), r);
        if (seeded_ == 0) {
          field().random_fill(rng, row);
        } else {
          const auto seed =
              MutableByteSpan(query.requests[a]).subspan(MessageHeader::kBytes + i * kSeedBytes);
          rng.fill(seed.first<kSeedBytes>());
          expand_seed(field(), ByteSpan(seed).first<kSeedBytes>(), row);
        }
      }
      const auto blinding = query.blinding.expose().subspan(i * l, l);
      std::fill(blinding.begin(), blinding.end(), field().one());
      if (blinding_ == Blinding::kOn) random_nonzero_fill(field(), rng, blinding);
      const auto uniform = std::as_const(coins).expose().view();
      const auto rest = shares.expose().view().window(seeded_, 0, l - seeded_, r);
      PIRX_TRY(seeded_ == 0 ? code_.share(plan.query(i), uniform, rest, blinding)
                            : code_.complete(plan.query(i), uniform, rest, blinding));
      for (std::size_t j = seeded_; j < l; ++j) {
        encode_elems(field(), {shares.expose().row(j), r},
                     query.requests[j].data() + MessageHeader::kBytes + i * vector_bytes);
      }
    }
    return query;
  }

 private:
  const F& field() const noexcept { return code_.field(); }

  batchcodes::PolynomialCode<F> code_;
  const Params::Spec* spec_;
  database::Version version_;  ///< of messages
  Blinding blinding_;
  std::size_t seeded_;  ///< so many servers get seeds, the first ones: t or none, whatever is asked for
};

}  // namespace pirx::itpir::goldberg
