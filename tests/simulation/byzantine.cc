// SPDX-License-Identifier: Apache-2.0
#include "byzantine.h"

#include <algorithm>

namespace pirx::simulation {
namespace {

/// Where the words begin, roughly: behind the longest header of the protocol's messages.
std::size_t body_at(const Scene& scene) {
  return std::min<std::size_t>(scene.world.setting().protocol->several ? 80 : 40, scene.honest.size() / 2);
}

/// Puts one database's version in another's place, wherever it stands.
Bytes relabel(Bytes message, const database::Version& from, const database::Version& to) {
  Writer before, after;
  from.encode(before);
  to.encode(after);
  const auto old_label = std::move(before).take(), new_label = std::move(after).take();
  const auto at = std::search(message.begin(), message.end(), old_label.begin(), old_label.end());
  if (at != message.end()) std::copy(new_label.begin(), new_label.end(), at);
  return message;
}

/// What the server would say to `request` if it had that database.
Bytes from_other(const Scene& scene, Content content, bool keep_label) {
  const auto& mine = scene.world.plan(scene.content)->version();
  const auto& others = scene.world.plan(content)->version();
  const Bytes request = relabel(scene.requests[scene.server], mine, others);
  const ByteSpan view = request;
  auto reply = scene.world.server(scene.server, content).answer({&view, 1});
  if (!reply.front()) return {};
  return keep_label ? relabel(std::move(*reply.front()), others, mine) : std::move(*reply.front());
}

Bytes answer_of(const Scene& scene, std::size_t server, const Bytes& request) {
  const ByteSpan view = request;
  auto reply = scene.world.server(server, scene.content).answer({&view, 1});
  return reply.front() ? std::move(*reply.front()) : Bytes();
}

void flip(Bytes& bytes, std::size_t from, std::size_t to, std::mt19937_64& engine) {
  if (from >= to) return;
  const std::size_t at = from + engine() % (to - from);
  bytes[at] ^= std::byte{1} << (engine() % 8);
}

}  // namespace

Bytes wrong_reply(Kind kind, const Scene& scene, std::mt19937_64& engine) {
  Bytes reply = scene.honest;
  const std::size_t body = body_at(scene), other = (scene.server + 1) % scene.requests.size();
  switch (kind) {
    case Kind::kEquivocates:
      if (engine() % 2 == 0) return reply;
      [[fallthrough]];
    case Kind::kFlips:
      for (auto bits = 1 + engine() % 8; bits > 0; --bits) flip(reply, body, reply.size(), engine);
      return reply;
    case Kind::kShifts:
      for (std::size_t i = body; i < reply.size(); ++i) {
        reply[i] ^= static_cast<std::byte>(1 + scene.conspiracy % 3);
      }
      return reply;
    case Kind::kColludes:
      return from_other(scene, scene.content == kOther ? kOld : kOther, true);
    case Kind::kRandom:
      for (std::size_t i = body; i < reply.size(); ++i) reply[i] = static_cast<std::byte>(engine());
      return reply;
    case Kind::kTruncates:
      reply.resize(reply.size() - 1 - engine() % reply.size());
      return reply;
    case Kind::kAppends:
      reply.resize(reply.size() + 1 + engine() % 100);
      return reply;
    case Kind::kOtherEpoch:
    case Kind::kOtherEpochRelabelled:
      return from_other(scene, scene.content == kNew ? kOld : kNew, kind == Kind::kOtherEpochRelabelled);
    case Kind::kOthersReply:
      return answer_of(scene, other, scene.requests[other]);
    case Kind::kOthersReplyRelabelled:
      reply = answer_of(scene, other, scene.requests[other]);
      if (reply.size() == scene.honest.size()) std::copy_n(scene.honest.begin(), body, reply.begin());
      return reply;
    case Kind::kReplays:
      return scene.before;
    case Kind::kOtherClients:
      return answer_of(scene, scene.server, scene.world.foreign_request(scene.server));
    case Kind::kEmpty:
      return {};
    case Kind::kFlipsHeader:
      flip(reply, 0, body, engine);
      return reply;
    case Kind::kSendsParameters:
      return scene.world.server(scene.server, scene.content).parameters();
    case Kind::kEchoes:
      return scene.requests[scene.server];
    case Kind::kDuplicates:
      if (!reply.empty()) reply.back() ^= std::byte{1};
      return reply;
    default:
      return reply;
  }
}

}  // namespace pirx::simulation
