// SPDX-License-Identifier: Apache-2.0
// The client against the known answers and against a slow server from the formulas; what a query shows; what
// is refused.
#include "pirx/cpir/inspire/client.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cpir/inspire/client_core.h"
#include "cpir/inspire/public_randomness.h"
#include "cpir/inspire/rounding.h"
#include "reference.h"
#include "src/protocol/message.h"
#include "support/files.h"
#include "support/seed.h"
#include "support/source_file.h"

namespace pirx::cpir::inspire {
namespace {

using namespace testing;
using pirx::testing::expect_error;
using Json = nlohmann::json;
using U32 = std::uint32_t;

/// A toy of d = 64, one record a row.
Params toy(const Set& like, std::size_t rows, std::size_t columns, unsigned t, unsigned tr) {
  Params::Spec spec{.geometry = database::Geometry::create({.records = rows,
                                                            .record_bytes = columns * like.word_bytes(),
                                                            .variable_length = false,
                                                            .digests = false})
                                    .value(),
                    .version = {},
                    .set = like,
                    .layout = {},
                    .t = t,
                    .tr = tr,
                    .toy = true};
  spec.set.log_d = 6;
  spec.salt.fill(std::byte{0x77});
  return Params::create(std::move(spec)).value();
}
Params with_masks(const Params& params, std::vector<Digest> digests) {
  auto spec = params.spec();
  spec.masks = std::move(digests);
  return Params::create(std::move(spec)).value();
}

/// Transforms.
std::vector<U32> slots_of(const Ring& ring, const std::vector<Polynomial>& polynomials) {
  std::vector<U32> out;
  for (const auto& p : polynomials) {
    const auto x = slots(ring, p);
    out.insert(out.end(), x.begin(), x.end());
  }
  return out;
}

/// Coins for which centred_binomial() gives these numbers, one polynomial after the other.
class Replay {
 public:
  explicit Replay(const Drawn& drawn) {
    add(drawn.secret);
    for (const auto& e : drawn.key_errors) add(e);
    for (const auto& e : drawn.errors) add(e);
  }
  Coins coins() {
    return [this](MutableByteSpan out) {
      ASSERT_LE(at_ + out.size(), bytes_.size());
      std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), out.size(), out.begin());
      at_ += out.size();
    };
  }

 private:
  void add(const Polynomial& numbers) {
    for (const auto x : numbers) {
      const U64 ones = (U64{1} << std::abs(x)) - 1, word = x < 0 ? ones << 32 : ones;
      bytes_.resize(bytes_.size() + 8);
      store_le(bytes_.data() + bytes_.size() - 8, word);
    }
  }
  Bytes bytes_;
  std::size_t at_ = 0;
};

Drawn draw(const Params& params, std::mt19937_64& engine) {
  const auto small = [&] {
    Polynomial out(params.d());
    for (auto& x : out) x = static_cast<std::int64_t>(engine() % 65) - 32;
    return out;
  };
  Drawn out{small(), {}, {}};
  for (std::size_t v = 0; v < params.row_blocks(); ++v) out.errors.push_back(small());
  for (unsigned j = 0; j < params.set().l; ++j) out.key_errors.push_back(small());
  return out;
}

