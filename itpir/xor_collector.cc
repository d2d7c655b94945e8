// SPDX-License-Identifier: Apache-2.0
// Adds replies up, and cuts the records out of the sum.
#include "xor_collector.h"

#include <algorithm>

#include "client_messages.h"
#include "src/base/constant_time.h"

namespace pirx::itpir {
namespace {

class XorCollector final : public ReplyCollector {
 public:
  XorCollector(XorReplies replies, Wishes wishes, DecodeOptions options)
      : replies_(std::move(replies)),
        wishes_(std::move(wishes)),
        options_(std::move(options)),
        status_(replies_.coordinates.size(), ServerStatus::kSilent) {}

  Result<void> add(std::size_t server, ByteSpan reply) override {
    const MessageHeader expected{{},
                                 kTagGf2,
                                 replies_.version,
                                 0,
                                 static_cast<std::uint32_t>(wishes_.size()),
                                 replies_.bytes(),
                                 replies_.protocol};
    PIRX_ASSIGN(const auto body, take_reply(status_, replies_.coordinates, server, reply, expected, 1));
    if (sum_.size() == 0) sum_ = SecretVector<std::byte>(body.size());
    const auto sum = sum_.expose();
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] ^= body[k];
    status_[server] = ServerStatus::kOk;
    ++replied_;
    return {};
  }
  void set_missing(std::size_t server, ServerStatus why) override { note_missing(status_, server, why); }
  /// Replies cannot show who lies, so `liars` has no effect.
  bool settled(unsigned /*liars*/) const override { return replied_ == status_.size(); }
  Result<DecodeReport> decode() override {
    DecodeReport report;
    report.status = settled(0) ? DecodeStatus::kOk : DecodeStatus::kFailed;
    return report;
  }
  Result<void> ask_again(std::unique_ptr<ClientState>) override {
    return invalid(name() + " cannot tell liars apart, however often it asks: begin again");
  }

  Result<Answer> finish() && override {
    if (!settled(0)) {
      const bool moved = std::count(status_.begin(), status_.end(), ServerStatus::kStaleEpoch) > 0;
      return too_few_replies(status_, name() + " needs all of them", moved);
    }
    auto records = cut_records();
    if (!records || (options_.check && !options_.check(*records))) {
      return fail(
          ErrorCode::kDataLoss,
          "a record is wrong: a server lied, or its database is corrupt (run pirx db verify there). " +
              name() + " cannot tell which one: others correct liars and name them");
    }
    Answer answer;
    answer.records = std::move(*records);
    const bool digests = sums() ? options_.sums.has_value() : geometry().spec().digests;
    const bool checked = digests || options_.check || options_.evidence;
    const bool evident = checked && speaks_for(options_, wishes_.kind, answer.records);
    answer.certainty = evident ? Certainty::kProbable : Certainty::kUnverified;
    answer.responders = static_cast<unsigned>(replied_);
    answer.servers = status_;
    return answer;
  }

 private:
  std::string name() const { return replies_.name; }
  const database::Geometry& geometry() const { return replies_.geometry; }
  bool sums() const { return wishes_.kind == QueryKind::kRowSums; }

  /// The wanted slot of the i-th wish's row, or all of the row if the caller reads no sums.
  SecretVector<std::byte> slot_in(ByteSpan row, std::size_t i) const {
    SlotBytes slot{0, geometry().slot_bytes()};
    if (sums()) {
      slot = slot_of_sum(geometry(), options_, i);
    } else {
      slot.offset = geometry().locate(wishes_.indices.expose()[i]).value().offset;
    }
    SecretVector<std::byte> out(static_cast<std::size_t>(slot.bytes));
    cut_out(row, slot.offset, out.expose());
    return out;
  }

  Result<std::vector<Bytes>> cut_records() const {
    const auto each = static_cast<std::size_t>(replies_.bytes());
    std::vector<Bytes> found;
    std::optional<Error> wrong;
    for (std::size_t i = 0; i < wishes_.size(); ++i) {
      const auto part = sum_.expose().subspan(i * each, each);
      const auto cut = replies_.slots ? SecretVector<std::byte>(part) : slot_in(part, i);
      const auto slot = cut.expose();
      if (sums()) {
        found.emplace_back(slot.begin(), slot.end());
      } else if (const auto data = geometry().read_slot(wishes_.indices.expose()[i], slot)) {
        found.emplace_back(data->begin(), data->end());
      } else {
        wrong = data.error();
      }
    }
    if (wrong) return tl::unexpected(std::move(*wrong));
    return found;
  }

  XorReplies replies_;
  Wishes wishes_;
  DecodeOptions options_;
  std::vector<ServerStatus> status_;
  std::size_t replied_ = 0;
  SecretVector<std::byte> sum_;  ///< of the replies: bytes() for each wish
};

}  // namespace

std::unique_ptr<ReplyCollector> make_xor_collector(XorReplies replies, Wishes wishes, DecodeOptions options) {
  return std::make_unique<XorCollector>(std::move(replies), std::move(wishes), std::move(options));
}

}  // namespace pirx::itpir
