// SPDX-License-Identifier: Apache-2.0
// bench/security/estimates.json, which bench/security/estimate writes, is about the parameter sets that the
// code has.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cpir/ring/ring.h"
#include "pirx/cpir/inspire/common.h"
#include "pirx/cpir/spiral/common.h"
#include "support/source_file.h"

namespace pirx::cpir {
namespace {

using Json = nlohmann::json;

struct Errors {
  unsigned log_d, eta;
  bool secure;
};

std::map<std::string, Errors> sets_of_the_code() {
  std::map<std::string, Errors> sets{{"inspire s8", {inspire::kS8.log_d, inspire::kS8.eta, true}},
                                     {"inspire s16", {inspire::kS16.log_d, inspire::kS16.eta, true}}};
  std::istringstream names(std::string(spiral::kSchemeNames) + ", c1");
  for (std::string name; std::getline(names >> std::ws, name, ',');) {
    const auto scheme = spiral::named_scheme(name).value();
    sets["spiral " + name] = {scheme.log_d, scheme.eta, scheme.policy == spiral::Policy::kSecure};
  }
  return sets;
}

TEST(SecurityEstimates, AreOfTheSetsOfTheCode) {
  const auto kept = Json::parse(pirx::testing::source_file("bench/security/estimates.json"));
  auto sets = sets_of_the_code();
  ASSERT_EQ(sets.size(), 9u);
  for (const auto& instance : kept.at("instances")) {
    double least = 1e9;
    for (const auto& estimate : instance.at("estimates")) {
      // Core-SVP is kept for comparison. It leaves out what an attack costs beside the exponent.
      if (estimate.at("model") != "ADPS16") least = std::min(least, estimate.at("bits").get<double>());
    }
    for (const std::string set : instance.at("sets")) {
      const auto found = sets.find(set);
      ASSERT_NE(found, sets.end()) << set << " is not in the code";
      EXPECT_EQ(instance.at("n"), 1u << found->second.log_d) << set;
      EXPECT_EQ(instance.at("q"), kModulus) << set;
      EXPECT_EQ(instance.at("eta"), found->second.eta) << set;
      EXPECT_EQ(least >= 128, found->second.secure) << set;
      sets.erase(found);
    }
  }
  for (const auto& [set, errors] : sets) ADD_FAILURE() << "there is no estimate for " << set;
}

}  // namespace
}  // namespace pirx::cpir