template <class Range>
std::string hex_digest(const Range& numbers, std::size_t bytes) {
  Bytes all;
  for (const auto x : numbers) {
    for (std::size_t i = 0; i < bytes; ++i)
      all.push_back(static_cast<std::byte>(static_cast<U64>(x) >> 8 * i));
  }
  return to_hex(sha256(all));
}
template <class Range>
auto joined(const std::vector<Range>& parts) {
  Range out;
  for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

/// A query from the client with replayed coins: what is in the message, and the secret.
struct Made {
  std::vector<U64> c, key;
  RowSecret secret;
};
Made make_query(const Params& params, const ClientCore& core, const Drawn& drawn, std::size_t row) {
  Replay replay(drawn);
  const Coins coins = replay.coins();
  Bytes key(params.key_bytes()), numbers(params.query_bytes());
  RowSecret secret = core.query(FreshSecret(params, coins), row, coins, key, numbers);
  return {numbers_of(numbers, params.rows(), params.spec().t),
          numbers_of(key, params.set().l * params.d(), params.set().kappa), std::move(secret)};
}
ClientCore core_of(const Params& params, const PublicPolynomials& random) {
  const Ring& ring = Ring::get(params.set().log_d);
  return {params, {slots_of(ring, random.query), slots_of(ring, random.key)}};
}
SecretVector<std::byte> decode(const ClientCore& core, RowSecret secret, const std::vector<Bytes>& masks,
                               ByteSpan body) {
  std::vector<std::shared_ptr<const MaskSlots>> slots;
  for (const auto& block : masks) slots.push_back(std::make_shared<const MaskSlots>(core.mask_slots(block)));
  return core.decode(std::move(secret), slots, body);
}

class KnownAnswers : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    static const Json json = Json::parse(pirx::testing::source_file("tests/vectors/inspire_kat.json"));
    for (const auto& one : json["cases"]) {
      if (one["name"] == GetParam()) known_ = one;
    }
    ASSERT_TRUE(known_.is_object());
    ASSERT_EQ(json["q"], kModulus);
    const Set like = known_["w"] == 8 ? kS8 : kS16;
    ASSERT_EQ(known_["tm"], like.tm);
    ASSERT_EQ(known_["drop"], like.delta);
    params_ = toy(like, known_["rows"], known_["cols"], known_["t"], known_["tr"]);
    const std::string label = "pirx inspire kat " + GetParam() + " ";
    random_ = {shake_public(label + "A", params_->row_blocks(), 64), shake_public(label + "w", like.l, 64)};
    drawn_ = {shake_small(label + "s", 1, 64)[0], shake_small(label + "e", params_->row_blocks(), 64),
              shake_small(label + "k", like.l, 64)};
  }
  U64 word(std::size_t i, std::size_t k) const {
    return (40503 * i + 30011 * k + 12345 * i * k + i * k % 251) % (U64{1} << params_->set().w);
  }
  Json known_;
  std::optional<Params> params_;
  PublicPolynomials random_;
  Drawn drawn_;
};
INSTANTIATE_TEST_SUITE_P(Sets, KnownAnswers, ::testing::Values("ring64-8", "ring64-16"),
                         [](const auto& name) { return name.param == "ring64-8" ? "S8" : "S16"; });

TEST_P(KnownAnswers, QueriesOfTheClient) {
  const std::size_t target = known_["target"];
  const QueryRef expected = query_ref(*params_, random_, drawn_, target);
  EXPECT_EQ(hex_digest(joined(expected.b), 8), known_["b_sha256"].get<std::string>());
  EXPECT_EQ(hex_digest(joined(expected.y), 8), known_["y_sha256"].get<std::string>());
  const Made made = make_query(*params_, core_of(*params_, random_), drawn_, target);
  EXPECT_EQ(made.c, known_["query"].get<std::vector<U64>>());
  EXPECT_EQ(hex_digest(made.key, 8), known_["key_sha256"].get<std::string>());
  EXPECT_EQ(made.key, expected.key);
  EXPECT_EQ(made.c, expected.c);
}

/// The client decodes the known reply with masks that are computed here, and so are known to be right.
TEST_P(KnownAnswers, RowsOfTheClient) {
  const auto of = [this](std::size_t i, std::size_t k) { return word(i, k); };
  const std::size_t target = known_["target"];
  std::vector<BlockRef> blocks;
  std::vector<Bytes> masks;
  std::vector<U64> all_masks;
  for (std::size_t block = 0; block < params_->blocks(); ++block) {
    blocks.push_back(block_ref(*params_, random_, of, block));
    EXPECT_EQ(hex_digest(joined(blocks.back().packing), 4), known_["H_sha256"][block].get<std::string>());
    for (const auto& mask : blocks.back().masks) all_masks.insert(all_masks.end(), mask.begin(), mask.end());
    masks.push_back(masks_of(*params_, blocks.back()));
  }
  EXPECT_EQ(hex_digest(all_masks, 4), known_["masks_sha256"].get<std::string>());
  const auto core = core_of(*params_, random_);
  Made made = make_query(*params_, core, drawn_, target);
  const auto sums = sums_ref(*params_, blocks, of, made.c, made.key);
  EXPECT_EQ(hex_digest(sums, 8), known_["z_sha256"].get<std::string>());
  const auto reply = known_["reply"].get<std::vector<U64>>();
  EXPECT_EQ(reply_ref(*params_, sums), reply);
  const auto row = decode(core, std::move(made.secret), masks, run_of(reply, params_->spec().tr));
  std::vector<U64> words;
  for (std::size_t k = 0; k < params_->columns(); ++k) {
    words.push_back(params_->set().w == 8 ? std::to_integer<U64>(row.expose()[k])
                                          : load_le<std::uint16_t>(row.expose().data() + 2 * k));
  }
  EXPECT_EQ(hex_digest(words, 2), known_["row_sha256"].get<std::string>());
  for (std::size_t k = 0; k < params_->columns(); ++k) EXPECT_EQ(words[k], word(target, k));
}

