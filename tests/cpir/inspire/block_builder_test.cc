// SPDX-License-Identifier: Apache-2.0
// Blocks against known answers of a reference in Python and against the definitions, on every kernel; partial
// blocks; order and threads; what is refused.
#include "cpir/inspire/block_builder.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "offline_support.h"
#include "support/seed.h"
#include "support/source_file.h"

namespace pirx::cpir::inspire {
namespace {

using namespace testing;
using Json = nlohmann::json;

class BlockBuilderTest : public ::testing::TestWithParam<const RingKernel*> {
 protected:
  std::mt19937_64 engine_ = pirx::testing::seeded_engine();
};
INSTANTIATE_TEST_SUITE_P(Kernels, BlockBuilderTest, ::testing::ValuesIn(usable_kernels()),
                         [](const auto& kernel) { return std::string(kernel.param->name); });

/// SHA-256 of numbers as words of so many bytes, little-endian, modulo q if canonical.
class Hash {
 public:
  Hash(std::size_t bytes, bool canonical) : bytes_(bytes), canonical_(canonical) {}
  void add(std::int64_t x) {
    if (canonical_ && x < 0) x += static_cast<std::int64_t>(kModulus);
    for (std::size_t i = 0; i < bytes_; ++i) data_.push_back(static_cast<std::byte>(x >> (8 * i)));
  }
  std::string hex() const { return to_hex(sha256(data_)); }

