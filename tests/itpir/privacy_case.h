// SPDX-License-Identifier: Apache-2.0
// Privacy by enumeration: the shipped client template over a tiny field, run with every sequence of coins.
#pragma once

#include <map>

#include "deployment.h"
#include "support/tiny_field.h"

namespace pirx::itpir::goldberg::testing {

using Seed = std::array<std::byte, kSeedBytes>;

/// For each vector of R elements one seed that stands for it: with these for coins, seeds are as random as
/// vectors, and what is left to see is what the client does with them.
template <class F>
std::map<std::vector<std::uint8_t>, Seed> seeds_for_all_vectors(const F& f, std::size_t R) {
  std::size_t vectors = 1;
  for (std::size_t i = 0; i < R; ++i) vectors *= static_cast<std::size_t>(f.size_limit());
  std::map<std::vector<std::uint8_t>, Seed> seeds;
  Seed seed{};
  std::vector<std::uint8_t> vector(R);
  for (std::uint64_t n = 0; seeds.size() < vectors; ++n) {
    store_le(seed.data(), n);
    expand_seed(f, std::span<const std::byte, kSeedBytes>(seed), std::span<std::uint8_t>(vector));
    seeds.emplace(vector, seed);
  }
  return seeds;
}

/// Replays one of the |F|^n sequences of n coins. A tape that repeats models a client that reuses its coins.
class CoinTape {
 public:
  using Seeds = std::map<std::vector<std::uint8_t>, Seed>;
  /// Of `coins` coins, of which the first `period` are repeated. Who asks for a seed gets the one of the next
  /// vector.
  CoinTape(std::size_t coins, std::size_t period, const Seeds* seeds = nullptr)
      : total_(coins), coins_(period), seeds_(seeds) {}
  void fill(MutableByteSpan out) {
    PIRX_CHECK(seeds_ != nullptr && out.size() == kSeedBytes);  // every other draw must be a coin
    std::vector<std::uint8_t> vector(seeds_->begin()->first.size());
    for (auto& element : vector) element = static_cast<std::uint8_t>(draw<256>());
    std::copy_n(seeds_->at(vector).begin(), kSeedBytes, out.begin());
  }
  template <unsigned n>
  unsigned draw() {
    const std::size_t at = position_++;
    if (at >= total_) return 1;  // a coin was refused: this sequence is not one
    const unsigned coin = coins_[at % coins_.size()];
    PIRX_CHECK(coin < n);
    return coin;
  }
  std::size_t drawn() const { return position_; }
  /// Rewinds to the next sequence; false after the last one.
  bool next(unsigned size) {
    position_ = 0;
    for (auto& coin : coins_) {
      if (++coin < size) return true;
      coin = 0;
    }
    return false;
  }

 private:
  std::size_t total_;
  std::vector<unsigned> coins_;
  const Seeds* seeds_;
  std::size_t position_ = 0;
};

/// How often each view (the elements that some servers receive, packed into one number) occurs over all
/// coins: counters when there are few views, else the sorted list of them.
struct Distribution {
  std::vector<std::uint32_t> counts;
  std::vector<std::uint64_t> views;

  explicit Distribution(std::uint64_t possible) : counts(possible <= (1u << 23) ? possible : 0) {}
  void add(std::uint64_t view) {
    if (counts.empty()) {
      views.push_back(view);
    } else {
      ++counts.at(view);
    }
  }
  void finish() { std::sort(views.begin(), views.end()); }
  friend bool operator==(const Distribution&, const Distribution&) = default;
};

template <class F>
struct Case {
  unsigned l, t, rows;
  std::size_t queries = 1;
  std::size_t period = 0;  ///< coins until the tape repeats: the planted bug
  Blinding blinding = Blinding::kOff;
  // Of the encoding, as in Params::Spec.
  unsigned ramp = 1, arity = 1, independence = 0;
  std::uint64_t modulus = 0;
  QueryKind kind = QueryKind::kRecords;  ///< `queries` records, or sums
  bool seeded = false;

