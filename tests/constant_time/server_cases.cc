// SPDX-License-Identifier: Apache-2.0
// What servers keep secret: the tokens of their clients.
#include "cases.h"
#include "pirx/base/sha256.h"
#include "pirx/http/tokens.h"

namespace pirx::constant_time {

/// Whether a token is known, and whose it is, may show.
void add_server_cases(std::vector<Case>& cases) {
  for (const bool known : {true, false}) {
    cases.push_back({std::string("http: a token that is ") + (known ? "known" : "unknown"), "token", [known] {
                       std::string token = known ? "the second" : "a guess";
                       const auto look_up =
                           http::parse_tokens("one " + to_hex(sha256(as_bytes("the first"))) + "\ntwo " +
                                              to_hex(sha256(as_bytes("the second"))) + "\n")
                               .value();
                       checkmem::hide(token);
                       const auto name = look_up(token);
                       return checkmem::hidden(token) && (known ? name == "two" : !name);
                     }});
  }
}

}  // namespace pirx::constant_time
