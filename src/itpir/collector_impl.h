// GoldbergCollector<F>: takes replies, checks that they agree, decodes them, and says who lied and how sure
// it is. Runs after the network is done with a query; only the last step, which cuts records out of rows,
// knows the indices.
#pragma once

#include "pirx/itpir/client.h"
#include "unique_decoder.h"

namespace pirx::itpir {

template <SharingField F>
class GoldbergCollector {
 public:
  using Elem = typename F::Elem;
  using Sum = typename F::Sum;

  /// `spec` as for GoldbergClient; it must outlive the collector. The records exist.
  GoldbergCollector(strassen::Engine<F> engine, const Params::Spec& spec, SecretVector<std::uint64_t> records)
      : engine_(std::move(engine)),
        spec_(&spec),
        records_(std::move(records)),
        words_(static_cast<std::size_t>(spec.geometry.words_per_row(engine_.field().word_bytes()))),
        status_(spec.coordinates.size(), ServerStatus::kSilent) {}

  Result<void> add(std::size_t server, ByteSpan reply) {
    if (server >= status_.size()) {
      return fail(ErrorCode::kInvalidArgument,
                  "there is no server " + std::to_string(server) + " in this deployment");
    }
    if (status_[server] == ServerStatus::kOk) {
      return fail(ErrorCode::kInvalidArgument, "server " + std::to_string(server) + " has replied already");
    }
    const auto body = check_reply(server, reply);
    if (!body) {
      status_[server] = body.error().code() == ErrorCode::kStaleEpoch ? ServerStatus::kStaleEpoch
                                                                      : ServerStatus::kMalformed;
      return tl::unexpected(body.error());
    }
    // Room for every server's reply; memory that is never written costs nothing.
    if (replies_.rows() == 0) {
      PIRX_ASSIGN(replies_, matrix::Matrix<Sum>::create(status_.size(), records_.size() * words_));
    }
    if (!decode_sums(field(), body->data(), std::span<Sum>(replies_.row(servers_.size()), replies_.cols()))) {
      status_[server] = ServerStatus::kMalformed;
      return fail(ErrorCode::kDataLoss,
                  "the reply holds a value that is no element of " + field().tag().name());
    }
    status_[server] = ServerStatus::kOk;
    servers_.push_back(server);
    x_.push_back(field().from_label(spec_->coordinates[server]));
    return {};
  }

  void set_missing(std::size_t server, ServerStatus why) {
    PIRX_CHECK(why == ServerStatus::kSilent || why == ServerStatus::kRefused ||
               why == ServerStatus::kMalformed || why == ServerStatus::kStaleEpoch);
    PIRX_CHECK(server < status_.size());
    if (status_[server] != ServerStatus::kOk) status_[server] = why;
  }

  bool settled(unsigned liars) const {
    if (servers_.size() < needed() + std::size_t{liars}) return false;
    const auto consistent = check_new_replies();
    return consistent && *consistent;
  }

  Result<Answer> finish() && {
    const std::size_t k = servers_.size();
    if (k < needed()) return too_few();
    PIRX_ASSIGN(const bool consistent, check_new_replies());
    std::optional<std::vector<bool>> agrees;
    if (consistent) {
      agrees.emplace(k, true);
    } else {
      PIRX_ASSIGN(agrees, decode_unique(engine_, reply_words()));
    }
    if (!agrees) return search("more servers lied than their replies can tell apart");
    return decode_agreed(*agrees);
  }

 private:
  static constexpr std::uint64_t kMaxSubsets = std::uint64_t{1} << 14;
  static constexpr std::size_t kMaxCandidates = 64;
  /// Multiply-adds of a search, about a second of a slow field.
  static constexpr std::uint64_t kMaxSearchWork = std::uint64_t{1} << 32;

  /// An answer whose every record has the right digest, and the servers whose words of the wanted slots make
  /// it.
  struct Candidate {
    std::vector<Bytes> records;
    std::vector<bool> agrees;
  };

