// SPDX-License-Identifier: Apache-2.0
// The subset code: its buckets, and the search for disjoint recovery sets.
#include <algorithm>
#include <bit>
#include <map>

#include "pirx/base/buffer.h"
#include "pirx/batchcodes/vertical.h"

namespace pirx::batchcodes {
namespace {

/// Lists from which wanted blocks can be told.
template <class T>
using Secrets = std::vector<T, SecretAllocator<T>>;
template <class Key, class T>
using SecretMap = std::map<Key, T, std::less<Key>, SecretAllocator<std::pair<const Key, T>>>;

/// The buckets whose answers, with signs, add up to a block. A bit of `buckets` is one bucket. The sign of
/// bucket T' is (-1)^(|T'| - |base|).
struct RecoverySet {
  Secrets<std::uint64_t> buckets;
  std::size_t size = 0;
  std::uint32_t base = 0;
};

bool smaller(const RecoverySet& a, const RecoverySet& b) {
  return a.size != b.size ? a.size < b.size : a.buckets < b.buckets;
}

std::size_t binomial(std::size_t n, std::size_t k) {
  std::size_t result = 1;
  for (std::size_t i = 0; i < k; ++i) result = result * (n - i) / (i + 1);
  return result;
}

void add(RecoverySet& set, std::size_t bucket) {
  set.buckets[bucket / 64] |= std::uint64_t{1} << (bucket % 64);
  ++set.size;
}

/// The recovery sets of block S: for each subset T of S, the buckets of all T' with T' cap S = T. The
/// smallest come first, and bucket S alone is the very first.
Secrets<RecoverySet> subset_recoveries(std::span<const std::uint32_t> sets, std::uint32_t S) {
  const RecoverySet none{Secrets<std::uint64_t>((sets.size() + 63) / 64)};
  Secrets<RecoverySet> result(std::size_t{1} << std::popcount(S), none);
  for (std::size_t b = 0; b < sets.size(); ++b) {
    const std::uint32_t T = sets[b] & S;
    std::size_t at = 0;  // T is subset number `at` of S
    for (std::uint32_t rest = S, bit = 1; rest != 0; rest &= rest - 1, bit <<= 1) {
      if ((T & rest & -rest) != 0) at |= bit;
    }
    result[at].base = T;
    add(result[at], b);
  }
  std::sort(result.begin(), result.end(), smaller);
  return result;
}

/// More recovery sets, in characteristic two: all buckets but S on an affine flat of codimension w - 1
/// through S. The functionals that define a flat are sums of one or two coordinates. Tries `most` flats.
Secrets<RecoverySet> flat_recoveries(std::span<const std::uint32_t> sets, std::uint32_t S, unsigned elements,
                                     unsigned weight, std::size_t most) {
  std::vector<std::uint32_t> functionals;
  for (unsigned a = 0; a < elements; ++a) functionals.push_back(1u << a);
  for (unsigned a = 0; a < elements; ++a) {
    for (unsigned b = a + 1; b < elements; ++b) functionals.push_back(1u << a | 1u << b);
  }
  const std::size_t codimension = weight - 1;
  SecretMap<Secrets<std::uint64_t>, RecoverySet> distinct;
  std::vector<std::size_t> chosen(codimension);
  for (std::size_t i = 0; i < codimension; ++i) chosen[i] = i;
  for (std::size_t looked = 0; looked < most; ++looked) {
    RecoverySet found{Secrets<std::uint64_t>((sets.size() + 63) / 64), 0, S};
    for (std::size_t b = 0; b < sets.size(); ++b) {
      const bool on_flat = std::ranges::all_of(
          chosen, [&](auto i) { return std::popcount(functionals[i] & (sets[b] ^ S)) % 2 == 0; });
      if (on_flat && sets[b] != S) add(found, b);
    }
    auto key = found.buckets;
    distinct.emplace(std::move(key), std::move(found));
    // The next combination of functionals.
    std::size_t at = codimension;
    while (at > 0 && chosen[at - 1] == functionals.size() - codimension + at - 1) --at;
    if (at == 0) break;
    ++chosen[at - 1];
    for (std::size_t i = at; i < codimension; ++i) chosen[i] = chosen[i - 1] + 1;
  }
  Secrets<RecoverySet> result;
  for (auto& [key, found] : distinct) result.push_back(std::move(found));
  std::sort(result.begin(), result.end(), smaller);
  return result;
}

/// Gives every request a recovery set so that no two share a bucket. Takes the request with the fewest sets
/// left, tries its smallest set first, and goes back to the next one if that leads nowhere. Looks at about
/// `most` words at most.
class Search {
 public:
  Search(const Secrets<const Secrets<RecoverySet>*>& ways, std::size_t most)
      : chosen_(ways.size(), nullptr), most_(most) {
    SecretMap<const Secrets<RecoverySet>*, std::size_t> known;
    for (const auto* list : ways) {
      const auto [at, first] = known.try_emplace(list, lists_.size());
      if (first) lists_.emplace_back(*list);
      list_of_.push_back(at->second);
    }
  }

