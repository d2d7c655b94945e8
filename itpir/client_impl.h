// GoldbergClient<F>: query messages from wishes (Goldberg 2007; paper 002). Instantiated in client.cc for the
// shipped fields, in the privacy tests for fields small enough to enumerate every coin.
#pragma once

#include <new>
#include <stdexcept>

#include "blinding.h"
#include "pirx/batchcodes/polynomial_code.h"
#include "vectors.h"
#include "wishes.h"

namespace pirx::itpir {

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
    PIRX_TRY(check_size(wishes.size(), vectors));
    const auto r = static_cast<std::size_t>(encoding.rows(spec_->geometry.rows()));
    PIRX_ASSIGN(const auto plan, plan_wishes(encoding, spec_->geometry, wishes));
    PIRX_ASSIGN(auto requests, empty_requests(plan.queries(), r));
    Query query{std::move(requests), SecretVector<Elem>(plan.queries() * l)};
    PIRX_ASSIGN(auto coins, SecretMatrix<Elem>::create(t, r));
    PIRX_ASSIGN(auto shares, SecretMatrix<Elem>::create(l, r));
    const std::size_t vector_bytes = r * field().elem_bytes();
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

  Result<void> check_size(std::size_t wishes, std::uint64_t vectors) const {
    if (wishes == 0) return fail(ErrorCode::kInvalidArgument, "a query needs at least one record to ask for");
    if (vectors > kMaxQueriesPerRequest) {
      return fail(ErrorCode::kInvalidArgument, std::to_string(wishes) + " records in one query take " +
                                                   std::to_string(vectors) + " query vectors: at most " +
                                                   std::to_string(kMaxQueriesPerRequest) +
                                                   ", ask in several");
    }
    const auto bytes = std::max(
        message_bytes(vectors, code_.encoding().rows(spec_->geometry.rows()), field().elem_bytes()),
        message_bytes(vectors, spec_->geometry.words_per_row(field().word_bytes()), field().sum_bytes()));
    if (bytes > kMaxMessageBytes) {
      return fail(ErrorCode::kResourceExhausted,
                  std::to_string(wishes) + " records in one query take messages of " + std::to_string(bytes) +
                      " bytes, the limit is " + std::to_string(kMaxMessageBytes) +
                      ": ask for fewer at a time");
    }
    return {};
  }

  /// Requests with their headers written and room for the query vectors of `rows` elements.
  Result<std::vector<Bytes>> empty_requests(std::size_t queries, std::uint64_t rows) const {
    auto bytes = seeds_bytes(queries);
    try {
      std::vector<Bytes> requests;
      for (const auto coordinate : spec_->coordinates) {
        const bool seeds = requests.size() < seeded_;
        if (!seeds) bytes = message_bytes(queries, rows, field().elem_bytes());
        Writer writer(static_cast<std::size_t>(bytes));
        MessageHeader{seeds ? MessageHeader::Type::kSeeds : MessageHeader::Type::kQuery,
                      field().tag(),
                      version_,
                      coordinate,
                      static_cast<std::uint32_t>(queries),
                      rows}
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

  batchcodes::PolynomialCode<F> code_;
  const Params::Spec* spec_;
  database::Version version_;  ///< of messages
  Blinding blinding_;
  std::size_t seeded_;  ///< so many servers get seeds, the first ones: t or none, whatever is asked for
};

}  // namespace pirx::itpir
