// SPDX-License-Identifier: Apache-2.0
// Subcube and subset codes: the known answers, every list of blocks of small codes, the searches of the
// subset code against what exhaustive search says, whole rounds over Goldberg's scheme.
#include "pirx/batchcodes/vertical.h"

#include "batchcodes/model.h"
#include "batchcodes/vertical_database_impl.h"
#include "pirx/fp/w48.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"

namespace pirx::batchcodes {
namespace {

using matrix::Matrix;
using pirx::testing::seeded_engine;
using pirx::testing::TinyGf4;
using pirx::testing::TinyPrime;

/// Row i of a bucket, as sums; zeros beyond its end.
template <class F>
std::vector<typename F::Sum> bucket_row(const F& f, const VerticalDatabase<F>& database, std::size_t bucket,
                                        std::size_t i, std::size_t s) {
  std::vector<typename F::Sum> row(s);
  if (!database.is_plain(bucket)) {
    std::copy_n(database.sums(bucket).row(i), s, row.begin());
  } else if (i < database.words(bucket).rows) {
    for (std::size_t c = 0; c < s; ++c)
      row[c] = f.load_word(database.words(bucket).row(i) + c * f.word_bytes());
  }
  return row;
}

/// blocks[k] = the k-th wanted block, out of an answer of each bucket; those of blanks are not read.
template <class F>
void collect(const F& f, const VerticalPlan& plan, matrix::ConstView<typename F::Sum> answers,
             matrix::View<typename F::Sum> blocks) {
  for (std::size_t k = 0; k < blocks.rows; ++k) std::fill_n(blocks.row(k), blocks.cols, typename F::Sum{});
  for (std::size_t b = 0; b < plan.buckets(); ++b) {
    const auto& use = plan.uses()[b];
    if (use.wanted == VerticalPlan::kBlank) continue;
    auto* out = blocks.row(use.wanted);
    const auto* from = answers.row(b);
    for (std::size_t c = 0; c < blocks.cols; ++c) {
      out[c] = use.negative ? f.sum_sub(out[c], from[c]) : f.sum_add(out[c], from[c]);
    }
  }
}

/// Whether a plan for `wanted` exists and the bucket rows that it names combine to the blocks. Blank answers
/// are random.
template <class F>
bool serves(const F& f, const VerticalCode& code, const VerticalDatabase<F>& database,
            const Matrix<std::byte>& D, const std::vector<std::uint64_t>& wanted, std::mt19937_64& engine) {
  const auto plan = code.plan(D.rows(), wanted);
  if (!plan) return false;
  const std::size_t s = D.cols() / f.word_bytes();
  EXPECT_EQ(plan->buckets(), code.buckets());
  auto answers = testing::random_database(f, code.buckets(), s, engine);
  auto sums = Matrix<typename F::Sum>::create(code.buckets(), s).value();
  for (std::size_t b = 0; b < code.buckets(); ++b) {
    EXPECT_LT(plan->row(b), code.bucket_rows(D.rows()));
    const bool blank = plan->uses()[b].wanted == VerticalPlan::kBlank;
    EXPECT_TRUE(!blank || plan->row(b) == 0);
    const auto row = bucket_row(f, database, b, static_cast<std::size_t>(plan->row(b)), s);
    for (std::size_t c = 0; c < s; ++c) {
      sums.at(b, c) = blank ? f.load_word(answers.row(b) + c * f.word_bytes()) : row[c];
    }
  }
  auto blocks = Matrix<typename F::Sum>::create(wanted.size(), s).value();
  collect(f, *plan, std::as_const(sums).view(), blocks.view());
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    if (!testing::holds(f, D.view(), static_cast<std::size_t>(wanted[k]), blocks.row(k), s)) {
      ADD_FAILURE() << "a plan gave a wrong block";
      return false;
    }
  }
  return true;
}

template <class F>
VerticalDatabase<F> database_of(const F& f, const VerticalCode& code, const Matrix<std::byte>& D) {
  return VerticalDatabase<F>::create(strassen::Engine<F>(f), code, D.view()).value();
}

TEST(Subcube, KnownAnswerC) {
  const TinyPrime<97> f;
  const auto code = Subcube::create(2, 2).value();
  auto D = Matrix<std::byte>::create(8, 1).value();
  for (unsigned i = 0; i < 8; ++i) D.at(i, 0) = static_cast<std::byte>(10 + i);
  const auto database = database_of(f, code, D);
  const std::vector<std::vector<std::uint8_t>> buckets{{10, 11}, {12, 13}, {22, 24}, {14, 15}, {16, 17},
                                                       {30, 32}, {24, 26}, {28, 30}, {52, 56}};
  ASSERT_EQ(database.buckets(), 9u);
  ASSERT_EQ(database.rows(), 2u);
  for (std::size_t b = 0; b < 9; ++b) {
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(bucket_row(f, database, b, i, 1)[0], buckets[b][i]) << b;
  }
  // Buckets of plain blocks are the database's own memory.
  EXPECT_EQ(database.words(4).data, D.row(6));
  const std::vector<std::uint64_t> wanted{0, 1, 0, 5};
  const auto plan = code.plan(8, wanted).value();
  const int rows[] = {0, 0, 0, 1, 1, 1, 1, -1, -1};
  for (std::size_t b = 0; b < 9; ++b) {
    const bool blank = plan.uses()[b].wanted == VerticalPlan::kBlank;
    EXPECT_EQ(blank ? -1 : static_cast<int>(plan.row(b)), rows[b]) << b;
  }
  auto engine = seeded_engine(41);
  EXPECT_TRUE(serves(f, code, database, D, wanted, engine));
}

/// Every list of up to q blocks, in every order.
template <class F>
void check_every_list(const F& f, const VerticalCode& code, std::size_t blocks, std::size_t s,
                      unsigned stream) {
  auto engine = seeded_engine(stream);
  const auto D = testing::random_database(f, blocks, s, engine);
  const auto database = database_of(f, code, D);
  std::vector<std::uint64_t> wanted;
  for (std::size_t n = 1; n <= code.batch(); ++n) {
    wanted.assign(n, 0);
    for (;;) {
      ASSERT_TRUE(serves(f, code, database, D, wanted, engine));
      std::size_t at = 0;
      while (at < n && ++wanted[at] == blocks) wanted[at++] = 0;
      if (at == n) break;
    }
  }
}

TEST(Subcube, EveryListOfSmallCodes) {
  for (unsigned L = 2; L <= 4; ++L) {
    for (std::size_t blocks = 1; blocks <= 9; ++blocks) {
      check_every_list(TinyPrime<97>{}, Subcube::create(L, 1).value(), blocks, 2, 42);
    }
  }
  for (const std::size_t blocks : {1u, 3u, 5u, 8u}) {
    check_every_list(TinyPrime<7>{}, Subcube::create(2, 2).value(), blocks, 1, 43);
  }
  check_every_list(gf2e::Gf2{}, Subcube::create(2, 2).value(), 7, 3, 44);
  check_every_list(TinyGf4{}, Subcube::create(3, 2).value(), 8, 1, 45);
  check_every_list(gf2e::Gf2{}, Subcube::create(2, 3).value(), 3, 1, 46);
}

TEST(Subcube, RandomListsOfLargerCodes) {
  auto engine = seeded_engine(47);
  const std::pair<unsigned, unsigned> shapes[] = {{2, 4}, {3, 3}, {5, 3}, {8, 2}, {2, 5}};
  for (const auto& [L, K] : shapes) {
    const auto code = Subcube::create(L, K).value();
    const fp::W48 f;
    const auto D = testing::random_database(f, 1 + engine() % 300, 2, engine);
    const auto database = database_of(f, code, D);
    for (int trial = 0; trial < 60; ++trial) {
      std::vector<std::uint64_t> wanted(1 + engine() % code.batch());
      const auto among = trial % 2 == 0 ? D.rows() : 1 + engine() % D.rows();
      for (auto& block : wanted)
        block = engine() % std::min<std::size_t>(among, trial % 3 == 0 ? 2 : D.rows()) % D.rows();
      ASSERT_TRUE(serves(f, code, database, D, wanted, engine));
    }
  }
}

TEST(Subcube, SizesOfThePaper) {
  const auto code = Subcube::create(2, 4).value();
  EXPECT_EQ(code.batch(), 16u);
  EXPECT_EQ(code.buckets(), 81u);
  EXPECT_EQ(code.bucket_rows(1600), 100u);  // N = 8100 = 1600 (3/2)^4
  EXPECT_EQ(code.bucket_rows(1601), 101u);
  EXPECT_EQ(Subcube::create(16, 4).value().buckets(), 83521u);
}

template <class Code>
void expect_invalid(const Result<Code>& code) {
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().code(), ErrorCode::kInvalidArgument) << code.error().message();
}