  bool run() { return place(chosen_.size()); }
  const RecoverySet& chosen(std::size_t request) const { return *chosen_[request]; }
  std::size_t work() const noexcept { return work_; }

 private:
  struct List {
    explicit List(const Secrets<RecoverySet>& all)
        : ways(&all), columns(all.size() * all[0].buckets.size()), blocked(all.size()), left(all.size()) {
      for (std::size_t w = 0; w < all.size(); ++w) {
        for (std::size_t i = 0; i < all[w].buckets.size(); ++i)
          columns[i * all.size() + w] = all[w].buckets[i];
      }
    }
    const Secrets<RecoverySet>* ways;
    Secrets<std::uint64_t> columns;  ///< their first words, then their second ones, ...
    Secrets<std::size_t> blocked;    ///< for each: how many of the chosen ones share a bucket with it
    std::size_t left;                ///< those that none shares a bucket with
  };

  bool place(std::size_t requests) {
    if (requests == 0) return true;
    std::size_t request = chosen_.size(), fewest = SIZE_MAX;
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      const auto left = lists_[list_of_[i]].left;
      if (chosen_[i] == nullptr && left < fewest) request = i, fewest = left;
    }
    if (fewest == 0) return false;
    const List& list = lists_[list_of_[request]];
    for (std::size_t w = 0; w < list.ways->size() && work_ < most_; ++w) {
      if (list.blocked[w] != 0) continue;
      const RecoverySet& way = (*list.ways)[w];
      count(way, [](List& of, std::size_t at) { of.left -= of.blocked[at]++ == 0; });
      chosen_[request] = &way;
      if (place(requests - 1)) return true;
      chosen_[request] = nullptr;
      count(way, [](List& of, std::size_t at) { of.left += --of.blocked[at] == 0; });
    }
    return false;
  }

  /// Calls change(list, i) for each recovery set that shares a bucket with `way`.
  template <class Change>
  void count(const RecoverySet& way, Change&& change) {
    Secrets<std::uint64_t> shared;
    for (auto& list : lists_) {
      const std::size_t ways = list.ways->size();
      shared.assign(ways, 0);
      for (std::size_t i = 0; i < way.buckets.size(); ++i) {
        if (way.buckets[i] == 0) continue;
        for (std::size_t w = 0; w < ways; ++w) shared[w] |= list.columns[i * ways + w] & way.buckets[i];
        work_ += ways;
      }
      for (std::size_t w = 0; w < ways; ++w) {
        if (shared[w] != 0) change(list, w);
      }
    }
  }

  Secrets<List> lists_;           ///< of the different blocks
  Secrets<std::size_t> list_of_;  ///< of each request
  Secrets<const RecoverySet*> chosen_;
  std::size_t most_, work_ = 0;
};

}  // namespace

Result<Subset> Subset::create(unsigned elements, unsigned weight, Characteristic characteristic) {
  constexpr unsigned kMaxElements = 24;
  if (weight < 1 || weight >= elements || elements > kMaxElements) {
    return invalid("a subset code has sets of 1 <= w < L elements out of L <= " +
                   std::to_string(kMaxElements));
  }
  std::size_t buckets = 0;
  for (unsigned size = 0; size <= weight; ++size) buckets += binomial(elements, size);
  if (buckets > kMaxBuckets) {
    return invalid(std::to_string(buckets) +
                   " buckets are too many, as each is answered with a row in every round: at most " +
                   std::to_string(kMaxBuckets) + "; use a smaller L or w");
  }
  std::vector<std::uint32_t> sets;
  for (unsigned size = 0; size <= weight; ++size) {
    std::vector<unsigned> members(size);
    for (unsigned i = 0; i < size; ++i) members[i] = i;
    for (;;) {
      std::uint32_t set = 0;
      for (const auto member : members) set |= 1u << member;
      sets.push_back(set);
      unsigned at = size;
      while (at > 0 && members[at - 1] == elements - size + at - 1) --at;
      if (at == 0) break;
      ++members[at - 1];
      for (unsigned i = at; i < size; ++i) members[i] = members[i - 1] + 1;
    }
  }
  return Subset(elements, weight, characteristic, std::move(sets));
}

