// SPDX-License-Identifier: Apache-2.0
// Retrievals: which masks are fetched and when, several rows for a record, records at every place of a row,
// the folder of masks, and what a server must not be told. The masks of the server here are zero, so that a
// reply's words are the row's; the whole scheme is in client_test.cc.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <thread>

#include "cpir/inspire/client_plan.h"
#include "cpir/inspire/noise.h"
#include "cpir/rows_client.h"
#include "pirx/cpir/inspire/client.h"
#include "reference.h"
#include "src/base/constant_time.h"
#include "src/protocol/message.h"
#include "support/files.h"

namespace pirx {
extern const Protocol kInspireProtocol;
}

namespace pirx::cpir::inspire {
namespace {

using namespace testing;
using pirx::testing::TemporaryFolder;

class Deployed {
 public:
  /// Records of `bytes` bytes with digests.
  Deployed(const Set& set, std::uint64_t records, std::uint64_t bytes, const Layout& layout,
           std::uint64_t epoch = 1, const std::vector<std::size_t>& changed = {}) {
    Params::Spec spec{
        .geometry = database::Geometry::create({.records = records, .record_bytes = bytes}).value(),
        .version = {.identity = {}, .epoch = epoch},
        .set = set,
        .layout = layout,
        .t = set.most_t(),
        .tr = set.w + 4};
    params_ = Params::create(spec).value();
    for (std::size_t block = 0; block < params_->blocks(); ++block) {
      masks_.emplace_back(params_->masks_bytes());
      if (std::find(changed.begin(), changed.end(), block) != changed.end()) masks_.back()[1] = std::byte{1};
      spec.masks.push_back(mask_digest(spec.salt, block, masks_.back()));
    }
    params_ = Params::create(spec).value();
    std::mt19937_64 engine(5);
    const auto slot = static_cast<std::size_t>(params_->unit_bytes());
    data_.resize(params_->rows() * params_->row_bytes());
    for (std::uint64_t i = 0; i < records; ++i) {
      Bytes record(static_cast<std::size_t>(engine() % (bytes + 1)));
      for (auto& byte : record) byte = static_cast<std::byte>(engine());
      const auto at = params_->locate(i).value();
      params_->geometry().fill_slot(
          i, record,
          MutableByteSpan(data_).subspan(static_cast<std::size_t>(at.row * params_->row_bytes() + at.offset),
                                         slot));
      records_.push_back(std::move(record));
    }
  }
  const Params& params() const { return *params_; }
  const Bytes& record(std::size_t i) const { return records_[i]; }
  std::shared_ptr<const Plan> plan() const {
    const auto told = inspire::tell(params_->encode()).value();
    return make_plan({.members = Options::create(kInspireProtocol.members, told.members, "inspire").value()})
        .value();
  }
  Result<std::unique_ptr<AnyClient>> join(const std::filesystem::path& folder = {}) const {
    Texts options;
    if (!folder.empty()) options["masks"] = folder.string();
    return pirx::join(*plan(), {}, options);
  }

  /// The reply to a request for masks.
  Bytes masks_reply(ByteSpan request) const {
    Reader reader(decode_header(request, ProtocolId::kInspire, MessageType::kMasksWanted, params_->digest(),
                                Params::kMasksRequestBytes)
                      .value(),
                  "");
    const auto first = reader.get<std::uint32_t>().value(), count = reader.get<std::uint32_t>().value();
    Writer writer;
    encode_header(writer, ProtocolId::kInspire, MessageType::kMasks, params_->digest());
    writer.put(first);
    writer.put(count);
    for (std::size_t i = first; i < first + count; ++i) writer.put_bytes(masks_[i]);
    return std::move(writer).take();
  }
  /// The reply that holds a row, which this server has to be told.
  Bytes reply(std::size_t row) const {
    std::vector<U64> words;
    const std::size_t word = params_->set().word_bytes();
    for (std::size_t k = 0; k < params_->columns(); ++k) {
      U64 value = 0;
      std::memcpy(&value, data_.data() + row * params_->row_bytes() + k * word, word);
      words.push_back(value << (params_->spec().tr - params_->set().w));
    }
    Writer writer;
    encode_header(writer, ProtocolId::kInspire, MessageType::kReply, params_->digest());
    writer.put_bytes(run_of(words, params_->spec().tr));
    return std::move(writer).take();
  }

