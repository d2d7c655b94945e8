// SPDX-License-Identifier: Apache-2.0
// Decides who lied, and how certain that is. It works on the few words of each round that the reduction
// (syndromes.h) leaves, and looks at no record. So its decision, and whether the client asks again,
// depends only on the liars' errors. The errors of servers that hold at most t shares do not depend on
// what is wanted.
#pragma once

#include <bit>

#include "complete_search.h"
#include "locator.h"
#include "metzner_kapturowski.h"
#include "pirx/itpir/goldberg/client.h"
#include "proof.h"

namespace pirx::itpir::goldberg::decoding {

/// What locating needs of one round of queries: the servers that replied, and its reduction's basis, none
/// where all replies agree; words have a value for every server.
template <SharingField F>
struct RoundWords {
  std::vector<std::size_t> servers;
  std::vector<Word<F>> basis;
};

/// Servers, by their number, whose replies belong together.
struct Agreement {
  std::vector<bool> agrees;
  std::size_t bound = 0;  ///< right unless more servers than this lied in the session
  bool proven = false;
};

struct Verdict {
  DecodeStatus status = DecodeStatus::kFailed;
  std::size_t assumed = 0;                       ///< liars; what is proven against fewer does not count
  std::vector<std::optional<Agreement>> rounds;  ///< the rounds that are decided
  /// Of all undecided rounds together, when none is decided.
  std::vector<Agreement> candidates;
  std::size_t rank = 0;          ///< of the errors in these, or in what decided the last round
  std::size_t solver_calls = 0;  ///< reductions of stacks and searches; 0 where every reply agrees
};

inline constexpr std::size_t kMaxCandidates = 64;

namespace detail {

/// Some rounds stacked, restricted to the servers that replied in all of them and are not known for liars.
template <SharingField F>
class Stack {
 public:
  using Elem = typename F::Elem;

  Stack(const strassen::Engine<F>& engine, std::span<const Elem> x, std::size_t degree,
        std::span<const RoundWords<F>* const> rounds, const std::vector<bool>& erased)
      : engine_(&engine), degree_(degree), l_(x.size()) {
    for (std::size_t j = 0; j < x.size(); ++j) {
      const bool everywhere = std::all_of(rounds.begin(), rounds.end(), [&](const auto* round) {
        return std::find(round->servers.begin(), round->servers.end(), j) != round->servers.end();
      });
      if (!everywhere || erased[j]) continue;
      servers_.push_back(j);
      x_.push_back(x[j]);
    }
    for (const auto* round : rounds) {
      for (const auto& word : round->basis) {
        auto& restricted = words_.emplace_back();
        for (const auto server : servers_) restricted.push_back(word[server]);
      }
    }
  }

  std::size_t size() const noexcept { return servers_.size(); }
  bool decodable() const noexcept { return size() > degree_; }
  std::size_t rank() const noexcept { return rank_; }
  const std::vector<Agreement>& candidates() const noexcept { return candidates_; }
  /// Every agreement of degree + 2 servers is among the candidates.
  bool complete() const noexcept { return complete_; }
  /// The most liars that can be corrected at all.
  std::size_t correctable() const noexcept { return size() < degree_ + 2 ? 0 : size() - degree_ - 2; }

  /// Reduces the words and tries what costs nothing more: all agree, or errors of full rank.
  Result<void> reduce_and_check(Budget& reductions) {
    if (!reductions.spend(std::uint64_t{size()} * size() * words_.size() + 1)) return {};
    PIRX_ASSIGN(auto Y, matrix::Matrix<typename F::Sum>::create(size(), words_.size()));
    for (std::size_t w = 0; w < words_.size(); ++w) {
      for (std::size_t r = 0; r < size(); ++r) Y.at(r, w) = words_[w][r];
    }
    const std::vector<Elem> ones(size(), engine_->field().one());
    const QueryReplies<F> query{std::as_const(Y).view(), ones, ones, reductions.stop()};
    std::vector<std::size_t> rows(size());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    PIRX_ASSIGN(auto reduction, reduce(*engine_, std::span<const Elem>(x_), degree_,
                                       std::span<const std::size_t>(rows), std::span(&query, 1)));
    rank_ = reduction.rank();
    if (rank_ == 0) {
      add(std::vector<bool>(size(), true));
    } else if (const auto agrees = metzner_kapturowski(engine_->field(), reduction)) {
      add(*agrees);
    }
    words_ = std::move(reduction.basis);  // they span the errors of all
    return {};
  }