TEST(Vertical, RefusesBadParameters) {
  expect_invalid(Subcube::create(1, 2));
  expect_invalid(Subcube::create(2, 0));
  expect_invalid(Subcube::create(2, 13));
  expect_invalid(Subcube::create(~0u, 2));
  expect_invalid(Subset::create(4, 0, Characteristic::kTwo));
  expect_invalid(Subset::create(4, 4, Characteristic::kTwo));
  expect_invalid(Subset::create(25, 2, Characteristic::kTwo));
  expect_invalid(Subset::create(24, 8, Characteristic::kTwo));
}

TEST(Vertical, RefusesBadRequestsWithoutNamingThem) {
  const auto code = Subcube::create(2, 1).value();
  const auto error = [&](const std::vector<std::uint64_t>& wanted, ErrorCode expected) {
    const auto plan = code.plan(5000, wanted);
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code(), expected);
    EXPECT_EQ(plan.error().message().find("4711"), std::string::npos);
  };
  error({}, ErrorCode::kInvalidArgument);
  error({4711, 1, 2}, ErrorCode::kInvalidArgument);
  error({4711, 5000}, ErrorCode::kOutOfRange);
}

TEST(Vertical, RefusesShapesThatDoNotFit) {
  const gf2e::Gf2_16 f;
  const strassen::Engine<gf2e::Gf2_16> engine(f);
  const auto code = Subcube::create(2, 1).value();
  auto D = Matrix<std::byte>::create(4, 3).value();
  expect_invalid(VerticalDatabase<gf2e::Gf2_16>::create(engine, code, D.view()));
}