/// With a secret and errors of zero a query is the scaled unit vector; server_test.cc has what it gets.
TEST_P(KnownAnswers, AQueryWithoutNoiseNamesTheRow) {
  const auto core = core_of(*params_, random_);
  const std::vector<Polynomial> zero(params_->row_blocks() + params_->set().l, Polynomial(64));
  for (const std::size_t row : {std::size_t{0}, params_->rows() / 2, params_->rows() - 1}) {
    const auto made = make_query(*params_, core, {Polynomial(64), zero, zero}, row);
    EXPECT_EQ(made.key, std::vector<U64>(made.key.size()));
    for (std::size_t i = 0; i < params_->rows(); ++i) {
      EXPECT_EQ(made.c[i], i == row ? U64{1} << (params_->spec().t - params_->set().w) : 0);
    }
  }
}

TEST_P(KnownAnswers, QueriesOfTwoRowsDifferThereOnly) {
  const auto core = core_of(*params_, random_);
  const auto first = make_query(*params_, core, drawn_, 3);
  for (std::size_t row = 0; row < params_->rows(); ++row) {
    const auto other = make_query(*params_, core, drawn_, row);
    EXPECT_EQ(other.key, first.key);
    for (std::size_t i = 0; i < params_->rows(); ++i) {
      EXPECT_EQ(other.c[i] == first.c[i], row == 3 || (i != 3 && i != row)) << row << ' ' << i;
    }
  }
}

TEST(InspireClient, PublicPolynomialsAreThoseOfTheSalt) {
  const Params params = toy(kS16, 130, 64, 43, 19);
  const Ring& ring = Ring::get(6);
  const auto expanded = ClientCore::expand(params);
  std::vector<U32> slots(2 * 64);
  for (std::size_t v = 0; v < 3; ++v) {
    query_mask(ring, params.spec().salt, v, slots.data());
    EXPECT_TRUE(
        std::equal(slots.begin(), slots.end(), expanded.query_masks.begin() + static_cast<int>(v) * 128));
    // By hand: a stream of 32-bit words, cut to 28 bits, without those that are no residues.
    Bytes seed(as_bytes("pirx inspire query mask").begin(), as_bytes("pirx inspire query mask").end());
    seed.insert(seed.end(), params.spec().salt.begin(), params.spec().salt.end());
    seed.resize(seed.size() + 8);
    store_le(seed.data() + seed.size() - 8, static_cast<U64>(v));
    SeedStream stream(sha256(seed));
    for (std::size_t i = 0; i < 128;) {
      std::array<std::byte, 4> word{};
      stream.fill(word);
      const auto number = load_le<U32>(word.data()) & 0xfffffff;
      if (number >= kPrimes[i / 64]) continue;
      EXPECT_EQ(slots[i], number);
      ++i;
    }
  }
  for (std::size_t j = 0; j < 2; ++j) {
    key_mask(ring, params.spec().salt, j, slots.data());
    EXPECT_TRUE(
        std::equal(slots.begin(), slots.end(), expanded.key_masks.begin() + static_cast<int>(j) * 128));
  }
  EXPECT_NE(expanded.query_masks[0], expanded.key_masks[0]);
}

TEST(InspireClient, RoundingIsExact) {
  auto engine = pirx::testing::seeded_engine();
  for (unsigned t = 1; t <= 48; ++t) {
    const Rounding rounding(t);
    const auto check = [&](Wide near) {
      for (Wide x = near - 2; x <= near + 2; ++x) {
        if (x < 0 || x >= static_cast<Wide>(kModulus)) continue;
        const auto number = static_cast<U64>(x);
        ASSERT_EQ(rounding(number), round_ref(static_cast<std::int64_t>(number), t)) << number << ' ' << t;
      }
    };
    check(0);
    check(kModulus - 1);
    check(kModulus / 2);
    for (int i = 0; i < 2000; ++i) {
      check(engine() % kModulus);
      // Around a tie: (k + 1/2) q / 2^t, and around a multiple.
      const Wide k = engine() >> (64 - t);
      check((2 * k + 1) * kModulus >> (t + 1));
      check((k * kModulus) >> t);
    }
  }
}

