// SPDX-License-Identifier: Apache-2.0
// GoldbergCollector<F>: takes replies, checks that they agree, decodes them, and says who lied and how
// certain the records are. It runs after the network is done with a query. decode() decides without the
// wanted rows whether to ask again. Only finish(), which cuts records out of rows, knows them.
#pragma once

#include "decoding/locate.h"
#include "itpir/client_messages.h"
#include "pirx/batchcodes/fields.h"
#include "pirx/batchcodes/polynomial_code.h"
#include "pirx/itpir/goldberg/client.h"
#include "src/base/constant_time.h"
#include "wishes.h"

namespace pirx::itpir::goldberg {

/// What a client keeps of a query.
template <SharingField F>
struct GoldbergState final : ClientState {
  GoldbergState(std::shared_ptr<const Params> of, Wishes wanted, SecretVector<typename F::Elem> scalars)
      : params(std::move(of)), wishes(std::move(wanted)), blinding(std::move(scalars)) {}
  std::shared_ptr<const Params> params;
  Wishes wishes;
  SecretVector<typename F::Elem> blinding;
};

template <SharingField F>
class GoldbergCollector : public ReplyCollector {
 public:
  using Elem = typename F::Elem;
  using Sum = typename F::Sum;

  /// `spec` and `encoding` as for GoldbergClient; the spec must outlive the collector. GoldbergClient::query
  /// took the wishes; `blinding` as it made it for them.
  GoldbergCollector(strassen::Engine<F> engine, const Params::Spec& spec, batchcodes::Encoding encoding,
                    Wishes wishes, SecretVector<Elem> blinding, DecodeOptions options = {});
  /// A further query for the same wishes.
  Result<void> ask_again(const Wishes& wishes, SecretVector<Elem> blinding);
  Result<void> ask_again(std::unique_ptr<ClientState> state) override {
    auto* again = dynamic_cast<GoldbergState<F>*>(state.get());
    if (again == nullptr || &again->params->spec() != spec_) {
      return invalid("a further query must be of the client that made the first");
    }
    return ask_again(again->wishes, std::move(again->blinding));
  }

  Result<void> add(std::size_t server, ByteSpan reply) override;
  void set_missing(std::size_t server, ServerStatus why) override {
    note_missing(rounds_.back().status, server, why);
  }
  bool settled(unsigned liars) const override;
  Result<DecodeReport> decode() override;
  Result<Answer> finish() && override;

  /// Reductions of stacked rounds and searches that decode() needed; 0 where every reply agrees.
  std::size_t solver_calls() const noexcept { return verdict_ ? verdict_->solver_calls : 0; }

 private:
  static constexpr std::uint64_t kMaxCheckedSubsets = std::uint64_t{1} << 14;
  /// Multiply-adds of a search by digests, some seconds of a slow field.
  static constexpr std::uint64_t kMaxCheckedWork = std::uint64_t{1} << 34;
  static constexpr std::uint64_t kVisit = std::uint64_t{1}
                                          << 17;  ///< what looking at an answer takes at least
  /// What one decoding has looked at for want of a proof, or to contest one.
  struct Weighed {
    explicit Weighed(const Stop& stop)
        : searches(decoding::kMaxSearchWork / decoding::kProductCost<F>, &stop) {}
    std::uint64_t work = 0;  ///< multiply-adds
    decoding::Budget searches;
  };

  /// The replies to one query message.
  struct Round {
    std::vector<ServerStatus> status;         ///< by server; kOk until the decoder knows better
    SecretVector<Elem> blinding, unblinding;  ///< of vector i and server j at i * l + j
    matrix::Matrix<Sum> replies;              ///< a row per server, its query vectors side by side
    std::vector<std::size_t> servers;         ///< whose rows are filled, as they came
    mutable std::size_t checked = 0;          ///< replies known to be consistent
    mutable bool consistent = true;
    std::size_t reduced = 0;  ///< replies that basis and rows are about
    std::vector<decoding::Word<F>> basis;
    matrix::Matrix<Sum> rows;  ///< slot m of vector i at i * q + m, where all replies agree
  };

  const F& field() const noexcept { return engine_.field(); }
  std::span<const Elem> coordinates() const noexcept { return code_.coordinates(); }  ///< by server
  std::size_t degree() const noexcept { return code_.encoding().degree(); }
  std::size_t needed() const noexcept { return degree() + 1; }
  bool checks_records() const { return itpir::checks_records(options_, spec_->geometry, wishes_.kind); }
  std::size_t vectors() const noexcept { return plan_.queries(); }
  std::size_t ramp() const noexcept { return code_.encoding().spec().ramp; }

  static batchcodes::BatchPlan planned(const batchcodes::Encoding& encoding, const Params::Spec& spec,
                                       const Wishes& wishes) {
    auto plan = plan_wishes(encoding, spec.geometry, wishes);
    PIRX_CHECK(plan.has_value());  // as it was when the query was made
    return std::move(*plan);
  }