TEST(Subset, KnownAnswerD) {
  const gf2e::Gf2 f;
  const auto code = Subset::create(4, 2, Characteristic::kTwo).value();
  auto D = Matrix<std::byte>::create(6, 1).value();  // x_01, x_02, x_03, x_12, x_13, x_23
  for (unsigned i = 0; i < 6; ++i) D.at(i, 0) = static_cast<std::byte>(1u << i);
  const auto database = database_of(f, code, D);
  ASSERT_EQ(code.buckets(), 11u);
  const std::uint8_t sums[] = {63, 7, 25, 42, 52, 1, 2, 4, 8, 16, 32};
  for (std::size_t b = 0; b < 11; ++b) EXPECT_EQ(bucket_row(f, database, b, 0, 1)[0], sums[b]) << b;
  auto engine = seeded_engine(51);
  EXPECT_TRUE(serves(f, code, database, D, {0, 0, 5, 5}, engine));
  // What no sets of the paper's kind can do: in odd characteristic they are all there are.
  EXPECT_FALSE(
      Subset::create(4, 2, Characteristic::kOther).value().plan(6, std::vector<std::uint64_t>{0, 0, 5, 5}));
}

/// Every multiset of up to 4 blocks over all sets: served in characteristic two; in others all but two
/// disjoint sets wanted twice each.
TEST(Subset, EveryMultisetOfFour) {
  const gf2e::Gf2 f2;
  const TinyPrime<97> f97;
  auto engine = seeded_engine(52);
  for (unsigned L = 4; L <= 5; ++L) {
    const auto two = Subset::create(L, 2, Characteristic::kTwo).value();
    const auto other = Subset::create(L, 2, Characteristic::kOther).value();
    const std::size_t sets = L * (L - 1) / 2, blocks = 2 * sets - 1;  // two rows, the second not full
    const auto D2 = testing::random_database(f2, blocks, 1, engine);
    const auto D97 = testing::random_database(f97, blocks, 1, engine);
    const auto database2 = database_of(f2, two, D2);
    const auto database97 = database_of(f97, other, D97);
    unsigned tried = 0, refused = 0;
    for (std::uint64_t a = 0; a < sets; ++a) {
      for (std::uint64_t b = a; b < sets; ++b) {
        for (std::uint64_t c = b; c < sets; ++c) {
          for (std::uint64_t d = c; d < sets; ++d) {
            // The set of a block is what counts; the row is any.
            std::vector<std::uint64_t> wanted{a, b, c, d};
            for (auto& block : wanted) {
              if (block + sets < blocks && engine() % 2 == 0) block += sets;
            }
            std::shuffle(wanted.begin(), wanted.end(), engine);
            ++tried;
            ASSERT_TRUE(serves(f2, two, database2, D2, wanted, engine));
            const auto first_plain = two.buckets() - sets;
            const bool hard =
                a == b && c == d && b != c && (two.set(first_plain + a) & two.set(first_plain + c)) == 0;
            ASSERT_EQ(serves(f97, other, database97, D97, wanted, engine), !hard);
            refused += hard;
          }
        }
      }
    }
    EXPECT_EQ(tried, L == 4 ? 126u : 715u);
    EXPECT_EQ(refused, L == 4 ? 3u : 15u);
    // Five at a time are more than the code is for.
    EXPECT_FALSE(two.plan(blocks, std::vector<std::uint64_t>{0, 0, 0, 0, 0}));
  }
}

