// SPDX-License-Identifier: Apache-2.0
// The messages of every protocol in both directions: hostile requests against a server, a hostile reply
// against a client, and whole retrievals with any order of replies, losses and lies.
#include "world.h"

namespace pirx::fuzz {
namespace {

constexpr auto kStale = ErrorCode::kStaleEpoch, kUndecodable = ErrorCode::kUndecodable,
               kUnavailable = ErrorCode::kUnavailable;

/// The bytes as a request, alone and beside an honest client's, who must not notice.
void request(const World& world, ByteSpan input) {
  const auto& server = world.server(0);
  const auto& [honest, truth] = world.honest();
  const auto admitted = server.admit(input);
  expect_error(admitted, {kLoss, kInvalid, kStale}, "admit");
  if (admitted) {
    expect(*admitted <= server.max_queries(), "a request has no more queries than the server takes");
    static_cast<void>(server.working_bytes(*admitted));
  }
  const ByteSpan both[] = {input, honest};
  const std::string_view senders[] = {"hostile", "honest"};
  const auto replies = server.answer_from(both, senders);
  expect(replies.size() == 2, "there is a result for each request");
  expect_error(replies[0], {kLoss, kInvalid, kStale, ErrorCode::kResourceExhausted}, "answer");
  expect(admitted || !replies[0], "what is not admitted is not answered");
  expect(replies[1] && *replies[1] == truth, "an honest client does not suffer from another");
}

/// What was found is what is there, or nothing.
void check_records(const Answer& answer) {
  expect(answer.records.size() == std::size(World::kWanted), "there is a record for each wish");
  for (std::size_t i = 0; i < answer.records.size(); ++i) {
    const bool missing = std::find(answer.missing.begin(), answer.missing.end(), i) != answer.missing.end();
    expect(missing || answer.records[i] == record(World::kWanted[i]), "no wrong record is accepted");
  }
}

/// The bytes as the first server's first reply; all others are honest. With `corrects` one liar is harmless.
void reply(const World& world, ByteSpan input, bool corrects) {
  auto retrieval = world.begin().value();
  bool first = true, taken = false;
  for (;;) {
    auto wave = retrieval->outgoing();
    if (!wave || wave->empty()) break;
    for (const auto& message : *wave) {
      if (!retrieval->waiting()) break;
      if (first) {
        first = false;
        const auto received = retrieval->receive(message.id, input);
        expect_error(received, {kLoss, kInvalid, kStale, kUndecodable, kUnavailable}, "receive");
        taken = received.has_value();
        continue;
      }
      expect(retrieval->receive(message.id, world.reply(message.server, message.bytes)).has_value(),
             "an honest reply is taken");
    }
    expect(!retrieval->waiting(), "all replies have come");
  }
  const auto answer = std::move(*retrieval).finish();
  expect(answer || !corrects, "one liar of four is harmless");
  if (!answer) {
    return expect_error(answer, {kLoss, kInvalid, kStale, kUndecodable, kUnavailable}, "finish");
  }
  check_records(*answer);
  expect(!corrects || answer->missing.empty(), "one liar of four hides no record");
  for (std::size_t j = 1; j < answer->servers.size(); ++j) {
    // Silent: its reply was not needed any more.
    const auto status = answer->servers[j];
    expect(status == ServerStatus::kOk || status == ServerStatus::kSilent || !corrects,
           "an honest server is not blamed");
  }
  if (corrects && taken) {
    const auto status = answer->servers[0];
    expect(status == ServerStatus::kOk || status == ServerStatus::kLied, "the liar is known");
  }
}

/// A retrieval in which the script says what happens.
void retrieval(const World& world, ByteSpan input, bool several) {
  Script script(input);
  RetrieveOptions options;
  const auto first = script.byte();
  if (several) {
    if (first & 1) options.liars = first >> 5;
    if (first & 2) options.rounds = script.byte() % 10;
    options.wait_for_all = (first & 4) != 0;
  }
  auto begun = world.begin(options);
  expect_error(begun, {kInvalid}, "retrieve");
  if (!begun) return;
  auto& retrieval = **begun;
  std::vector<Bytes> old;  // replies of earlier messages
  bool lost = false;       // then finish() says why
  std::vector<Message> sent;
  std::vector<bool> altered(world.servers(), false), heard(world.servers(), false);
  for (unsigned waves = 0; waves < 40; ++waves) {
    auto wave = retrieval.outgoing();
    if (!wave) {
      if (!lost) expect_error(wave, {kLoss, kInvalid, kStale, kUndecodable, kUnavailable}, "outgoing");
      break;
    }
    if (wave->empty()) break;
    const auto begin = sent.size();
    for (auto& message : *wave) sent.push_back(std::move(message));
    while (retrieval.waiting()) {
      if (script.empty()) {  // the rest is honest
        for (auto at = begin; at < sent.size() && retrieval.waiting(); ++at) {
          static_cast<void>(retrieval.receive(sent[at].id, world.reply(sent[at].server, sent[at].bytes)));
        }
        expect(!retrieval.waiting(), "replies of all servers are enough");
        break;
      }
      const auto kind = script.byte() % 9;
      const auto& message =
          kind == 8 ? sent[script.below(sent.size())] : sent[begin + script.below(sent.size() - begin)];
      if (kind == 5) {
        lost = true;
        const auto code = static_cast<ErrorCode>(script.byte() % 9);
        static_cast<void>(retrieval.lost(message.id, Error(code, "lost")));
        continue;
      }
      if (kind == 6) {
        expect_error(retrieval.outgoing(), {kInvalid}, "outgoing too early");
        continue;
      }
      if (kind == 7) {
        const MessageId none{message.id.retrieval + script.byte() % 2, script.number()};
        if (none == message.id) continue;
        lost = true;
        static_cast<void>(retrieval.lost(none, Error(kUnavailable, "no such message")));
        altered.assign(altered.size(), true);  // it may have been another one's number
        continue;
      }
      const auto truth = world.reply(message.server, message.bytes);
      auto bytes = truth;
      if (kind == 1) change(bytes, script);
      if (kind == 2) {
        for (auto n = script.byte() % 8; n > 0; --n) change(bytes, script);
      }
      if (kind == 3 && !old.empty()) bytes = old[script.below(old.size())];
      if (kind == 4) {
        const auto raw = script.bytes(script.word() % 4096);
        bytes.assign(raw.begin(), raw.end());
      }
      old.push_back(truth);
      const auto received = retrieval.receive(message.id, bytes);
      expect_error(received, {kLoss, kInvalid, kStale, kUndecodable, kUnavailable}, "receive");
      if (received) {
        heard[message.server] = true;
        if (bytes != truth) altered[message.server] = true;
      }
    }
  }
  const auto answer = std::move(retrieval).finish();
  if (!answer) {
    if (!lost) expect_error(answer, {kLoss, kInvalid, kStale, kUndecodable, kUnavailable}, "finish");
    return;
  }
  check_records(*answer);
  const auto liars = static_cast<unsigned>(std::count(altered.begin(), altered.end(), true));
  if (answer->certainty == Certainty::kProven && liars <= answer->proof_bound) {
    expect(answer->missing.empty(), "a proven answer lacks no record");
    for (std::size_t j = 0; j < altered.size(); ++j) {
      expect(altered[j] || answer->servers[j] != ServerStatus::kLied, "no honest server is called a liar");
    }
  }
  expect(std::move(retrieval).finish().has_value() == false, "finish() answers once");
}

Seeds requests_of(const World& world) {
  Seeds seeds{Bytes()};
  for (const auto& message : world.requests()) seeds.push_back(message.bytes);
  return seeds;
}

/// The replies of the first server to the messages of an honest retrieval.
Seeds replies_of(const World& world) {
  Seeds seeds;
  auto retrieval = world.begin().value();
  for (;;) {
    const auto wave = retrieval->outgoing().value();
    if (wave.empty()) return seeds;
    for (const auto& message : wave) {
      auto reply = world.reply(message.server, message.bytes);
      if (retrieval->waiting()) static_cast<void>(retrieval->receive(message.id, reply));
      if (message.server == 0) seeds.push_back(std::move(reply));
    }
  }
}

Seeds events() {
  using namespace std::string_view_literals;
  return texts(
      {""sv, "\x00\x01\x00\x00\x04\x60\x00\x01"sv, "\x04\x00\x01\x00\x01\x02\x00\x05\x03\x00\x02"sv,
       "\x01\x05\x00\x00\x03\x05\x01\x00\x04\x05\x02\x00\x07\x05\x03\x00\x01"sv,
       "\x23\x02\x02\x00\x00\x03\x01\x55\x00\x04\xff\xff\xff\xff\x02\x01\x00\x02\x01\x55\x00\x01\x07"sv,
       "\x00\x06\x00\x00\x07\x00\x00\x01\x02\x03\x08\x00\x00\x04\x00\x00\x10\x00PIRX"sv});
}

}  // namespace

#define PIRX_FUZZ_ROOM(name, room, several, corrects)                            \
  PIRX_FUZZ(request_##name, [] { return requests_of(World::of(Room::room)); }) { \
    request(World::of(Room::room), input);                                       \
  }                                                                              \
  PIRX_FUZZ(reply_##name, [] { return replies_of(World::of(Room::room)); }) {    \
    reply(World::of(Room::room), input, corrects);                               \
  }                                                                              \
  PIRX_FUZZ(retrieval_##name, events) { retrieval(World::of(Room::room), input, several); }

PIRX_FUZZ_ROOM(goldberg, kGoldberg, true, true)
PIRX_FUZZ_ROOM(goldberg_keyed, kGoldbergKeyed, true, true)
PIRX_FUZZ_ROOM(goldberg_w160, kGoldbergW160, true, true)
PIRX_FUZZ_ROOM(goldberg_w48, kGoldbergW48, true, true)
PIRX_FUZZ_ROOM(goldberg_code, kGoldbergCode, true, true)
PIRX_FUZZ_ROOM(goldberg_encoded, kGoldbergEncoded, true, false)
PIRX_FUZZ_ROOM(chor, kChor, true, false)
PIRX_FUZZ_ROOM(chor_code, kChorCode, true, false)
PIRX_FUZZ_ROOM(dpf, kPoints, true, false)
PIRX_FUZZ_ROOM(dpf_keyed, kPointsKeyed, true, false)
PIRX_FUZZ_ROOM(dj, kTree, false, false)
PIRX_FUZZ_ROOM(dj_polynomial, kTreePolynomial, false, false)
PIRX_FUZZ_ROOM(qr, kResidues, false, false)
PIRX_FUZZ_ROOM(spiral, kSpiral, false, false)
PIRX_FUZZ_ROOM(inspire, kInspire, false, false)
PIRX_FUZZ_ROOM(inspire_masks, kInspireMasks, false, false)
PIRX_FUZZ_ROOM(download, kDownload, false, false)
PIRX_FUZZ_ROOM(download_keyed, kDownloadKeyed, false, false)

}  // namespace pirx::fuzz
