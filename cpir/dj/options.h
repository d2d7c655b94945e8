// The options of servers whose clients have keys of dj/keys.h.
#pragma once

#include "pirx/cpir/dj/keys.h"
#include "pirx/protocol.h"

namespace pirx::cpir::dj {

inline constexpr Option kModulusOption{"modulus", Option::Kind::kNumber, 1024, 4096,
                                       "Bits of clients' keys: 2048, 3072 or 4096 [3072]"};
inline constexpr Option kKernelOption{"kernel", Option::Kind::kText, 0, 0,
                                      "gmp or ifma [the faster one that runs here]"};
inline constexpr Option kPaperOption{
    "paper_reproduction", Option::Kind::kSwitch, 0, 0,
    "Keys of 1024 bits, as in the papers, which can be broken; loopback only"};

struct KeyOptions {
  unsigned modulus_bits;
  KeyPolicy policy;
  std::string kernel;
};
/// Reads these options of a server. A note warns of short keys. InvalidArgument: short keys were not asked
/// for explicitly, or clients on other machines could be deceived by them.
Result<KeyOptions> read_key_options(const ServerSpec& spec);

}  // namespace pirx::cpir::dj