/// The claim of vertical.h about w = 3: of two disjoint sets, five and three rows have no plan that is found.
TEST(Subset, EightOfTwoDisjointSets) {
  const auto code = Subset::create(6, 3, Characteristic::kTwo).value();
  for (std::size_t count = 0; count <= 8; ++count) {
    std::vector<std::uint64_t> wanted(8, 19);
    std::fill_n(wanted.begin(), count, std::uint64_t{0});
    EXPECT_EQ(bool{code.plan(100, wanted)}, count != 3 && count != 5) << count;
  }
}

/// Blocks of different sets have a bucket each, and 2^w of one set have ways that share none. Searches that
/// look at everything again for each block gave up here.
TEST(Subset, LargeBatchesHavePlans) {
  const auto code = vertical_code("subset:12,8").value();
  ASSERT_EQ(code->batch(), 256u);
  std::vector<std::uint64_t> different(256), same(256, 7);
  std::iota(different.begin(), different.end(), std::uint64_t{1000});
  EXPECT_TRUE(code->plan(1'000'000, different));
  EXPECT_TRUE(code->plan(1'000'000, same));
}

TEST(Subset, SearchesKeepToTheirBudget) {
  const auto code = vertical_code("subset:5,4").value();
  const std::vector<std::uint64_t> hard{3, 3, 8, 1, 13, 11, 3, 3, 8, 1, 6, 6, 13, 6, 11, 6};
  std::size_t work = VerticalCode::kMaxWork;
  ASSERT_TRUE(code->plan(400, hard, work));
  const std::size_t took = VerticalCode::kMaxWork - work;
  EXPECT_GT(took, VerticalCode::kMaxWork / 2);
  work = took / 2;
  EXPECT_FALSE(code->plan(400, hard, work));
  EXPECT_EQ(work, 0u);
  EXPECT_FALSE(code->plan(400, hard, work));
  // Different sets are searched for hardly at all.
  const std::vector<std::uint64_t> easy{0, 1, 2, 3, 4};
  work = VerticalCode::kMaxWork;
  EXPECT_TRUE(code->plan(400, easy, work));
  EXPECT_GT(work, VerticalCode::kMaxWork - 10'000);
}

TEST(Subset, FewerAndSingleSets) {
  auto engine = seeded_engine(53);
  const gf2e::Gf2 f;
  const std::pair<unsigned, unsigned> shapes[] = {{2, 1}, {5, 1}, {3, 2}, {6, 3}, {7, 3}};
  for (const auto& [L, w] : shapes) {
    const auto code = Subset::create(L, w, Characteristic::kTwo).value();
    const auto D = testing::random_database(f, 40, 2, engine);
    const auto database = database_of(f, code, D);
    for (int trial = 0; trial < 40; ++trial) {
      std::vector<std::uint64_t> wanted(1 + engine() % code.batch());
      for (auto& block : wanted) block = engine() % (trial % 4 == 0 ? 2 : 40);
      if (L > w + 1) {
        ASSERT_TRUE(serves(f, code, database, D, wanted, engine)) << L << " " << w;
      } else if (!code.plan(40, wanted)) {
        continue;  // L = w + 1: fewer buckets than the code wants
      } else {
        ASSERT_TRUE(serves(f, code, database, D, wanted, engine));
      }
    }
  }
}

TEST(Subset, TheExampleOfThePaper) {
  // L = 20, w = 4, q = 16: N / r = 1.279, and the client receives 387 times more than with single queries.
  const auto code = Subset::create(20, 4, Characteristic::kTwo).value();
  EXPECT_EQ(code.buckets(), 6196u);
  EXPECT_EQ(code.bucket_rows(4845), 1u);
  EXPECT_EQ(code.bucket_rows(2 * 4845), 2u);
  auto engine = seeded_engine(54);
  for (int trial = 0; trial < 5; ++trial) {
    std::vector<std::uint64_t> wanted(16);
    for (auto& block : wanted) block = engine() % 9690;
    wanted[1] = wanted[0];
    EXPECT_TRUE(code.plan(9690, wanted));
  }
}

/// A round over Goldberg's scheme: one query to each bucket, the very same sizes for all blocks.
template <class F>
void check_round(const F& f, const VerticalCode& code, std::size_t blocks, unsigned stream) {
  using Elem = typename F::Elem;
  auto engine = seeded_engine(stream);
  const strassen::Engine<F> product(f);
  const std::size_t s = 3, l = 3;
  const auto D = testing::random_database(f, blocks, s, engine);
  const auto database = VerticalDatabase<F>::create(product, code, D.view()).value();
  const PolynomialCode<F> goldberg(product, Encoding::create({f.tag(), 1, 1, 1, 0, 0, {1, 2, 3}}).value());
  const std::size_t R = database.rows();
  for (int trial = 0; trial < 6; ++trial) {
    std::vector<std::uint64_t> wanted(1 + engine() % code.batch());
    for (auto& block : wanted) block = engine() % (trial == 0 ? 1 : blocks);
    const auto plan = code.plan(blocks, wanted);
    if (!plan) continue;  // Subset alone; counted elsewhere
    auto answers = Matrix<Elem>::create(code.buckets(), s).value();
    for (std::size_t b = 0; b < code.buckets(); ++b) {
      auto shares = Matrix<Elem>::create(l, R).value();
      const auto coins = testing::random_elements(f, 1, R, engine);
      const std::vector<Slot> slots{{plan->row(b), ~std::uint64_t{0}}};
      ASSERT_TRUE(goldberg.share(slots, coins.view(), shares.view()));
      auto replies = Matrix<Elem>::create(l, s).value();
      if (database.is_plain(b)) {  // the server drops the elements beyond the bucket's last block
        const auto words = database.words(b);
        const auto prepared = product.prepare(words).value();
        ASSERT_TRUE(product.multiply(shares.view().window(0, 0, l, words.rows), prepared, replies.view()));
      } else {
        ASSERT_TRUE(product.multiply_sums(shares.view(), database.sums(b), replies.view()));
      }
      const auto W = goldberg.interpolation_rows(slots, goldberg.coordinates()).value();
      ASSERT_TRUE(
          product.multiply_sums(W.view(), std::as_const(replies).view(), answers.view().window(b, 0, 1, s)));
    }
    auto result = Matrix<Elem>::create(wanted.size(), s).value();
    collect(product.field(), *plan, std::as_const(answers).view(), result.view());
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      EXPECT_TRUE(testing::holds(f, D.view(), static_cast<std::size_t>(wanted[k]), result.row(k), s));
    }
  }
}

