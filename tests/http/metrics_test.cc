// SPDX-License-Identifier: Apache-2.0
// Histograms as Prometheus reads them, and counters under many threads.
#include "service/http/metrics.h"

#include <gtest/gtest.h>

#include <clocale>
#include <thread>

namespace pirx::http {
namespace {

TEST(Metrics, ABucketHoldsItsBound) {
  Histogram histogram({1, 2.5});
  for (const double value : {-1.0, 1.0, 1.5, 2.5, 2.6, 1e6}) histogram.add(value);
  MetricsPage page;
  page.begin("seconds", "How long.", "histogram");
  page.histogram("{database=\"a\"}", histogram);
  page.histogram("", Histogram({1}));
  EXPECT_EQ(std::move(page).take(),
            "# HELP seconds How long.\n"
            "# TYPE seconds histogram\n"
            "seconds_bucket{database=\"a\",le=\"1\"} 2\n"
            "seconds_bucket{database=\"a\",le=\"2.5\"} 4\n"
            "seconds_bucket{database=\"a\",le=\"+Inf\"} 6\n"
            "seconds_sum{database=\"a\"} 1000006.6\n"
            "seconds_count{database=\"a\"} 6\n"
            "seconds_bucket{le=\"1\"} 0\n"
            "seconds_bucket{le=\"+Inf\"} 0\n"
            "seconds_sum 0\n"
            "seconds_count 0\n");
}

TEST(Metrics, NumbersHaveAPointWhateverTheLocale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  const char* found = nullptr;
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "fr_FR"}) {
    if (found == nullptr) found = std::setlocale(LC_ALL, name);
  }
  if (found == nullptr) GTEST_SKIP() << "this machine has no locale with a comma";
  const auto text = decimal(0.25);
  std::setlocale(LC_ALL, before.c_str());
  EXPECT_EQ(text, "0.25");
}

TEST(Metrics, NothingIsLostBetweenThreads) {
  Histogram histogram({0.5});
  ServerMetrics metrics;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 10'000; ++j) {
        histogram.add(j % 2);
        metrics.count_reply(j % 2 == 0 ? 200 : 503, 3);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  MetricsPage page;
  page.begin("x", "", "histogram");
  page.histogram("", histogram);
  const auto text = std::move(page).take();
  EXPECT_NE(text.find("x_bucket{le=\"0.5\"} 20000\nx_bucket{le=\"+Inf\"} 40000\nx_sum 20000\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(metrics.replies.front(), 20'000u);
  EXPECT_EQ(metrics.replies.back(), 20'000u);
  EXPECT_EQ(metrics.reply_bytes, 120'000u);
}

TEST(Metrics, AStatusWithoutACounterCountsItsBytes) {
  ServerMetrics metrics;
  metrics.count_reply(418, 7);
  for (const auto& count : metrics.replies) EXPECT_EQ(count, 0u);
  EXPECT_EQ(metrics.reply_bytes, 7u);
}

TEST(Metrics, TheSystemSaysWhatAProcessHolds) {
  EXPECT_GT(resident_bytes(), 1e5);
  EXPECT_LT(resident_bytes(), 1e13);
}

}  // namespace
}  // namespace pirx::http
