// SPDX-License-Identifier: Apache-2.0
// Buckets against the textbook.
#include "pirx/batchcodes/encoder.h"

#include <chrono>

#include "batchcodes/model.h"
#include "pirx/fp/prime_field.h"
#include "pirx/fp/w160.h"
#include "pirx/fp/w48.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"

namespace pirx::batchcodes {
namespace {

using matrix::Matrix;
using pirx::testing::seeded_engine;
using pirx::testing::TinyPrime;

template <class F>
Encoding encoding_of(const F& f, unsigned u, unsigned tau, std::uint64_t M, unsigned l) {
  return Encoding::create({f.tag(), 1, 1, u, tau, M, Encoding::suggested_coordinates(f.tag(), l).value()})
      .value();
}

// A modulus, which a file may name, buys no hours of work: 2,000 rows of weights took minutes.
TEST(Encoder, ALargeCodeIsNotComputedForRowsThatNobodyEncodes) {
  const auto start = std::chrono::steady_clock::now();
  const auto f = fp::PrimeField::create(128).value();
  const auto encoding = encoding_of(f, 1000, 0, 1000 * 1000, 1001);
  ASSERT_TRUE(Encoder<fp::PrimeField>::create(strassen::Engine<fp::PrimeField>(f), encoding, {0}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

/// Any u + tau buckets give back every block; each bucket alone is what a single server would make of it.
template <class F>
void check_encoding(const F& f, unsigned stream, int trials) {
  auto engine = seeded_engine(stream);
  for (int trial = 0; trial < trials && !::testing::Test::HasFailure(); ++trial) {
    const unsigned u = 1 + static_cast<unsigned>(engine() % 4), tau = static_cast<unsigned>(engine() % 3);
    const unsigned l = u + tau + 1 + static_cast<unsigned>(engine() % 2);
    const std::size_t r = 1 + engine() % 20, s = 1 + engine() % (trial % 10 == 0 ? 900 : 9);
    const auto encoding = encoding_of(f, u, tau, u * (1 + engine() % 8), l);
    const auto D = testing::random_database(f, r, s, engine);
    const auto R = static_cast<std::size_t>(encoding.rows(r));
    const auto noise = testing::random_elements(f, tau * R, s, engine);
    const auto encoder = Encoder<F>::create(strassen::Engine<F>(f), encoding).value();
    const auto buckets = testing::encode_all(encoder, D, noise, s, 1 + engine() % R);
    std::vector<std::size_t> order(l);
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), engine);
    std::vector<typename F::Elem> x, y(u + tau);
    for (unsigned k = 0; k < u + tau; ++k) x.push_back(f.from_label(encoding.spec().coordinates[order[k]]));
    for (std::size_t i = 0; i < R * u; ++i) {
      for (std::size_t c = 0; c < std::min<std::size_t>(s, 12); ++c) {
        for (unsigned k = 0; k < u + tau; ++k) y[k] = buckets.at(order[k] * R + i / u, c);
        const auto label = encoding.has_data_coordinates() ? i % encoding.spec().modulus : 0;
        const auto value = testing::interpolate(f, x, y, f.from_label(label));
        const auto expected = i < r ? f.load_word(D.row(i) + c * f.word_bytes()) : f.zero();
        ASSERT_TRUE(f.sum_equal(value, expected));
      }
    }
    // One server by itself, and another number of threads.
    const std::size_t j = order[0];
    const auto single = Encoder<F>::create(strassen::Engine<F>(f), encoding, {j}).value();
    auto own = Matrix<typename F::Sum>::create(R, s).value();
    ASSERT_TRUE(single.encode(0, D.view(), noise.view(), own.view(), {1, -1}));
    EXPECT_TRUE(testing::same<F>(f, own.view(), buckets.view().window(j * R, 0, R, s)));
  }
}

TEST(Encoder, Gf2_8) { check_encoding(gf2e::Gf2_8{}, 21, 120); }
TEST(Encoder, Gf2_16) { check_encoding(gf2e::Gf2_16{}, 22, 80); }
TEST(Encoder, W160) { check_encoding(fp::W160{}, 23, 25); }
TEST(Encoder, W48) { check_encoding(fp::W48{}, 24, 40); }
TEST(Encoder, PrimeOf24Bits) { check_encoding(fp::PrimeField::create(24).value(), 25, 10); }
TEST(Encoder, Field97) { check_encoding(TinyPrime<97>{}, 26, 100); }

TEST(Encoder, ModuliTooLargeToTabulate) {
  const fp::W48 f;
  auto engine = seeded_engine(27);
  const auto D = testing::random_database(f, 9, 3, engine);
  const auto wide =
      Encoder<fp::W48>::create(strassen::Engine<fp::W48>(f), encoding_of(f, 2, 0, 1u << 30, 3)).value();
  const auto tabulated =
      Encoder<fp::W48>::create(strassen::Engine<fp::W48>(f), encoding_of(f, 2, 0, 10, 3)).value();
  EXPECT_TRUE(testing::same<fp::W48>(f, testing::encode_all<fp::W48>(wide, D, {}, 3, 2).view(),
                                     testing::encode_all<fp::W48>(tabulated, D, {}, 3).view()));
}

/// Every coin: any tau servers' bucket rows are uniform whatever the data, and tau + 1 servers' are not.
template <class F>
void check_independence(const F& f, unsigned u, unsigned tau, std::uint64_t M, unsigned l) {
  const auto encoding = encoding_of(f, u, tau, M, l);
  const auto encoder = Encoder<F>::create(strassen::Engine<F>(f), encoding).value();
  const auto size = static_cast<unsigned>(f.size_limit());
  std::size_t data_count = 1, coin_count = 1;
  for (unsigned i = 0; i < u; ++i) data_count *= size;
  for (unsigned i = 0; i < tau; ++i) coin_count *= size;
  const auto digits = [&](std::size_t number, std::size_t n) {
    auto M1 = Matrix<std::uint8_t>::create(n, 1).value();
    for (std::size_t i = 0; i < n; ++i, number /= size)
      M1.at(i, 0) = static_cast<std::uint8_t>(number % size);
    return M1;
  };
  for (unsigned servers = 0; servers < 1u << l; ++servers) {
    const auto colluding = static_cast<unsigned>(std::popcount(servers));
    if (colluding != tau && colluding != tau + 1) continue;
    bool independent = true;
    std::vector<unsigned> first;
    const std::size_t views = colluding == tau ? coin_count : coin_count * size;
    for (std::size_t data = 0; data < data_count; ++data) {
      std::vector<unsigned> seen(views, 0);
      for (std::size_t coins = 0; coins < coin_count; ++coins) {
        auto blocks = Matrix<std::byte>::create(u, 1).value();
        const auto values = digits(data, u);
        for (unsigned i = 0; i < u; ++i) blocks.at(i, 0) = std::byte{values.at(i, 0)};
        auto out = Matrix<std::uint8_t>::create(l, 1).value();
        const auto noise = digits(coins, tau);
        ASSERT_TRUE(encoder.encode(1, blocks.view(), noise.view(), out.view()));
        std::size_t view = 0;
        for (unsigned j = 0; j < l; ++j) {
          if (servers >> j & 1) view = view * size + out.at(j, 0);
        }
        ++seen[view];
      }
      if (data == 0) first = seen;
      independent = independent && seen == first;
      if (colluding == tau) {
        ASSERT_EQ(seen, std::vector<unsigned>(views, 1));
      }
    }
    EXPECT_EQ(independent, colluding == tau);
  }
}

TEST(EncoderIndependence, AnyTauBucketsAreUniform) {
  check_independence(TinyPrime<5>{}, 1, 1, 1, 4);
  check_independence(TinyPrime<7>{}, 1, 2, 2, 5);
  check_independence(TinyPrime<7>{}, 2, 1, 2, 5);
  check_independence(TinyPrime<7>{}, 2, 2, 2, 5);
  check_independence(TinyPrime<11>{}, 3, 1, 6, 5);
  check_independence(pirx::testing::TinyGf4{}, 1, 1, 1, 3);
}

TEST(EncoderIndependence, CatchesNoiseThatIsReused) {
  // The planted bug: two rows with the same noise. Their difference then tells servers about the data.
  const TinyPrime<7> f;
  const auto encoding = encoding_of(f, 1, 1, 1, 3);
  const auto encoder = Encoder<TinyPrime<7>>::create(strassen::Engine<TinyPrime<7>>(f), encoding).value();
  auto noise = Matrix<std::uint8_t>::create(2, 1).value(), out = Matrix<std::uint8_t>::create(6, 1).value();
  auto blocks = Matrix<std::byte>::create(2, 1).value();
  blocks.at(1, 0) = std::byte{3};
  unsigned first = 0;
  for (unsigned coin = 0; coin < 7; ++coin) {
    noise.at(0, 0) = noise.at(1, 0) = static_cast<std::uint8_t>(coin);
    ASSERT_TRUE(encoder.encode(0, blocks.view(), std::as_const(noise).view(), out.view()));
    // Server 1, both rows: the same difference for every coin.
    const auto difference = f.sub(out.at(3, 0), out.at(2, 0));
    if (coin == 0) first = difference;
    EXPECT_EQ(difference, first);
    EXPECT_NE(difference, 0);
  }
}

TEST(Encoder, SumsAsWords) {
  auto engine = seeded_engine(28);
  const auto check = [&](const auto& f) {
    using F = std::decay_t<decltype(f)>;
    const auto D = testing::random_database(f, 2, 5, engine);
    const auto encoder = Encoder<F>::create(strassen::Engine<F>(f), encoding_of(f, 2, 0, 0, 3)).value();
    const auto buckets = testing::encode_all<F>(encoder, D, {}, 5);
    Bytes words(5 * f.word_bytes());
    ASSERT_TRUE(store_words<F>(f, {buckets.row(1), 5}, words));
    for (std::size_t c = 0; c < 5; ++c) {
      EXPECT_TRUE(f.sum_equal(f.load_word(&words[c * f.word_bytes()]), buckets.at(1, c)));
    }
  };
  check(gf2e::Gf2_8{});
  check(gf2e::Gf2_16{});
  check(fp::W160{});
  check(fp::W48{});
  // A block chosen so that server 0 would hold 2^48, which is no word.
  const fp::W48 f;
  const auto none = f.add({(std::uint64_t{1} << 48) - 1}, f.one());
  const auto encoding = encoding_of(f, 2, 0, 0, 3);
  const auto encoder = Encoder<fp::W48>::create(strassen::Engine<fp::W48>(f), encoding).value();
  // With block 1 zero, the bucket holds (x - 1) / (0 - 1) times block 0.
  const auto x = f.from_label(encoding.spec().coordinates[0]);
  auto D = Matrix<std::byte>::create(2, 6).value();
  ASSERT_TRUE(f.store_word(f.mul(none, f.inv(f.sub(f.one(), x))), D.row(0)));
  const auto buckets = testing::encode_all<fp::W48>(encoder, D, {}, 1);
  EXPECT_TRUE(f.equal(buckets.at(0, 0), none));
  Bytes words(6);
  EXPECT_FALSE(store_words<fp::W48>(f, {buckets.row(0), 1}, words));
}

TEST(Encoder, WrongShapes) {
  const gf2e::Gf2_8 f;
  const strassen::Engine<gf2e::Gf2_8> engine(f);
  const auto encoding = encoding_of(f, 2, 1, 4, 4);
  const auto encoder = Encoder<gf2e::Gf2_8>::create(engine, encoding).value();
  auto blocks = Matrix<std::byte>::create(5, 3).value();
  auto noise = Matrix<std::uint8_t>::create(2, 3).value(), out = Matrix<std::uint8_t>::create(8, 3).value();
  const auto invalid = [](const Result<void>& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::kInvalidArgument) << result.error().message();
  };
  const auto four = blocks.view().window(0, 0, 4, 3);
  const auto coins = std::as_const(noise).view();
  EXPECT_TRUE(encoder.encode(0, four, coins, out.view()));
  EXPECT_TRUE(encoder.encode(0, blocks.view().window(0, 0, 0, 3), coins.window(0, 0, 0, 3),
                             out.view().window(0, 0, 0, 3)));
  invalid(encoder.encode(0, blocks.view(), coins, out.view()));
  invalid(encoder.encode(0, four, coins, out.view().window(0, 0, 7, 3)));
  invalid(encoder.encode(0, four, coins, out.view().window(0, 0, 8, 2)));
  invalid(encoder.encode(0, four, {}, out.view()));
  invalid(encoder.encode(0, four, coins.window(0, 0, 2, 2), out.view()));
  EXPECT_EQ((Encoder<gf2e::Gf2_8>::create(engine, encoding, {4}).error().code()),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ((Encoder<gf2e::Gf2_16>::create(strassen::Engine<gf2e::Gf2_16>(gf2e::Gf2_16{}), encoding)
                 .error()
                 .code()),
            ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace pirx::batchcodes
