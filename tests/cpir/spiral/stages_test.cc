// SPDX-License-Identifier: Apache-2.0
// Every stage against known answers that a reference in Python computed (tests/vectors/make_spiral_kat.py),
// and its error against the noise model.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cpir/spiral/client_core.h"
#include "cpir/spiral/encoded_database.h"
#include "cpir/spiral/evaluate.h"
#include "cpir/spiral/item.h"
#include "cpir/spiral/noise.h"
#include "cpir/spiral/wire.h"
#include "deployment.h"
#include "pirx/cpir/spiral/profile.h"
#include "spiral_support.h"
#include "src/protocol/message.h"
#include "support/seed.h"
#include "support/source_file.h"

namespace pirx::cpir::spiral {
namespace {

using namespace testing;
using Json = nlohmann::json;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

const Json& answers() {
  static const Json json = Json::parse(pirx::testing::source_file("tests/vectors/spiral_kat.json"));
  return json;
}

Gadget::Spec gadget_of(const Json& json) {
  return {.z = json.at("z"),
          .t = json.at("t"),
          .drop = json.at("drop"),
          .bits = json.at("bits"),
          .domain = json.at("residues").get<bool>() ? Domain::kResidues : Domain::kComposed};
}

std::string sha(ByteSpan bytes) { return to_hex(sha256(bytes)); }

TEST(KnownAnswers, Digits) {
  for (const auto& entry : answers().at("gadgets")) {
    const auto gadget = Gadget::create(gadget_of(entry.at("gadget"))).value();
    EXPECT_EQ(gadget.spec().t, entry.at("gadget").at("t").get<U32>());
    auto numbers = entry.at("numbers").get<std::vector<std::int64_t>>();
    const std::size_t count = numbers.size();
    numbers.resize(64);
    for (const auto* kernel : usable_kernels()) {
      std::vector<std::int32_t> out(64 * gadget.digits());
      kernel->digits(digit_plan(gadget, kModulus), 64, out.data(), 64, numbers.data());
      for (std::size_t i = 0; i < count; ++i) {
        const auto expected = entry.at("digits").at(i).get<std::vector<std::int32_t>>();
        ASSERT_EQ(expected.size(), gadget.digits());
        for (std::size_t k = 0; k < expected.size(); ++k) ASSERT_EQ(out[k * 64 + i], expected[k]);
      }
    }
  }
}

TEST(KnownAnswers, Transforms) {
  const Ring& ring = Ring::get(6);
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(ring.prime(k).w[32], answers().at("ring").at("roots").at(k).get<U32>());
  }
  for (const auto& entry : answers().at("ring").at("monomials")) {
    std::vector<std::int64_t> x(64);
    x[entry.at("exponent").get<std::size_t>()] = 1;
    const auto values = slots(ring, x);
    EXPECT_EQ(sha(std::as_bytes(std::span(values))), entry.at("slots").get<std::string>());
  }
}

/// SHA-256 of the coefficients below q of ciphertexts, 64 bits each.
class StageHash {
 public:
  explicit StageHash(const Ring& ring) : ring_(ring) {}
  void add(const U32* polynomial) {
    for (const auto x : coefficients(ring_, std::vector<U32>(polynomial, polynomial + 2 * ring_.d()))) {
      const U64 word = static_cast<U64>(x) + (x < 0 ? kModulus : 0);
      hash_.update(std::as_bytes(std::span(&word, 1)));
    }
  }
  void add_ciphertexts(const Polynomials& all, std::size_t count) {
    for (std::size_t i = 0; i < 2 * count; ++i) add(all[i]);
  }
  std::string finish() { return to_hex(std::move(hash_).finish()); }