/// Whole retrievals of every row against the server from the formulas, with the client's own public
/// polynomials, random data and random coins, through messages.
class Whole : public ::testing::TestWithParam<Set> {};
INSTANTIATE_TEST_SUITE_P(Sets, Whole, ::testing::Values(kS8, kS16),
                         [](const auto& set) { return "S" + std::to_string(set.param.w); });

struct World {
  World(const Set& set, std::size_t rows, std::size_t columns, std::mt19937_64& engine)
      : params(toy(set, rows, columns, set.w == 8 ? 28 : 43, set.w + 3)) {
    const Ring& ring = Ring::get(6);
    const auto expanded = ClientCore::expand(params);
    for (std::size_t v = 0; v < params.row_blocks(); ++v) {
      const auto* from = expanded.query_masks.data() + v * 128;
      random.query.push_back(coefficients(ring, {from, from + 128}));
    }
    for (std::size_t j = 0; j < set.l; ++j) {
      const auto* from = expanded.key_masks.data() + j * 128;
      random.key.push_back(coefficients(ring, {from, from + 128}));
    }
    words.resize(rows * columns);
    for (auto& word : words) word = engine() % (U64{1} << set.w);
    std::vector<Digest> digests;
    for (std::size_t block = 0; block < params.blocks(); ++block) {
      blocks.push_back(block_ref(params, random, of(), block));
      masks.push_back(masks_of(params, blocks.back()));
      digests.push_back(mask_digest(params.spec().salt, block, masks.back()));
    }
    params = with_masks(params, std::move(digests));
  }
  Word of() const {
    return [this](std::size_t i, std::size_t k) { return words[i * params.columns() + k]; };
  }
  Bytes row(std::size_t i) const {
    Bytes out(params.row_bytes());
    for (std::size_t k = 0; k < params.columns(); ++k) {
      const U64 word = of()(i, k);
      std::memcpy(out.data() + k * params.set().word_bytes(), &word, params.set().word_bytes());
    }
    return out;
  }
  Bytes masks_reply() const { return masks_reply(0, masks.size()); }
  Bytes masks_reply(std::size_t first, std::size_t count) const {
    Writer writer;
    encode_header(writer, ProtocolId::kInspire, MessageType::kMasks, params.digest());
    writer.put(static_cast<U32>(first));
    writer.put(static_cast<U32>(count));
    for (std::size_t i = 0; i < count; ++i) writer.put_bytes(masks[first + i]);
    return std::move(writer).take();
  }
  Bytes reply(ByteSpan message) const {
    const auto body = decode_header(message, ProtocolId::kInspire, MessageType::kQuery, params.digest(),
                                    params.request_bytes())
                          .value();
    const auto key = numbers_of(body.first(params.key_bytes()), params.set().l * 64, params.set().kappa);
    const auto c = numbers_of(body.subspan(params.key_bytes()), params.rows(), params.spec().t);
    Writer writer;
    encode_header(writer, ProtocolId::kInspire, MessageType::kReply, params.digest());
    writer.put_bytes(run_of(reply_ref(params, sums_ref(params, blocks, of(), c, key)), params.spec().tr));
    return std::move(writer).take();
  }
  Params params;
  PublicPolynomials random;
  std::vector<U64> words;
  std::vector<BlockRef> blocks;
  std::vector<Bytes> masks;
};

TEST_P(Whole, EveryRowOfAPartialBlockDecodes) {
  auto engine = pirx::testing::seeded_engine();
  const World world(GetParam(), 70, 67, engine);
  const auto client = Client::create(world.params).value();
  ASSERT_TRUE(client.take_masks(world.masks_reply()));
  auto rng = Rng::from_os().value();
  for (std::size_t i = 0; i < world.params.rows(); ++i) {
    auto query = client.query(i, rng).value();
    ASSERT_EQ(query.message.size(), world.params.request_bytes());
    const Bytes reply = world.reply(query.message);
    ASSERT_EQ(reply.size(), world.params.reply_bytes());
    const auto row = client.decode(std::move(query.secret), reply);
    ASSERT_TRUE(row) << row.error().to_string();
    EXPECT_EQ(Bytes(row->expose().begin(), row->expose().end()), world.row(i)) << i;
  }
}