  void begin_round(SecretVector<Elem> blinding) {
    PIRX_CHECK(blinding.size() == vectors() * coordinates().size());
    Round round;
    round.status.assign(coordinates().size(), ServerStatus::kSilent);
    round.unblinding = SecretVector<Elem>(std::as_const(blinding).expose());
    invert_all(field(), round.unblinding.expose());
    round.blinding = std::move(blinding);
    rounds_.push_back(std::move(round));
    verdict_.reset();
  }

  /// The replies to vector i, of its words only `count` from `first` on.
  decoding::QueryReplies<F> query(const Round& round, std::size_t i, std::size_t first,
                                  std::size_t count) const {
    const std::size_t l = coordinates().size();
    return {round.replies.view().window(0, i * words_ + first, l, count),
            round.blinding.expose().subspan(i * l, l), round.unblinding.expose().subspan(i * l, l),
            &options_.stop};
  }

  /// The polynomials through the first of `servers`; those from `from` on are checked. Their values at
  /// `secrets` are wanted.
  Result<decoding::Prediction<F>> predict(std::span<const std::size_t> servers, std::size_t from,
                                          std::span<const Elem> secrets = {}) const {
    return decoding::interpolate(field(), coordinates(), degree(), servers, from, secrets);
  }

  /// Whether all replies of the round lie on polynomials of degree d. Each reply is compared once, however
  /// often this is asked.
  Result<bool> check_new_replies(const Round& round) const {
    const std::size_t from = std::max(round.checked, needed());
    if (!round.consistent || round.servers.size() <= from) return round.consistent;
    PIRX_ASSIGN(const auto prediction, predict(round.servers, from));
    for (std::size_t i = 0; i < vectors() && round.consistent; ++i) {
      PIRX_ASSIGN(const auto column,
                  decoding::first_difference(engine_, query(round, i, 0, words_), prediction, 0, {}));
      round.consistent = !column;
    }
    round.checked = round.servers.size();
    return round.consistent;
  }

  /// Rows that some servers make, one per slot, and where another contradicts.
  struct MadeRows {
    matrix::Matrix<Sum> rows;
    std::optional<decoding::Position> contradiction;
  };
  /// The rows of the first of `servers`; those from `from` on are compared, up to a contradiction.
  Result<MadeRows> make_rows(const Round& round, std::span<const std::size_t> servers,
                             std::size_t from) const {
    decoding::Prediction<F> prediction;
    MadeRows made;
    PIRX_ASSIGN(made.rows, matrix::Matrix<Sum>::create(vectors() * ramp(), words_));
    for (std::size_t i = 0; i < vectors() && !made.contradiction; ++i) {
      if (i == 0 || code_.encoding().has_data_coordinates()) {
        const auto secrets = code_.secret_coordinates(plan_.query(i));
        PIRX_ASSIGN(prediction, predict(servers, from, secrets.expose()));
      }
      PIRX_ASSIGN(const auto column,
                  decoding::first_difference(engine_, query(round, i, 0, words_), prediction, 0,
                                             made.rows.view().window(i * ramp(), 0, ramp(), words_)));
      if (column) made.contradiction = decoding::Position{i, *column};
    }
    return made;
  }

  /// The fast path: makes the wanted rows while it checks the replies; what contradicts is reduced.
  Result<void> reduce(Round& round) {
    const std::size_t k = round.servers.size();
    if (k < needed() || round.reduced == k) return {};
    decoding::Position start;
    if (round.consistent) {
      PIRX_ASSIGN(auto made, make_rows(round, round.servers, std::max(round.checked, needed())));
      round.consistent = !made.contradiction;
      round.checked = k;
      if (round.consistent) {
        round.rows = std::move(made.rows);
        round.reduced = k;
        return {};
      }
      start = *made.contradiction;
    }
    auto servers = round.servers;
    std::sort(servers.begin(), servers.end());
    std::vector<decoding::QueryReplies<F>> queries;
    for (std::size_t i = 0; i < vectors(); ++i) queries.push_back(query(round, i, 0, words_));
    PIRX_ASSIGN(auto reduction,
                decoding::reduce(engine_, coordinates(), degree(), std::span<const std::size_t>(servers),
                                 std::span<const decoding::QueryReplies<F>>(queries), start));
    round.basis = std::move(reduction.basis);
    round.reduced = k;
    return {};
  }

  Result<void> locate() {
    if (verdict_) return {};
    std::vector<decoding::RoundWords<F>> words;
    for (auto& round : rounds_) {
      PIRX_TRY(reduce(round));
      words.push_back({round.servers, round.basis});
    }
    PIRX_ASSIGN(verdict_, decoding::locate(engine_, coordinates(), degree(),
                                           std::span<const decoding::RoundWords<F>>(words), options_.liars,
                                           &options_.stop));
    auto in_time = decoding::check_stop(&options_.stop);
    if (!in_time) verdict_.reset();
    return in_time;
  }

