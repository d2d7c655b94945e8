// SPDX-License-Identifier: Apache-2.0
// Prints the options of every protocol of the table as the table in docs/cli.md.
#include <cstdio>
#include <string>

#include "tools/pirx/protocol_options.h"

namespace pirx {
namespace {

void print(const Protocol& protocol, const char* command, std::span<const Option> options) {
  for (const auto& option : options) {
    std::printf("| %s | `%s` | `%s` | %s | %s |\n", std::string(protocol.name).c_str(), command,
                flag_of(option.name).c_str(), cli::values_of(option).c_str(),
                std::string(option.help).c_str());
  }
}

}  // namespace
}  // namespace pirx

int main() {
  std::printf("| protocol | command | option | value | |\n|---|---|---|---|---|\n");
  using namespace pirx;
  for (const auto* protocol : protocols()) {
    print(*protocol, "serve", protocol->options);
    print(*protocol, "deploy", protocol->chosen);
    print(*protocol, "get", protocol->client_options);
  }
}
