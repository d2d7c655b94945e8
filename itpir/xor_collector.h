// SPDX-License-Identifier: Apache-2.0
// Gathers replies whose exclusive or is the answer. Every server must reply; such replies prove nothing.
#pragma once

#include "pirx/itpir/client_interface.h"
#include "pirx/itpir/common.h"

namespace pirx::itpir {

/// A deployment whose replies add up.
struct XorReplies {
  ProtocolId protocol;
  const char* name;  ///< of the protocol, as in "Chor's protocol"
  database::Geometry geometry;
  database::Version version;
  std::vector<std::uint64_t> coordinates;
  bool slots;  ///< a reply holds single slots, not rows

  /// The bytes of a reply for each wish.
  std::uint64_t bytes() const noexcept { return slots ? geometry.slot_bytes() : geometry.row_bytes(); }
};

/// What such a client keeps of a query.
template <class Params>
struct XorState final : ClientState {
  XorState(std::shared_ptr<const Params> of, Wishes wanted)
      : params(std::move(of)), wishes(std::move(wanted)) {}
  std::shared_ptr<const Params> params;
  Wishes wishes;
};

/// DecodeOptions::liars has no effect, as replies cannot show who lies, and ask_again is refused.
std::unique_ptr<ReplyCollector> make_xor_collector(XorReplies replies, Wishes wishes, DecodeOptions options);

}  // namespace pirx::itpir