  struct Seen {
    std::vector<Bytes> masks_requests;
    std::size_t queries = 0;
    std::optional<Result<Answer>> answer;
  };
  /// Drives a retrieval; `spoil` may change replies.
  template <class Spoil>
  Seen drive(const AnyClient& client, const std::vector<std::uint64_t>& wanted, const Spoil& spoil) const {
    Seen seen;
    auto retrieval = client.retrieve(wanted, {}, Rng::from_os().value()).value();
    const auto each = static_cast<std::size_t>(params_->spec().layout.rows_each);
    for (;;) {
      auto wave = retrieval->outgoing();
      if (!wave || wave->empty()) break;
      const auto& message = wave->front();
      Bytes reply;
      if (message.bytes[6] == static_cast<std::byte>(MessageType::kMasksWanted) &&
          message.bytes.size() == 48) {
        EXPECT_EQ(seen.queries, 0U) << "masks come first";
        reply = masks_reply(message.bytes);
        seen.masks_requests.push_back(message.bytes);
      } else {
        EXPECT_EQ(message.bytes.size(), params_->request_bytes());
        const auto record = wanted[seen.queries / each];
        const auto row = record < params_->units() ? params_->locate(record).value().row : 0;
        reply = this->reply(static_cast<std::size_t>(row) + seen.queries % each);
        ++seen.queries;
      }
      EXPECT_EQ(reply.size(), message.reply_bytes);
      spoil(seen, reply);
      static_cast<void>(retrieval->receive(message.id, reply));
    }
    seen.answer = std::move(*retrieval).finish();
    return seen;
  }
  Seen drive(const AnyClient& client, const std::vector<std::uint64_t>& wanted) const {
    return drive(client, wanted, [](const Seen&, Bytes&) {});
  }
  void expect_records(const Seen& seen, const std::vector<std::uint64_t>& wanted) const {
    ASSERT_TRUE(*seen.answer) << seen.answer->error().to_string();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_EQ((*seen.answer)->records[i], records_[static_cast<std::size_t>(wanted[i])]);
    }
    EXPECT_EQ((*seen.answer)->certainty, Certainty::kProbable);
  }