/// Twice the same row: nothing of the message is the same but its header.
TEST_P(Whole, EveryQueryIsFresh) {
  auto engine = pirx::testing::seeded_engine();
  const World world(GetParam(), 128, 64, engine);
  const auto client = Client::create(world.params).value();
  auto rng = Rng::from_os().value();
  const auto first = client.query(5, rng).value().message, second = client.query(5, rng).value().message;
  std::size_t same = 0;
  for (std::size_t i = kHeaderBytes; i < first.size(); ++i) same += first[i] == second[i];
  EXPECT_LT(static_cast<double>(same), 0.05 * static_cast<double>(first.size()));
  EXPECT_TRUE(std::equal(first.begin(), first.begin() + kHeaderBytes, second.begin()));
}

TEST_P(Whole, MasksAreRefusedUnlessTheyAreThoseOfTheParameters) {
  auto engine = pirx::testing::seeded_engine();
  const World world(GetParam(), 64, 130, engine);
  const auto client = Client::create(world.params).value();
  const Bytes good = world.masks_reply();
  EXPECT_FALSE(client.has_masks());
  for (std::size_t byte = 0; byte < good.size(); ++byte) {
    Bytes wrong = good;
    wrong[byte] ^= static_cast<std::byte>(1U << byte % 8);
    ASSERT_FALSE(client.take_masks(wrong)) << byte;
  }
  Bytes flipped = good;
  flipped.back() ^= std::byte{1};
  expect_error(client.take_masks(flipped), ErrorCode::kDataLoss, "not those that its parameters name");
  expect_error(client.take_masks(world.masks_reply(0, 2)), ErrorCode::kDataLoss, "bytes");
  flipped = good;
  flipped[40] = std::byte{1};
  expect_error(client.take_masks(flipped), ErrorCode::kDataLoss, "other blocks");
  Bytes longer = good;
  longer.push_back(std::byte{0});
  expect_error(client.take_masks(longer), ErrorCode::kDataLoss, "");
  // Of another epoch: in a message of that epoch, and in one that says it was of this one.
  auto spec = world.params.spec();
  spec.version.epoch = 2;
  const auto later = Client::create(Params::create(spec).value()).value();
  expect_error(later.take_masks(good), ErrorCode::kStaleEpoch, "the masks message is for other");
  spec.masks[1] = {};
  const auto changed = Params::create(spec).value();
  const auto other = Client::create(changed).value();
  Writer writer;
  encode_header(writer, ProtocolId::kInspire, MessageType::kMasks, changed.digest());
  writer.put_bytes(ByteSpan(good).subspan(kHeaderBytes));
  expect_error(other.take_masks(std::move(writer).take()), ErrorCode::kDataLoss, "not those");
  // Nothing was taken by halves.
  EXPECT_FALSE(client.has_masks());
  EXPECT_FALSE(other.has_masks());
  ASSERT_TRUE(client.take_masks(good));
  EXPECT_TRUE(client.has_masks());
  // The request says what the reply repeats: all blocks.
  const Bytes request = client.masks_request();
  ASSERT_EQ(request.size(), Params::kMasksRequestBytes);
  EXPECT_EQ(load_le<U32>(request.data() + 40), 0U);
  EXPECT_EQ(load_le<U32>(request.data() + 44), 3U);
}

TEST_P(Whole, RepliesAreRefused) {
  auto engine = pirx::testing::seeded_engine();
  const World world(GetParam(), 64, 67, engine);
  const auto client = Client::create(world.params).value();
  auto rng = Rng::from_os().value();
  const auto asked = [&] { return client.query(1, rng).value().secret; };
  auto query = client.query(1, rng).value();
  const Bytes reply = world.reply(query.message);
  expect_error(client.decode(std::move(query.secret), reply), ErrorCode::kInvalidArgument,
               "masks are missing");
  ASSERT_TRUE(client.take_masks(world.masks_reply()));
  for (std::size_t length = 0; length < reply.size(); ++length) {
    expect_error(client.decode(asked(), ByteSpan(reply).first(length)), ErrorCode::kDataLoss, "");
  }
  Bytes wrong = reply;
  wrong.push_back(std::byte{0});
  expect_error(client.decode(asked(), wrong), ErrorCode::kDataLoss, "");
  // 67 words of 11 or 19 bits leave spare bits.
  ASSERT_NE(67 * world.params.spec().tr % 8, 0U);
  wrong = reply;
  wrong.back() |= std::byte{0x80};
  expect_error(client.decode(asked(), wrong), ErrorCode::kDataLoss, "spare bits");
  wrong = reply;
  wrong[8] ^= std::byte{1};
  expect_error(client.decode(asked(), wrong), ErrorCode::kStaleEpoch, "");
  wrong = reply;
  wrong[7] ^= std::byte{1};
  expect_error(client.decode(asked(), wrong), ErrorCode::kInvalidArgument, "");
  expect_error(client.query(64, rng), ErrorCode::kOutOfRange, "the database has 64");
  auto spec = world.params.spec();
  spec.masks.clear();
  expect_error(Client::create(Params::create(spec).value()), ErrorCode::kInvalidArgument, "no masks");
}