  /// Looks for all agreements that leave so many liars at most, no more than correctable(). False when others
  /// may be missing, so that nothing is known by there being no other.
  bool find(std::size_t liars, Budget& budget) {
    if (subsets_to_search(degree_, liars) > kMaxSubsets) return false;
    const bool all = complete_search(engine_->field(), std::span<const Elem>(x_), degree_,
                                     std::span<const Word<F>>(words_), liars, budget,
                                     [&](const std::vector<bool>& agrees) {
                                       if (candidates_.size() == kMaxCandidates) return false;
                                       add(agrees);
                                       return true;
                                     });
    if (all && candidates_.size() == 1) candidates_[0].bound = std::max(candidates_[0].bound, liars);
    return all;
  }

  /// Looks for all agreements, with `declared` liars first, then with as many as can be corrected; by the
  /// common locator where that is too much. After reduce_and_check() found none. The locator has a budget of
  /// its own, since a search that is too much has spent all of its.
  void search(std::size_t declared, Budget& searches, Budget& locators) {
    const std::size_t most = correctable();
    if (most == 0 || size() < degree_ + 2) return;
    for (const auto liars : {std::min(declared, most), most}) {
      if (liars == 0) continue;
      if (!find(liars, searches)) {
        if (candidates_.size() == kMaxCandidates) return;
        break;
      }
      complete_ = liars == most;
      if (!candidates_.empty() || complete_) return;
    }
    find_by_locator(locators);
  }

  /// In place of the candidates that there are, the one that the common locator finds.
  void find_by_locator(Budget& budget) {
    candidates_.clear();
    if (const auto agrees = common_locator(engine_->field(), std::span<const Elem>(x_), degree_,
                                           std::span<const Word<F>>(words_), budget)) {
      add(*agrees);
    }
  }

  /// The candidate that is proven for a caller who expects at most `declared` liars, if there is one.
  const Agreement* proven(std::size_t declared) const {
    for (const auto& candidate : candidates_) {
      const std::size_t accused = size() - agreeing(candidate);
      if (size() > degree_ + 1 && candidate.bound >= std::max(declared, accused)) return &candidate;
    }
    return nullptr;
  }
  std::size_t agreeing(const Agreement& candidate) const {
    return static_cast<std::size_t>(std::count(candidate.agrees.begin(), candidate.agrees.end(), true));
  }

 private:
  void add(const std::vector<bool>& agrees) {
    const auto count = static_cast<std::size_t>(std::count(agrees.begin(), agrees.end(), true));
    Agreement candidate{std::vector<bool>(l_, false), proof_bound(size(), degree_, count, rank_), false};
    for (std::size_t r = 0; r < size(); ++r) candidate.agrees[servers_[r]] = agrees[r];
    candidates_.push_back(std::move(candidate));
  }

