// Robust decoding against exhaustive search and against liars of every kind; what it promises is what is
// asserted: inside the unique radius always right and the liars named, beyond it never wrong while t + 1
// servers are honest.
#include "deployment.h"
#include "src/itpir/fields.h"
#include "support/tiny_field.h"

namespace pirx::itpir {
namespace {

using testing::Deployment;
using testing::range;
using testing::tamper;

template <class F>
typename F::Sum random_nonzero(const F& f, std::mt19937_64& engine) {
  testing::TestRng rng(engine);
  for (;;) {
    const auto value = f.random(rng);
    if (!f.equal(value, f.zero())) return value;
  }
}

/// The oracle: interpolates through every degree + 1 servers and counts who agrees in all words.
template <class F>
std::optional<std::vector<bool>> decode_by_search(const F& f, const ReplyWords<F>& words) {
  using Elem = typename F::Elem;
  const std::size_t k = words.Y.rows, radius = (k - words.degree - 1) / 2;
  for (const auto& subset : testing::subsets(k)) {
    if (subset.size() != words.degree + 1) continue;
    std::vector<bool> agrees(k, true);
    for (std::size_t j = 0; j < k; ++j) {
      for (std::size_t w = 0; w < words.Y.cols; ++w) {
        Elem value = f.zero();
        for (const auto i : subset) {
          Elem term = words.Y.at(i, w);
          for (const auto m : subset) {
            if (m == i) continue;
            term = f.mul(term, f.sub(words.x[j], words.x[m]));
            term = f.mul(term, f.inv(f.sub(words.x[i], words.x[m])));
          }
          value = f.add(value, term);
        }
        if (!f.equal(value, words.Y.at(j, w))) agrees[j] = false;
      }
    }
    if (std::count(agrees.begin(), agrees.end(), true) >= static_cast<std::ptrdiff_t>(k - radius))
      return agrees;
  }
  return std::nullopt;
}

/// Random code words with up to k - 1 servers wrong, in tiny fields where accidental agreement is common.
template <class F>
void compare_with_search(const F& f, std::size_t k, std::size_t degree, std::size_t words, int rounds,
                         std::uint64_t stream) {
  using Elem = typename F::Elem;
  auto engine = pirx::testing::seeded_engine(stream);
  testing::TestRng rng(engine);
  std::vector<Elem> x;
  for (std::size_t j = 1; j <= k; ++j) x.push_back(f.from_label(j));
  int decoded = 0;
  for (int round = 0; round < rounds; ++round) {
    auto Y = matrix::Matrix<Elem>::create(k, words).value();
    for (std::size_t w = 0; w < words; ++w) {
      std::vector<Elem> coefficients(degree + 1);
      f.random_fill(rng, std::span<Elem>(coefficients));
      for (std::size_t j = 0; j < k; ++j) Y.at(j, w) = polynomial::evaluate(f, coefficients, x[j]);
    }
    const std::size_t liars = engine() % k;
    for (std::size_t v = 0; v < liars; ++v) {
      const std::size_t j = engine() % k;
      for (std::size_t w = 0; w < words; ++w) {
        if (engine() % 2 == 0) Y.at(j, w) = f.random(rng);
      }
    }
    const ReplyWords<F> replies{x, std::as_const(Y).view(), degree};
    const auto expected = decode_by_search(f, replies);
    const auto found = decode_unique(strassen::Engine<F>(f), replies);
    ASSERT_TRUE(found.has_value());
    ASSERT_EQ(*found, expected) << "k=" << k << " degree=" << degree << " round=" << round;
    decoded += expected.has_value();
  }
  EXPECT_GT(decoded, rounds / 20) << "the test must see decodable words";
}

TEST(DecodeUnique, EqualsExhaustiveSearch) {
  using pirx::testing::TinyPrime;
  std::uint64_t stream = 1;
  for (std::size_t k = 2; k <= 6; ++k) {
    for (std::size_t degree = 1; degree < k; ++degree) {
      compare_with_search(TinyPrime<7>{}, k, degree, 1, 200, stream++);
      compare_with_search(TinyPrime<7>{}, k, degree, 3, 200, stream++);
      compare_with_search(TinyPrime<11>{}, k + 3, degree, 2, 100, stream++);
    }
  }
}

TEST(DecodeWord, FindsEveryErrorPatternInsideTheRadius) {
  const pirx::testing::TinyPrime<11> f;
  auto engine = pirx::testing::seeded_engine(50);
  testing::TestRng rng(engine);
  for (std::size_t n = 2; n <= 10; ++n) {
    std::vector<std::uint8_t> x;
    for (std::size_t j = 1; j <= n; ++j) x.push_back(static_cast<std::uint8_t>(j));
    for (std::size_t degree = 0; degree < n; ++degree) {
      for (const auto& wrong : testing::subsets(n)) {
        if (wrong.size() > (n - degree - 1) / 2) continue;
        std::vector<std::uint8_t> message(degree + 1), y;
        f.random_fill(rng, std::span<std::uint8_t>(message));
        for (const auto at : x) y.push_back(polynomial::evaluate(f, message, at));
        for (const auto j : wrong) y[j] = f.add(y[j], random_nonzero(f, engine));
        const auto found =
            decode_word(f, std::span<const std::uint8_t>(x), std::span<const std::uint8_t>(y), degree);
        ASSERT_TRUE(found.has_value());
        ASSERT_EQ(*found, wrong);
      }
    }
  }
}

enum class Lie {
  kGarbage,
  kOneBit,
  kSameShift,
  kScaledCopies,
  kLowDegree,
  kAllZero,
  kDisjointWords,
  kStaleDatabase
};
constexpr Lie kLies[] = {Lie::kGarbage,   Lie::kOneBit,  Lie::kSameShift,     Lie::kScaledCopies,
                         Lie::kLowDegree, Lie::kAllZero, Lie::kDisjointWords, Lie::kStaleDatabase};

/// Replies of which `liars` of the servers lie in one of the ways above; every liar's reply really differs.
template <class F>
std::vector<Bytes> lie(const Deployment<F>& deployment, std::span<const std::uint64_t> wanted, Lie kind,
                       std::span<const std::size_t> liars, std::mt19937_64& engine) {
  const F& f = deployment.field();
  testing::TestRng rng(engine);
  const auto requests = deployment.client().query(wanted, rng).value();
  std::vector<Bytes> replies;
  for (std::size_t j = 0; j < requests.size(); ++j)
    replies.push_back(deployment.answer(*deployment.servers[j], requests[j]));
  const std::size_t words = (replies[0].size() - MessageHeader::kBytes) / f.sum_bytes();
  const auto truth = replies;

  // Another version of the same shape: stale replicas that hide their epoch.
  const auto rows = deployment.rows();
  auto stale = matrix::Matrix<std::byte>::create(rows.rows, rows.cols).value();
  for (std::size_t i = 0; i < rows.rows; ++i) {
    std::copy_n(rows.row(i), rows.cols, stale.row(i));
    stale.at(i, engine() % deployment.spec().geometry.row_bytes()) ^= std::byte{0x15};
  }

  std::vector<typename F::Sum> shared, slope;
  for (std::size_t w = 0; w < words; ++w) {
    shared.push_back(random_nonzero(f, engine));
    slope.push_back(random_nonzero(f, engine));
  }
  for (std::size_t v = 0; v < liars.size(); ++v) {
    const std::size_t j = liars[v];
    auto& reply = replies[j];
    while (reply == truth[j]) {
      switch (kind) {
        case Lie::kGarbage:
          for (std::size_t w = 0; w < words; ++w) tamper(f, reply, w, f.random(rng));
          break;
        case Lie::kOneBit:
          tamper(f, reply, engine() % words, f.one());
          break;
        case Lie::kSameShift:
          for (std::size_t w = 0; w < words; ++w) tamper(f, reply, w, shared[w]);
          break;
        case Lie::kScaledCopies: {
          const auto factor = random_nonzero(f, engine);
          for (std::size_t w = 0; w < words; ++w) tamper(f, reply, w, f.mul(factor, shared[w]));
          break;
        }
        case Lie::kLowDegree: {
          const auto x = f.from_label(deployment.spec().coordinates[j]);
          for (std::size_t w = 0; w < words; ++w) tamper(f, reply, w, f.add(shared[w], f.mul(slope[w], x)));
          // An honest value by accident: this liar tells the truth, shift the plan.
          if (reply == truth[j]) tamper(f, reply, 0, f.one());
          break;
        }
        case Lie::kAllZero:
          std::fill(reply.begin() + MessageHeader::kBytes, reply.end(), std::byte{0});
          if (reply == truth[j]) tamper(f, reply, 0, f.one());
          break;
        case Lie::kDisjointWords:
          for (std::size_t w = v; w < words; w += liars.size())
            tamper(f, reply, w, random_nonzero(f, engine));
          if (reply == truth[j]) tamper(f, reply, 0, f.one());
          break;
        case Lie::kStaleDatabase:
          reply = deployment.answer(
              *deployment.serve(deployment.spec().coordinates[j], std::as_const(stale).view()), requests[j]);
          // Its share may be zero where the versions differ.
          if (reply == truth[j]) tamper(f, reply, 0, f.one());
          break;
      }
    }
  }
  return replies;
}

/// One deployment, every number of liars up to k - 1, every kind of lie.
template <class F>
void face_liars(const F& f, unsigned k, unsigned t, bool digests, std::uint64_t stream) {
  auto engine = pirx::testing::seeded_engine(stream);
  const Deployment<F> deployment(f, {14, 9, 2, true, digests}, k, t, engine);
  const unsigned radius = (k - t - 1) / 2;
  int probable = 0;
  for (const Lie kind : kLies) {
    for (unsigned v = 1; v < k; ++v) {
      for (int round = 0; round < 4; ++round) {
        SCOPED_TRACE(f.tag().name() + " k=" + std::to_string(k) + " t=" + std::to_string(t) +
                     " liars=" + std::to_string(v) + " kind=" + std::to_string(static_cast<int>(kind)));
        auto servers = range(k);
        std::shuffle(servers.begin(), servers.end(), engine);
        const std::vector<std::size_t> liars(servers.begin(), servers.begin() + v);
        const std::vector<std::uint64_t> wanted{engine() % 14, engine() % 14};
        const auto replies = lie(deployment, wanted, kind, liars, engine);
        const auto answer = deployment.decode(wanted, replies, range(k));
        const std::vector<Bytes> truth{deployment.records[wanted[0]], deployment.records[wanted[1]]};
        if (v <= radius) {
          ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
          EXPECT_EQ(answer->certainty, Certainty::kProven);
          EXPECT_EQ(answer->proof_bound, k - v - t - 1);
          EXPECT_GE(answer->proof_bound, radius);
          EXPECT_EQ(answer->records, truth);
          for (std::size_t j = 0; j < k; ++j) {
            const bool lied = std::find(liars.begin(), liars.end(), j) != liars.end();
            EXPECT_EQ(answer->servers[j], lied ? ServerStatus::kLied : ServerStatus::kOk);
          }
          continue;
        }
        // With digests and t + 1 honest servers it is never wrong, whatever the others do.
        if (digests && k - v >= t + 1) {
          if (answer) {
            EXPECT_EQ(answer->records, truth);
            probable += answer->certainty == Certainty::kProbable;
          } else {
            EXPECT_TRUE(answer.error().code() == ErrorCode::kUndecodable ||
                        answer.error().code() == ErrorCode::kDataLoss)
                << answer.error().to_string();
          }
        }
        // Proven always holds inside its bound.
        if (answer && answer->certainty == Certainty::kProven && v <= answer->proof_bound) {
          EXPECT_EQ(answer->records, truth);
        }
      }
    }
  }
  if (digests && k > t + 1) {
    EXPECT_GT(probable, 0);
  }
}

TEST(Liars, Gf2_8) {
  std::uint64_t stream = 100;
  for (const auto& [k, t] : {std::pair{2u, 1u}, {3u, 1u}, {4u, 1u}, {5u, 2u}, {7u, 2u}, {9u, 2u}}) {
    face_liars(gf2e::Gf2_8{}, k, t, true, stream++);
    face_liars(gf2e::Gf2_8{}, k, t, false, stream++);
  }
}
TEST(Liars, Gf2_16) { face_liars(gf2e::Gf2_16{}, 7, 2, true, 200); }
TEST(Liars, W160) { face_liars(fp::W160{}, 6, 1, true, 300); }
TEST(Liars, W48) { face_liars(fp::W48{}, 5, 1, true, 400); }

/// Issue's demo: five servers, t = 2, one stopped, one lying: four replies can show a lie but not correct it.
TEST(Digests, SettleOneLiarAmongFourWithThresholdTwo) {
  auto engine = pirx::testing::seeded_engine(500);
  const Deployment<gf2e::Gf2_8> deployment({}, {100, 40, 4, true, true}, 5, 2, engine);
  for (std::size_t stopped = 0; stopped < 5; ++stopped) {
    for (std::size_t liar = 0; liar < 5; ++liar) {
      if (liar == stopped) continue;
      const std::vector<std::uint64_t> wanted{engine() % 100};
      const std::vector<std::size_t> liars{liar};
      const auto replies = lie(deployment, wanted, Lie::kGarbage, liars, engine);
      auto from = range(5);
      from.erase(from.begin() + static_cast<std::ptrdiff_t>(stopped));
      const auto answer = deployment.decode(wanted, replies, from);
      ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
      EXPECT_EQ(answer->records.at(0), deployment.records[wanted[0]]);
      EXPECT_EQ(answer->certainty, Certainty::kProbable);
      EXPECT_EQ(answer->proof_bound, 0u);
      for (std::size_t j = 0; j < 5; ++j) {
        EXPECT_EQ(answer->servers[j], j == liar      ? ServerStatus::kSuspected
                                      : j == stopped ? ServerStatus::kSilent
                                                     : ServerStatus::kOk);
      }
    }
  }
}

TEST(Digests, WithoutThemTheSameIsUndecodable) {
  auto engine = pirx::testing::seeded_engine(501);
  const Deployment<gf2e::Gf2_8> deployment({}, {100, 40, 4, true, false}, 4, 2, engine);
  const std::vector<std::uint64_t> wanted{3};
  const std::vector<std::size_t> liars{1};
  const auto answer =
      deployment.decode(wanted, lie(deployment, wanted, Lie::kOneBit, liars, engine), range(4));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), ErrorCode::kUndecodable);
  EXPECT_NE(answer.error().message().find("no digests"), std::string::npos);
}

