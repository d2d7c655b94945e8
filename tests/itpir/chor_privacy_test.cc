// SPDX-License-Identifier: Apache-2.0
// Privacy as a unit test: over every coin, the joint view of any l - 1 servers has the very same distribution
// for every index; that of all l has not. Planted bugs show that the test can fail.
#include <gtest/gtest.h>

#include <map>

#include "itpir/chor/client_impl.h"
#include "itpir/make_client.h"
#include "pirx/itpir/vertical.h"

namespace pirx::itpir::chor {
namespace {

/// By vector of `bits` bits, one seed that stands for it: with these for coins, seeds are as random as
/// vectors.
std::vector<Bytes> seeds_for_all_vectors(unsigned bits) {
  std::vector<Bytes> seeds(std::size_t{1} << bits);
  Bytes seed(kSeedBytes);
  for (std::size_t found = 0, n = 0; found < seeds.size(); ++n) {
    store_le(seed.data(), std::uint64_t{n});
    std::byte vector{};
    expand_bits(ByteSpan(seed).first<kSeedBytes>(), bits, {&vector, 1});
    auto& of_vector = seeds.at(std::to_integer<std::size_t>(vector));
    if (!of_vector.empty()) continue;
    of_vector = seed;
    ++found;
  }
  return seeds;
}

/// Replays the coins of one number, `bits` bits for each draw; what a client must clear comes as ones. Who
/// asks for a seed gets that of the next bits. Repeats after `period` draws: the planted bug of a client that
/// reuses its coins.
class Tape {
 public:
  Tape(unsigned bits, std::uint64_t coins, std::size_t period, const std::vector<Bytes>* seeds = nullptr)
      : bits_(bits), coins_(coins), period_(period), seeds_(seeds) {}
  void fill(MutableByteSpan out) {
    ASSERT_EQ(out.size(), seeds_ == nullptr ? 1u : kSeedBytes);
    const auto at = draws_++ % period_ * bits_;
    const std::uint64_t vector = coins_ >> at & ((1u << bits_) - 1);
    if (seeds_ == nullptr) {
      out[0] = static_cast<std::byte>(vector | ~((1u << bits_) - 1));
    } else {
      std::copy_n(seeds_->at(vector).begin(), kSeedBytes, out.begin());
    }
  }
  std::size_t draws() const { return draws_; }

 private:
  unsigned bits_;
  std::uint64_t coins_;
  std::size_t period_, draws_ = 0;
  const std::vector<Bytes>* seeds_;
};

using Views = std::map<std::string, std::uint64_t>;

struct Case {
  unsigned l, rows;
  std::size_t queries = 1, ones = 1;
  std::size_t period = 0;  ///< draws until coins repeat; 0: never
  bool seeded = false;

  /// How often each joint view of these servers occurs over all coins.
  Views views(std::span<const std::uint64_t> wanted, unsigned servers) const {
    Params::Spec spec{database::Geometry::create({rows, 1, 1, false, false}).value(), {}, {}};
    for (unsigned j = 1; j <= l; ++j) spec.coordinates.push_back(j);
    const auto seeds = seeded ? seeds_for_all_vectors(rows) : std::vector<Bytes>();
    const std::size_t draws = queries * (l - 1), fresh = period == 0 ? draws : period;
    Views views;
    for (std::uint64_t coins = 0; coins < std::uint64_t{1} << (fresh * rows); ++coins) {
      Tape tape(rows, coins, fresh, seeded ? &seeds : nullptr);
      const auto requests = make_requests(spec, seeded, wanted, ones, tape).value();
      EXPECT_EQ(tape.draws(), draws);
      std::string view;
      for (unsigned j = 0; j < l; ++j) {
        if (servers >> j & 1) view += as_text(requests[j]);
      }
      ++views[view];
    }
    return views;
  }

