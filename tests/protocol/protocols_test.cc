// SPDX-License-Identifier: Apache-2.0
// The table of protocols: what every row must have, and what asking for a protocol by name says.
#include <gtest/gtest.h>

#include <set>

#include "pirx/protocol.h"
#include "support/files.h"

namespace pirx {
namespace {

TEST(Protocols, EveryRowIsComplete) {
  std::set<std::string_view> names;
  std::set<ProtocolId> ids;
  for (const auto* protocol : protocols()) {
    EXPECT_TRUE(names.insert(protocol->name).second) << protocol->name;
    EXPECT_TRUE(ids.insert(protocol->id).second) << protocol->name;
    EXPECT_FALSE(protocol->summary.empty()) << protocol->name;
    EXPECT_NE(protocol->serve, nullptr) << protocol->name;
  }
}

// A flag is one thing, whatever protocol it is given to.
TEST(Protocols, OptionsOfOneNameAreOneOption) {
  std::map<std::string_view, Option> known;
  for (const auto* protocol : protocols()) {
    for (const Option& option : protocol->options) {
      const auto& first = known.emplace(option.name, option).first->second;
      EXPECT_EQ(first.kind, option.kind) << option.name;
      EXPECT_EQ(first.least, option.least) << option.name;
      EXPECT_EQ(first.most, option.most) << option.name;
      EXPECT_EQ(first.help, option.help) << option.name;
      EXPECT_FALSE(option.help.empty()) << option.name;
    }
  }
}

TEST(Protocols, AreFoundByName) {
  for (const auto* protocol : protocols()) EXPECT_EQ(find_protocol(protocol->name).value(), protocol);
  const auto unknown = find_protocol("telepathy");
  pirx::testing::expect_error(unknown, ErrorCode::kInvalidArgument, protocol_names());
}

}  // namespace
}  // namespace pirx