/// The mask's greatest coefficients and the secret's: what decoding may add up.
TEST_P(Whole, DecodingIsExactAtTheEnds) {
  const Params params = toy(GetParam(), 64, 64, GetParam().w == 8 ? 28 : 43, GetParam().w + 3);
  auto engine = pirx::testing::seeded_engine();
  PublicPolynomials random{{Polynomial(64)}, std::vector(params.set().l, Polynomial(64))};
  const auto core = core_of(params, random);
  for (int trial = 0; trial < 8; ++trial) {
    Drawn drawn = draw(params, engine);
    std::vector<U64> masks[2], reply;
    for (std::size_t n = 0; n < 64; ++n) {
      if (trial < 4) drawn.secret[n] = trial % 2 == 0 ? 32 : -32;
      const U64 most = (U64{1} << params.set().tm) - 1;
      for (auto& mask : masks) mask.push_back(trial < 4 ? most : engine() & most);
      reply.push_back(engine() >> (64 - params.spec().tr));
    }
    Made made = make_query(params, core, drawn, 0);
    Bytes both = run_of(masks[0], params.set().tm);
    const Bytes second = run_of(masks[1], params.set().tm);
    both.insert(both.end(), second.begin(), second.end());
    const auto row = decode(core, std::move(made.secret), {both}, run_of(reply, params.spec().tr));
    const Ring& ring = Ring::get(6);
    const auto sum =
        add(multiply(ring, {masks[0].begin(), masks[0].end()}, drawn.secret),
            multiply(ring, {masks[1].begin(), masks[1].end()}, automorphism_ref(drawn.secret, 127)));
    const unsigned w = params.set().w, tm = params.set().tm;
    for (std::size_t k = 0; k < 64; ++k) {
      const std::int64_t u = static_cast<std::int64_t>(reply[k] << (tm - params.spec().tr)) + sum[k];
      const auto word =
          static_cast<U64>((u + (std::int64_t{1} << (tm - w - 1))) >> (tm - w)) & ((1U << w) - 1);
      U64 found = 0;
      std::memcpy(&found, row.expose().data() + k * w / 8, w / 8);
      ASSERT_EQ(found, word);
    }
  }
}

TEST(InspireClient, ASecretEncryptsOnce) {
  // A copy, or a second query under a secret that is still there, does not compile.
  static_assert(!std::is_copy_constructible_v<FreshSecret> && !std::is_copy_assignable_v<FreshSecret>);
  static_assert(!std::is_move_assignable_v<FreshSecret>);
  static_assert(!std::is_copy_constructible_v<RowSecret> && !std::is_copy_assignable_v<RowSecret>);
  static_assert(!std::is_constructible_v<FreshSecret, RowSecret&&>);
  using Query = decltype(&ClientCore::query);
  static_assert(std::is_invocable_v<Query, const ClientCore&, FreshSecret&&, U64, const Coins&,
                                    MutableByteSpan, MutableByteSpan>);
  static_assert(!std::is_invocable_v<Query, const ClientCore&, FreshSecret&, U64, const Coins&,
                                     MutableByteSpan, MutableByteSpan>);
  static_assert(!std::is_invocable_v<Query, const ClientCore&, RowSecret&&, U64, const Coins&,
                                     MutableByteSpan, MutableByteSpan>);
  using Decode = decltype(&Client::decode);
  static_assert(!std::is_invocable_v<Decode, const Client&, RowSecret&, ByteSpan>);
  const Params params = toy(kS8, 64, 64, 28, 11);
  const ClientCore core(params, ClientCore::expand(params));
  auto rng = Rng::from_os().value();
  const Coins coins = [&](MutableByteSpan out) { rng.fill(out); };
  Bytes key(params.key_bytes()), numbers(params.query_bytes());
  FreshSecret secret(params, coins);
  static_cast<void>(core.query(std::move(secret), 0, coins, key, numbers));
  // And one that was moved away ends the process.
  EXPECT_DEATH(static_cast<void>(core.query(std::move(secret), 1, coins, key, numbers)), "broken contract");
}

}  // namespace
}  // namespace pirx::cpir::inspire