TEST(Vertical, RoundsOverGoldberg) {
  check_round(gf2e::Gf2_8{}, Subcube::create(2, 3).value(), 50, 61);
  check_round(gf2e::Gf2_8{}, Subcube::create(3, 2).value(), 4, 62);
  check_round(gf2e::Gf2_16{}, Subset::create(5, 2, Characteristic::kTwo).value(), 33, 63);
  check_round(fp::W48{}, Subcube::create(2, 2).value(), 21, 64);
  check_round(fp::W48{}, Subset::create(5, 2, Characteristic::kOther).value(), 33, 65);
}

/// Buckets of a vertical code that are u-ary encoded and queried by the polynomial code.
TEST(Vertical, BucketsOfEncodedRows) {
  const gf2e::Gf2_8 f;
  using Elem = std::uint8_t;
  auto engine = seeded_engine(68);
  const strassen::Engine<gf2e::Gf2_8> product(f);
  const std::size_t blocks = 45, s = 4, l = 4;
  const auto D = testing::random_database(f, blocks, s, engine);
  const auto code = Subcube::create(2, 2).value();
  const auto database = database_of(f, code, D);
  const auto encoding =
      Encoding::create({f.tag(), 1, 1, 3, 0, 3, Encoding::suggested_coordinates(f.tag(), l).value()}).value();
  const auto encoder = Encoder<gf2e::Gf2_8>::create(product, encoding).value();
  const PolynomialCode<gf2e::Gf2_8> polynomial(product, encoding);
  const auto R = static_cast<std::size_t>(encoding.rows(database.rows()));
  const std::vector<std::uint64_t> wanted{44, 44, 3, 44};
  const auto plan = code.plan(blocks, wanted).value();
  auto answers = Matrix<Elem>::create(code.buckets(), s).value();
  for (std::size_t b = 0; b < code.buckets(); ++b) {
    auto buckets = Matrix<Elem>::create(l * R, s).value();
    ASSERT_TRUE(encoder.encode(0, database.words(b), {}, buckets.view()));
    auto shares = Matrix<Elem>::create(l, R).value(), replies = Matrix<Elem>::create(l, s).value();
    const std::vector<std::uint64_t> row{plan.row(b)};
    const auto batch = plan_batch(encoding, database.rows(), row, 1).value();
    const auto coins = testing::random_elements(f, 1, R, engine);
    ASSERT_TRUE(polynomial.share(batch.query(0), coins.view(), shares.view()));
    for (std::size_t j = 0; j < l; ++j) {
      ASSERT_TRUE(product.multiply_sums(shares.view().window(j, 0, 1, R),
                                        buckets.view().window(j * R, 0, R, s),
                                        replies.view().window(j, 0, 1, s)));
    }
    const auto W = polynomial.interpolation_rows(batch.query(0), polynomial.coordinates()).value();
    ASSERT_TRUE(
        product.multiply_sums(W.view(), std::as_const(replies).view(), answers.view().window(b, 0, 1, s)));
  }
  auto result = Matrix<Elem>::create(wanted.size(), s).value();
  collect(product.field(), plan, std::as_const(answers).view(), result.view());
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    EXPECT_TRUE(testing::holds(f, D.view(), static_cast<std::size_t>(wanted[k]), result.row(k), s));
  }
}