TEST(Digests, NameACorruptDatabase) {
  auto engine = pirx::testing::seeded_engine(502);
  const Deployment<gf2e::Gf2_8> deployment({}, {6, 10, 1, true, true}, 4, 1, engine);
  const std::uint64_t wanted = 2;
  auto rows = matrix::Matrix<std::byte>::create(deployment.rows().rows, deployment.rows().cols).value();
  for (std::size_t i = 0; i < 6; ++i) std::copy_n(deployment.rows().row(i), rows.cols(), rows.row(i));
  rows.at(2, 7) ^= std::byte{1};
  testing::TestRng rng(engine);
  const auto requests = deployment.client().query({&wanted, 1}, rng).value();
  std::vector<Bytes> replies;
  for (std::size_t j = 0; j < 4; ++j) {
    replies.push_back(deployment.answer(*deployment.serve(j + 1, std::as_const(rows).view()), requests[j]));
  }
  const auto answer = deployment.decode({&wanted, 1}, replies, range(4));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), ErrorCode::kDataLoss);
  EXPECT_NE(answer.error().message().find("corrupt"), std::string::npos);
  // With t + 1 replies nobody can tell a liar from a corrupt database.
  EXPECT_EQ(deployment.decode({&wanted, 1}, replies, range(2)).error().code(), ErrorCode::kUndecodable);
}