 private:
  std::size_t bytes_;
  bool canonical_;
  Bytes data_;
};

struct Expected {
  explicit Expected(const Json& from)
      : json(from),
        set(toy_set(from.at("w") == 8 ? kS8 : kS16, 6)),
        rows(from.at("rows")),
        columns(from.at("cols")),
        d(set.d()),
        label("pirx inspire kat " + from.at("name").get<std::string>() + " "),
        query_masks(shake_public(label + "A", div_up(rows, d), d)),
        key_masks(shake_public(label + "w", set.l, d)) {}
  Params params(std::size_t of_columns) const { return params_of(set, rows, of_columns); }
  /// Zero where there are no columns.
  Word word() const {
    return [columns = columns](std::size_t i, std::size_t k) {
      return k < columns ? static_cast<std::uint32_t>(40503 * i + 30011 * k + 12345 * i * k + i * k % 251)
                         : 0;
    };
  }
  Json json;
  Set set;
  std::size_t rows, columns, d;
  std::string label;
  std::vector<Polynomial> query_masks, key_masks;
};

std::vector<Expected> answers() {
  const Json json = Json::parse(pirx::testing::source_file("tests/vectors/inspire_kat.json"));
  std::vector<Expected> out;
  for (const auto& entry : json.at("cases"))
    if (entry.at("d") == 64) out.emplace_back(entry);
  EXPECT_EQ(out.size(), 2);
  return out;
}

Polynomial first(const Polynomial& a) {
  Polynomial out(a.begin(), a.begin() + 16);
  for (auto& x : out)
    if (x < 0) x += static_cast<std::int64_t>(kModulus);
  return out;
}

/// The oracle of this file is the reference's.
TEST(Inspire, DefinitionsGiveKnownAnswers) {
  for (const auto& answer : answers()) {
    const Ring& ring = Ring::get(6);
    const auto params = answer.params(answer.columns);
    const std::size_t d = answer.d;
    std::size_t last = 1;
    for (std::size_t i = 1; i < d / 2; ++i) last = last * 5 % (2 * d);
    for (std::size_t block = 0; block < params.blocks(); ++block) {
      const auto a = column_masks_ref(ring, params, block, answer.query_masks, answer.word());
      Hash hash(8, true);
      for (const auto& column : a)
        for (const auto x : column) hash.add(x);
      EXPECT_EQ(hash.hex(), answer.json.at("column_masks_sha256").at(block).get<std::string>());
      const auto chains =
          chains_ref(ring, answer.set, answer.key_masks, [&](std::size_t g) { return slot_mask_ref(a, g); });
      Hash finals(8, true);
      for (const auto& mask : chains.masks)
        for (const auto x : mask) finals.add(x);
      EXPECT_EQ(finals.hex(), answer.json.at("final_masks_sha256").at(block).get<std::string>());
      if (block != 0) continue;
      EXPECT_EQ(first(a[0]), answer.json.at("column_mask_0").get<Polynomial>());
      EXPECT_EQ(first(slot_mask_ref(a, last)), answer.json.at("slot_mask_5_last").get<Polynomial>());
      const auto& digits = chains.digits.at(last * last % (2 * d));  // 5^-1 and 5^-2
      for (unsigned j = 0; j < answer.set.l; ++j) {
        EXPECT_EQ(Polynomial(digits[j].begin(), digits[j].begin() + 16),
                  answer.json.at("first_digits").at(j).get<Polynomial>());
      }
    }
  }
}

TEST_P(BlockBuilderTest, KnownAnswers) {
  for (const auto& answer : answers()) {
    const Ring ring(6, *GetParam());
    // Whole blocks, as the answers have them; what is missing is zero.
    const auto params = answer.params(round_up(answer.columns, answer.d));
    const auto builder = builder_of(params, ring, answer.query_masks, answer.key_masks);
    Hash masks(4, false);
    for (std::size_t block = 0; block < params.blocks(); ++block) {
      const auto built =
          build(builder, params, block, read_words(answer.word(), answer.set.word_bytes())).value();
      Hash hash(4, false);
      for (const auto& row : built.packing)
        for (const auto x : row) hash.add(x);
      EXPECT_EQ(hash.hex(), answer.json.at("H_sha256").at(block).get<std::string>());
      for (std::size_t sign = 0; sign < 2; ++sign) {
        for (const auto x : built.masks[sign]) masks.add(static_cast<std::int64_t>(x));
        EXPECT_EQ(std::vector<std::uint64_t>(built.masks[sign].begin(), built.masks[sign].begin() + 16),
                  answer.json.at("masks").at(block).at(sign).get<std::vector<std::uint64_t>>());
      }
      if (block == 0) {
        EXPECT_EQ(std::vector<std::int64_t>(built.packing[0].begin(), built.packing[0].begin() + 32),
                  answer.json.at("H_row_0").get<std::vector<std::int64_t>>());
      }
    }
    EXPECT_EQ(masks.hex(), answer.json.at("masks_sha256").get<std::string>());
  }
}

TEST_P(BlockBuilderTest, PartialBlocksArePaddedOnes) {
  for (const Set& base : {kS8, kS16}) {
    const Set set = toy_set(base, 6);
    const Ring ring(6, *GetParam());
    constexpr std::size_t kShapes[][2] = {{1, 1}, {63, 65}, {65, 127}, {191, 3}, {129, 100}, {9999, 9}};
    for (const auto& [rows, columns] : kShapes) {
      const std::size_t d = set.d(), whole = round_up(columns, d);
      std::vector<std::uint32_t> data(round_up(rows, d) * whole);
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t k = 0; k < columns; ++k) data[i * whole + k] = static_cast<std::uint32_t>(engine_());
      const Word word = [&](std::size_t i, std::size_t k) { return data[i * whole + k]; };
      const auto words = read_words(word, set.word_bytes());
      const auto params = params_of(set, rows, columns), padded = params_of(set, round_up(rows, d), whole);
      const auto builder = BlockBuilder::create(params, ring, 1).value(),
                 of_padded = BlockBuilder::create(padded, ring, 2).value();
      for (std::size_t block = 0; block < params.blocks(); ++block) {
        const auto built = build(builder, params, block, words).value(),
                   all = build(of_padded, padded, block, words).value();
        EXPECT_EQ(built.masks, all.masks);
        for (std::size_t k = 0; k < params.columns_of(block); ++k)
          ASSERT_EQ(built.packing[k], all.packing[k]);
      }
    }
  }
}

/// H y is what the chains do with y step by step, and the masks are their ends.
TEST_P(BlockBuilderTest, PackingIsTheChains) {
  for (const Set& base : {kS8, kS16}) {
    const Set set = toy_set(base, 6);
    const Ring ring(6, *GetParam());
    const std::size_t d = set.d();
    const auto params = params_of(set, 100, 150);
    std::vector<std::uint32_t> data(100 * 150);
    for (auto& x : data) x = static_cast<std::uint32_t>(engine_());
    const Word word = [&](std::size_t i, std::size_t k) { return data[i * 150 + k]; };
    std::vector<Polynomial> query_masks, key_masks, y;
    for (std::size_t v = 0; v < 2; ++v) query_masks.push_back(random_polynomial(d, engine_));
    for (unsigned j = 0; j < set.l; ++j) {
      key_masks.push_back(random_polynomial(d, engine_));
      y.push_back(random_polynomial(d, engine_));
    }
    const auto builder = builder_of(params, ring, query_masks, key_masks);
    for (const std::size_t block : {0, 2}) {
      const auto built = build(builder, params, block, read_words(word, set.word_bytes())).value();
      const auto a = column_masks_ref(ring, params, block, query_masks, word);
      const auto chains =
          chains_ref(ring, set, key_masks, [&](std::size_t g) { return slot_mask_ref(a, g); });
      Polynomial sum(d);
      for (const auto& [g, digits] : chains.digits)
        for (unsigned j = 0; j < set.l; ++j)
          sum = add(sum, multiply(ring, digits[j], automorphism_ref(y[j], g)));
      for (std::size_t k = 0; k < params.columns_of(block); ++k) {
        Wide product = 0;
        for (std::size_t n = 0; n < set.l * d; ++n) {
          product = centred(product + static_cast<Wide>(built.packing[k][n]) * y[n / d][n % d]);
        }
        ASSERT_EQ(static_cast<std::int64_t>(product), sum[k]);
      }
      for (std::size_t sign = 0; sign < 2; ++sign)
        for (std::size_t n = 0; n < d; ++n)
          ASSERT_EQ(built.masks[sign][n], round_ref(chains.masks[sign][n], set.tm));
      // The trace: all slot masks together take every column's constant coefficient.
      Polynomial trace(d);
      const auto s = random_polynomial(d, engine_);
      for (std::size_t g = 1; g < 2 * d; g += 2)
        trace = add(trace, multiply(ring, slot_mask_ref(a, g), automorphism_ref(s, g)));
      for (std::size_t k = 0; k < d; ++k) ASSERT_EQ(trace[k], multiply(ring, a[k], s)[0]);
    }
  }
}

TEST_P(BlockBuilderTest, OrderAndThreadsDoNotMatter) {
  const Set set = toy_set(kS8, 7);
  const Ring ring(7, *GetParam());
  const auto params = params_of(set, 300, 500);
  const Word word = [](std::size_t i, std::size_t k) {
    return static_cast<std::uint32_t>(i * 77 + k * k * 13 + i * k);
  };
  const auto words = read_words(word, 1);
  const auto builder = BlockBuilder::create(params, ring, 3).value();
  std::vector<Built> alone(params.blocks()), together(params.blocks());
  for (std::size_t block = 0; block < params.blocks(); ++block)
    alone[block] = build(builder, params, block, words).value();
  // Two threads, from the end to the start, each with one scratch for all its blocks.
  const auto some = [&](std::size_t parity) {
    auto scratch = builder.scratch().value();
    for (std::size_t i = params.blocks(); i > 0; --i) {
      if (i % 2 == parity) together[i - 1] = build(builder, params, i - 1, words, &scratch).value();
    }
  };
  std::thread other(some, 0);
  some(1);
  other.join();
  for (std::size_t block = 0; block < params.blocks(); ++block) {
    EXPECT_EQ(alone[block].packing_bytes, together[block].packing_bytes);
    EXPECT_EQ(alone[block].masks_bytes, together[block].masks_bytes);
  }
}

/// Digits of 30 bits: their sums do not fit 32 bits. Digits of 20 bits: sums do not fit 3 bytes.
TEST_P(BlockBuilderTest, EntriesThatDoNotFitAreRefused) {
  const Ring ring(6, *GetParam());
  const auto word = [](std::size_t i, std::size_t k) {
    return static_cast<std::uint32_t>(i * k + i + 3 * k);
  };
  for (const unsigned bytes : {4u, 3u}) {
    Set set = toy_set(kS8, 6);
    set.packing_bytes = bytes;
    set.delta = bytes == 4 ? 26 : 34;
    for (const bool refused : {true, false}) {
      if (!refused) set.delta += 6;
      const auto params = params_of(set, 64, 64);
      const auto built = build(BlockBuilder::create(params, ring, 1).value(), params, 0, read_words(word, 1));
      ASSERT_EQ(!built, refused);
      if (!refused) continue;
      EXPECT_EQ(built.error().code(), ErrorCode::kInternal);
      EXPECT_NE(built.error().message().find("does not fit"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace pirx::cpir::inspire