  tl::unexpected<Error> too_few() const {
    const auto& status = rounds_.back().status;
    const auto holding = std::count_if(status.begin(), status.end(), [](ServerStatus one) {
      return one == ServerStatus::kOk || one == ServerStatus::kStaleEpoch;
    });
    return too_few_replies(status, "at least " + std::to_string(needed()) + " are needed",
                           static_cast<std::size_t>(holding) >= needed());
  }

  /// The rows of the servers that agree, compared in all words once more.
  Result<matrix::Matrix<Sum>> agreed_rows(Round& round, const std::vector<bool>& agrees) const {
    auto servers = round.servers;
    std::erase_if(servers, [&](std::size_t server) { return !agrees[server]; });
    if (servers.size() == round.servers.size() && round.rows.rows() != 0) return std::move(round.rows);
    PIRX_ASSIGN(auto made, make_rows(round, servers, needed()));
    if (made.contradiction) return fail(ErrorCode::kInternal, "the decoder found servers that do not agree");
    return std::move(made.rows);
  }

  Result<Answer> decode_agreed(Round& round, const decoding::Agreement& agreement) {
    PIRX_ASSIGN(const auto rows, agreed_rows(round, agreement.agrees));
    const auto cut = cut_records(rows.view());
    auto records =
        cut.and_then([&](const std::vector<Bytes>& found) { return read_found(options_, 0, found); });
    const auto k = round.servers.size();
    const auto agreeing =
        static_cast<std::size_t>(std::count(agreement.agrees.begin(), agreement.agrees.end(), true));
    // Where fewer agree than --liars asks for, and others contradict them, they may be the liars.
    bool contradicted = false;
    for (std::size_t r = 0; r < rounds_.size() && !agreement.proven; ++r) {
      contradicted = contradicted || (!verdict_->rounds[r] && rounds_[r].servers.size() > needed());
    }
    const std::string split = "replies to one query agree, and those to another do not";
    if (!records && contradicted) return settle(split);
    if (!records && records.error().code() != ErrorCode::kDataLoss) {
      return tl::unexpected(std::move(records.error()));
    }
    if (!records && agreeing == needed()) {
      return undecodable(round,
                         "the record they make is damaged, so one of them lied or the database is corrupt");
    }
    if (!records) {
      const std::string corrupt =
          "the servers agree on a damaged record: their database is corrupt (run pirx db "
          "verify there), or more than " +
          std::to_string(agreement.bound) + " of " + std::to_string(k) + " servers lied";
      // Too many liars may have agreed with one another; the checks then find the honest ones.
      if (agreeing < k && checks_records()) {
        auto found = settle(corrupt);
        if (found || found.error().code() != ErrorCode::kUndecodable) return found;
      }
      return fail(ErrorCode::kDataLoss, corrupt);
    }
    if (agreement.proven || contradicted) {
      Weighed weighed(options_.stop);
      for (const Round& other : rounds_) {
        if (other.servers.size() < needed() || (&other == &round && agreeing == k)) continue;
        PIRX_ASSIGN(const bool contested, contests_absence(other, *records, round, agreement, weighed));
        if (!contested) continue;
        const std::string why =
            "most say that a key has no record, and others make one whose digest is right";
        if (!options_.believe) return undecodable(other, why);
        PIRX_ASSIGN(auto believed, weigh(other, why));
        if (believed) return std::move(*believed);
      }
    }
    if (contradicted) return settle(split);
    Answer answer = begin_answer(round);
    answer.proof_bound = static_cast<unsigned>(agreement.bound);
    if (agreement.proven) {
      auto named = name_liars(answer, round, agreement, rows.view());
      // The answer stands without the liars of other rounds whom there is no time to name.
      if (!named && decoding::check_stop(&options_.stop)) return tl::unexpected(std::move(named.error()));
    }
    if (agreement.proven && answer.proof_bound >= options_.liars.value_or(0)) {
      answer.certainty = Certainty::kProven;
    } else if (checks_records() && speaks_for(options_.believe, *records)) {
      answer.certainty = Certainty::kProbable;
    }
    answer.set_records(std::move(*records));
    return answer;
  }

  /// An unverified one, without its records.
  Answer begin_answer(const Round& round) const {
    Answer answer;
    answer.responders = static_cast<unsigned>(round.servers.size());
    answer.rounds = static_cast<unsigned>(rounds_.size());
    answer.servers = rounds_.back().status;
    return answer;
  }