/// More colluders than the radius agree with each other on another record; its digest gives them away.
TEST(Digests, OverruleAColludingMajority) {
  auto engine = pirx::testing::seeded_engine(503);
  const Deployment<gf2e::Gf2_8> deployment({}, {6, 10, 1, true, true}, 5, 1, engine);
  const std::uint64_t wanted = 2;
  auto replies = deployment.ask({&wanted, 1}, engine);
  for (const std::size_t j : {0u, 1u, 2u}) {  // the truth plus one constant: a polynomial of degree t again
    tamper(gf2e::Gf2_8{}, replies[j], 8, 0x40);
  }
  const auto answer = deployment.decode({&wanted, 1}, replies, range(5));
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(answer->records.at(0), deployment.records[wanted]);
  EXPECT_EQ(answer->certainty, Certainty::kProbable);
  for (std::size_t j = 0; j < 5; ++j) {
    EXPECT_EQ(answer->servers[j], j < 3 ? ServerStatus::kSuspected : ServerStatus::kOk);
  }
}

/// Liars who spoil other slots of the row need not know what is wanted; every subset then has the right
/// digests. That must neither take the client's time nor the record.
TEST(Search, LiesElsewhereInTheRowCostNothing) {
  auto engine = pirx::testing::seeded_engine(504);
  const Deployment<gf2e::Gf2_8> deployment({}, {8, 1000, 8, true, true}, 16, 7, engine);
  const std::uint64_t wanted = 0;
  auto replies = deployment.ask({&wanted, 1}, engine);
  for (std::size_t liar = 0; liar < 5; ++liar) tamper(gf2e::Gf2_8{}, replies[liar], 5000 + liar, 0x40);
  const auto answer = deployment.decode({&wanted, 1}, replies, range(16));
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(answer->records.at(0), deployment.records[wanted]);
  EXPECT_EQ(answer->certainty, Certainty::kProbable);
}