  const F& field() const noexcept { return engine_.field(); }
  std::size_t needed() const noexcept { return spec_->threshold + std::size_t{1}; }
  bool digests() const noexcept { return spec_->geometry.spec().digests; }
  ReplyWords<F> reply_words() const {
    return {x_, replies_.view().window(0, 0, servers_.size(), replies_.cols()), spec_->threshold};
  }
  std::vector<std::size_t> all_replies() const {
    std::vector<std::size_t> all(servers_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }

  /// The bytes behind the header of a reply of exactly the shape that was asked for.
  Result<ByteSpan> check_reply(std::size_t server, ByteSpan reply) const {
    const auto wrong = [](std::string message) { return fail(ErrorCode::kDataLoss, std::move(message)); };
    Reader reader(reply, "reply");
    PIRX_ASSIGN(const auto header, MessageHeader::decode(reader));
    if (header.type != MessageHeader::Type::kReply)
      return wrong("the server sent a pirx message that is no reply");
    if (header.version != spec_->version) {
      return fail(ErrorCode::kStaleEpoch,
                  "the reply is from epoch " + std::to_string(header.version.epoch) + " of database " +
                      to_hex(ByteSpan(header.version.identity).first(8)) + ", the query was for epoch " +
                      std::to_string(spec_->version.epoch) + " of " +
                      to_hex(ByteSpan(spec_->version.identity).first(8)));
    }
    if (header.field != field().tag()) {
      return wrong("the reply is over the field " + header.field.name() + " instead of " +
                   field().tag().name());
    }
    if (header.coordinate != spec_->coordinates[server]) {
      return wrong("the reply is from the server with coordinate " + std::to_string(header.coordinate) +
                   " instead of " + std::to_string(spec_->coordinates[server]));
    }
    if (header.queries != records_.size() || header.length != words_) {
      return wrong("the reply has " + std::to_string(header.queries) + " x " + std::to_string(header.length) +
                   " words instead of " + std::to_string(records_.size()) + " x " + std::to_string(words_));
    }
    const auto expected = message_bytes(header.queries, header.length, field().sum_bytes());
    if (reply.size() != expected) {
      return wrong("the reply has " + std::to_string(reply.size()) + " bytes instead of " +
                   std::to_string(expected));
    }
    return reply.subspan(MessageHeader::kBytes);
  }

  /// Whether all replies lie on polynomials of degree t. Each reply is compared once, however often this is
  /// asked.
  Result<bool> check_new_replies() const {
    const auto replies = all_replies();
    const std::size_t from = std::max(checked_, needed());
    if (!consistent_ || replies.size() <= from) return consistent_;
    PIRX_ASSIGN(const auto polynomials, Interpolation<F>::create(engine_, reply_words(), replies));
    PIRX_ASSIGN(const auto comparison, polynomials.compare(std::span(replies).subspan(from), true));
    checked_ = replies.size();
    consistent_ = !comparison.column;
    return consistent_;
  }

  tl::unexpected<Error> too_few() const {
    const auto count = [&](ServerStatus status) {
      return std::to_string(std::count(status_.begin(), status_.end(), status));
    };
    const auto stale = std::count(status_.begin(), status_.end(), ServerStatus::kStaleEpoch);
    const bool moved = servers_.size() + static_cast<std::size_t>(stale) >= needed();
    return fail(moved ? ErrorCode::kStaleEpoch : ErrorCode::kUndecodable,
                std::to_string(servers_.size()) + " usable replies of " + std::to_string(status_.size()) +
                    " servers, at least " + std::to_string(needed()) + " are needed (" +
                    count(ServerStatus::kSilent) + " silent, " + count(ServerStatus::kRefused) +
                    " refused, " + count(ServerStatus::kMalformed) + " malformed, " +
                    count(ServerStatus::kStaleEpoch) + " with another database version): " +
                    (moved ? "get the parameters that the servers have now (pirx deploy)"
                           : "ask again when more servers answer"));
  }

  /// The answer that the servers in `agrees` share. Theirs is the only one within the unique radius.
  Result<Answer> decode_agreed(const std::vector<bool>& agrees) {
    std::vector<std::size_t> truthful;
    for (std::size_t i = 0; i < agrees.size(); ++i) {
      if (agrees[i]) truthful.push_back(i);
    }
    const auto bound = static_cast<unsigned>(truthful.size() - needed());
    PIRX_ASSIGN(const auto polynomials, Interpolation<F>::create(engine_, reply_words(), truthful));
    PIRX_ASSIGN(const auto secrets, polynomials.secrets());
    auto records = cut_records(secrets.view());
    if (!records && bound == 0) {
      return undecodable("the record they make is damaged, so one of them lied or the database is corrupt");
    }
    if (!records) {
      const std::string corrupt =
          "the servers agree on a damaged record: their database is corrupt (run pirx db "
          "verify there), or more than " +
          std::to_string(bound) + " of " + std::to_string(servers_.size()) + " servers lied";
      // Too many liars may have agreed with one another; the digests then find the honest ones.
      if (truthful.size() < servers_.size() && digests()) {
        auto found = search(corrupt);
        if (found || found.error().code() != ErrorCode::kUndecodable) return found;
      }
      return fail(ErrorCode::kDataLoss, corrupt);
    }
    Answer answer;
    answer.records = std::move(*records);
    answer.certainty = bound > 0   ? Certainty::kProven
                       : digests() ? Certainty::kProbable
                                   : Certainty::kUnverified;
    answer.proof_bound = bound;
    return complete(std::move(answer), agrees, ServerStatus::kLied);
  }

  /// Names everybody's part; those who do not agree get `dissent`.
  Answer complete(Answer answer, const std::vector<bool>& agrees, ServerStatus dissent) {
    answer.responders = static_cast<unsigned>(servers_.size());
    answer.servers = status_;
    for (std::size_t i = 0; i < agrees.size(); ++i) {
      if (!agrees[i]) answer.servers[servers_[i]] = dissent;
    }
    return answer;
  }

  tl::unexpected<Error> undecodable(const std::string& why) const {
    return fail(ErrorCode::kUndecodable, std::to_string(servers_.size()) + " replies with threshold " +
                                             std::to_string(spec_->threshold) + ": " + why +
                                             "; replies of more servers would help");
  }

  /// Tries every t + 1 of the replies. The honest ones make the true answer, so a liar can only add another,
  /// and only by forging digests: a single answer with the right digests is probably the true one. Only the
  /// words of the wanted slots are looked at: lies elsewhere in the rows must not cost the client its time.
  Result<Answer> search(const std::string& why) {
    const std::size_t k = servers_.size(), n = needed();
    if (!digests()) return undecodable(why + " and the database keeps no digests");
    std::uint64_t subsets = 1;
    for (std::size_t i = 0; i < n && subsets <= kMaxSubsets; ++i) subsets = subsets * (k - i) / (i + 1);
    const auto work = checked_mul(subsets * records_.size() * n * k, spec_->geometry.slot_bytes());
    if (subsets > kMaxSubsets || !work || *work > kMaxSearchWork) {
      return undecodable(why + " and there are too many ways to choose those who did not");
    }
    std::vector<Bytes> records;
    std::vector<std::vector<bool>> agreements;  // by candidate: the servers whose words make it
    // Subsets in lexicographic order, as rows of the replies.
    std::vector<std::size_t> subset(n);
    std::iota(subset.begin(), subset.end(), std::size_t{0});
    for (bool more = true; more; more = next_subset(subset, k)) {
      const bool known = std::any_of(agreements.begin(), agreements.end(), [&](const auto& agrees) {
        return std::all_of(subset.begin(), subset.end(), [&](std::size_t i) { return agrees[i]; });
      });
      if (known) continue;
      PIRX_ASSIGN(auto candidate, try_subset(subset));
      if (!candidate) continue;
      if (agreements.empty()) {
        records = std::move(candidate->records);
      } else if (records != candidate->records) {
        return undecodable(why + " and several answers have the right digests");
      }
      agreements.push_back(std::move(candidate->agrees));
      if (agreements.size() > kMaxCandidates) {
        return undecodable(why + " and the replies contradict one another in too many ways");
      }
    }
    if (agreements.empty()) return undecodable(why + " and no answer has the right digests");
    const auto size = [](const std::vector<bool>& agrees) {
      return std::count(agrees.begin(), agrees.end(), true);
    };
    const auto largest = std::max_element(agreements.begin(), agreements.end(),
                                          [&](const auto& a, const auto& b) { return size(a) < size(b); });
    Answer answer;
    answer.records = std::move(records);
    answer.certainty = Certainty::kProbable;
    return complete(std::move(answer), *largest, ServerStatus::kSuspected);
  }

  static bool next_subset(std::vector<std::size_t>& subset, std::size_t k) {
    const std::size_t n = subset.size();
    std::size_t i = n;
    while (i > 0 && subset[i - 1] == k - n + (i - 1)) --i;
    if (i == 0) return false;
    ++subset[i - 1];
    for (std::size_t m = i; m < n; ++m) subset[m] = subset[m - 1] + 1;
    return true;
  }

  /// The answer of these t + 1 replies, if all its records have the right digests.
  Result<std::optional<Candidate>> try_subset(std::span<const std::size_t> subset) const {
    Candidate candidate;
    std::vector<Interpolation<F>> slots;
    const auto words = reply_words();
    for (std::size_t i = 0; i < records_.size(); ++i) {
      const std::uint64_t record = records_.expose()[i];
      const auto [first, count] = slot_words(record);
      const ReplyWords<F> slot{words.x, words.Y.window(0, i * words_ + first, words.Y.rows, count),
                               words.degree};
      PIRX_ASSIGN(auto polynomials, Interpolation<F>::create(engine_, slot, subset));
      PIRX_ASSIGN(const auto secrets, polynomials.secrets());
      auto data = cut_record(record, {secrets.row(0), count}, first);
      if (!data) return std::nullopt;
      candidate.records.push_back(std::move(*data));
      slots.push_back(std::move(polynomials));
    }
    candidate.agrees.assign(servers_.size(), true);
    for (const auto& polynomials : slots) {
      PIRX_ASSIGN(const auto comparison, polynomials.compare(all_replies(), false));
      for (std::size_t i = 0; i < servers_.size(); ++i) {
        if (comparison.differs[i]) candidate.agrees[i] = false;
      }
    }
    return candidate;
  }

  /// The words of a row that cover a record's slot: the first, and how many.
  std::pair<std::size_t, std::size_t> slot_words(std::uint64_t record) const {
    const auto location = spec_->geometry.locate(record);
    PIRX_CHECK(location.has_value());
    const std::uint64_t each = field().word_bytes();
    const std::uint64_t first = location->offset / each;
    const std::uint64_t end = (location->offset + spec_->geometry.slot_bytes() + each - 1) / each;
    return {static_cast<std::size_t>(first), static_cast<std::size_t>(end - first)};
  }

  /// The record whose slot `sums`, words of its row from word `first` on, cover.
  Result<Bytes> cut_record(std::uint64_t record, std::span<const Sum> sums, std::size_t first) const {
    const std::size_t each = field().word_bytes();
    SecretVector<std::byte> bytes(sums.size() * each);
    bool good = true;
    for (std::size_t w = 0; w < sums.size(); ++w) {
      good &= field().store_word(sums[w], bytes.expose().data() + w * each);
    }
    if (!good) return fail(ErrorCode::kDataLoss, "the record is damaged: a value is no database word");
    // What the last word holds behind the row is zero in every database; no digest covers it.
    const auto row_bytes = static_cast<std::size_t>(spec_->geometry.row_bytes());
    for (std::size_t b = row_bytes - std::min(row_bytes, first * each); b < bytes.size(); ++b) {
      good &= bytes.expose()[b] == std::byte{0};
    }
    if (!good) return fail(ErrorCode::kDataLoss, "the record is damaged: its row does not end in zeros");
    const auto location = spec_->geometry.locate(record);
    PIRX_CHECK(location.has_value());
    const ByteSpan slot = bytes.expose().subspan(static_cast<std::size_t>(location->offset) - first * each,
                                                 static_cast<std::size_t>(spec_->geometry.slot_bytes()));
    PIRX_ASSIGN(const auto data, spec_->geometry.read_slot(record, slot));
    return Bytes(data.begin(), data.end());
  }

  /// All wanted records out of their rows. Whole rows are turned into bytes: that a word elsewhere in the row
  /// is none must not tell records of that row apart.
  Result<std::vector<Bytes>> cut_records(matrix::ConstView<Sum> secrets) const {
    std::vector<Bytes> records;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      PIRX_ASSIGN(auto data, cut_record(records_.expose()[i], {secrets.row(0) + i * words_, words_}, 0));
      records.push_back(std::move(data));
    }
    return records;
  }

  strassen::Engine<F> engine_;
  const Params::Spec* spec_;
  SecretVector<std::uint64_t> records_;
  std::size_t words_;                 ///< s: words in a row
  std::vector<ServerStatus> status_;  ///< by server; kOk until the decoder knows better
  matrix::Matrix<Sum> replies_;       ///< row i is the reply of servers_[i], its query vectors side by side
  std::vector<std::size_t> servers_;
  std::vector<Elem> x_;
  mutable std::size_t checked_ = 0;  ///< replies known to be consistent
  mutable bool consistent_ = true;
};

}  // namespace pirx::itpir
