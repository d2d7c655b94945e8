// SPDX-License-Identifier: Apache-2.0
// // The main program of the tests of a folder that are compiled as one: runs those of the files that are
// named, or all. A filter goes before the files: death tests start this program again with one.

#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::set<std::string> wanted(argv + 1, argv + argc);
  std::set<std::string> missing = wanted;
  std::string filter;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const std::string path = suite.GetTestInfo(j)->file();
      const std::string file = path.substr(path.rfind('/') + 1);
      if (!wanted.contains(file)) continue;
      missing.erase(file);
      filter += std::string(suite.name()) + '.' + suite.GetTestInfo(j)->name() + ':';
    }
  }
  for (const auto& file : missing) std::fprintf(stderr, "%s: there are no such tests\n", file.c_str());
  if (!missing.empty()) return 2;
  if (!wanted.empty() && GTEST_FLAG_GET(filter) == "*") GTEST_FLAG_SET(filter, filter);
  return RUN_ALL_TESTS();
}
