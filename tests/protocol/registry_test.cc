// The registry opens what it was given, by name, and says which names exist.
#include <gtest/gtest.h>

#include "pirx/protocol.h"

namespace pirx {
namespace {

Registry::Entry failing_entry(const std::string& name) {
  return {name, "a protocol that opens nothing",
          [name](const ServerSpec& spec) -> Result<std::unique_ptr<AnyServer>> {
            return fail(ErrorCode::kDataLoss, name + " saw " + spec.database_path);
          }};
}

TEST(Registry, OpensByName) {
  Registry registry;
  registry.add(failing_entry("goldberg"));
  registry.add(failing_entry("chor"));
  ServerSpec spec;
  spec.database_path = "a.pirx";
  const auto opened = registry.open("chor", spec);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kDataLoss);
  EXPECT_EQ(opened.error().message(), "chor saw a.pirx");
  EXPECT_EQ(registry.entries().size(), 2u);
}

TEST(Registry, UnknownNameListsTheKnownOnes) {
  Registry registry;
  const auto none = registry.open("spiral", {});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message().find("none"), std::string::npos);
  registry.add(failing_entry("goldberg"));
  registry.add(failing_entry("chor"));
  const auto unknown = registry.open("spiral", {});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(unknown.error().message().find("goldberg, chor"), std::string::npos);
}

TEST(RegistryDeathTest, NameTwiceIsABrokenContract) {
  Registry registry;
  registry.add(failing_entry("goldberg"));
  EXPECT_DEATH(registry.add(failing_entry("goldberg")), "");
}

}  // namespace
}  // namespace pirx