 private:
  const Ring& ring_;
  Sha256 hash_;
};

TEST(KnownAnswers, WholeTranscripts) {
  for (const auto& entry : answers().at("transcripts")) {
    const auto& stages = entry.at("stages");
    const auto stage = [&](const char* name) { return stages.at(name).get<std::string>(); };
    const Scheme scheme{.policy = Policy::kToy,
                        .log_d = entry.at("log_d"),
                        .eta = entry.at("eta"),
                        .log_p = entry.at("log_p"),
                        .pack = entry.at("pack"),
                        .log_q2 = entry.at("log_q2"),
                        .log_columns = entry.at("log_columns"),
                        .fold = gadget_of(entry.at("fold")),
                        .left = gadget_of(entry.at("left")),
                        .right = gadget_of(entry.at("right")),
                        .conversion = gadget_of(entry.at("conversion"))};
    database::Version version;
    for (std::size_t i = 0; i < version.identity.size(); ++i) version.identity[i] = static_cast<std::byte>(i);
    const auto geometry =
        database::Geometry::create({entry.at("records"), entry.at("slot_bytes"), 1, false, false}).value();
    const auto params = Params::create({geometry, version, scheme}).value();
    const Ring& ring = Ring::get(scheme.log_d);
    const std::size_t n = scheme.pack, digits = params.fold().digits(), bits = digits * scheme.log_columns;
    Bytes text;
    U64 block = 0;
    const Coins coins = [&](MutableByteSpan out) {
      while (text.size() < out.size()) {
        Sha256 hash;
        hash.update(as_bytes("pirx spiral kat"));
        hash.update(std::as_bytes(std::span(&block, 1)));
        const Digest more = std::move(hash).finish();
        text.insert(text.end(), more.begin(), more.end());
        ++block;
      }
      std::copy_n(text.begin(), out.size(), out.begin());
      text.erase(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(out.size()));
    };
    const auto items = [&](U64 item, MutableByteSpan out) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(37 * item + 11 * i + 5);
    };

    const ClientCore client(params, coins);
    const Bytes keys_message = client.keys(params, coins);
    ASSERT_EQ(keys_message.size(), params.keys_bytes());
    const auto body = ByteSpan(keys_message).subspan(kHeaderBytes);
    EXPECT_EQ(sha(body), stage("keys"));
    Bytes query_body(kSeedBytes + params.polynomial_bytes());
    const U64 item = entry.at("item");
    client.query(params, item, coins, query_body);
    EXPECT_EQ(sha(query_body), stage("query"));

    const auto keys = PublicKeys::decode(params, ring, body).value();
    auto evaluator = Evaluator::create(params, ring, 2).value();
    auto ciphertext = Polynomials::create(2, ring.d()).value();
    UniformStream(ByteSpan(query_body).first<kSeedBytes>()).next(ring, ciphertext[0]);
    ASSERT_TRUE(get_slots(ring, query_body.data() + kSeedBytes, ciphertext[1]));
    const auto query = evaluator.expand(keys, ciphertext[0], ciphertext[1]).value();
    StageHash rows(ring), columns(ring), converted(ring), first(ring), folded(ring);
    rows.add_ciphertexts(query.rows, params.rows());
    EXPECT_EQ(rows.finish(), stage("rows"));
    columns.add_ciphertexts(query.bits, bits);
    EXPECT_EQ(columns.finish(), stage("bits"));
    const auto gsw = evaluator.convert(keys, query.bits).value();
    std::vector<U32> one(2 * ring.d(), 1), plain(2 * ring.d());
    for (std::size_t i = 0; i < bits; ++i) {
      for (std::size_t row = 0; row < 2; ++row) {
        ring.multiply(plain.data(), one.data(), gsw[4 * (i / digits) * digits + 2 * (i % digits) + row]);
        converted.add(plain.data());
      }
    }
    EXPECT_EQ(converted.finish(), stage("converted"));

    const auto encoded = EncodedDatabase::create(params, items, 2).value();
    std::vector<AlignedBuffer> factors;
    factors.push_back(evaluator.first_dimension_query(query.rows).value());
    std::vector<Polynomials> results;
    results.push_back(Polynomials::create(2 * params.columns(), ring.d()).value());
    auto square = Polynomials::create(2 * n * n, ring.d()).value(),
         packed = Polynomials::create(n * (n + 1), ring.d()).value();
    Bytes reply(params.reply_bytes() - kHeaderBytes);
    BitWriter writer(reply);
    for (std::size_t trial = 0; trial < params.trials(); ++trial) {
      for (std::size_t k = 0; k < n * n; ++k) {
        ASSERT_TRUE(evaluator.first_dimension(encoded.words(), trial * n * n + k, factors, results));
        first.add_ciphertexts(results[0], params.columns());
        evaluator.fold(gsw, results[0], params.fold_form());
        folded.add_ciphertexts(results[0], 1);
        std::copy(results[0][0], results[0][2], square[2 * k]);
      }
      evaluator.pack(keys, square, packed);
      evaluator.switch_modulus(packed, writer);
    }
    writer.finish();
    EXPECT_EQ(first.finish(), stage("first_dimension"));
    EXPECT_EQ(folded.finish(), stage("folded"));
    EXPECT_EQ(sha(reply), stage("reply"));
    const auto decoded = client.decode(params, reply);
    Bytes got(params.item_bytes()), expected(params.item_bytes());
    coefficients_to_item(params, item, decoded.expose(), got);
    items(item, expected);
    EXPECT_EQ(got, expected);
  }
}