TEST(Search, IsBounded) {
  auto engine = pirx::testing::seeded_engine(504);
  const Deployment<gf2e::Gf2_8> deployment({}, {4, 4, 1, true, true}, 24, 10, engine);
  const std::vector<std::uint64_t> wanted{1};
  auto servers = range(12);
  const auto answer =
      deployment.decode(wanted, lie(deployment, wanted, Lie::kGarbage, servers, engine), range(24));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), ErrorCode::kUndecodable);
  EXPECT_NE(answer.error().message().find("too many ways"), std::string::npos);
}

TEST(Sums, ThatAreNoWordAreNoRecord) {
  // 2^160 is an element of W160 and no word: a liar can send replies that interpolate to it.
  auto engine = pirx::testing::seeded_engine(505);
  const Deployment<fp::W160> deployment({}, {3, 20, 1, false, false}, 2, 1, engine);
  const std::uint64_t wanted = 1;
  auto replies = deployment.ask({&wanted, 1}, engine);
  // Both replies hold the constant polynomial 2^160.
  for (auto& reply : replies) {
    std::fill(reply.begin() + MessageHeader::kBytes, reply.end(), std::byte{0});
    reply.back() = std::byte{1};
  }
  const auto answer = deployment.decode({&wanted, 1}, replies, range(2));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), ErrorCode::kUndecodable);
}

