// SPDX-License-Identifier: Apache-2.0
// A database, a server of inspire and a client, for tests.
#pragma once

#include <gtest/gtest.h>

#include "database/database_fixture.h"
#include "pirx/cpir/inspire/common.h"
#include "pirx/protocol.h"

namespace pirx::cpir::inspire::testing {

using pirx::testing::good;

struct Shape {
  const char* name;
  std::uint64_t records, record_bytes, per_row;
  bool keyed;
  const char *words, *goal;
};
inline void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }

inline std::string key_of(std::uint64_t i) { return "key " + std::to_string(i); }

/// A database file, its records, and a server of it.
class World {
 public:
  explicit World(const Shape& shape) : shape_(shape) {
    auto engine = pirx::testing::seeded_engine();
    std::vector<std::string> keys;
    for (std::uint64_t i = 0; i < shape.records; ++i) {
      const auto bytes = i % 3 == 0 ? shape.record_bytes : engine() % (shape.record_bytes + 1);
      records_.push_back(pirx::testing::random_bytes(engine, bytes));
      if (shape.keyed) keys.push_back(key_of(i));
    }
    EXPECT_TRUE(good(database::build(
        file(), records_, keys, {.records_per_row = shape.keyed ? 0 : shape.per_row, .keyed = shape.keyed})));
  }

  std::filesystem::path file() const { return folder_ / "db"; }
  std::filesystem::path prepared() const { return folder_ / "prepared"; }
  const std::vector<Bytes>& records() const { return records_; }
  std::vector<Bytes>& records() { return records_; }

  /// Opens the database again, and a server. `notes` gets what it says.
  void serve(bool keep = false, int threads = 2, std::string* notes = nullptr) {
    const auto* protocol = find_protocol("inspire").value();
    Texts options{{"words", shape_.words}, {"goal", shape_.goal}};
    if (keep) options["prepared"] = prepared().string();
    ServerSpec spec{.database = database::Database::open(file()).value(), .threads = threads};
    if (notes != nullptr) spec.note = [notes](const std::string& line) { *notes += line + "\n"; };
    auto server = pirx::serve(*protocol, std::move(spec), options);
    ASSERT_TRUE(good(server));
    server_ = std::move(*server);
    const auto told = tell(server_->parameters());
    ASSERT_TRUE(good(told));
    PlanSpec plan{Options::create(protocol->members, told->members, "").value()};
    plan.version = told->version;
    plan_ = protocol->plan(plan).value();
    client_ = join(*plan_, {.loopback = true}, {}).value();
  }
  const AnyServer& server() const { return *server_; }
  const AnyClient& client() const { return *client_; }
  Params params() const { return Params::decode(server_->parameters()).value(); }

  Result<Bytes> answer(ByteSpan request) const {
    auto reply = std::move(server_->answer({&request, 1}).at(0));
    EXPECT_LE(reply ? reply->size() : 0, server_->max_reply_bytes(1));
    return reply;
  }
  Result<std::unique_ptr<Retrieval>> begin(std::uint64_t record) const {
    auto rng = Rng::from_os().value();
    if (shape_.keyed) return client_->retrieve(std::vector{key_of(record)}, {}, std::move(rng));
    return client_->retrieve(std::vector{record}, {}, std::move(rng));
  }
  Result<Answer> get(std::uint64_t record) const {
    PIRX_ASSIGN(auto retrieval, begin(record));
    for (;;) {
      PIRX_ASSIGN(auto wave, retrieval->outgoing());
      if (wave.empty()) return std::move(*retrieval).finish();
      for (const auto& message : wave) {
        const auto admitted = server_->admit(message.bytes);
        EXPECT_TRUE(good(admitted));
        auto reply = answer(message.bytes);
        EXPECT_TRUE(good(reply));
        EXPECT_LE(reply->size(), message.reply_bytes);
        PIRX_TRY(retrieval->receive(message.id, *reply));
      }
    }
  }
  void expect_record(std::uint64_t i) const {
    const auto answer = get(i);
    ASSERT_TRUE(good(answer)) << i;
    EXPECT_EQ(answer->records.at(0), records_[i]) << i;
    EXPECT_EQ(answer->certainty, Certainty::kProbable);
  }
  /// The query of a client that has the masks already.
  Bytes query(std::uint64_t record) const {
    get(record).value();
    auto retrieval = begin(record).value();
    auto wave = retrieval->outgoing().value();
    return std::move(wave.at(0).bytes);
  }

 private:
  const Shape shape_;
  pirx::testing::TemporaryFolder folder_;
  std::vector<Bytes> records_;
  std::unique_ptr<AnyServer> server_;
  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<AnyClient> client_;
};

/// Fetches every record of a new database.
inline void expect_every_record(const Shape& shape) {
  World world(shape);
  world.serve();
  for (std::uint64_t i = 0; i < shape.records; ++i) world.expect_record(i);
  if (!shape.keyed) return;
  const auto nothing = world.get(shape.records);
  ASSERT_TRUE(good(nothing));
  EXPECT_EQ(nothing->missing, std::vector<std::size_t>{0});
}

}  // namespace pirx::cpir::inspire::testing