/// An item of many polynomials, so that variances are measured well.
Result<Params> plan_of(const Scheme& scheme, U64 records, U64 bytes) {
  return Params::create({database::Geometry::create({records, bytes, 1, false, false}).value(), {}, scheme});
}

double bits(double measured, double model) { return std::log2(measured / model) / 2; }

TEST(NoiseModel, EveryStageOfEveryBase) {
  struct Case {
    Gadget::Spec fold, left, right, conversion;
    bool exact;
  };
  for (const auto& gadgets :
       {Case{{.z = 16}, {.z = 16}, {.z = 16}, {.z = 4096}, true},
        Case{{.z = 3}, {.z = 3}, {.z = 3}, {.z = 3}, true},
        Case{{.z = 256}, {.z = 128}, {.z = 7}, {.z = 2319}, true},
        Case{{.z = 512, .drop = 3, .bits = 2}, {.z = 16}, {.z = 16}, {.z = 4096}, false},
        Case{{.z = 128, .domain = Domain::kResidues},
             {.z = 64},
             {.z = 16, .domain = Domain::kResidues},
             {.z = 1000},
             true}}) {
    const Scheme scheme{.policy = Policy::kToy,
                        .log_d = 8,
                        .log_p = 10,
                        .pack = 2,
                        .log_q2 = 24,
                        .log_columns = 3,
                        .fold = gadgets.fold,
                        .left = gadgets.left,
                        .right = gadgets.right,
                        .conversion = gadgets.conversion};
    const auto params = plan_of(scheme, 8 * 16, 5000).value();
    ASSERT_EQ(params.rows(), 16u);
    const auto measured = profile(params, {.threads = 1, .samples = 1, .queries = 4}).value();
    EXPECT_EQ(measured.wrong, 0);
    const auto& model = params.noise();
    EXPECT_NEAR(bits(measured.noise.expanded, model.expanded), 0, 0.25);
    EXPECT_NEAR(bits(measured.noise.gsw_bit, model.gsw_bit), 0, 0.25);
    EXPECT_NEAR(bits(measured.noise.gsw_secret, model.gsw_secret), 0, 0.25);
    EXPECT_NEAR(bits(measured.noise.first, model.first), 0, 0.25);
    for (const auto& [found, expected] :
         {std::pair(measured.noise.folded, model.folded), std::pair(measured.noise.packed, model.packed)}) {
      EXPECT_LT(bits(found, expected), 0.25);
      // Digits are forgotten for bits that are 1 only; the model takes all for 1.
      EXPECT_GT(bits(found, expected), gadgets.exact ? -0.25 : -1.5);
    }
    // Two products give the same, with twice the error.
    const auto products =
        profile(params, {.threads = 1, .samples = 1, .queries = 2, .two_products = true}).value();
    EXPECT_EQ(products.wrong, 0);
  }
}

TEST(NoiseModel, AtFullSize) {
  // The ring of the secure sets. Base 3 as in 3-PIR, and what set s3 has. (Digits of base 2 are -1 and 0.
  // Their mean is not 0, so that the error differs from key to key.)
  for (const auto& fold : {Gadget::Spec{.z = 3}, Gadget::Spec{.z = 4096, .drop = 2, .bits = 8}}) {
    const Scheme scheme{.log_p = 9,
                        .log_q2 = 24,
                        .log_columns = 2,
                        .fold = fold,
                        .left = {.z = 128},
                        .right = {.z = 16},
                        .conversion = {.z = 4096}};
    const auto params = plan_of(scheme, 4 * 32, 2048 * 9 / 8).value();
    ASSERT_EQ(params.rows(), 32u);
    const auto measured = profile(params, {.threads = 1, .samples = 1, .queries = 2}).value();
    EXPECT_EQ(measured.wrong, 0);
    const auto& model = params.noise();
    EXPECT_NEAR(bits(measured.noise.expanded, model.expanded), 0, 0.25);
    EXPECT_NEAR(bits(measured.noise.gsw_bit, model.gsw_bit), 0, 0.25);
    EXPECT_NEAR(bits(measured.noise.gsw_secret, model.gsw_secret), 0, 0.25);
    EXPECT_NEAR(bits(measured.noise.first, model.first), 0, 0.25);
    EXPECT_LT(bits(measured.noise.folded, model.folded), 0.25);
    EXPECT_GT(bits(measured.noise.folded, model.folded), fold.drop == 0 ? -0.25 : -1.5);
  }
}

