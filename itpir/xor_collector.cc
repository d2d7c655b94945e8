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
    auto records = cut_records().and_then(
        [&](const std::vector<Bytes>& found) { return read_found(options_, 0, found); });
    if (!records) {
      return fail(
          ErrorCode::kDataLoss,
          "a record is wrong: a server lied, or its database is corrupt (run pirx db verify there). " +
              name() + " cannot tell which one: others correct liars and name them");
    }
    Answer answer;
    const bool evident =
        checks_records(options_, replies_.geometry, wishes_.kind) && speaks_for(options_.believe, *records);
    answer.certainty = evident ? Certainty::kProbable : Certainty::kUnverified;
    answer.set_records(std::move(*records));
    answer.responders = static_cast<unsigned>(replied_);
    answer.servers = status_;
    return answer;
  }

 private:
  std::string name() const { return replies_.name; }

  /// Looks at all of them whatever is wrong with one.
  Result<std::vector<Bytes>> cut_records() const {
    const auto& geometry = replies_.geometry;
    const auto each = static_cast<std::size_t>(replies_.bytes());
    std::vector<Bytes> found;
    std::optional<Error> wrong;
    for (std::size_t i = 0; i < wishes_.size(); ++i) {
      const auto part = sum_.expose().subspan(i * each, each);
      const SlotBytes at = replies_.slots ? SlotBytes{0, each} : slot_of(geometry, wishes_, i);
      SecretVector<std::byte> slot(static_cast<std::size_t>(at.bytes));
      cut_out(part, at.offset, slot.expose());
      auto data = read_slot(geometry, wishes_, i, slot.expose());
      if (data) {
        found.push_back(std::move(*data));
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