  const strassen::Engine<F>* engine_;
  std::size_t degree_, l_;
  std::vector<std::size_t> servers_;
  std::vector<Elem> x_;
  std::vector<Word<F>> words_;
  std::size_t rank_ = 0;
  std::vector<Agreement> candidates_;
  bool complete_ = false;
};

/// All servers of the round that agree with the polynomials through those in `agrees`: also the ones that
/// were left out of the stack.
template <SharingField F>
Result<std::vector<bool>> extend(const F& f, std::span<const typename F::Elem> x, std::size_t degree,
                                 const RoundWords<F>& round, const std::vector<bool>& agrees) {
  // Those who agree first.
  auto servers = round.servers;
  std::partition(servers.begin(), servers.end(), [&](std::size_t server) { return agrees[server]; });
  PIRX_ASSIGN(const auto prediction, interpolate(f, x, degree, std::span<const std::size_t>(servers),
                                                 degree + 1, std::span<const typename F::Elem>()));
  std::vector<bool> all(x.size(), false);
  for (const auto server : prediction.base) all[server] = true;
  for (std::size_t z = 0; z < prediction.checked.size(); ++z) {
    const auto server = prediction.checked[z];
    all[server] = std::all_of(round.basis.begin(), round.basis.end(), [&](const Word<F>& word) {
      auto value = f.zero();
      for (std::size_t i = 0; i < prediction.base.size(); ++i) {
        value = f.add(value, f.mul(prediction.predicted[z][i], word[prediction.base[i]]));
      }
      return f.equal(value, word[server]);
    });
  }
  return all;
}

}  // namespace detail

/// Who may have told the truth in a round where the words of those who did are code words of that degree:
/// every server of an agreement that leaves `declared` liars at most, or as few more as there are
/// agreements for. The others lied, unless more servers than the bound did. `named`: who is known to have
/// lied, of whom nothing is said. Nothing where nobody can be told apart. `stop` as for locate().
template <SharingField F>
Result<std::optional<Agreement>> locate_beside(const strassen::Engine<F>& engine,
                                               std::span<const typename F::Elem> x, std::size_t degree,
                                               const RoundWords<F>& round, const std::vector<bool>& named,
                                               std::size_t declared, const Stop* stop = nullptr) {
  const auto known = static_cast<std::size_t>(std::count(named.begin(), named.end(), true));
  const RoundWords<F>* only[] = {&round};
  detail::Stack<F> stack(engine, x, degree, only, named);
  Budget searches(kMaxSearchWork / kProductCost<F>, stop), locators = searches;
  Budget reductions(kMaxReductionWork / kProductCost<F>, stop);
  if (!stack.decodable()) return std::optional<Agreement>();
  PIRX_TRY(stack.reduce_and_check(reductions));
  const std::size_t assumed = declared > known ? declared - known : 0;
  std::size_t bound = 0;
  for (std::size_t liars = std::max<std::size_t>(assumed, 1);
       liars <= stack.correctable() && stack.candidates().empty(); ++liars) {
    if (!stack.find(liars, searches)) {
      stack.find_by_locator(locators);
      break;
    }
    bound = liars;
  }
  if (stack.candidates().empty()) return std::optional<Agreement>();
  if (stack.candidates().size() == 1) {
    bound = stack.candidates()[0].bound;
    if (bound < std::max(assumed, stack.size() - stack.agreeing(stack.candidates()[0]))) {
      return std::optional<Agreement>();
    }
  }
  Agreement found{std::vector<bool>(x.size(), false), bound + known, true};
  for (const auto& candidate : stack.candidates()) {
    for (const auto server : round.servers) {
      if (candidate.agrees[server]) found.agrees[server] = true;
    }
  }
  return found;
}

/// Decides rounds that were answered by servers with coordinates x, over polynomials of that degree. Each
/// round alone, then all stacks of them; a server that is proven a liar is erased everywhere, and the rest
/// tried again. `liars`: as many the caller is willing to assume, but at least (k - degree - 1) / 2 of the
/// round with most replies, which always proves an answer against so many: what a round of fewer replies
/// could prove against fewer must not stand in its way. At most kMaxRounds rounds. Bounded by Budget. Once
/// `stop` returns true, the result is Undecodable or a verdict that the caller must not use.
template <SharingField F>
Result<Verdict> locate(const strassen::Engine<F>& engine, std::span<const typename F::Elem> x,
                       std::size_t degree, std::span<const RoundWords<F>> rounds,
                       std::optional<unsigned> liars, const Stop* stop = nullptr) {
  PIRX_CHECK(rounds.size() <= kMaxRounds);
  using Stack = detail::Stack<F>;
  Verdict verdict;
  verdict.rounds.resize(rounds.size());
  std::vector<bool> erased(x.size(), false);
  std::size_t known_liars = 0, chain = x.size();
  Budget searches(kMaxSearchWork / kProductCost<F>, stop), locators = searches;
  Budget reductions(kMaxReductionWork / kProductCost<F>, stop);

  std::size_t most_replies = degree + 1;
  for (const auto& round : rounds) most_replies = std::max(most_replies, round.servers.size());
  verdict.assumed = std::max<std::size_t>(liars.value_or(0), (most_replies - degree - 1) / 2);
  const auto declared = [&] { return verdict.assumed - std::min(verdict.assumed, known_liars); };
  const auto undecided = [&] {
    std::vector<std::size_t> list;
    for (std::size_t r = 0; r < rounds.size(); ++r) {
      if (!verdict.rounds[r] && !rounds[r].basis.empty()) list.push_back(r);
    }
    return list;
  };
  const auto stack_of = [&](std::span<const std::size_t> list) {
    std::vector<const RoundWords<F>*> chosen;
    for (const auto r : list) chosen.push_back(&rounds[r]);
    ++verdict.solver_calls;
    return Stack(engine, x, degree, chosen, erased);
  };
  const auto decide = [&](std::span<const std::size_t> list, const Agreement& found) -> Result<void> {
    // Of those who lied, `known_liars` are out of the stack: true unless more lied than they were proven for.
    chain = std::min(chain, found.bound + known_liars);
    for (const auto r : list) {
      PIRX_ASSIGN(auto agrees, detail::extend(engine.field(), x, degree, rounds[r], found.agrees));
      for (const auto server : rounds[r].servers) {
        if (agrees[server] || erased[server]) continue;
        erased[server] = true;
        ++known_liars;
      }
      verdict.rounds[r] = Agreement{std::move(agrees), chain, true};
    }
    return {};
  };

  // degree + 1 replies always agree: a round of so few says nothing where others say more.
  const bool redundant = std::any_of(rounds.begin(), rounds.end(),
                                     [&](const auto& round) { return round.servers.size() > degree + 1; });
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    const std::size_t k = rounds[r].servers.size();
    if (k < degree + 1 || !rounds[r].basis.empty() || (k == degree + 1 && redundant)) continue;
    const std::size_t bound = k - degree - 1;
    Agreement all{std::vector<bool>(x.size(), false), bound, bound > 0 && bound >= verdict.assumed};
    for (const auto server : rounds[r].servers) all.agrees[server] = true;
    verdict.rounds[r] = std::move(all);
  }