TEST(NoiseModel, OfTheComparisonSet) {
  auto scheme = *named_scheme("c1");
  scheme.log_columns = 4;
  const auto params = plan_of(scheme, 16 * 2 * 32, 256).value();
  ASSERT_EQ(params.rows(), 2u);
  const auto measured = profile(params, {.threads = 1, .samples = 1}).value();
  EXPECT_EQ(measured.wrong, 0);
  const auto& model = params.noise();
  // The mean of unsigned digits, three quarters of their squares, multiplies the lowest frequency of a key's
  // errors only: what comes of it differs from key to key. The model is the mean over keys.
  for (const auto& [found, expected] :
       {std::pair(measured.noise.expanded, model.expanded),
        std::pair(measured.noise.gsw_secret, model.gsw_secret),
        std::pair(measured.noise.folded, model.folded), std::pair(measured.noise.packed, model.packed)}) {
    EXPECT_GT(bits(found, expected), -1.25);
    EXPECT_LT(bits(found, expected), 1.5);
  }
}

TEST(NoiseModel, ConstantDataAreRandomBehindThePad) {
  auto scheme = toy_scheme();
  scheme.pack = 2;
  const auto params = plan_of(scheme, 4 * 16, 3000).value();
  for (const unsigned byte : {0x00u, 0x7fu, 0xffu}) {
    const auto measured =
        profile(params, {.threads = 1, .samples = 1, .queries = 4, .constant_data = byte}).value();
    EXPECT_EQ(measured.wrong, 0);
    EXPECT_NEAR(bits(measured.noise.first, params.noise().first), 0, 0.25);
  }
}

/// The tail of the error and the last rounding, which is uniform in a quarter of a step.
double expected_failures(double deviation) {
  double sum = 0;
  constexpr int kSteps = 1000;
  for (int i = 0; i < kSteps; ++i) {
    const double u = (i + 0.5) / kSteps / 4 - 0.125;
    sum += std::erfc((0.5 - u) / (std::sqrt(2.0) * deviation)) / kSteps;
  }
  return sum;
}

TEST(NoiseModel, FailuresComeAtThePredictedRate) {
  // A gadget that forgets too much, and a reply that is cut too short.
  for (const bool cut : {false, true}) {
    Scheme scheme{.policy = Policy::kToy,
                  .log_d = 8,
                  .log_p = 12,
                  .pack = 2,
                  .log_q2 = 28,
                  .log_columns = 2,
                  .fold = {.z = 16},
                  .left = {.z = 3},
                  .right = {.z = 3},
                  .conversion = {.z = 64}};
    if (cut) {
      scheme.log_q2 = 18;
    } else {
      scheme.left = {.z = 3, .drop = 16};
    }
    // A bit more in every coefficient doubles the deviation: some number of bits fails now and then.
    double predicted = 0;
    for (scheme.log_p = 1; predicted < 0.002; ++scheme.log_p) {
      predicted = expected_failures(plan_of(scheme, 4 * 8, 6000)->noise().deviation);
    }
    --scheme.log_p;
    const auto params = plan_of(scheme, 4 * 8, 6000).value();
    ASSERT_LT(predicted, 0.3);
    const auto measured =
        profile(params, {.threads = 1, .samples = 1, .queries = 6, .measure_noise = false}).value();
    EXPECT_GT(measured.wrong, predicted * 0.6);
    EXPECT_LT(measured.wrong, predicted * 1.6);
  }
}

TEST(NoiseModel, TailsOfErrors) {
  EXPECT_NEAR(log2_failure(1, 1, 1), std::log2(std::erfc(std::sqrt(0.5))), 1e-9);
  // The asymptotic form takes over without a step.
  EXPECT_NEAR(log2_failure(1, 7.07, 1), log2_failure(1, 7.0725, 1), 0.1);
  EXPECT_EQ(log2_failure(1e9, 0.1, 1), 0);
  EXPECT_LT(log2_failure(1, 100, 1), -7000);
}