Subset::Subset(unsigned elements, unsigned weight, Characteristic characteristic,
               std::vector<std::uint32_t> sets)
    : elements_(elements),
      weight_(weight),
      characteristic_(characteristic),
      sets_(std::move(sets)),
      first_plain_(sets_.size() - binomial(elements, weight)) {}

std::uint64_t Subset::bucket_rows(std::uint64_t blocks) const noexcept {
  const std::uint64_t plain = sets_.size() - first_plain_;
  return std::max<std::uint64_t>(1, div_up(blocks, plain));
}

std::optional<VerticalCode::Slice> Subset::slice(std::size_t bucket, std::uint64_t blocks) const noexcept {
  if (bucket < first_plain_) return std::nullopt;
  const std::uint64_t plain = sets_.size() - first_plain_, first = bucket - first_plain_;
  return Slice{std::min(first, blocks), plain, first < blocks ? div_up(blocks - first, plain) : 0};
}

std::vector<std::size_t> Subset::addends(std::size_t bucket) const {
  std::vector<std::size_t> result;
  if (bucket >= first_plain_) return result;
  for (std::size_t b = first_plain_; b < sets_.size(); ++b) {
    if ((sets_[b] & sets_[bucket]) == sets_[bucket]) result.push_back(b);
  }
  return result;
}

Result<void> Subset::assign(std::uint64_t blocks, std::span<const std::uint64_t> wanted, std::size_t& work,
                            VerticalPlan& plan) const {
  constexpr std::size_t kMaxSearch = std::size_t{1} << 26;  // less than 0.2 s
  static_cast<void>(blocks);
  const std::uint64_t plain = sets_.size() - first_plain_;
  SecretMap<std::uint32_t, Secrets<RecoverySet>> ways;
  Secrets<std::uint32_t> targets;
  for (const auto block : wanted) {
    targets.push_back(sets_[first_plain_ + static_cast<std::size_t>(block % plain)]);
    if (ways.count(targets.back()) == 0) {
      ways.emplace(targets.back(), subset_recoveries(sets_, targets.back()));
    }
  }
  const auto search = [&] {
    Secrets<const Secrets<RecoverySet>*> lists;
    for (const auto S : targets) lists.push_back(&ways.at(S));
    return Search(lists, std::min(work, kMaxSearch));
  };
  const auto spend = [&work](std::size_t spent) { work -= std::min(work, spent); };
  auto found = search();
  bool done = found.run();
  spend(found.work());
  if (!done && characteristic_ == Characteristic::kTwo) {
    // As many for each block as all have time for.
    constexpr std::size_t kMaxLooking = std::size_t{1} << 25, kMaxFlats = 4096;
    const std::size_t flats =
        std::min(kMaxFlats, std::min(work, kMaxLooking) / (sets_.size() * wanted.size()));
    spend(flats * sets_.size() * ways.size());
    for (auto& [S, list] : ways) {
      for (auto& flat : flat_recoveries(sets_, S, elements_, weight_, flats)) list.push_back(std::move(flat));
    }
    found = search();
    done = found.run();
    spend(found.work());
  }
  if (!done) {
    return invalid(
        "no way was found in time to serve these blocks in one round: too many of them fall on the same "
        "sets. "
        "Ask for fewer of them, use a larger w, or a subcube code, which serves any blocks");
  }
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const RecoverySet& way = found.chosen(k);
    for (std::size_t b = 0; b < sets_.size(); ++b) {
      if ((way.buckets[b / 64] >> (b % 64) & 1) == 0) continue;
      const bool negative =
          characteristic_ == Characteristic::kOther && std::popcount(sets_[b] ^ way.base) % 2 != 0;
      plan.uses()[b] = {wanted[k] / plain, static_cast<std::uint32_t>(k), negative};
    }
  }
  return {};
}

}  // namespace pirx::batchcodes