TEST(Rows, MustEndInZeros) {
  // Rows of 21 bytes are two words of 20: both replies hold the constant polynomial 2^8, a byte behind the
  // row.
  auto engine = pirx::testing::seeded_engine(507);
  const Deployment<fp::W160> deployment({}, {3, 21, 1, false, false}, 2, 1, engine);
  const std::uint64_t wanted = 1;
  auto replies = deployment.ask({&wanted, 1}, engine);
  ASSERT_TRUE(deployment.decode({&wanted, 1}, replies, range(2)).has_value());
  for (auto& reply : replies) {
    std::fill(reply.begin() + MessageHeader::kBytes, reply.end(), std::byte{0});
    reply[MessageHeader::kBytes + 21 + 1] = std::byte{1};
  }
  const auto answer = deployment.decode({&wanted, 1}, replies, range(2));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), ErrorCode::kUndecodable);
}

TEST(Interpolation, SeesDifferencesBehindTheFirstSlice) {
  auto engine = pirx::testing::seeded_engine(506);
  const Deployment<gf2e::Gf2_8> deployment({}, {2, 100'000, 1, true, true}, 4, 1, engine);
  const std::uint64_t wanted = 1;
  auto replies = deployment.ask({&wanted, 1}, engine);
  tamper(gf2e::Gf2_8{}, replies[2], 99'999, 0x80);
  const auto answer = deployment.decode({&wanted, 1}, replies, range(4)).value();
  EXPECT_EQ(answer.records.at(0), deployment.records[1]);
  EXPECT_EQ(answer.servers[2], ServerStatus::kLied);
}

}  // namespace
}  // namespace pirx::itpir
