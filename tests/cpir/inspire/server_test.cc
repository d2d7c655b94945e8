// SPDX-License-Identifier: Apache-2.0
// Real servers and clients of inspire: every record, many clients in one pass, prepared files, updates, and
// requests from strangers.
#include "pirx/cpir/inspire/server.h"

#include <gtest/gtest.h>

#include "cpir/inspire/packed_database.h"
#include "cpir/ring/bits.h"
#include "pirx/database/update.h"
#include "src/protocol/message.h"
#include "support/serve.h"
#include "world.h"

namespace pirx::cpir::inspire {
namespace {

using namespace testing;
using pirx::testing::expect_error;
using pirx::testing::good;

class EveryRecord : public ::testing::TestWithParam<Shape> {};

TEST_P(EveryRecord, OfAnOddShape) { expect_every_record(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Inspire, EveryRecord,
                         ::testing::Values(Shape{"small records", 149, 13, 7, false, "8", "bytes"},
                                           Shape{"long records", 37, 5003, 1, false, "8", "bytes"},
                                           Shape{"by key", 61, 101, 1, true, "8", "bytes"},
                                           Shape{"words of 16 bits", 67, 2111, 3, false, "16", "bytes"},
                                           Shape{"for time", 131, 57, 5, false, "16", "time"}));

constexpr Shape kTwoBlocks{"two blocks", 40, 3001, 1, false, "8", "bytes"};

TEST(InspireServer, QueriesInOnePassGetWhatTheyGetAlone) {
  World world(kTwoBlocks);
  world.serve();
  std::vector<Bytes> queries;
  for (std::uint64_t i = 0; i < 9; ++i) queries.push_back(world.query(3 * i));
  queries[4].back() ^= std::byte{0x80};  // one of them with a bit that must be zero, or another number
  std::vector<ByteSpan> requests(queries.begin(), queries.end());
  const auto together = world.server().answer(requests);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const auto alone = world.answer(queries[i]);
    ASSERT_EQ(alone.has_value(), together[i].has_value()) << i;
    if (alone) {
      EXPECT_EQ(*alone, *together[i]) << i;
    }
  }
}

/// What a client with a secret and errors of zero would send: the words of the reply are exact. And one bit
/// more in the last byte is refused.
TEST(InspireServer, QueriesWithoutNoiseGetExactWords) {
  for (const auto& [words, records] : {std::pair{"8", 41U}, {"16", 43U}}) {
    World world({"without noise", records, 3001, 1, false, words, "bytes"});
    world.serve();
    const auto params = world.params();
    const unsigned t = params.spec().t, tr = params.spec().tr, w = params.set().w;
    std::size_t refused = 0;
    for (std::uint64_t i = 0; i < records; ++i) {
      const auto at = params.locate(i).value();
      Writer writer(params.request_bytes());
      encode_header(writer, ProtocolId::kInspire, MessageType::kQuery, params.digest());
      const auto body = writer.extend(params.key_bytes() + params.query_bytes());
      BitWriter numbers(body.subspan(params.key_bytes()));
      for (std::size_t row = 0; row < params.rows(); ++row) {
        numbers.put(row == at.row ? std::uint64_t{1} << (t - w) : 0, t);
      }
      numbers.finish();
      Bytes query = std::move(writer).take();
      const auto reply = world.answer(query);
      ASSERT_TRUE(good(reply));
      Bytes row;
      BitReader reader(ByteSpan(*reply).subspan(kHeaderBytes));
      for (std::size_t k = 0; k < params.columns(); ++k) {
        const auto number = reader.get(tr), word = number >> (tr - w);
        ASSERT_EQ(number, word << (tr - w)) << "a bit below the word";
        for (unsigned bit = 0; bit < w; bit += 8) row.push_back(static_cast<std::byte>(word >> bit));
      }
      const auto slot = ByteSpan(row).subspan(at.offset, params.unit_bytes());
      const auto record = params.geometry().read_slot(i, slot);
      ASSERT_TRUE(good(record)) << i;
      EXPECT_TRUE(
          std::equal(record->begin(), record->end(), world.records()[i].begin(), world.records()[i].end()));

      if (params.rows() * t % 8 == 0) continue;
      query.back() |= std::byte{0x80};
      expect_error(world.server().admit(query), ErrorCode::kInvalidArgument, "bits set that must be zero");
      ++refused;
    }
    EXPECT_EQ(refused, records) << params.rows() << " numbers of " << t << " bits have no bits to spare";
  }
}

TEST(InspireServer, ThreadsAndStartsChangeNothing) {
  World world(kTwoBlocks);
  world.serve(false, 1);
  const auto parameters = world.server().parameters();
  const auto query = world.query(7);
  const auto reply = world.answer(query).value();
  world.serve(false, 3);
  EXPECT_EQ(world.server().parameters(), parameters);
  EXPECT_EQ(world.answer(query).value(), reply);
}

TEST(InspireServer, APreparedFileIsUsed) {
  World world(kTwoBlocks);
  std::string notes;
  world.serve(true, 2, &notes);
  EXPECT_NE(notes.find("prepares 2 of 2 blocks"), std::string::npos) << notes;
  const auto parameters = world.server().parameters();
  notes.clear();
  world.serve(true, 2, &notes);
  EXPECT_EQ(notes, "the prepared database was read\n");
  EXPECT_EQ(world.server().parameters(), parameters);
  world.expect_record(17);

  // A damaged one is made anew.
  const auto size = std::filesystem::file_size(world.prepared());
  std::filesystem::resize_file(world.prepared(), size - 1);
  notes.clear();
  world.serve(true, 2, &notes);
  EXPECT_NE(notes.find("prepares 2 of 2 blocks of columns ("), std::string::npos) << notes;
  EXPECT_EQ(world.server().parameters(), parameters);
}

// Made from damaged rows, it would fit the database when that is mended, and be wrong for ever.
TEST(InspireServer, OfADamagedDatabaseNothingIsKept) {
  const World world(kTwoBlocks);
  Bytes file = pirx::testing::read_file(world.file());
  file[4096 + 5000] ^= std::byte{1};
  pirx::testing::write_file(world.file(), file);
  expect_error(
      pirx::testing::serve_file("inspire", world.file(), {{"prepared", world.prepared().string()}}, {}),
      ErrorCode::kDataLoss, "damaged");
  EXPECT_FALSE(std::filesystem::exists(world.prepared()));
}

TEST(InspireServer, AnUpdateTouchesOnlyItsBlocksAndEqualsARebuild) {
  World world({"two records a row", 3000, 1900, 1, false, "8", "bytes"});
  std::string notes;
  world.serve(true, 2, &notes);
  const auto before = world.params();
  ASSERT_EQ(before.spec().layout.per_row, 2u);
  ASSERT_EQ(before.blocks(), 2u);
  const auto salt = before.spec().salt;

  const Bytes changed(900, std::byte{0x5a});
  auto update = database::DatabaseUpdate::begin(world.file()).value();
  ASSERT_TRUE(good(update.set(6, changed)));
  ASSERT_TRUE(good(update.commit()));
  world.records()[6] = changed;
  notes.clear();
  world.serve(true, 2, &notes);
  const auto after = world.params();
  EXPECT_EQ(after.spec().salt, salt);
  EXPECT_NE(after.digest(), before.digest());
  EXPECT_NE(after.spec().masks[0], before.spec().masks[0]);
  EXPECT_EQ(after.spec().masks[1], before.spec().masks[1]);
  EXPECT_NE(notes.find("prepares 1 of 2 blocks"), std::string::npos) << notes;
  for (const std::uint64_t i : {0, 5, 6, 7, 2999}) world.expect_record(i);

  // The same blocks from nothing, with the salt of the first file.
  auto spec = after.spec();
  spec.masks.clear();
  const auto database = database::Database::open(world.file()).value();
  const auto kept = PackedDatabase::create(Params::create(spec).value(), *database, 1, world.prepared(), {});
  const auto anew = PackedDatabase::create(Params::create(spec).value(), *database, 2, "", {});
  ASSERT_TRUE(good(kept));
  ASSERT_TRUE(good(anew));
  EXPECT_EQ(kept->params().digest(), after.digest());
  EXPECT_EQ(anew->params().digest(), after.digest());
  for (std::size_t block = 0; block < after.blocks(); ++block) {
    const auto bytes = strassen::packed_bytes(anew->packing_shape(block));
    EXPECT_TRUE(std::equal(anew->packing(block), anew->packing(block) + bytes, kept->packing(block)));
  }
}

TEST(InspireServer, RefusesWhatIsNoRequest) {
  World world(kTwoBlocks);
  world.serve();
  const auto query = world.query(1);
  const auto& server = world.server();
  const auto refused = [&](Bytes request, ErrorCode code) {
    const auto admitted = server.admit(request);
    expect_error(admitted, code);
    const auto answered = world.answer(request);
    expect_error(answered, code);
  };
  ASSERT_TRUE(good(server.admit(query)));
  for (std::size_t length = 0; length < query.size(); length += 1 + length / 7) {
    const Bytes part(query.begin(), query.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_FALSE(server.admit(part)) << length;
    EXPECT_FALSE(world.answer(part)) << length;
  }
  auto longer = query;
  longer.push_back(std::byte{0});
  refused(longer, ErrorCode::kDataLoss);
  auto stale = query;
  stale[20] ^= std::byte{1};
  refused(stale, ErrorCode::kStaleEpoch);

  const auto params = world.params();
  const auto masks = [&](std::uint32_t first, std::uint32_t count) {
    Bytes request(query.begin(), query.begin() + 40);
    request[6] = static_cast<std::byte>(MessageType::kMasksWanted);
    request.resize(48);
    store_le(request.data() + 40, first);
    store_le(request.data() + 44, count);
    return request;
  };
  EXPECT_EQ(world.answer(masks(0, 2)).value().size(), params.masks_reply_bytes(2));
  EXPECT_EQ(world.answer(masks(1, 1)).value().size(), params.masks_reply_bytes(1));
  for (const auto& [first, count] :
       std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 0}, {0, 3}, {2, 1}, {1, ~0u}, {~0u, 2}}) {
    refused(masks(first, count), ErrorCode::kInvalidArgument);
  }
  // Errors name the message, whose type has another name in other protocols.
  auto wanted = masks(0, 2);
  wanted.push_back(std::byte{0});
  expect_error(server.admit(wanted), ErrorCode::kDataLoss, "the masks request has 49 bytes, not 48");
  expect_error(server.admit(ByteSpan(wanted).first(47)), ErrorCode::kDataLoss,
               "the masks request has 47 bytes, not 48");
  expect_error(server.admit(ByteSpan(wanted).first(30)), ErrorCode::kDataLoss, "masks request");
  wanted[20] ^= std::byte{1};
  expect_error(server.admit(wanted), ErrorCode::kStaleEpoch, "the masks request is for other parameters");
}

TEST(InspireServer, RefusesWhatItCannotServe) {
  World world(kTwoBlocks);
  const auto* protocol = find_protocol("inspire").value();
  const auto database = database::Database::open(world.file()).value();
  expect_error(pirx::serve(*protocol, {.database = database}, {{"words", "9"}}), ErrorCode::kInvalidArgument,
               "words have 8 or 16 bits, not 9");
  expect_error(pirx::serve(*protocol, {.database = database}, {{"goal", "fame"}}),
               ErrorCode::kInvalidArgument, "neither bytes nor time");
}

}  // namespace
}  // namespace pirx::cpir::inspire