  /// Names everybody who lied in any round, given the rows that round `proven` proves. Rounds that were
  /// decided for these rows have named their liars; the replies to the others are compared with the rows. The
  /// answer's bound becomes that of all which was found.
  Result<void> name_liars(Answer& answer, const Round& proven, const decoding::Agreement& agreement,
                          matrix::ConstView<Sum> rows) {
    std::vector<bool> named(coordinates().size(), false);
    const auto accuse = [&](const Round& round, const decoding::Agreement& found) {
      for (const auto server : round.servers) {
        if (found.agrees[server] || named[server]) continue;
        named[server] = true;
        answer.servers[server] = ServerStatus::kLied;
        answer.proof_bound = std::min(answer.proof_bound, static_cast<unsigned>(found.bound));
      }
    };
    accuse(proven, agreement);
    std::vector<Round*> others;
    for (std::size_t r = 0; r < rounds_.size(); ++r) {
      Round& round = rounds_[r];
      if (&round == &proven) continue;
      const auto& decided = verdict_->rounds[r];
      if (decided) {
        auto servers = round.servers;
        std::erase_if(servers, [&](std::size_t server) { return !decided->agrees[server]; });
        PIRX_ASSIGN(const auto made, make_rows(round, servers, needed()));
        if (equal_rows(made.rows.view(), rows)) {
          accuse(round, *decided);
          continue;
        }
      }
      others.push_back(&round);
    }
    for (Round* round : others) {
      PIRX_ASSIGN(const auto found, compare(*round, rows, named));
      if (found) accuse(*round, *found);
    }
    return {};
  }

  bool equal_rows(matrix::ConstView<Sum> a, matrix::ConstView<Sum> b) const {
    for (std::size_t p = 0; p < wishes_.size() * parts(); ++p) {
      const std::size_t row = plan_.place(p);
      if (decoding::detail::first_unequal(field(), words_, a.row(row), b.row(row)) != words_) return false;
    }
    return true;
  }

  /// Who agrees with known rows in a round, as far as can be told; its replies are spent. What is left of
  /// polynomials of degree d whose values at n secrets are subtracted has the n secrets as roots: divided by
  /// them, polynomials of degree d - n.
  Result<std::optional<decoding::Agreement>> compare(Round& round, matrix::ConstView<Sum> rows,
                                                     const std::vector<bool>& named) {
    const F& f = field();
    const std::size_t l = coordinates().size();
    // A slot that nothing was put into (a record asked for twice) has another value in every round.
    std::vector<std::vector<std::size_t>> filled(vectors());
    for (std::size_t i = 0; i < vectors(); ++i) {
      const auto slots = plan_.query(i);
      for (std::size_t m = 0; m < ramp(); ++m) {
        if (slots[m * (slots.size() / ramp())].filled) filled[i].push_back(m);
      }
    }
    std::size_t known = ramp();
    for (const auto& slots : filled) {
      if (!slots.empty()) known = std::min(known, slots.size());
    }
    if (round.servers.size() + known <= degree()) return std::optional<decoding::Agreement>();

    std::vector<Elem> x;
    for (const auto server : round.servers) x.push_back(coordinates()[server]);
    const auto blinding = round.blinding.expose();
    std::vector<decoding::QueryReplies<F>> queries;
    for (std::size_t i = 0; i < vectors(); ++i) {
      if (filled[i].empty()) continue;
      const auto all_secrets = code_.secret_coordinates(plan_.query(i));
      SecretVector<Elem> secrets(known);
      for (std::size_t n = 0; n < known; ++n) secrets.expose()[n] = all_secrets.expose()[filled[i][n]];
      PIRX_ASSIGN(const auto weights,
                  lagrange_matrix(f, std::as_const(secrets).expose(), std::span<const Elem>(x)));
      for (std::size_t z = 0; z < x.size(); ++z) {
        PIRX_TRY(decoding::check_stop(&options_.stop));
        const std::size_t server = round.servers[z];
        Elem& scalar = blinding[i * l + server];
        for (std::size_t n = 0; n < known; ++n) {
          const Elem weight = f.sub(f.zero(), f.mul(scalar, weights.at(z, n)));
          engine_.kernels().muladd_sums(f, 1, 1, words_, &weight, 1, rows.row(i * ramp() + filled[i][n]),
                                        rows.stride, round.replies.row(server) + i * words_, words_);
        }
        for (const auto& secret : std::as_const(secrets).expose())
          scalar = f.mul(scalar, f.sub(x[z], secret));
      }
      queries.push_back(query(round, i, 0, words_));
    }
    std::copy(blinding.begin(), blinding.end(), round.unblinding.expose().begin());
    invert_all(f, round.unblinding.expose());

    auto servers = round.servers;
    std::sort(servers.begin(), servers.end());
    PIRX_ASSIGN(auto reduction, decoding::reduce(engine_, coordinates(), degree() - known,
                                                 std::span<const std::size_t>(servers),
                                                 std::span<const decoding::QueryReplies<F>>(queries)));
    PIRX_ASSIGN(auto found, decoding::locate_beside(engine_, coordinates(), degree() - known,
                                                    decoding::RoundWords<F>{servers, reduction.basis}, named,
                                                    verdict_->assumed, &options_.stop));
    PIRX_TRY(decoding::check_stop(&options_.stop));
    return found;
  }

  tl::unexpected<Error> undecodable(const Round& round, const std::string& why) const {
    return fail(ErrorCode::kUndecodable, std::to_string(round.servers.size()) + " replies, of which " +
                                             std::to_string(needed()) + " make a record: " + why);
  }

