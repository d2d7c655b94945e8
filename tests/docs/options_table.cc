// Prints the options of every protocol of the table as the table in docs/cli.md.
#include <cstdio>
#include <string>

#include "pirx/protocol.h"

namespace pirx {
namespace {

const char* value_of(Option::Kind kind) {
  switch (kind) {
    case Option::Kind::kText:
      return "text";
    case Option::Kind::kPath:
      return "file";
    case Option::Kind::kNumber:
      return "number";
    case Option::Kind::kNumbers:
      return "numbers, as 32,16";
    case Option::Kind::kSize:
      return "size, as 64MiB";
    case Option::Kind::kTime:
      return "time, as 10s";
    case Option::Kind::kSwitch:
      break;
  }
  return "";
}

void print(const Protocol& protocol, const char* command, std::span<const Option> options) {
  for (const auto& option : options) {
    std::printf("| %s | `%s` | `%s` | %s | %s |\n", std::string(protocol.name).c_str(), command,
                flag_of(option.name).c_str(), value_of(option.kind), std::string(option.help).c_str());
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