  /// Whether the views of each set of `size` servers have one distribution for all lists of indices.
  bool private_against(int size) const {
    std::vector<std::uint64_t> wanted(queries * ones, 0);
    for (unsigned servers = 0; servers < 1u << l; ++servers) {
      if (__builtin_popcount(servers) != size) continue;
      std::fill(wanted.begin(), wanted.end(), 0);
      const auto first = views(wanted, servers);
      std::size_t at = 0;
      while (at < wanted.size()) {  // the next list
        for (at = 0; at < wanted.size() && ++wanted[at] == rows; ++at) wanted[at] = 0;
        if (views(wanted, servers) != first) return false;
      }
    }
    return true;
  }
};

TEST(ChorPrivacy, AllButOneServerLearnNothing) {
  for (unsigned l = 2; l <= 3; ++l) {
    for (unsigned rows = 1; rows <= 4; ++rows) {
      SCOPED_TRACE("l=" + std::to_string(l) + " r=" + std::to_string(rows));
      for (int size = 1; size < static_cast<int>(l); ++size) {
        EXPECT_TRUE((Case{l, rows}.private_against(size)));
      }
      EXPECT_EQ((Case{l, rows}.private_against(static_cast<int>(l))), rows == 1) << "all of them can decode";
    }
  }
}

TEST(ChorPrivacy, FourServers) {
  EXPECT_TRUE((Case{4, 3}.private_against(3)));
  EXPECT_FALSE((Case{4, 3}.private_against(4)));
}

TEST(ChorPrivacy, ListsOfIndices) {
  EXPECT_TRUE((Case{2, 4, 2}.private_against(1)));
  EXPECT_TRUE((Case{3, 3, 2}.private_against(2)));
  EXPECT_FALSE((Case{2, 3, 2}.private_against(2)));
}

TEST(ChorPrivacy, SumsOfThreeRows) {
  EXPECT_TRUE((Case{2, 4, 1, 3}.private_against(1)));
  EXPECT_TRUE((Case{3, 3, 1, 3}.private_against(2)));
  EXPECT_FALSE((Case{2, 4, 1, 3}.private_against(2)));
}

/// Seeds that are as good as random: the last server, who gets a vector, and the others together.
TEST(ChorPrivacy, Seeds) {
  EXPECT_TRUE((Case{2, 4, 1, 1, 0, true}.private_against(1)));
  EXPECT_TRUE((Case{3, 3, 1, 1, 0, true}.private_against(2)));
  EXPECT_TRUE((Case{3, 2, 2, 1, 0, true}.private_against(2)));
  EXPECT_TRUE((Case{2, 3, 1, 3, 0, true}.private_against(1)));
  EXPECT_FALSE((Case{3, 3, 1, 1, 0, true}.private_against(3)));
  // One seed for two servers, and for two queries.
  EXPECT_FALSE((Case{3, 3, 1, 1, 1, true}.private_against(2)));
  EXPECT_FALSE((Case{2, 3, 2, 1, 1, true}.private_against(1)));
}

/// Four rows, two of them wanted by subcube:2,1: three buckets of two rows, each asked whatever is wanted.
TEST(ChorPrivacy, BatchCodes) {
  const auto make = make_clients_at<Params, Client>({1, 2});
  const auto plain = database::Geometry::create({4, 1, 1, false, false}).value();
  const auto client = VerticalClient::create("subcube:2,1", plain, {}, make).value();
  const Params::Spec buckets{client.layout().bucket, client.layout().version, {1, 2}};
  const auto views = [&](std::uint64_t i, std::uint64_t j, unsigned servers) {
    const std::uint64_t wanted[] = {i, j};
    const auto wish = client.plan(wanted).value();
    Views result;
    for (std::uint64_t coins = 0; coins < 1u << 6; ++coins) {
      Tape tape(2, coins, 3);
      const auto requests = make_requests(buckets, false, wish.rows(), 1, tape).value();
      std::string view;
      for (unsigned server = 0; server < 2; ++server) {
        if (servers >> server & 1) view += as_text(requests[server]);
      }
      ++result[view];
    }
    return result;
  };
  bool all_alike = true;
  for (std::uint64_t i = 0; i < 4; ++i) {
    for (std::uint64_t j = 0; j < 4; ++j) {
      EXPECT_EQ(views(i, j, 1), views(0, 0, 1));
      EXPECT_EQ(views(i, j, 2), views(0, 0, 2));
      all_alike &= views(i, j, 3) == views(0, 0, 3);
    }
  }
  EXPECT_FALSE(all_alike) << "both servers together can decode";
}

TEST(ChorPrivacy, CoinsUsedTwiceAreCaught) {
  EXPECT_FALSE((Case{2, 3, 2, 1, 1}.private_against(1)));
  EXPECT_FALSE((Case{3, 3, 1, 1, 1}.private_against(2)));
}

}  // namespace
}  // namespace pirx::itpir::chor