  /// Where replies alone prove nothing, or the wrong thing. `why` begins the message when nothing else proves
  /// it either.
  Result<Answer> settle(const std::string& why) {
    // The latest round of those with most replies.
    const Round* fullest = &rounds_.back();
    for (auto r = rounds_.rbegin(); r != rounds_.rend(); ++r) {
      if (r->servers.size() > fullest->servers.size()) fullest = &*r;
    }
    if (!checks_records()) return undecodable(*fullest, why + " and the database keeps no digests");
    PIRX_ASSIGN(auto answer, weigh(*fullest, why));
    if (!answer) return undecodable(*fullest, why + " and no answer has the right digests");
    return std::move(*answer);
  }

  /// Weighs the answers that any d + 1 of the replies make. The honest ones make the true answer, so that a
  /// single answer with the right digests is probably that one, and of two nobody knows. Two records with
  /// right digests for one wish are two answers, also in answers that lack a record for another wish. Who
  /// took no part in it in a round where others made it is suspected. Nothing where no answer is right.
  Result<std::optional<Answer>> weigh(const Round& round, const std::string& why) {
    std::vector<std::size_t> wishes(wishes_.size());
    std::iota(wishes.begin(), wishes.end(), std::size_t{0});
    std::optional<Records> only;
    Records fitting;  // for each wish, the record whose digest is right, in whatever answer
    std::vector<bool> agrees, suspected(coordinates().size(), false);
    bool several = false, all = true;
    Weighed weighed(options_.stop);
    const auto note = [&](std::span<const std::size_t> by, const std::vector<Bytes>& found) {
      auto records = read_found(options_, 0, found);
      if (!records) return true;
      const bool right = speaks_for(options_.believe, *records);
      if (options_.believe) {
        several = right && only && *only != *records;
      } else {
        fitting.resize(records->size());
        for (std::size_t i = 0; i < fitting.size(); ++i) {
          const auto& record = (*records)[i];
          if (!record) continue;  // no digest speaks for that: a wrong sum reads so, too
          several = several || (fitting[i] && *fitting[i] != *record);
          fitting[i] = record;
        }
      }
      if (several || !right) return !several;
      only = std::move(*records);
      for (const auto server : by) agrees[server] = true;
      return true;
    };
    const auto look_at = [&](const Round& one) -> Result<void> {
      agrees.assign(coordinates().size(), false);
      PIRX_ASSIGN(const bool complete, each_answer(one, one.servers, wishes, weighed, note));
      all = all && complete;
      if (std::find(agrees.begin(), agrees.end(), true) == agrees.end()) return {};
      for (const auto server : one.servers) suspected[server] = suspected[server] || !agrees[server];
      return {};
    };
    PIRX_TRY(look_at(round));
    // The honest ones may be together in another round only.
    for (const Round& other : rounds_) {
      if (several || &other == &round || other.servers.size() < needed()) continue;
      PIRX_TRY(look_at(other));
    }
    if (several) {
      return undecodable(round, why + " and several answers have the right digests, each made by " +
                                    std::to_string(needed()) +
                                    " servers or more: only a check of your own can tell which is true");
    }
    if (!all) {
      return undecodable(round, why + " and there are too many ways to choose " + std::to_string(needed()) +
                                    " of them to weigh every answer");
    }
    if (!only) return std::optional<Answer>();
    Answer answer = begin_answer(round);
    answer.certainty = Certainty::kProbable;
    answer.set_records(std::move(*only));
    for (std::size_t server = 0; server < suspected.size(); ++server) {
      if (suspected[server]) answer.servers[server] = ServerStatus::kSuspected;
    }
    return answer;
  }

