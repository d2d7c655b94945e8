// SPDX-License-Identifier: Apache-2.0
// What servers do instead of answering.
#pragma once

#include "world.h"

namespace pirx::simulation {

enum class Kind : unsigned {
  kHonest,
  // These answer in time, and wrongly.
  kFlips,                  ///< some bits of the reply's body
  kShifts,                 ///< adds the same to all words, as all others of this kind do
  kColludes,               ///< answers from another database, as all others of this kind do: one polynomial
  kRandom,                 ///< random bytes in place of the body
  kTruncates,              ///< leaves bytes out at the end
  kAppends,                ///< more bytes than there should be
  kOtherEpoch,             ///< the true reply of another epoch
  kOtherEpochRelabelled,   ///< the same under the header of this epoch
  kOthersReply,            ///< the reply of another coordinate to that coordinate's request
  kOthersReplyRelabelled,  ///< the same under a header of its own
  kReplays,                ///< its reply to the message before
  kOtherClients,           ///< its reply to another client's request
  kEmpty,                  ///< no bytes
  kFlipsHeader,            ///< some bits of the header
  kEquivocates,            ///< honest or flips, by chance
  kSendsParameters,        ///< another message of the protocol
  kEchoes,                 ///< the request
  kDuplicates,             ///< an honest reply and a wrong one, in either order
  // From here on there is no wrong reply.
  kSilent,   ///< nothing
  kSlow,     ///< the true reply, after the deadline
  kDrips,    ///< the true reply, complete just before the deadline or just after it
  kRefuses,  ///< an error, of any code
  kCount
};
inline bool answers_wrongly(Kind kind) { return kind > Kind::kHonest && kind < Kind::kSilent; }

/// What a liar knows.
struct Scene {
  const World& world;
  std::size_t server;
  Content content;                     ///< what it serves, and what its client's plan is of
  const std::vector<Bytes>& requests;  ///< of the wave, to all servers
  const Bytes& honest;                 ///< its true reply
  const Bytes& before;                 ///< its true reply to the message before; empty: there was none
  std::uint64_t conspiracy;            ///< a number that all liars of a simulation know
};

/// The reply of a server that answers_wrongly(). It may be the true one by chance.
Bytes wrong_reply(Kind kind, const Scene& scene, std::mt19937_64& engine);

}  // namespace pirx::simulation
