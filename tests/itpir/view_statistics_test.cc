// SPDX-License-Identifier: Apache-2.0
// What servers see, at real size and with real randomness: the histogram of every byte of a request for one
// wish against that for another, and pairs of bytes of two colluding servers. A client that errs one time in
// ten must be found.
#include <gtest/gtest.h>

#include <cmath>

#include "pirx/itpir/chor/client.h"
#include "pirx/itpir/dpf/client.h"
#include "pirx/itpir/goldberg/client.h"

namespace pirx::itpir {
namespace {

constexpr std::uint64_t kRecords = 40;
constexpr std::size_t kQueries = 8000;  ///< for each wish
/// In standard deviations: about 10^-11 for one histogram, 10^-8 for the hundreds of a test.
constexpr double kLimit = 6.7;

using Counts = std::vector<std::uint32_t>;

/// How far two histograms of as many samples differ: the chi-square statistic of homogeneity, as a standard
/// normal number (Wilson and Hilferty 1931). Cells that are too empty for that are added up.
double deviation(const Counts& a, const Counts& b) {
  double statistic = 0, cells = 0, rest_a = 0, rest_b = 0;
  const auto add = [&](double x, double y) {
    if (x + y == 0) return;
    statistic += (x - y) * (x - y) / (x + y);
    ++cells;
  };
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] + b[i] >= 10) {
      add(a[i], b[i]);
    } else {
      rest_a += a[i];
      rest_b += b[i];
    }
  }
  add(rest_a, rest_b);
  if (cells < 2) return 0;
  const double freedom = cells - 1, shift = 2 / (9 * freedom);
  return (std::cbrt(statistic / freedom) - (1 - shift)) / std::sqrt(shift);
}

/// By server and place: the histogram of a byte of the request behind its header.
using Views = std::vector<std::vector<Counts>>;

/// `leaky`: one time in ten the first server is sent a zero at the place of the wanted record.
Views views_of(const SharesClient& client, std::uint64_t wish, bool leaky = false) {
  auto rng = Rng::from_os().value();
  Views views(client.servers());
  for (std::size_t n = 0; n < kQueries; ++n) {
    auto query = client.query({&wish, 1}, rng).value();
    if (leaky && n % 10 == 0) {
      const auto body = MutableByteSpan(query.requests[0]).subspan(MessageHeader::kBytes);
      body[static_cast<std::size_t>(wish) % body.size()] = std::byte{0};
    }
    for (std::size_t j = 0; j < views.size(); ++j) {
      const auto body = ByteSpan(query.requests[j]).subspan(MessageHeader::kBytes);
      views[j].resize(body.size(), Counts(256));
      for (std::size_t k = 0; k < body.size(); ++k) ++views[j][k][std::to_integer<std::size_t>(body[k])];
    }
  }
  return views;
}

double worst(const Views& a, const Views& b) {
  double most = 0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    for (std::size_t k = 0; k < a[j].size(); ++k) most = std::max(most, deviation(a[j][k], b[j][k]));
  }
  return most;
}

void check(const SharesClient& client) {
  const auto first = views_of(client, 3);
  EXPECT_LT(worst(first, views_of(client, 38)), kLimit);
  EXPECT_LT(worst(first, views_of(client, 3)), kLimit);
  EXPECT_GT(worst(first, views_of(client, 38, true)), 2 * kLimit) << "the planted bias was not found";
}

database::Geometry geometry() { return database::Geometry::create({kRecords, 4, 1, false, false}).value(); }
goldberg::Client goldberg_client(const FieldTag& field, bool seeded, unsigned t = 1) {
  return goldberg::Client(goldberg::Params::create({field, geometry(), {}, {1, 2, 3, 4}, t}).value(),
                          {.seeded = seeded});
}

TEST(ViewStatistics, Goldberg) {
  check(goldberg_client(kTagGf2_8, false));
  check(goldberg_client(kTagGf2_16, false));
}
TEST(ViewStatistics, GoldbergSeeded) {
  const auto client = goldberg_client(kTagGf2_8, true);
  EXPECT_LT(worst(views_of(client, 3), views_of(client, 38)), kLimit);
}
TEST(ViewStatistics, Chor) { check(chor::Client(chor::Params::create({geometry(), {}, {1, 2, 3}}).value())); }
TEST(ViewStatistics, PointFunctions) {
  check(dpf::Client(dpf::Params::create({geometry(), {}, {1, 2}}).value()));
}

/// The high halves of two servers' bytes at one place.
Counts pairs_of(const SharesClient& client, std::uint64_t wish, std::uint64_t place) {
  auto rng = Rng::from_os().value();
  Counts counts(256);
  for (std::size_t n = 0; n < kQueries; ++n) {
    const auto query = client.query({&wish, 1}, rng).value();
    const auto half = [&](std::size_t server) {
      return std::to_integer<unsigned>(query.requests[server][MessageHeader::kBytes + place]) >> 4;
    };
    ++counts[16 * half(0) + half(1)];
  }
  return counts;
}

TEST(ViewStatistics, PairsOfCollusion) {
  const auto two = goldberg_client(kTagGf2_8, false, 2);
  EXPECT_LT(deviation(pairs_of(two, 3, 3), pairs_of(two, 38, 3)), kLimit);
  // Both servers of Chor's protocol see the row together.
  const chor::Client both(chor::Params::create({geometry(), {}, {1, 2}}).value());
  EXPECT_GT(deviation(pairs_of(both, 7, 0), pairs_of(both, 38, 0)), 2 * kLimit);
}

}  // namespace
}  // namespace pirx::itpir
