// SPDX-License-Identifier: Apache-2.0
// What every retrieval does alike: it numbers its messages and takes one reply to each.
#include "pirx/protocol/retrieval.h"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "src/base/guarded.h"
#include "src/protocol/message.h"

namespace pirx {
namespace {

std::atomic<std::uint64_t> next_retrieval{1};

auto misused(const char* what) { return invalid(std::string("retrieval: ") + what); }

}  // namespace

Retrieval::Retrieval() : id_(next_retrieval++) {}

Result<std::vector<Message>> Retrieval::outgoing() {
  if (waiting()) return misused("replies to the latest messages are still awaited");
  if (finished_) return misused("it is finished");
  awaited_.clear();
  if (asked_all_) return std::vector<Message>();
  auto messages = guarded([this]() -> Result<std::vector<Message>> {
    PIRX_ASSIGN(auto requests, next());
    asked_all_ = requests.empty();
    std::vector<Message> made;
    for (auto& request : requests) {
      awaited_.push_back({messages_, request.server});
      made.push_back({{id_, messages_++}, request.server, std::move(request.bytes), request.reply_bytes});
    }
    return made;
  });
  if (!messages) {
    finished_ = true;
    awaited_.clear();
  }
  return messages;
}

bool Retrieval::waiting() const {
  if (awaited_.empty()) return false;
  // Without memory to find out whether the replies are enough, another one is waited for.
  const auto enough = guarded([this]() -> Result<bool> { return this->enough(); });
  return !enough || !*enough;
}

Result<std::size_t> Retrieval::settle(MessageId id) {
  const auto at = std::find_if(awaited_.begin(), awaited_.end(),
                               [&](const auto& one) { return one.number == id.number; });
  if (id.retrieval != id_ || finished_ || at == awaited_.end()) {
    return misused("no reply to this message is awaited");
  }
  const auto server = at->server;
  awaited_.erase(at);
  return server;
}

Result<void> Retrieval::receive(MessageId id, ByteSpan reply) {
  PIRX_ASSIGN(const auto server, settle(id));
  auto taken = guarded([&] { return take(server, reply); });
  if (!taken) return tl::unexpected(of_reply(taken.error()));
  return taken;
}

Result<void> Retrieval::lost(MessageId id, const Error& why) {
  PIRX_ASSIGN(const auto server, settle(id));
  // InvalidArgument stays: miss() makes a server's status of it.
  const bool refused = why.code() == ErrorCode::kInvalidArgument;
  miss(server, Error(refused ? why.code() : code_of_server(why), why.message()));
  return {};
}

Result<Answer> Retrieval::finish() && {
  if (finished_) return misused("it is finished");
  if (!asked_all_) return misused("not everything has been asked: call outgoing() until it gives nothing");
  finished_ = true;
  return guarded([this] { return conclude(); });
}

void Answer::set_records(Records found) {
  records.clear();
  missing.clear();
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) missing.push_back(i);
    records.push_back(std::move(found[i]).value_or(Bytes()));
  }
}

ErrorCode code_of_server(const Error& error) noexcept {
  switch (error.code()) {
    case ErrorCode::kOutOfRange:
      return ErrorCode::kUnavailable;
    case ErrorCode::kInvalidArgument:
      return ErrorCode::kDataLoss;
    default:
      return error.code();
  }
}

Result<void> check_wishes(std::size_t wishes) {
  if (wishes >= 1 && wishes <= kMaxWishes) return {};
  return invalid("ask for 1 to " + std::to_string(kMaxWishes) + " records at a time, not " +
                 std::to_string(wishes));
}

bool speaks_for(const Believe& believe, const Records& records) {
  if (believe) return believe(records);
  return std::find(records.begin(), records.end(), std::nullopt) == records.end();
}

Result<void> check_one_server(const RetrieveOptions& options) {
  if (!options.liars && !options.rounds && !options.wait_for_all) return {};
  return invalid("--liars, --rounds and --wait-for-all are for several servers; this protocol has one");
}

std::string_view certainty_name(Certainty certainty) noexcept {
  constexpr std::string_view kNames[] = {"proven", "probable", "unverified"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Certainty::kUnverified) + 1);
  return kNames[static_cast<std::size_t>(certainty)];
}

std::string_view server_status_name(ServerStatus status) noexcept {
  constexpr std::string_view kNames[] = {"ok",      "lied",      "suspected",  "silent",
                                         "refused", "malformed", "stale epoch"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(ServerStatus::kStaleEpoch) + 1);
  return kNames[static_cast<std::size_t>(status)];
}

ServerStatus status_of(const Error& error) noexcept {
  switch (error.code()) {
    case ErrorCode::kStaleEpoch:
      return ServerStatus::kStaleEpoch;
    case ErrorCode::kUnavailable:
      return ServerStatus::kSilent;
    case ErrorCode::kDataLoss:
      return ServerStatus::kMalformed;
    default:
      return ServerStatus::kRefused;
  }
}

}  // namespace pirx