TEST(Expansion, PlainPolynomialsGiveTheirCoefficients) {
  // A ciphertext (0, m) is its own phase under every key: expansion by g rounds gives 2^g times the
  // coefficients, with the error of the keys alone.
  auto engine = pirx::testing::seeded_engine();
  const auto params = plan_of({.policy = Policy::kToy,
                               .log_d = 8,
                               .log_p = 4,
                               .log_columns = 1,
                               .left = {.z = 3},
                               .right = {.z = 3}},
                              2 * 20, 128)
                          .value();
  const Ring& ring = Ring::get(8);
  auto rng = Rng::from_os().value();
  const Coins coins = [&](MutableByteSpan out) { rng.fill(out); };
  const ClientCore client(params, coins);
  const Bytes message = client.keys(params, coins);
  const auto keys = PublicKeys::decode(params, ring, ByteSpan(message).subspan(kHeaderBytes)).value();
  auto evaluator = Evaluator::create(params, ring, 1).value();
  std::vector<std::int64_t> m(256);
  const std::int64_t unit = std::int64_t{1} << 40;
  for (auto& x : m) x = static_cast<std::int64_t>(engine() % 200) * unit;
  const auto c1 = slots(ring, m);
  const std::vector<U32> zero(512);
  const auto query = evaluator.expand(keys, zero.data(), c1.data()).value();
  const auto expect = [&](const Polynomials& all, std::size_t i, std::size_t coefficient, unsigned rounds) {
    const auto phase = client.phase(all[2 * i], all[2 * i + 1]);
    const std::size_t step = std::size_t{1} << rounds;
    for (std::size_t at = 0; at + coefficient < 256; ++at) {
      const Wide expected = at % step == 0 ? static_cast<Wide>(m[at + coefficient]) << rounds : 0;
      ASSERT_LT(std::abs(centred(phase[at] - expected)), unit);
    }
  };
  for (std::size_t i = 0; i < params.rows(); ++i) expect(query.rows, i, 2 * i, params.row_rounds());
  for (unsigned k = 0; k < params.fold().digits(); ++k) expect(query.bits, k, 2 * k + 1, params.bit_rounds());
}

TEST(Keys, TakeTheBytesThatTheyAreCountedWith) {
  // Below and above the size from which memory comes in huge pages.
  for (const auto& [scheme, bytes, least] : {std::tuple(toy_scheme(), 256, 0),
                                             {*named_scheme("s1c"), 256, 0},
                                             {*named_scheme("s2"), 30000, 8 << 20}}) {
    const auto params = plan_of(scheme, 5, static_cast<U64>(bytes)).value();
    Bytes body(params.keys_bytes() - kHeaderBytes);
    const auto keys = PublicKeys::decode(params, Ring::get(scheme.log_d), body).value();
    EXPECT_EQ(PublicKeys::bytes(params), keys.all.bytes());
    EXPECT_GE(keys.all.bytes(), static_cast<U64>(least));
  }
}

TEST(Randomness, SeedsAreUsedOnce) {
  static_assert(!std::is_copy_constructible_v<FreshSeed> && !std::is_copy_assignable_v<FreshSeed>);
  static_assert(!std::is_move_assignable_v<FreshSeed>);
  static_assert(!std::is_copy_constructible_v<Client> && !std::is_copy_constructible_v<SecretPolynomial>);
  // Only who gives a seed away can encrypt with it.
  static_assert(!std::is_constructible_v<Encryptor, const Ring&, unsigned, FreshSeed&, const Coins&>);
  static_assert(std::is_constructible_v<Encryptor, const Ring&, unsigned, FreshSeed&&, const Coins&>);
  const Coins coins = [](MutableByteSpan out) { std::fill(out.begin(), out.end(), std::byte{7}); };
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // there may be threads of OpenMP
  FreshSeed seed(coins), taken(std::move(seed));
  EXPECT_EQ(taken.bytes()[31], std::byte{7});
  EXPECT_DEATH(static_cast<void>(seed.bytes()), "broken contract");
  EXPECT_DEATH(FreshSeed(std::move(seed)), "broken contract");
}