 private:
  std::optional<Params> params_;
  std::vector<Bytes> masks_, records_;
  Bytes data_;
};

TEST(InspirePlan, EveryPlaceOfARow) {
  for (const auto& set : {kS8, kS16}) {
    const Deployed world(set, 29, 300, {.per_row = 9, .rows_each = 1});
    ASSERT_EQ(world.params().unit_bytes() * 9 % set.word_bytes(), 0U);
    const auto client = world.join().value();
    std::vector<std::uint64_t> all(29);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    const auto seen = world.drive(*client, all);
    EXPECT_EQ(seen.queries, 29U);
    world.expect_records(seen, all);
  }
}

TEST(InspirePlan, RecordsOfSeveralRowsTakeSeveralQueries) {
  for (const auto& set : {kS8, kS16}) {
    const Deployed world(set, 5, 7001, {.per_row = 1, .rows_each = 3});
    EXPECT_EQ(world.params().rows(), 15U);
    const auto client = world.join().value();
    const auto seen = world.drive(*client, {4, 0, 2, 2});
    EXPECT_EQ(seen.queries, 12U);
    world.expect_records(seen, {4, 0, 2, 2});
  }
}

TEST(InspirePlan, MasksAreFetchedOnceAndFirst) {
  const Deployed world(kS8, 10, 5000, {});
  ASSERT_EQ(world.params().blocks(), 3U);
  const auto client = world.join().value();
  const auto first = world.drive(*client, {3});
  ASSERT_EQ(first.masks_requests.size(), 1U);
  world.expect_records(first, {3});
  const auto second = world.drive(*client, {7, 1});
  EXPECT_TRUE(second.masks_requests.empty());
  world.expect_records(second, {7, 1});
  // What is fetched depends on nothing that is wanted.
  for (const auto& wanted : {std::vector<std::uint64_t>{0}, {9, 9, 9}, {12345}}) {
    const auto other = world.join().value();
    EXPECT_EQ(world.drive(*other, wanted).masks_requests, first.masks_requests);
  }
}

TEST(InspirePlan, WhatDoesNotExistIsAskedForLikeAnyOther) {
  const Deployed world(kS8, 10, 500, {});
  const auto client = world.join().value();
  const auto seen = world.drive(*client, {3, 10});
  EXPECT_EQ(seen.queries, 2U);
  ASSERT_FALSE(*seen.answer);
  EXPECT_EQ(seen.answer->error().code(), ErrorCode::kOutOfRange);
}

TEST(InspirePlan, WrongMasksEndTheRetrievalBeforeASecretIsDrawn) {
  const Deployed world(kS8, 10, 5000, {});
  const auto client = world.join().value();
  const auto seen =
      world.drive(*client, {3}, [](const Deployed::Seen&, Bytes& reply) { reply[99] ^= std::byte{8}; });
  EXPECT_EQ(seen.queries, 0U);
  ASSERT_FALSE(*seen.answer);
  EXPECT_EQ(seen.answer->error().code(), ErrorCode::kDataLoss);
  EXPECT_EQ(seen.answer->error().message().find("3"), std::string::npos);
  // The client is as before.
  const auto again = world.drive(*client, {3});
  EXPECT_EQ(again.masks_requests, seen.masks_requests);
  world.expect_records(again, {3});
}

TEST(InspirePlan, TheServerIsNotToldOfAWrongRow) {
  const Deployed world(kS8, 10, 500, {});
  const auto client = world.join().value();
  for (const std::size_t bad : {1, 2, 3}) {
    const auto seen = world.drive(*client, {3, 4, 5}, [&](const Deployed::Seen& now, Bytes& reply) {
      if (now.queries == bad) reply[60] ^= std::byte{0x80};
    });
    EXPECT_EQ(seen.queries, 3U);
    ASSERT_FALSE(*seen.answer);
    EXPECT_EQ(seen.answer->error().code(), ErrorCode::kDataLoss);
  }
  // Nor of one that has another length.
  const auto seen = world.drive(*client, {3, 4, 5}, [&](const Deployed::Seen& now, Bytes& reply) {
    if (now.queries == 1) reply.pop_back();
  });
  EXPECT_EQ(seen.queries, 3U);
  EXPECT_FALSE(*seen.answer);
}

/// Whatever is in the folder, a client asks for the masks of all blocks or for none. Otherwise the request
/// would say which versions the client has seen, or spell a number that a server of several versions wrote.
TEST(InspirePlan, TheFolderIsUsedAsAWholeOrNotAtAll) {
  const TemporaryFolder folder;
  const Deployed world(kS8, 10, 9000, {});
  ASSERT_EQ(world.params().blocks(), 5U);
  const auto everything = world.drive(**world.join(), {1}).masks_requests;
  ASSERT_EQ(everything.size(), 1U);
  const auto asks = [&](const Deployed& of) {
    return of.drive(**of.join(folder.path()), {2}).masks_requests;
  };
  EXPECT_EQ(asks(world), everything);
  // Another client finds them.
  const auto second = world.drive(**world.join(folder.path()), {2});
  EXPECT_TRUE(second.masks_requests.empty());
  world.expect_records(second, {2});
  // At another epoch all are asked for, although some or all are the same: by every client alike.
  for (const auto& changed : {std::vector<std::size_t>{}, {0}, {1, 2, 4}}) {
    const Deployed updated(kS8, 10, 9000, {}, 2 + changed.size(), changed);
    const auto whole = updated.drive(**updated.join(), {2}).masks_requests;
    EXPECT_EQ(load_le<std::uint32_t>(whole.at(0).data() + 40), 0U);
    EXPECT_EQ(load_le<std::uint32_t>(whole.at(0).data() + 44), 5U);
    EXPECT_EQ(asks(updated), whole) << changed.size();
    EXPECT_TRUE(asks(updated).empty());
  }
  EXPECT_TRUE(asks(world).empty());
  // A file is named by the parameters' digest, and nothing else is left in the folder.
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++files;
    EXPECT_EQ(entry.path().filename().string().size(), 64U);
  }
  EXPECT_EQ(files, 4U);
  // A damaged file, one that is longer or shorter, another's and none: all are fetched anew, and the file is
  // mended.
  const auto file = folder.path() / to_hex(world.params().digest());
  const Deployed other(kS8, 10, 9000, {}, 2);
  const std::function<void()> damages[] = {
      [&] { std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(99) << "damage"; },
      [&] { std::ofstream(file, std::ios::app | std::ios::binary) << "more"; },
      [&] { std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1); },
      [&] { std::filesystem::resize_file(file, 0); },
      [&] {
        std::filesystem::copy_file(folder.path() / to_hex(other.params().digest()), file,
                                   std::filesystem::copy_options::overwrite_existing);
      },
      [&] { std::filesystem::remove(file); },
  };
  for (const auto& damage : damages) {
    damage();
    const auto mended = world.drive(**world.join(folder.path()), {1});
    EXPECT_EQ(mended.masks_requests, everything);
    world.expect_records(mended, {1});
    EXPECT_TRUE(asks(world).empty());
  }
}