  /// Whether d + 1 of the replies make a record with the right digest where `found`, which the servers of
  /// `agreement` make in round `decided`, has none: then more lied than the bound, or d + 1 of them forged it
  /// together. None of those servers takes part, so that one liar's words beside theirs, of which there are
  /// many choices, make no record by chance. Who is not known to have lied in a round that is proven may be
  /// honest, if `found` is proven; but no more than d of those who make another record are, as d + 1 honest
  /// servers make what is proven. False, too, where there are too many ways to choose d + 1, or to weigh what
  /// these made, or there is no time for it: liars who say all sorts of things must not undo what is proven.
  Result<bool> contests_absence(const Round& round, const Records& found, const Round& decided,
                                const decoding::Agreement& agreement, Weighed& weighed) const {
    std::vector<bool> lied(coordinates().size(), !agreement.proven);
    for (std::size_t r = 0; r < rounds_.size(); ++r) {
      const auto& verdict = verdict_->rounds[r];
      if (&rounds_[r] != &decided && !(verdict && verdict->proven)) continue;
      for (const auto server : rounds_[r].servers) lied[server] = lied[server] || !verdict->agrees[server];
    }
    auto servers = round.servers;
    std::erase_if(servers, [&](std::size_t server) { return agreement.agrees[server]; });
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i]) missing.push_back(i);
    }
    if (missing.empty() || servers.size() < needed() || too_many_subsets(servers.size())) return false;
    bool contested = false;
    for (std::size_t i = 0; i < missing.size() && !contested; ++i) {
      const auto contest = [&](std::span<const std::size_t> by, const std::vector<Bytes>& others) {
        const auto liars = static_cast<std::size_t>(
            std::count_if(by.begin(), by.end(), [&](std::size_t server) { return lied[server]; }));
        const std::size_t honest = std::min(by.size() - liars, degree());
        if (by.size() - honest < needed()) return true;
        const auto made = read_found(options_, missing[i], others);
        contested = made && made->front();
        return !contested;
      };
      const auto all = each_answer(round, servers, std::span(&missing[i], 1), weighed, contest);
      if (!all && all.error().code() != ErrorCode::kUndecodable) return tl::unexpected(all.error());
      if (!all || !*all) break;
    }
    return contested;
  }

  bool too_many_subsets(std::size_t servers) const {
    return decoding::subsets_to_search(degree(), servers - needed()) > kMaxCheckedSubsets;
  }

  /// Calls visit(servers, records) for every answer to these wishes that d + 1 of these servers' replies make
  /// and no digest contradicts, until it returns false. Only the words of the wanted slots are looked at:
  /// lies elsewhere in the rows must not cost the client its time. False where not all were visited: `visit`
  /// ended it, there are too many subsets, or the limits of `weighed` were reached.
  Result<bool> each_answer(const Round& round, std::vector<std::size_t> servers,
                           std::span<const std::size_t> wishes, Weighed& weighed,
                           const std::function<bool(std::span<const std::size_t> servers,
                                                    const std::vector<Bytes>& records)>& visit) const {
    std::sort(servers.begin(), servers.end());
    const std::size_t k = servers.size(), liars = k - needed();
    const auto each =
        checked_mul(wishes.size() * needed() * k * decoding::kProductCost<F>, slot(wishes[0]).bytes);
    if (too_many_subsets(k) || !each) return false;
    std::vector<decoding::QueryReplies<F>> slots;
    for (const auto wish : wishes) {
      const auto [first, count] = slot_words(wish);
      for (std::size_t part = 0; part < parts(); ++part) {
        slots.push_back(query(round, plan_.place(wish * parts() + part) / ramp(), first, count));
      }
    }
    const std::span<const decoding::QueryReplies<F>> all_slots(slots);
    PIRX_ASSIGN(const auto reduction, decoding::reduce(engine_, coordinates(), degree(),
                                                       std::span<const std::size_t>(servers), all_slots));
    std::vector<Elem> x;
    for (const auto server : servers) x.push_back(coordinates()[server]);
    std::vector<decoding::Word<F>> words;
    for (const auto& word : reduction.basis) {
      auto& restricted = words.emplace_back();
      for (const auto server : servers) restricted.push_back(word[server]);
    }
    std::optional<Error> end;
    const auto visit_agreement = [&](const std::vector<bool>& rows) {
      const auto taken = std::max(*each, kVisit);
      if (taken > kMaxCheckedWork - weighed.work) return false;
      weighed.work += taken;
      std::vector<std::size_t> members;
      for (std::size_t r = 0; r < k; ++r) {
        if (rows[r]) members.push_back(servers[r]);
      }
      auto found = read_slots(wishes, all_slots, members);
      if (found) return visit(members, *found);
      if (found.error().code() != ErrorCode::kDataLoss) end = std::move(found.error());
      return !end;
    };
    const bool all = decoding::complete_search(field(), std::span<const Elem>(x), degree(),
                                               std::span<const decoding::Word<F>>(words), liars,
                                               weighed.searches, visit_agreement);
    if (end) return tl::unexpected(std::move(*end));
    PIRX_TRY(decoding::check_stop(&options_.stop));
    return all;
  }

  /// What these servers make of the words of the wishes' slots, parts() of `slots` for each. DataLoss when it
  /// cannot be right. Addresses depend on the wishes, as only servers that lie make anybody come here.
  Result<std::vector<Bytes>> read_slots(std::span<const std::size_t> wishes,
                                        std::span<const decoding::QueryReplies<F>> slots,
                                        std::span<const std::size_t> servers) const {
    std::vector<Bytes> records;
    for (std::size_t k = 0; k < wishes.size(); ++k) {
      const auto [first, count] = slot_words(wishes[k]);
      PIRX_ASSIGN(auto blocks, matrix::Matrix<Sum>::create(parts(), count));
      for (std::size_t part = 0; part < parts(); ++part) {
        const std::size_t place = plan_.place(wishes[k] * parts() + part);
        const auto secrets = code_.secret_coordinates(plan_.query(place / ramp()));
        PIRX_ASSIGN(const auto prediction,
                    predict(servers, servers.size(), secrets.expose().subspan(place % ramp(), 1)));
        PIRX_TRY(decoding::first_difference(engine_, slots[k * parts() + part], prediction, 0,
                                            blocks.view().window(part, 0, 1, count)));
        if (part > 0) add_row(blocks.row(part), {blocks.row(0), count});
      }
      PIRX_ASSIGN(const auto bytes, bytes_of({blocks.row(0), count}, first));
      const auto [offset, size] = slot(wishes[k]);
      const auto wanted = bytes.expose().subspan(
          static_cast<std::size_t>(offset) - first * field().word_bytes(), static_cast<std::size_t>(size));
      PIRX_ASSIGN(auto data, read_slot(spec_->geometry, wishes_, wishes[k], wanted));
      records.push_back(std::move(data));
    }
    return records;
  }

  /// Slots whose sum is a wish.
  std::size_t parts() const noexcept { return slots_per_wish(code_.encoding(), wishes_.kind); }
  void add_row(const Sum* from, std::span<Sum> to) const {
    for (std::size_t w = 0; w < to.size(); ++w) to[w] = field().sum_add(to[w], from[w]);
  }

  SlotBytes slot(std::size_t wish) const { return slot_of(spec_->geometry, wishes_, wish); }

  /// The words of a row that cover what is wanted of it: the first, and how many.
  std::pair<std::size_t, std::size_t> slot_words(std::size_t wish) const {
    const auto [offset, bytes] = slot(wish);
    const std::uint64_t each = field().word_bytes();
    const std::uint64_t first = offset / each, end = div_up(offset + bytes, each);
    return {static_cast<std::size_t>(first), static_cast<std::size_t>(end - first)};
  }

  /// The bytes of words of a row, from word `first` on.
  Result<SecretVector<std::byte>> bytes_of(std::span<const Sum> sums, std::size_t first) const {
    const std::size_t each = field().word_bytes();
    SecretVector<std::byte> bytes(sums.size() * each);
    bool good = true;
    for (std::size_t w = 0; w < sums.size(); ++w) {
      good &= field().store_word(sums[w], bytes.expose().data() + w * each);
    }
    if (!reveal(good))
      return fail(ErrorCode::kDataLoss, "the record is damaged: a value is no database word");
    // What the last word holds behind the row is zero in every database; no digest covers it.
    const auto row_bytes = static_cast<std::size_t>(spec_->geometry.row_bytes());
    std::byte behind{0};
    for (std::size_t b = row_bytes - std::min(row_bytes, first * each); b < bytes.size(); ++b) {
      behind |= bytes.expose()[b];
    }
    if (!reveal(std::to_integer<std::uint64_t>(behind))) return bytes;
    return fail(ErrorCode::kDataLoss, "the record is damaged: its row does not end in zeros");
  }

  /// out = the row that is at `place` of `rows`. Passes over all of them if the place depends on the wishes.
  void take_row(matrix::ConstView<Sum> rows, std::size_t place, std::span<Sum> out) const {
    const auto row = [&](std::size_t i) { return std::as_bytes(std::span(rows.row(i), words_)); };
    const auto to = std::as_writable_bytes(out);
    if (!code_.encoding().has_data_coordinates()) {
      std::copy_n(rows.row(place), words_, out.begin());
      return;
    }
    for (std::size_t i = 0; i < rows.rows; ++i) {
      select(mask_equal(i, place), row(i), to, to);
    }
  }

  /// All that is wanted out of the rows of all slots. Whole rows are turned into bytes: that a word elsewhere
  /// in the row is none must not tell records of that row apart. No branch and no address depends on a wish.
  Result<std::vector<Bytes>> cut_records(matrix::ConstView<Sum> rows) const {
    const auto row_bytes = static_cast<std::size_t>(spec_->geometry.row_bytes());
    std::vector<Bytes> records;
    SecretVector<Sum> wanted(words_), addend(words_);
    for (std::size_t k = 0; k < wishes_.size(); ++k) {
      PIRX_TRY(decoding::check_stop(&options_.stop));
      take_row(rows, plan_.place(k * parts()), wanted.expose());
      for (std::size_t part = 1; part < parts(); ++part) {
        take_row(rows, plan_.place(k * parts() + part), addend.expose());
        add_row(std::as_const(addend).expose().data(), wanted.expose());
      }
      PIRX_ASSIGN(const auto bytes, bytes_of(std::as_const(wanted).expose(), 0));
      const auto [offset, size] = slot(k);
      SecretVector<std::byte> out(static_cast<std::size_t>(size));
      cut_out(bytes.expose().first(row_bytes), offset, out.expose());
      PIRX_ASSIGN(auto data, read_slot(spec_->geometry, wishes_, k, std::as_const(out).expose()));
      records.push_back(std::move(data));
    }
    return records;
  }

  strassen::Engine<F> engine_;
  batchcodes::PolynomialCode<F> code_;
  const Params::Spec* spec_;
  database::Version version_;  ///< of messages
  DecodeOptions options_;
  Wishes wishes_;
  batchcodes::BatchPlan plan_;
  std::size_t words_;  ///< s: words in a row
  std::vector<Round> rounds_;
  std::optional<decoding::Verdict> verdict_;
};