TEST(Randomness, PublicHalvesServeASecretOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto rng = Rng::from_os().value();
  const Coins coins = [&](MutableByteSpan out) { rng.fill(out); };
  const Ring& ring = Ring::get(6);
  const SecretPolynomial one(ring, 32, coins), other(ring, 32, coins);
  const std::vector<U32> zero(128);
  std::vector<U32> c1(128);
  Encryptor encryptor(ring, 32, FreshSeed(coins), coins);
  const auto encrypt = [&](const SecretPolynomial& secret) {
    encryptor.encrypt(secret, zero.data(), c1.data());
  };
  EXPECT_DEATH(encrypt(one), "broken contract");
  encryptor.next();
  encrypt(one);
  encrypt(other);
  EXPECT_DEATH(encrypt(one), "broken contract");
  EXPECT_DEATH(encrypt(other), "broken contract");
  encryptor.next();
  encrypt(one);
}

TEST(Randomness, BinomialAndUniform) {
  auto rng = Rng::from_os().value();
  const Coins coins = [&](MutableByteSpan out) { rng.fill(out); };
  for (const unsigned eta : {1u, 13u, 32u}) {
    std::vector<std::int32_t> x(1 << 16);
    centred_binomial(coins, eta, x);
    double sum = 0, squares = 0;
    for (const auto v : x) {
      ASSERT_LE(std::abs(v), static_cast<int>(eta));
      sum += v;
      squares += static_cast<double>(v) * v;
    }
    EXPECT_NEAR(sum / 65536, 0, 6 * std::sqrt(eta / 2.0 / 65536));
    EXPECT_NEAR(squares / 65536 / (eta / 2.0), 1, 0.05);
  }
  const Coins ones = [](MutableByteSpan out) { std::fill(out.begin(), out.end(), std::byte{0xff}); };
  std::vector<std::int32_t> none(4, 1);
  centred_binomial(ones, 32, none);
  EXPECT_EQ(none, std::vector<std::int32_t>(4, 0));
  const Coins low = [](MutableByteSpan out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::byte(i % 8 < 4 ? 0xff : 0);
  };
  centred_binomial(low, 32, none);
  EXPECT_EQ(none, std::vector<std::int32_t>(4, 32));
}

TEST(Plans, ChoosesSecureOnes) {
  for (const auto& [records, bytes] :
       {std::pair<U64, U64>{1 << 20, 256}, {1 << 14, 100000}, {1000, 32}, {1, 1}}) {
    const auto geometry = database::Geometry::create({records, bytes, 1, false, false}).value();
    const auto params = choose_params(geometry, {}).value();
    EXPECT_EQ(params.scheme().policy, Policy::kSecure);
    EXPECT_LE(params.noise().log2_failure, Params::kFailureBound);
    EXPECT_LE(params.keys_bytes(), Limits{}.keys_bytes);
    for (const char* name : {"s1", "s1c"}) {
      if (const auto set = Params::create({geometry, {}, *named_scheme(name)})) {
        EXPECT_LE(server_seconds(params), server_seconds(*set));
      }
    }
  }
  const auto geometry = database::Geometry::create({1 << 20, 256, 1, false, false}).value();
  const auto small = choose_params(geometry, {}, {.keys_bytes = 2'000'000}).value();
  EXPECT_LE(small.keys_bytes(), 2'000'000u);
  EXPECT_EQ(choose_params(geometry, {}, {.keys_bytes = 1000}).error().code(), ErrorCode::kInvalidArgument);
}

TEST(Plans, PublishedSizes) {
  struct Set {
    const char* name;
    U64 records, bytes;
    std::size_t rows, trials, reply, keys;
  };
  for (const auto& set :
       {Set{"s1", 1 << 20, 256, 158, 1, 9984, 3'200'000}, Set{"s1c", 1 << 20, 256, 171, 1, 9472, 2'500'000},
        Set{"s2", 1 << 18, 30000, 256, 1, 56064, 9'100'000},
        Set{"s2s", 1 << 18, 30000, 1024, 3, 70656, 2'500'000},
        Set{"s3", 1 << 14, 100000, 512, 1, 155136, 4'900'000},
        Set{"s3b", 1 << 14, 100000, 256, 7, 211456, 6'800'000}}) {
    const auto params = plan_of(*named_scheme(set.name), set.records, set.bytes).value();
    EXPECT_EQ(params.rows(), set.rows);
    EXPECT_EQ(params.trials(), set.trials);
    EXPECT_EQ(params.reply_bytes() - kHeaderBytes, set.reply);
    EXPECT_EQ(params.request_bytes(), 14336u + 32 + 32 + kHeaderBytes);
    EXPECT_LE(params.keys_bytes(), set.keys);
    EXPECT_LE(params.noise().log2_failure, -60);
  }
}

}  // namespace
}  // namespace pirx::cpir::spiral