  /// One distribution per group of servers.
  std::vector<Distribution> views(std::span<const std::uint64_t> wanted,
                                  const std::vector<std::vector<std::size_t>>& groups) const {
    const F f;
    Params::Spec spec{f.tag(), database::Geometry::create({rows, 1, 1, false, false}).value(), {}, {}, t};
    spec.ramp = ramp;
    spec.arity = arity;
    spec.independence = independence;
    spec.modulus = modulus;
    for (unsigned j = 1; j <= l; ++j) {
      spec.coordinates.push_back(modulus == 0 ? j : f.size_limit() - j);
    }
    const auto encoding = encoding_of(spec);
    const GoldbergClient<F> client(strassen::Engine<F>(f), spec, encoding, blinding, {.seeded = seeded});
    const auto vectors = static_cast<std::size_t>(query_vectors(encoding, spec.geometry, kind, queries));
    const auto R = static_cast<std::size_t>(encoding.rows(rows));
    const std::size_t coins = (std::size_t{t} * R + (blinding == Blinding::kOn ? l : 0)) * vectors;
    const auto seeds = seeded ? seeds_for_all_vectors(f, R) : CoinTape::Seeds();
    CoinTape tape(coins, period == 0 ? coins : period, seeded ? &seeds : nullptr);
    const auto size = static_cast<unsigned>(f.size_limit());
    std::vector<Distribution> result;
    for (const auto& group : groups) {
      std::uint64_t possible = 1;
      for (std::size_t i = 0; i < group.size() * R * vectors; ++i) possible *= size;
      result.emplace_back(possible);
    }
    // What precedes the elements may depend on the server and nothing else.
    std::vector<Bytes> headers;
    const auto has_seeds = [&](std::size_t j) { return seeded && j < t; };
    for (const auto coordinate : spec.coordinates) {
      Writer writer;
      MessageHeader{has_seeds(headers.size()) ? MessageType::kSeeds : MessageType::kQuery,
                    f.tag(),
                    bound_version({}, arity, independence, modulus),
                    coordinate,
                    static_cast<std::uint32_t>(vectors),
                    R}
          .encode(writer);
      headers.push_back(std::move(writer).take());
    }
    std::vector<std::uint8_t> expanded(R);
    do {
      const auto requests = client.query({kind, SecretVector<std::uint64_t>(wanted)}, tape).value().requests;
      // Zeros are no blinding and are drawn again; what is kept has the distribution without them.
      if (blinding == Blinding::kOn && tape.drawn() > coins) continue;
      PIRX_CHECK(tape.drawn() == coins);
      for (std::size_t j = 0; j < l; ++j) {
        PIRX_CHECK(requests[j].size() == MessageHeader::kBytes + (has_seeds(j) ? kSeedBytes : R) * vectors);
        PIRX_CHECK(std::equal(headers[j].begin(), headers[j].end(), requests[j].begin()));
      }
      for (std::size_t g = 0; g < groups.size(); ++g) {
        std::uint64_t view = 0;
        for (const auto j : groups[g]) {
          const ByteSpan body = ByteSpan(requests[j]).subspan(MessageHeader::kBytes);
          if (!has_seeds(j)) {
            for (const auto byte : body) view = view * size + std::to_integer<unsigned>(byte);
            continue;
          }
          for (std::size_t i = 0; i < vectors; ++i) {
            const auto seed = body.subspan(i * kSeedBytes).template first<kSeedBytes>();
            expand_seed(f, seed, std::span<std::uint8_t>(expanded));
            // A seed says no more than its vector: there is one for each.
            PIRX_CHECK(std::equal(seed.begin(), seed.end(), seeds.at(expanded).begin()));
            for (const auto element : expanded) view = view * size + element;
          }
        }
        result[g].add(view);
      }
    } while (tape.next(size));
    for (auto& distribution : result) distribution.finish();
    return result;
  }

  std::vector<std::vector<std::size_t>> groups_of(std::size_t size) const {
    auto all = subsets(l);
    std::erase_if(all, [&](const auto& group) { return group.size() != size; });
    return all;
  }

  /// Every list of indices.
  std::vector<std::vector<std::uint64_t>> wishes() const {
    std::vector<std::vector<std::uint64_t>> all{{}};
    const std::size_t indices = queries * (kind == QueryKind::kRowSums ? kSummedRows : 1);
    for (std::size_t i = 0; i < indices; ++i) {
      std::vector<std::vector<std::uint64_t>> longer;
      for (const auto& wish : all) {
        for (std::uint64_t row = 0; row < rows; ++row) {
          longer.push_back(wish);
          longer.back().push_back(row);
        }
      }
      all = std::move(longer);
    }
    return all;
  }

  /// Whether the views of every `size` servers have one distribution for all wishes.
  bool private_against(std::size_t size) const {
    const auto groups = groups_of(size);
    const auto all = wishes();
    const auto first = views(all.front(), groups);
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (views(all[i], groups) != first) return false;
    }
    return true;
  }
};

}  // namespace pirx::itpir::goldberg::testing