TEST(Vertical, BinarySumsAreWords) {
  const gf2e::Gf2_16 f;
  auto engine = seeded_engine(66);
  const auto code = Subcube::create(2, 1).value();
  const auto D = testing::random_database(f, 4, 2, engine);
  const auto database = database_of(f, code, D);
  const auto words = database.words(2);
  ASSERT_EQ(words.cols, D.cols());
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t c = 0; c < words.cols; ++c) EXPECT_EQ(words.at(i, c), D.at(i, c) ^ D.at(i + 2, c));
  }
}

TEST(Vertical, TheSameForEveryNumberOfThreads) {
  const fp::W48 f;
  auto engine = seeded_engine(67);
  const auto code = Subcube::create(3, 2).value();
  const auto D = testing::random_database(f, 100, 700, engine);
  const strassen::Engine<fp::W48> product(f);
  const auto one = VerticalDatabase<fp::W48>::create(product, code, D.view(), {1, -1}).value();
  const auto two = VerticalDatabase<fp::W48>::create(product, code, D.view(), {2, -1}).value();
  for (std::size_t b = 0; b < code.buckets(); ++b) {
    if (!one.is_plain(b)) {
      EXPECT_TRUE(testing::same<fp::W48>(f, one.sums(b), two.sums(b)));
    }
  }
}

}  // namespace
}  // namespace pirx::batchcodes