  // Small stacks first: liars who differ from round to round spoil large ones. All by rank before any search.
  for (bool again = true; again;) {
    again = false;
    const auto open = undecided();
    for (const bool thorough : {false, true}) {
      for (std::size_t size = 1; size <= open.size() && !again; ++size) {
        for (std::size_t mask = 1; mask < (std::size_t{1} << open.size()) && !again; ++mask) {
          if (static_cast<std::size_t>(std::popcount(mask)) != size) continue;
          std::vector<std::size_t> list;
          for (std::size_t i = 0; i < open.size(); ++i) {
            if (mask >> i & 1) list.push_back(open[i]);
          }
          auto stack = stack_of(list);
          if (!stack.decodable()) continue;
          PIRX_TRY(stack.reduce_and_check(reductions));
          if (thorough && stack.candidates().empty()) {
            stack.search(declared(), searches, locators);
          }
          if (const auto* found = stack.proven(declared())) {
            verdict.rank = stack.rank();
            PIRX_TRY(decide(list, *found));
            again = true;
          }
        }
      }
    }
  }

  if (std::any_of(verdict.rounds.begin(), verdict.rounds.end(),
                  [](const auto& round) { return round.has_value(); })) {
    verdict.status = DecodeStatus::kOk;
    return verdict;
  }
  const auto open = undecided();
  if (open.empty()) return verdict;
  auto stack = stack_of(open);
  if (!stack.decodable()) return verdict;
  PIRX_TRY(stack.reduce_and_check(reductions));
  if (stack.candidates().empty()) stack.search(declared(), searches, locators);
  verdict.rank = stack.rank();
  verdict.candidates = stack.candidates();
  const std::size_t most = stack.correctable();
  // A single round without any agreement of degree + 2 servers is beyond repair; several may have had other
  // liars.
  const bool hopeless = most == 0 || (open.size() == 1 && stack.complete() && verdict.candidates.empty());
  // Two further queries that add nothing: errors that follow the shares, as those of another database do.
  bool stalled = open.size() == kMaxRounds;
  if (open.size() >= 3) {
    auto earlier = stack_of(std::span(open).first(open.size() - 2));
    if (earlier.size() == stack.size()) {
      PIRX_TRY(earlier.reduce_and_check(reductions));
      stalled = stalled || earlier.rank() == stack.rank();
    }
  }
  if (!hopeless && !stalled && liars.value_or(0) <= known_liars + most) {
    verdict.status = DecodeStatus::kNeedMoreQueries;
  } else if (!verdict.candidates.empty()) {
    verdict.status = DecodeStatus::kAmbiguous;
  }
  return verdict;
}

}  // namespace pirx::itpir::goldberg::decoding