// Outside of the class, so that they are not inline: whoever includes this would compile them again, and with
// them all that they call.
template <SharingField F>
GoldbergCollector<F>::GoldbergCollector(strassen::Engine<F> engine, const Params::Spec& spec,
                                        batchcodes::Encoding encoding, Wishes wishes,
                                        SecretVector<Elem> blinding, DecodeOptions options)
    : engine_(engine),
      code_(std::move(engine), std::move(encoding)),
      spec_(&spec),
      version_(bound_version(spec.version, spec.arity, spec.independence, code_.encoding().spec().modulus)),
      options_(std::move(options)),
      wishes_(std::move(wishes)),
      plan_(planned(code_.encoding(), spec, wishes_)),
      words_(static_cast<std::size_t>(spec.geometry.words_per_row(field().word_bytes()))) {
  begin_round(std::move(blinding));
}

template <SharingField F>
Result<void> GoldbergCollector<F>::ask_again(const Wishes& wishes, SecretVector<Elem> blinding) {
  const auto again = wishes.indices.expose(), first = std::as_const(wishes_).indices.expose();
  if (wishes.kind != wishes_.kind || again.size() != first.size() ||
      reveal(difference(std::as_bytes(again), std::as_bytes(first)))) {
    return fail(ErrorCode::kInvalidArgument, "a further query must ask for the same records as the first");
  }
  if (rounds_.size() == kMaxRounds) {
    return fail(ErrorCode::kInvalidArgument,
                std::to_string(kMaxRounds) + " rounds are decoded together at most: begin again");
  }
  begin_round(std::move(blinding));
  return {};
}