TEST(InspirePlan, APipeInTheFolderIsNotWaitedFor) {
  const TemporaryFolder folder;
  const Deployed world(kS8, 10, 500, {});
  const auto file = folder.path() / to_hex(world.params().digest());
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  auto joined = std::async(std::launch::async, [&] { return world.join(folder.path()); });
  const bool in_time = joined.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  EXPECT_TRUE(in_time);
  if (!in_time) ::close(::open(file.c_str(), O_WRONLY | O_NONBLOCK));  // ends the wait
  world.expect_records(world.drive(**joined.get(), {1}), {1});
}

TEST(InspirePlan, AFolderThatIsNotThereIsMade) {
  const TemporaryFolder folder;
  const Deployed world(kS8, 10, 500, {});
  world.expect_records(world.drive(**world.join(folder.path() / "new" / "folder"), {1}), {1});
  EXPECT_FALSE(std::filesystem::is_empty(folder.path() / "new" / "folder"));
}

TEST(InspirePlan, AFolderThatCannotBeIsAnError) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "no folder";
  const Deployed world(kS8, 10, 500, {});
  const auto seen = world.drive(**world.join(folder.path() / "file"), {1});
  EXPECT_EQ(seen.queries, 0U);
  ASSERT_FALSE(*seen.answer);
  EXPECT_EQ(seen.answer->error().code(), ErrorCode::kUnavailable);
}

TEST(InspirePlan, ThreadsShareAClient) {
  const Deployed world(kS8, 10, 5000, {});
  const auto client = world.join().value();
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] { world.expect_records(world.drive(*client, {i, 9 - i}), {i, 9 - i}); });
  }
  for (auto& thread : threads) thread.join();
}

TEST(InspirePlan, WorkIsThatOfTheMessages) {
  const Deployed world(kS8, 5, 7001, {.per_row = 1, .rows_each = 3});
  const auto work = world.plan()->work();
  EXPECT_EQ(work.query_messages, 3);
  EXPECT_EQ(work.once_messages, 1);
  EXPECT_EQ(work.up, 3.0 * static_cast<double>(world.params().request_bytes()));
  EXPECT_EQ(work.down, 3.0 * static_cast<double>(world.params().reply_bytes()));
  EXPECT_EQ(work.once_down, static_cast<double>(world.params().masks_reply_bytes(2)));
  EXPECT_GT(work.seconds, 0);
  EXPECT_NE(world.plan()->summary().find(std::to_string(world.params().request_bytes())), std::string::npos);
}

TEST(InspirePlan, MembersAreChecked) {
  const auto plan_of = [](const Texts& members) {
    return make_plan({.members = Options::create(kInspireProtocol.members, members, "inspire").value()});
  };
  EXPECT_EQ(plan_of({}).error().code(), ErrorCode::kDataLoss);
  EXPECT_EQ(plan_of({{"parameters", "zz"}}).error().code(), ErrorCode::kDataLoss);
  EXPECT_EQ(plan_of({{"parameters", "00"}}).error().code(), ErrorCode::kDataLoss);
}

TEST(InspirePlan, CutOutFindsEveryPlace) {
  Bytes row(103);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<std::byte>(i);
  for (const std::size_t bytes : {1, 7, 20, 51, 103}) {
    for (std::size_t at = 0; at + bytes <= row.size(); at += bytes) {
      Bytes out(bytes, std::byte{0xee});
      cut_out(row, at, out);
      EXPECT_TRUE(std::equal(out.begin(), out.end(), row.begin() + static_cast<std::ptrdiff_t>(at)));
    }
  }
}

}  // namespace
}  // namespace pirx::cpir::inspire