template <SharingField F>
Result<void> GoldbergCollector<F>::add(std::size_t server, ByteSpan reply) {
  Round& round = rounds_.back();
  const MessageHeader expected{{}, field().tag(), version_, 0, static_cast<std::uint32_t>(vectors()), words_};
  PIRX_ASSIGN(const auto body,
              take_reply(round.status, spec_->coordinates, server, reply, expected, field().sum_bytes()));
  // Room for every server's reply; memory that is never written costs nothing.
  if (round.replies.rows() == 0) {
    PIRX_ASSIGN(round.replies, matrix::Matrix<Sum>::create(round.status.size(), vectors() * words_));
  }
  const bool good =
      decode_sums(field(), body.data(), std::span<Sum>(round.replies.row(server), round.replies.cols()));
  if (!reveal(good)) {
    round.status[server] = ServerStatus::kMalformed;
    return fail(ErrorCode::kDataLoss,
                "the reply holds a value that is no element of " + field().tag().name());
  }
  round.status[server] = ServerStatus::kOk;
  round.servers.push_back(server);
  verdict_.reset();
  return {};
}

template <SharingField F>
bool GoldbergCollector<F>::settled(unsigned liars) const {
  const Round& round = rounds_.back();
  if (round.servers.size() < needed() + std::size_t{liars}) return false;
  const auto consistent = check_new_replies(round);
  return consistent && *consistent;
}

template <SharingField F>
Result<DecodeReport> GoldbergCollector<F>::decode() {
  PIRX_TRY(locate());
  DecodeReport report{verdict_->status, static_cast<unsigned>(verdict_->rank), 0, {}};
  for (std::size_t r = 0; r < rounds_.size(); ++r) {
    if (!verdict_->rounds[r]) continue;
    const auto& agrees = verdict_->rounds[r]->agrees;
    const auto accused = std::count_if(rounds_[r].servers.begin(), rounds_[r].servers.end(),
                                       [&](std::size_t server) { return !agrees[server]; });
    report.accused = std::max(report.accused, static_cast<unsigned>(accused));
  }
  for (const auto& candidate : verdict_->candidates) {
    report.candidates.push_back({candidate.agrees, static_cast<unsigned>(candidate.bound)});
  }
  return report;
}

template <SharingField F>
Result<Answer> GoldbergCollector<F>::finish() && {
  const auto enough = [&](const Round& round) { return round.servers.size() >= needed(); };
  if (std::none_of(rounds_.begin(), rounds_.end(), enough)) return too_few();
  PIRX_TRY(locate());
  std::optional<std::size_t> best;
  for (std::size_t r = 0; r < rounds_.size(); ++r) {
    const auto& decided = verdict_->rounds[r];
    if (decided && (!best || decided->bound >= verdict_->rounds[*best]->bound)) best = r;
  }
  if (best) return decode_agreed(rounds_[*best], *verdict_->rounds[*best]);
  switch (verdict_->status) {
    case DecodeStatus::kNeedMoreQueries:
      return settle("the replies to one query cannot tell the liars apart; a further query would");
    case DecodeStatus::kAmbiguous:
      return settle("several answers fit the replies");
    default:
      return settle("more servers lied than their replies can tell apart");
  }
}

// Made once, in collector.cc.
extern template class GoldbergCollector<gf2e::Gf2_8>;
extern template class GoldbergCollector<gf2e::Gf2_16>;
extern template class GoldbergCollector<fp::W160>;
extern template class GoldbergCollector<fp::W48>;
extern template class GoldbergCollector<fp::PrimeField>;

}  // namespace pirx::itpir::goldberg
